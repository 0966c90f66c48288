"""The two scalar kinds that flow through NumPy's object arrays: Symbolic and Ball."""
