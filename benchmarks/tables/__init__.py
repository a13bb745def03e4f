"""Tables of ratings as people keep them, without a card: the file, its columns, and the dataset in it."""
