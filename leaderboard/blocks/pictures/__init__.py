"""Pictures as inline SVG, drawn once: their colours come from static/pictures.css, light and dark."""
