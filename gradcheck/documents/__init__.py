"""Files from anybody, read safely: plain values, and where each stands."""

from pathlib import Path

from gradcheck.documents.document import BYTES, Document, WrittenFloat, read_decimal, read_yaml

STDIN = Path("-")
__all__ = ["BYTES", "STDIN", "Document", "WrittenFloat", "read_decimal", "read_yaml"]
