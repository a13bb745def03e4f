"""Users' tables of ratings: the file, its columns, and its conversion to a dataset; private ratings."""
