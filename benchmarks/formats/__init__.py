"""Readers of the organisers' JSON, of private ratings and of score files."""
