"""Derivatives of functions that only take floats, with an error bar."""
