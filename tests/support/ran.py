"""`gradcheck solve` of a script, as a user calls it."""

import subprocess
import sys
from pathlib import Path


def ran(file: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    words = [sys.executable, "-m", "gradcheck", "solve", str(file), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr
