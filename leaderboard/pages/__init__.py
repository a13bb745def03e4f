"""One file per page: `build(results)` returns one or more pages. New files here are found automatically."""
