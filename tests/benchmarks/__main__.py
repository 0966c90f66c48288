"""`python -m tests.benchmarks NAME`: run one benchmark of this directory, or list them."""

import importlib
import pkgutil
import sys

import tests.benchmarks


def names() -> list[str]:
    """The benchmarks there are."""
    found = (module.name for module in pkgutil.iter_modules(tests.benchmarks.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def main(arguments: list[str]) -> int:
    """Run the named benchmark; the rest of the arguments are its own."""
    if not arguments or arguments[0] not in names():
        print(f"python -m tests.benchmarks NAME, where NAME is one of: {', '.join(names())}")
        return 2
    sys.argv = arguments
    importlib.import_module(f"tests.benchmarks.{arguments[0]}").main()
    return 0


sys.exit(main(sys.argv[1:]))
