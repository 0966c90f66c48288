"""The names that the tests of typed mathematics declare."""
