"""What functions keep between calls, found and put back; copies of functions in which `np` is ours.

A layer's backward pass reads what its forward pass has left (`self.y`, a cache, `dW +=`). A check
calls both many times and on several kinds of number; each call is to find the state that the
caller handed over.

NumPy's makers of arrays do not ask what will be written into what they make, and those that gather
a list do not know our numbers. Where a user's program fails for that on tensors or exact numbers, a
copy of it runs in which the name `np` means a NumPy whose makers make arrays of the kind. The
program itself and NumPy stay as they are, and compiled code gets what it always got.
"""

import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType

import numpy as np

from gradcheck.language.kinds import KINDS
from gradcheck.opinions.limits import EPSILON
from gradcheck.values import Routine, Value

DEEP = 5  # objects inside objects that are looked into for what they keep
MOST = 1000  # parts of a container that is copied
MAKERS = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
GATHERERS = ("array", "asarray", "fromiter")
LIBRARIES = frozenset({"gradcheck", "torch", "jax", "jaxlib", "autograd", "numba", "scipy"})
OURS = "gradcheck.testing"  # closures of ours around what the user wrote: only they are looked into
LONGEST = 56  # characters of a line of source in a message
Makers = Mapping[str, Routine]  # what is called with a maker of NumPy's and its arguments
NO_MAKERS: Makers = MappingProxyType({})
PASSIVE: Value = (type, ModuleType, FunctionType, MethodType, partial)


class Kept:
    """Everything that some functions can reach and change, as it was when this was made."""

    def __init__(self, *functions: Value) -> None:
        """Remember what the functions' objects, closures and globals hold now."""
        self._seen: dict[int, Value] = {}
        self._saved: list[tuple[Value, Value]] = []
        for function in functions:
            self._look(function, 0)

    def put_back(self) -> None:
        for holder, content in self._saved:
            if not _is_same(holder, content):
                _fill(holder, content)

    def has_changed(self) -> bool:
        return not all(_is_same(*saved) for saved in self._saved)

    def _look(self, thing: Value, depth: int) -> None:
        if depth > DEEP or id(thing) in self._seen or thing is None:
            return
        named = thing if isinstance(thing, FunctionType | MethodType) else type(thing)
        if _root(str(getattr(named, "__module__", ""))) in LIBRARIES:
            return
        self._seen[id(thing)] = thing
        if isinstance(thing, np.ndarray | dict | list):
            self._saved.append((thing, thing.copy()))
        elif _has_attributes(thing):
            self._saved.append((thing, dict(vars(thing))))
        cells = getattr(thing, "__closure__", None) or () if callable(thing) else ()
        self._saved += [(cell, _content(cell)) for cell in cells if _content(cell) is not cell]
        for inner in _inside(thing):
            self._look(inner, depth + 1)


def _root(name: str) -> str:
    return name.partition(".")[0]


def _has_attributes(thing: Value) -> bool:
    """Whether it is an object of somebody's class that keeps its own attributes."""
    return type(getattr(thing, "__dict__", None)) is dict and not isinstance(thing, PASSIVE)


def _content(cell: CellType) -> Value:
    """What a variable of a closure holds; the cell itself where that is nothing."""
    try:
        return cell.cell_contents
    except ValueError:
        return cell


def _inside(thing: Value) -> Iterator[Value]:
    if isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, FunctionType):
        yield from map(_content, thing.__closure__ or ())
        for value in map(thing.__globals__.get, thing.__code__.co_names):
            state = _has_attributes(value) and not callable(value)
            if state or isinstance(value, FunctionType | np.ndarray | dict | list):
                yield value
    elif isinstance(thing, dict):
        yield from thing.values()
    elif isinstance(thing, list | tuple):
        yield from thing
    elif _has_attributes(thing):
        yield from vars(thing).values()


def _fill(holder: Value, content: Value) -> None:
    if isinstance(holder, np.ndarray):
        holder[...] = content
    elif isinstance(holder, list):
        holder[:] = content
    elif isinstance(holder, CellType):
        holder.cell_contents = content
    else:
        held: Value = holder if isinstance(holder, dict) else vars(holder)
        held.clear()
        held.update(content)


def _is_same(holder: Value, content: Value) -> bool:
    """Whether it holds the same: arrays bit by bit, elsewhere the very same objects."""
    if isinstance(holder, np.ndarray):
        return bool(holder.dtype == object or holder.tobytes() == content.tobytes())
    if isinstance(holder, CellType):
        return _content(holder) is content
    now = holder if isinstance(holder, dict | list) else vars(holder)
    if isinstance(now, list):
        now, content = dict(enumerate(now)), dict(enumerate(content))
    return now.keys() == content.keys() and all(now[name] is content[name] for name in now)


# -- copies --------------------------------------------------------------------------------------


def makers_of(kind: str) -> Makers:
    """Makers of arrays of floats that give arrays of a kind of number instead."""
    makers = dict.fromkeys(MAKERS, partial(_make, kind))
    return makers | dict.fromkeys(GATHERERS, partial(_gather, kind))


def _make(kind: str, maker: Routine, *args: Value, **kwargs: Value) -> Value:
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


class _Renamed:
    """A module in which some names mean something else."""

    def __init__(self, of: Callable[[str], Value]) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Value:
        return self._of(name)


class Copies:
    """Copies of functions, classes and objects of the user's, whose `np` may have other makers.

    Each is made once; arrays are shared with the original.
    """

    def __init__(self, makers: Makers = NO_MAKERS) -> None:
        others = {name: partial(maker, getattr(np, name)) for name, maker in makers.items()}
        # by the original's identity, and the original, that it stays its own
        self._made: dict[int, tuple[Value, Value]] = {}
        for name, maker in others.items():
            self._made[id(getattr(np, name))] = getattr(np, name), maker
        numpy: Value = _Renamed(lambda name: others.get(name) or getattr(np, name))
        self._made[id(np)] = np, numpy if makers else np

    def of(self, thing: Value) -> Value:
        """The copy of a thing, or the thing itself where nothing in it makes arrays."""
        if id(thing) not in self._made:
            self._made[id(thing)] = thing, thing  # of what refers to itself while it is looked into
            self._made[id(thing)] = thing, self._copy(thing)
        return self._made[id(thing)][1]

    def functions(self, code: CodeType) -> list[FunctionType]:
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
            renamed = _Renamed(lambda name: self.of(getattr(thing, name)))
            return renamed if is_theirs(thing) else thing
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
        for name in () if ours else set(_used_names(code)) & names.keys():
            mine[name] = self.of(names[name])
        for name, cell, was in zip(code.co_freevars, closure, cells, strict=True):
            if (held := _content(was)) is not was:
                # `super()` looks beyond the class that is written there
                cell.cell_contents = held if name == "__class__" else self.of(held)
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
    named = str(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__ or "")
    file = str(getattr(sys.modules.get(named), "__file__", None) or "")
    installed = "site-packages" in file or (isinstance(thing, ModuleType) and not file)
    known = LIBRARIES | {"numpy"} | sys.stdlib_module_names
    return not installed and _root(named) not in known


def _used_names(code: CodeType) -> Iterator[str]:
    """The names that a function's text uses, inside functions inside it too."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _used_names(inner)


# -- where single precision enters a program whose arguments are doubles ---------------------------


class Coarse:
    """Floats coarser than float64, and the line of the program where they were first seen."""

    def __init__(self) -> None:
        self.kind = ""
        self.place = self.text = ""
        self.unit = EPSILON

    def look(self, value: Value, code: CodeType | None = None, line: int = 0) -> None:
        dtype: Value = getattr(value, "dtype", None)
        if getattr(dtype, "kind", "") != "f" or dtype.itemsize >= np.dtype(float).itemsize:
            return
        self.unit = max(self.unit, float(np.finfo(dtype).eps))
        if not self.kind:
            self.kind = dtype.name
            if code is not None:
                self.place = f"{Path(code.co_filename).name}:{line}"
                self.text = linecache.getline(code.co_filename, line).strip()[:LONGEST]

    def __str__(self) -> str:
        """What a reader should know of it; nothing where all is in doubles."""
        where = f" at {self.place}" if self.place else ""
        told = f"{self.kind} enters{where}; judged as far as it can show (rtol= says how far)"
        return f"{told}\n{self.text}" if self.text else told


CAST = re.compile(
    r"(?:astype\(|dtype=)\s*(?:np\.)?['\"]?<?(float16|float32|half|single|f[24]?)\b"
    r"|np\.(float16|float32|half|single)\("
)


def coarse_inside(run: Callable[[], Value]) -> Coarse:
    """What is coarser than float64 in the lines of a program, its variables and results.

    What a line casts to may have no name: its text tells.
    """
    found, was = Coarse(), sys.gettrace()

    def trace(frame: Value, event: str, given: Value) -> Value:
        if _root(str(frame.f_globals.get("__name__", ""))) in LIBRARIES | {"numpy"}:
            return None
        code, last = frame.f_code, frame.f_lineno

        def within(frame: Value, event: str, given: Value) -> Value:
            nonlocal last
            if event in ("line", "return"):
                casts = CAST.finditer(linecache.getline(code.co_filename, last))
                cast = (np.zeros((), each[1] or each[2]) for each in casts)
                given = given if type(given) is tuple else (given,)
                for value in (*cast, *frame.f_locals.values(), *given):
                    found.look(value, code, last)
                last = frame.f_lineno
            return within

        return within

    try:
        sys.settrace(trace)
        with np.errstate(all="ignore"):
            came = run()
    except Exception:  # noqa: BLE001 - only looked at: a user's code may raise anything
        return found
    finally:
        sys.settrace(was)
    for value in came if type(came) is tuple else (came,):
        found.look(value)
    return found
