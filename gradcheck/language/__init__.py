"""The checked language: a program is checked node by node, lowered and run."""
