"""`gradcheck solve` of a script: the process in which it is run and judged."""

import subprocess
import sys
from pathlib import Path


def ran(file: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    words = [sys.executable, "-m", "gradcheck.commands.script", str(file), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr
