"""`python -m tests.benchmarks NAME`: run one benchmark of this directory, or list them."""

import importlib
import sys
from pathlib import Path

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))

if sys.argv[1:2] and sys.argv[1] in NAMES:
    sys.argv = sys.argv[1:]
    importlib.import_module(f"tests.benchmarks.{sys.argv[0]}").main()
else:
    sys.exit(f"python -m tests.benchmarks NAME, where NAME is one of: {', '.join(NAMES)}")
