"""Measurements of speed and calibration, and the writer of docs/reference; not part of the installed package."""
