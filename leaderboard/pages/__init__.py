"""One file per page: `build(results)` gives the page, or pages of its kind. A new file here is found by itself."""
