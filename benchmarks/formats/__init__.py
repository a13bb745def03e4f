"""Readers of the organisers' JSON and of score files."""
