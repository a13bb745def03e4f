"""Tables and pages as HTML, text, Markdown, LaTeX, JSON and CSV."""
