"""What functions reach: its state, put back after every call; copies of it in which `np` is ours.

NumPy's makers of arrays do not ask what will be written into what they make: where a program fails
for that on other numbers, a copy runs. The program, NumPy and compiled code stay as they are.
"""

import linecache
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from zlib import crc32

import numpy as np

from gradcheck.language.kinds import KINDS
from gradcheck.opinions.limits import EPSILON
from gradcheck.values import Array, Params, Routine, Value

DEEP = 16  # objects inside objects that are looked into for what they keep
MOST = 1000  # parts of a container that is copied
MOVED = 1 / 32  # of a constant, times one to eight: so that no two move alike
MAKERS = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
GATHERERS = ("array", "asarray", "fromiter")
LIBRARIES = frozenset({"gradcheck", "torch", "jax", "jaxlib", "autograd", "numba", "scipy"})
OURS = "gradcheck.testing"  # closures of ours around what the user wrote: only they are looked into
PASSIVE: Value = (type, ModuleType, FunctionType, MethodType, partial)
EMPTY: Value = object()  # what a variable of a closure holds that is not bound yet


def read_kind(value: Value) -> str:
    return str(getattr(getattr(value, "dtype", None), "kind", ""))


def find_root(name: Value) -> str:
    return str(name).partition(".")[0]


def _has_attributes(thing: Value) -> bool:
    return type(getattr(thing, "__dict__", None)) is dict and not isinstance(thing, PASSIVE)


def read_holder(thing: Value) -> Value:
    return vars(thing) if _has_attributes(thing) else thing


def _read_cell(cell: CellType) -> Value:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Kept:
    """Everything that some functions can reach and change, as it was when this was made."""

    def __init__(self, *functions: Value) -> None:
        self._seen: dict[int, Value] = {}
        self._saved: list[tuple[Value, Value]] = []
        for function in functions:
            self._look(function, 0)

    def put_back(self) -> None:
        for holder, content in self._saved:
            if _is_same(holder, content):
                continue
            if isinstance(holder, np.ndarray):
                holder[...] = content
            elif isinstance(holder, list):
                holder[:] = content
            elif isinstance(holder, CellType):
                holder.cell_contents = content
            else:
                holder.clear()
                holder.update(content)

    def has_changed(self) -> bool:
        return not all(_is_same(*saved) for saved in self._saved)

    def list_held(self) -> Iterator[tuple[Value, Value, Array]]:
        """Every array that an object, a dict or a list among them holds: what holds it, and how."""
        for thing in self._seen.values():
            holder = read_holder(thing)
            listed = enumerate(holder) if isinstance(holder, list) else ()
            held = holder.items() if isinstance(holder, dict) else listed
            yield from ((thing, name, v) for name, v in held if isinstance(v, np.ndarray))

    def has(self, thing: Value) -> bool:
        return id(thing) in self._seen

    def _look(self, thing: Value, depth: int) -> None:
        if depth > DEEP or id(thing) in self._seen or thing is None:
            return
        named = thing if isinstance(thing, FunctionType | MethodType) else type(thing)
        if find_root(getattr(named, "__module__", "")) in LIBRARIES:
            return
        self._seen[id(thing)] = thing
        holder = read_holder(thing)
        if isinstance(holder, np.ndarray | dict | list):
            self._saved.append((holder, holder.copy()))
        elif isinstance(holder, CellType) and _read_cell(holder) is not EMPTY:
            self._saved.append((holder, _read_cell(holder)))
        for inner in _walk_inside(thing):
            self._look(inner, depth + 1)


def _walk_inside(thing: Value) -> Iterator[Value]:
    if isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, CellType):
        yield _read_cell(thing)
    elif isinstance(thing, FunctionType):
        yield from thing.__closure__ or ()
        for value in map(thing.__globals__.get, thing.__code__.co_names):
            state = _has_attributes(value) and not callable(value)
            if state or isinstance(value, FunctionType | np.ndarray | dict | list):
                yield value
    elif isinstance(thing, dict) or _has_attributes(thing):
        yield from (thing if isinstance(thing, dict) else vars(thing)).values()
    elif isinstance(thing, list | tuple):
        yield from thing


def _is_same(holder: Value, content: Value) -> bool:
    """Whether it holds the same: arrays bit by bit, elsewhere the very same objects."""
    if isinstance(holder, np.ndarray):
        return bool(holder.dtype == object or holder.tobytes() == content.tobytes())
    if isinstance(holder, CellType):
        return _read_cell(holder) is content
    if isinstance(holder, list):
        holder, content = dict(enumerate(holder)), dict(enumerate(content))
    return holder.keys() == content.keys() and all(holder[k] is content[k] for k in content)


# -- copies --------------------------------------------------------------------------------------


def _make(kind: str, maker: Routine, *args: Value, **kwargs: Value) -> Value:
    """What a maker of arrays makes, of numbers of a kind where it would be of floats."""
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
    held = list(held) if isinstance(held, Iterator) else held
    dtype = rest[0] if rest else kwargs.get("dtype")
    if np.dtype(dtype).kind == "f" and KINDS[kind].is_among(held):
        return KINDS[kind].function("array")(held)
    return maker(held, *rest, **kwargs)


class _Renamed:
    def __init__(self, of: Routine) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Value:
        return self._of(name)


class Copies:
    """Copies of functions, classes and objects of the user's, whose `np` may make other numbers.

    Each is made once; arrays are shared with the original.
    """

    def __init__(self, kind: str = "") -> None:
        """Of functions in which NumPy makes numbers of a kind; without one, as they are."""
        # by the original's identity, and the original, that it stays its own
        self._made: dict[int, tuple[Value, Value]] = {id(np): (np, np)}
        if kind:
            filled = {n: getattr(np, n.replace("empty", "zeros")) for n in MAKERS}  # no old memory
            others = {name: partial(_make, kind, maker) for name, maker in filled.items()}
            others |= {name: partial(_gather, kind, getattr(np, name)) for name in GATHERERS}
            numpy = _Renamed(lambda name: others.get(name) or getattr(np, name))
            self._made[id(np)] = np, numpy
            self._made |= {id(getattr(np, n)): (getattr(np, n), m) for n, m in others.items()}

    def of(self, thing: Value) -> Value:
        """The copy of a thing, or the thing itself where nothing in it makes arrays."""
        if id(thing) not in self._made:
            self._made[id(thing)] = thing, thing  # of what refers to itself while it is looked into
            self._made[id(thing)] = thing, self._copy(thing)
        return self._made[id(thing)][1]

    def functions(self, code: CodeType) -> list[FunctionType]:
        every = (made for was, made in self._made.values() if made is not was)
        return [f for f in every if isinstance(f, FunctionType) and f.__code__ is code]

    @contextmanager
    def moving_constants(self, names: Container[str], kind: type) -> Iterator[bool]:
        """Every number of a kind that copies find by one of some names is another, if there is one.

        In their modules, or in objects; whole numbers are one more.
        """
        held: dict[tuple[int, str], tuple[dict[str, Value], Value]] = {}
        for was, made in self._made.values():
            own: Value = {}
            if made is not was and _has_attributes(made):
                own = vars(made)
            elif isinstance(made, FunctionType) and made.__globals__ is not was.__globals__:
                own = made.__globals__
            mine = ((name, v) for name, v in own.items() if type(v) is kind and name in names)
            held |= {(id(own), name): (own, v) for name, v in mine}
        for (_, name), (own, value) in held.items():
            moved = value * (1 + MOVED * (1 + crc32(name.encode()) % 8))
            own[name] = value + 1 if kind is int else moved
        try:
            yield bool(held)
        finally:
            for (_, name), (own, value) in held.items():
                own[name] = value

    def _copy(self, thing: Value) -> Value:
        if isinstance(thing, FunctionType):
            around = thing.__closure__ and str(thing.__module__).startswith(OURS)
            return self._function(thing) if around or is_theirs(thing) else thing
        if isinstance(thing, MethodType):
            return MethodType(self.of(thing.__func__), self.of(thing.__self__))
        if isinstance(thing, partial):
            function, *args = map(self.of, (thing.func, *thing.args))
            return partial(function, *args, **self._copy_values(thing.keywords))
        if type(thing) is tuple and len(thing) <= MOST:
            parts = tuple(map(self.of, thing))
            return thing if all(a is b for a, b in zip(parts, thing, strict=True)) else parts
        if type(thing) in (list, dict) and len(thing) <= MOST:
            made = thing.copy()
            self._made[id(thing)] = thing, made
            for key in thing if isinstance(thing, dict) else range(len(thing)):
                made[key] = self.of(thing[key])
            return made
        if isinstance(thing, ModuleType):
            return _Renamed(lambda n: self.of(getattr(thing, n))) if is_theirs(thing) else thing
        return self._class(thing) if isinstance(thing, type) else self._object(thing)

    def _copy_values(self, things: Mapping[Value, Value]) -> dict[Value, Value]:
        return {name: self.of(value) for name, value in things.items()}

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
        for name in () if ours else set(list_used(code)) & names.keys():
            mine[name] = self.of(names[name])
        for name, cell, was in zip(code.co_freevars, closure, cells, strict=True):
            if (held := _read_cell(was)) is not EMPTY:
                # `super()` looks beyond the class that is written there
                cell.cell_contents = held if name == "__class__" else self.of(held)
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
        made.__dict__.update(self._copy_values(vars(thing)))
        return made


def is_theirs(thing: Value) -> bool:
    """Whether a function, class or module is the user's: no library's, nor Python's own."""
    named = str(thing.__name__ if isinstance(thing, ModuleType) else thing.__module__ or "")
    file = str(getattr(sys.modules.get(named), "__file__", None) or "")
    installed = "site-packages" in file or (isinstance(thing, ModuleType) and not file)
    return not installed and find_root(named) not in LIBRARIES | {"numpy"} | sys.stdlib_module_names


def list_used(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from list_used(inner)


def list_called(run: Callable[[], object]) -> dict[CodeType, Params]:
    """What somebody's functions run, in the order in which they are called first.

    With the floats that names hold where they end, and the numbers that `self` keeps.
    """
    found: dict[CodeType, Params] = {}

    def look(frame: Value, event: str, _: Value) -> None:
        if event == "call":
            found.setdefault(frame.f_code, {})
        elif event == "return":
            local = frame.f_locals
            kept = getattr(local.get("self"), "__dict__", {}).items()
            found[frame.f_code] = {
                **{name: v for name, v in local.items() if _is_number(v, float, "f")},
                **{f"self.{name}": v for name, v in kept if _is_number(v, int | float, "fiub")},
            }

    if sys.getprofile() is None:  # somebody's profiler could not be put back
        sys.setprofile(look)
        try:
            run()
        finally:
            sys.setprofile(None)
    return found


def _is_number(value: Value, plain: Value, kinds: str) -> bool:
    """A number or an array of some kinds; no `np.matrix`, of which `m[..., None]` ends NumPy."""
    array = (read_kind(value) or "-") in kinds and not isinstance(value, np.matrix)
    return array or isinstance(value, plain)


# -- where single precision enters a program whose arguments are doubles ---------------------------

LONGEST = 56  # characters of a line of source in a message
CAST = re.compile(
    r"(?:astype\(|dtype=)\s*(?:np\.)?['\"]?<?(float16|float32|half|single|f[24]?)\b"
    r"|np\.(float16|float32|half|single)\("
)


class Coarse:
    """Floats coarser than float64 in a run, and the line of the program where they came first."""

    def __init__(self, run: Callable[[], Value]) -> None:
        """Run it: its variables and results are looked at, and what a line casts to by its text."""
        self.kind = self.place = self.text = ""
        self.unit = EPSILON
        was = sys.gettrace()
        try:
            sys.settrace(self._trace)
            with np.errstate(all="ignore"):
                came = run()
        except Exception:  # noqa: BLE001 - only looked at: a user's code may raise anything
            came = None
        finally:
            sys.settrace(was)
        self._look(came)

    def _trace(self, frame: Value, event: str, given: Value) -> Value:
        if find_root(frame.f_globals.get("__name__", "")) in LIBRARIES | {"numpy"}:
            return None
        file, last = frame.f_code.co_filename, frame.f_lineno

        def within(frame: Value, event: str, given: Value) -> Value:
            nonlocal last
            if event in ("line", "return"):
                casts = CAST.finditer(linecache.getline(file, last))
                found = [np.zeros((), each[1] or each[2]) for each in casts]
                self._look(given, (*found, *frame.f_locals.values()), file, last)
                last = frame.f_lineno
            return within

        return within

    def _look(self, came: Value, more: Value = (), file: str = "", line: int = 0) -> None:
        values = (*more, *(came if type(came) is tuple else (came,)))
        for kind in (value.dtype for value in values if read_kind(value) == "f"):
            self.unit = max(self.unit, float(np.finfo(kind).eps))
            if self.unit > EPSILON and not self.kind:
                self.kind = kind.name
                self.place = f"{Path(file).name}:{line}" if file else ""
                self.text = linecache.getline(file, line).strip()[:LONGEST]

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        told = f"{self.kind} enters{where}; judged as far as it can show (rtol= says how far)"
        return f"{told}\n{self.text}" if self.text else told
