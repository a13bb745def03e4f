"""What the pages of a metric and of a dataset are made of: cards, cells, profiles, and items held against people."""
