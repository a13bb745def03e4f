"""Storage: the home, Arrow files, downloads, archives, resources."""
