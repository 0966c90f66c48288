"""The hot paths of the tape are compiled by Cython where there is a C compiler.

Elsewhere they run as they are. The `.pxd` beside a module of the engine gives its classes and
functions C types. All modules stay Python. GRADCHECK_PURE=1 leaves them so.
"""

import os
from pathlib import Path
from runpy import run_path

import numpy
from Cython.Build import cythonize
from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ENGINE = Path("gradcheck/engine")
COMPILED = run_path(str(ENGINE / "compiled.py"))  # by itself: the package may not be importable yet


class AllOrNone(build_ext):
    """Compiles every module or leaves them all: they use one another's C types."""

    command_name = "build_ext"  # the options below are looked up by this name

    def run(self) -> None:
        """Build; whatever a compiler may say, the package works without it."""
        made = [*self.get_outputs(), *(self.get_ext_fullpath(e.name) for e in self.extensions)]
        try:
            super().run()
        except Exception as error:  # noqa: BLE001 - distutils lets all sorts through
            print(f"gradcheck is not compiled ({error}): plain Python, three times slower")
            for built in made:
                Path(built).unlink(missing_ok=True)
            self.extensions = []
        if self.extensions:
            stamp = Path(self.get_ext_fullpath(self.extensions[0].name)).parent / COMPILED["STAMP"]
            stamp.write_text(COMPILED["digest"](ENGINE))
            print(f"gradcheck is compiled: {', '.join(COMPILED['COMPILED'])}")


class WithSets(build_py):
    """Puts the problem sets into the package: `gradcheck solve first-derivatives`."""

    command_name = "build_py"

    def run(self) -> None:
        """Build; a checkout that is installed in place keeps its sets where they are."""
        super().run()
        if not self.editable_mode:
            for path in Path("problems").glob("*.yaml"):
                self.mkpath(f"{self.build_lib}/gradcheck/sets")
                self.copy_file(str(path), f"{self.build_lib}/gradcheck/sets/{path.name}")


def compiled() -> list[object]:
    """The extension modules, as Cython makes them."""
    if os.environ.get("GRADCHECK_PURE"):
        for built in (*ENGINE.glob("*.so"), *ENGINE.glob("*.pyd")):
            built.unlink()  # of an earlier install from here; Python would take it for the module
        print("gradcheck is not compiled (GRADCHECK_PURE is set)")
        return []
    sources = [str(ENGINE / f"{name}.py") for name in COMPILED["COMPILED"]]
    directives = {"auto_pickle": False, "language_level": 3}
    return list(cythonize(sources, build_dir="build", compiler_directives=directives))


setup(
    ext_modules=compiled(),
    cmdclass={"build_ext": AllOrNone, "build_py": WithSets},
    options={
        "build_ext": {
            "parallel": True,
            "include_dirs": numpy.get_include(),
        }
    },
)
