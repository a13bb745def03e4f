"""Trainable networks that several metrics share; they are not metrics themselves."""
