"""`out = np.zeros(n)`, `np.array([f(v) for v in x])`: arrays that hold other numbers than floats.

NumPy's makers of arrays do not ask what will be written into what they make, and those that gather
a list do not know our numbers. Where a user's program fails for that on tensors or exact numbers, a
copy of it runs in which the name `np` means a NumPy whose makers make arrays of the kind. The
program itself and NumPy stay as they are, and compiled code gets what it always got.

The same with makers that only look at what they make tells where single precision enters
(`x.astype("f")`, a buffer): asked only where a claim is off, or where values differ.
"""

import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

import numpy as np

from gradcheck.language.kinds import KINDS
from gradcheck.values import Array, Routine, Value

MAKERS = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
GATHERERS = ("array", "asarray", "fromiter")
LIBRARIES = frozenset(
    {"numpy", "scipy", "torch", "jax", "jaxlib", "autograd", "numba", "gradcheck"}
)
OURS = "gradcheck.testing"  # closures of ours around what the user wrote: only they are looked into
MOST = 1000  # parts of a container that is looked into
Makers = Mapping[str, Routine]  # what is called with a maker of NumPy's and its arguments
NO_MAKERS: Makers = MappingProxyType({})
EPSILON = float(np.finfo(np.float64).eps)
LONGEST = 56  # characters of a line of source in a message
NOT_THEIRS = ("gradcheck", "numpy")
Look = Callable[[Value], Value]


def makers_of(kind: str) -> Makers:
    """Makers of arrays of floats that give arrays of a kind of number instead."""
    makers = dict.fromkeys(MAKERS, partial(_filling, kind))
    return makers | dict.fromkeys(GATHERERS, partial(_gather, kind))


class Copies:
    """Copies of functions, classes and objects of the user's, whose `np` may have other makers.

    Each is made once; arrays are shared with the original.
    """

    def __init__(self, makers: Makers = NO_MAKERS) -> None:
        self._made: dict[
            int, tuple[Value, Value]
        ] = {}  # and the original, that its id stays its own
        self._numpy = _Numpy(makers) if makers else np
        self._makers = {id(getattr(np, name)): getattr(self._numpy, name) for name in makers}

    def of(self, thing: Value) -> Value:
        """The copy of a thing, or the thing itself where nothing in it makes arrays."""
        if thing is np:
            return self._numpy
        if id(thing) in self._makers:
            return self._makers[id(thing)]
        if id(thing) not in self._made:
            self._made[id(thing)] = thing, thing  # of what refers to itself while it is looked into
            self._made[id(thing)] = thing, self._copy(thing)
        return self._made[id(thing)][1]

    def functions(self, code: CodeType) -> list[FunctionType]:
        """The copies that were made of functions of some code."""
        every = (made for was, made in self._made.values() if made is not was)
        return [f for f in every if isinstance(f, FunctionType) and f.__code__ is code]

    def _copy(self, thing: Value) -> Value:
        if isinstance(thing, FunctionType):
            around = thing.__closure__ and str(thing.__module__).startswith(OURS)
            return self._function(thing) if around or is_theirs(thing) else thing
        if isinstance(thing, MethodType):
            return MethodType(self.of(thing.__func__), self.of(thing.__self__))
        if isinstance(thing, partial):
            given = {name: self.of(value) for name, value in thing.keywords.items()}
            return partial(self.of(thing.func), *map(self.of, thing.args), **given)
        if type(thing) in (list, tuple, dict) and len(thing) <= MOST:
            return self._container(thing)
        if isinstance(thing, type):
            return self._class(thing)
        if isinstance(thing, ModuleType):
            return _Module(thing, self) if is_theirs(thing) else thing
        return self._object(thing)

    def _function(self, function: FunctionType) -> FunctionType:
        names, code = function.__globals__, function.__code__
        ours = str(names.get("__name__")).startswith(OURS)
        mine = names if ours else dict(names)
        cells = function.__closure__ or ()
        closure = tuple(CellType() for _ in cells)
        made = FunctionType(code, mine, function.__name__, function.__defaults__, closure)
        self._made[id(function)] = function, made
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__.update(function.__dict__)
        for name in () if ours else _used_names(code):
            if name in names:
                mine[name] = self.of(names[name])
        for name, cell, was in zip(code.co_freevars, closure, cells, strict=True):
            try:  # `super()` looks beyond the class that is written there
                held = was.cell_contents
                cell.cell_contents = held if name == "__class__" else self.of(held)
            except ValueError:  # an empty one
                continue
        return made

    def _container(self, thing: Value) -> Value:
        if isinstance(thing, tuple):
            parts = tuple(map(self.of, thing))
            return thing if all(a is b for a, b in zip(parts, thing, strict=True)) else parts
        made: Value = type(thing)()
        self._made[id(thing)] = thing, made
        if isinstance(thing, dict):
            made.update({key: self.of(value) for key, value in thing.items()})
        else:
            made.extend(map(self.of, thing))
        return made

    def _class(self, own: type) -> type:
        """A class of the user's with methods that are copies; it is one of its subclasses."""
        methods = {
            name: method
            for each in reversed(own.__mro__)
            for name, method in vars(each).items()
            if isinstance(getattr(method, "__func__", method), FunctionType) and is_theirs(each)
        }
        if not methods or not is_theirs(own):
            return own
        try:
            made = type(own)(own.__name__, (own,), {"__module__": own.__module__})
            self._made[id(own)] = own, made
            for name, method in methods.items():
                inner = self.of(getattr(method, "__func__", method))
                wrapped = isinstance(method, staticmethod | classmethod)
                setattr(made, name, type(method)(inner) if wrapped else inner)
        except Exception:  # noqa: BLE001 - a metaclass may refuse anything
            return own
        return made

    def _object(self, thing: Value) -> Value:
        """An object of such a class: a copy that shares its arrays, of the class that is one."""
        own = type(thing)
        made_of = self.of(own) if type(getattr(thing, "__dict__", None)) is dict else own
        if made_of is own:
            return thing
        try:
            made = object.__new__(made_of)
        except TypeError:  # a subclass of something compiled
            return thing
        self._made[id(thing)] = thing, made
        made.__dict__.update({name: self.of(value) for name, value in vars(thing).items()})
        return made


def is_theirs(thing: Value) -> bool:
    """Whether a function, class or module is the user's: no library's, nor Python's own."""
    named = thing.__name__ if isinstance(thing, ModuleType) else (thing.__module__ or "")
    root = str(named).partition(".")[0]
    file = str(getattr(sys.modules.get(str(named)), "__file__", None) or "")
    installed = "site-packages" in file or (isinstance(thing, ModuleType) and not file)
    return not installed and root not in LIBRARIES and root not in sys.stdlib_module_names


def _used_names(code: CodeType) -> Iterator[str]:
    """The names that a function's text uses, inside functions inside it too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _used_names(inner)


class _Module:
    """A module of the user's whose functions are copies."""

    def __init__(self, module: ModuleType, copies: Copies) -> None:
        self._module, self._copies = module, copies

    def __getattr__(self, name: str) -> Value:
        return self._copies.of(getattr(self._module, name))


class _Numpy:
    """NumPy with other makers of arrays."""

    def __init__(self, makers: Makers) -> None:
        for name, maker in makers.items():
            setattr(self, name, partial(maker, getattr(np, name)))

    def __getattr__(self, name: str) -> Value:
        return getattr(np, name)


def _filling(kind: str, maker: Routine, *args: Value, **kwargs: Value) -> Value:
    made = maker(*args, **kwargs)
    if type(made) is np.ndarray and made.dtype.kind == "O":  # the `x.dtype` of exact numbers
        made = made.astype(np.float64)
    plain = type(made) is np.ndarray and made.dtype.kind == "f"
    return KINDS[kind].box(made) if plain else made


def _gather(kind: str, maker: Routine, *args: Value, **kwargs: Value) -> Value:
    """A list of numbers of the kind stays so, as their array; anything else is NumPy's."""
    if not args:
        return maker(**kwargs)
    held, *rest = args
    if isinstance(held, Iterator):
        held = list(held)
    dtype = rest[0] if rest else kwargs.get("dtype")
    if np.dtype(dtype).kind == "f" and KINDS[kind].is_among(held):
        return KINDS[kind].function("array")(held)
    return maker(held, *rest, **kwargs)


# -- where single precision enters a program whose arguments are doubles ---------------------------


class Coarse:
    """Floats coarser than float64, and the line of the program where they were first seen."""

    def __init__(self) -> None:
        self.kind = ""
        self.place = self.text = ""
        self.unit = EPSILON

    def look(self, value: Value) -> Value:
        """The value, seen."""
        dtype = getattr(value, "dtype", None)
        if dtype is not None and dtype.kind == "f" and dtype.itemsize < np.dtype(float).itemsize:
            self.unit = max(self.unit, float(np.finfo(dtype).eps))
            if not self.kind:
                self.kind, (self.place, self.text) = dtype.name, _place()
        return value

    def words(self) -> str:
        """What a reader should know of it; nothing where all is in doubles."""
        if not self.kind:
            return ""
        where = f" at {self.place}" if self.place else ""
        told = f"{self.kind} enters{where}; judged as far as it can show (rtol= says how far)"
        return f"{told}\n{self.text}" if self.text else told


def coarse_inside(run: Callable[[Makers, Look], Value]) -> Coarse:
    """What is coarser than float64 while a program runs.

    `run` runs it with makers of arrays that are looked at; its arguments go through what it is
    handed.
    """
    found = Coarse()

    class SeenArray(Array):
        """An array whose makes are looked at."""

        def __array_finalize__(self, obj: Value) -> None:
            found.look(self)

        def __array_ufunc__(
            self, ufunc: Value, method: str, *inputs: Value, **kwargs: Value
        ) -> Value:
            outs = kwargs.get("out", ())
            for each in (*inputs, *outs):
                found.look(each)
            if outs:
                kwargs["out"] = tuple(map(_bare, outs))
            made = getattr(ufunc, method)(*map(_bare, inputs), **kwargs)
            if outs:
                return outs[0] if len(outs) == 1 else outs
            return tuple(map(seen, made)) if isinstance(made, tuple) else seen(made)

    def _bare(value: Value) -> Value:
        return value.view(np.ndarray) if isinstance(value, SeenArray) else value

    def seen(value: Value) -> Value:
        found.look(value)
        plain = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        return np.array(value).view(SeenArray) if plain else value

    def made(maker: Routine, *given: Value, **kwargs: Value) -> Value:
        return found.look(maker(*given, **kwargs))

    try:
        with np.errstate(all="ignore"):
            came = run(dict.fromkeys((*MAKERS, *GATHERERS), made), seen)
    except Exception:  # noqa: BLE001 - only looked at: a user's code may raise anything
        return found
    for each in came if isinstance(came, tuple | list) else [came]:
        found.look(each)
    return found


def _place() -> tuple[str, str]:
    """File and line of the innermost line of the user's, and its text."""
    frame: Value = sys._getframe(2)
    while frame is not None:
        owner = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if owner not in NOT_THEIRS:
            file, line = frame.f_code.co_filename, frame.f_lineno
            text = linecache.getline(file, line).strip()
            return f"{Path(file).name}:{line}", text[:LONGEST]
        frame = frame.f_back
    return "", ""
