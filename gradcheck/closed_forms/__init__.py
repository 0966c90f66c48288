"""Closed forms of tensors, derived in index notation and printed as matrices where it can be."""
