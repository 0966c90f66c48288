"""A typed formula as operations on floats and balls, and the points that tell it from others."""
