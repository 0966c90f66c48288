"""Files from anybody, read safely: plain values, and where each stands."""

from gradcheck.documents.decimals import WrittenFloat, read_decimal
from gradcheck.documents.yaml import Document, read_yaml

__all__ = ["Document", "WrittenFloat", "read_decimal", "read_yaml"]
