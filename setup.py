"""The hot path of the tape is compiled where there is a C compiler; elsewhere it runs as it is.

The `.pxd` beside a module gives its classes and functions C types; the module itself stays Python.
GRADCHECK_PURE=1 leaves it so.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import setup
from setuptools.command.build_ext import build_ext

ENGINE = "gradcheck/engine"
HOT = ("tape", "state", "tensor", "quick", "backward", "landing")


class AllOrNone(build_ext):
    """Compiles every module or leaves them all: they use one another's C types."""

    command_name = "build_ext"  # the options below are looked up by this name

    def run(self) -> None:
        """Build; whatever a compiler may say, the package works without it."""
        made = [*self.get_outputs(), *(self.get_ext_fullpath(e.name) for e in self.extensions)]
        try:
            super().run()
        except Exception as error:  # noqa: BLE001 - distutils lets all sorts through
            print(f"gradcheck is not compiled ({error}); it works all the same, more slowly")
            for built in made:
                Path(built).unlink(missing_ok=True)
            self.extensions = []


def compiled() -> list[object]:
    """The extension modules, as Cython makes them."""
    if os.environ.get("GRADCHECK_PURE"):
        for built in (*Path(ENGINE).glob("*.so"), *Path(ENGINE).glob("*.pyd")):
            built.unlink()  # of an earlier install from here; Python would take it for the module
        return []
    sources = [f"{ENGINE}/{name}.py" for name in HOT]
    directives = {"auto_pickle": False, "language_level": 3}
    return list(cythonize(sources, build_dir="build", compiler_directives=directives))


setup(
    ext_modules=compiled(),
    cmdclass={"build_ext": AllOrNone},
    options={
        "build_ext": {
            "parallel": True,
            "include_dirs": numpy.get_include(),
        }
    },
)
