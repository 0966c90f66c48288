"""A typed formula as straight-line floats and balls, and the points that tell it from others."""
