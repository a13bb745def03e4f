"""Tables of ratings as people keep them: the file, its columns, and the dataset in it."""
