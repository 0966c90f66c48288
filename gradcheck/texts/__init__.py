"""Formulas as people read them."""
