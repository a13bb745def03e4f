"""Where data lies and how it gets there: the home, Arrow files, downloads, unpacking, resources."""
