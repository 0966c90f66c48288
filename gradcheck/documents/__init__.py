"""Files from anybody, read safely: plain values, and where each stands."""

from pathlib import Path

from gradcheck.documents.document import Document, WrittenFloat, read_decimal, read_yaml

STDIN = Path("-")
__all__ = ["STDIN", "Document", "WrittenFloat", "read_decimal", "read_yaml"]
