"""One file per view: `build(report)` gives its pages. A file put here is found by itself."""
