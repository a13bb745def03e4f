"""Controls: shortcuts shown on every board, which a useful metric must beat."""
