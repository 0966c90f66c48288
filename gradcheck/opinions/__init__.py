"""Opinions on a value and its derivative; they never import one another."""
