"""DEB (Sai et al. 2020)."""
