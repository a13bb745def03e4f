"""Tests of the measurements on a machine with a GPU."""
