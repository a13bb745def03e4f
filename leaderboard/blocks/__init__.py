"""Parts of pages: tables, cells and pictures."""
