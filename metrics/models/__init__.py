"""Pretrained models: finding their files, loading their networks, and caching their outputs."""
