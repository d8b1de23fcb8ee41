"""Abstract values: what a name is bound to while a function is read.

A value is one of: a plain Python object that is known now; a `Var`, a number known only at run time; a `Ref`, an array;
a container of values; or one of the small classes below.
"""

from __future__ import annotations

import ast
import dataclasses
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np

from ...ir import Atom, Aval, Capture, DType, Var
from ...ops.core import Attrs, Dim, Op
from ...records import dataclass
from ...thrown import Hole
from ..text.libraries import is_library
from ..text.source import Source, as_private

Value = Any
Path = tuple[tuple[str, Any], ...]  # ("item", key) and ("attr", name) steps
Strides = tuple[int, ...]


class Cell:
    """The storage of an array: names and views that share memory share the cell, and see each other's writes.

    `atom` is the content now. `birth` counts cells as they are made. `sources` are cells whose memory this one may be;
    `twins` are cells that certainly are the same memory. For `ambiguous`, `shadows` and `stale` see the module aliases,
    for `origin` and `swapped` the module layout. `choice`: which array of the caller's it is, where a number of the run
    says that. `immutable`: it is an Array, the caller's or computed from one, of which `x += y` makes a new one.
    `sides`: the condition by which it is one of two cells, and these; `either`, where a store into it can be told: the
    condition, and the two arrays, without those that nobody else sees.
    """

    __slots__ = (
        *("ambiguous", "atom", "birth", "choice", "either", "immutable", "name", "origin", "shadows", "sides"),
        *("sources", "stale", "swapped", "twins"),
    )

    def __init__(self, atom: Atom, birth: int = 0) -> None:
        self.atom = atom
        self.birth = birth
        self.name: str = ""  # what the user first called it: the hint of what is stored later
        self.ambiguous: str = ""
        self.sources: tuple[Cell, ...] = ()
        self.twins: tuple[Cell, ...] = ()
        self.shadows: tuple[Cell, ...] = ()
        self.stale: str = ""
        self.origin: Origin | None = None
        self.swapped = False
        self.choice: Choice | None = None
        self.immutable = False
        self.sides: tuple[Atom, Cell, Cell] | None = None
        self.either: tuple[Atom, Ref | None, Ref | None] | None = None

    @property
    def group(self) -> tuple[Cell, ...]:
        """The cells that are this memory."""
        return (self, *self.twins)

    @property
    def doubt(self) -> str:
        """Why nobody knows which memory this is, if so."""
        return next((c.ambiguous for c in self.group if c.ambiguous), "")


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of these arrays, which `number` counts; None stands for those that are not the caller's."""

    number: Atom
    of: tuple[Ref | None, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """The operands that decided how an array lies in memory; `strides`, in elements, are None if unknown."""

    operands: tuple[Cell, ...]
    strides: Strides | None


@dataclass(frozen=True, slots=True)
class IndexStep:
    """A basic index, or a diagonal. Positions in `dims`, of Dyn and Gather, count from 0 within `dynamic`."""

    dims: tuple[Dim, ...]
    dynamic: tuple[Atom, ...]
    aval: Aval


@dataclass(frozen=True, slots=True)
class OpStep:
    """An operation whose result shares memory with its first argument: reshape, transpose, ..."""

    op: Op
    attrs: Attrs
    extra: tuple[Atom, ...]
    aval: Aval


Step = IndexStep | OpStep


class Ref:
    """An array: a cell and the view steps that lead from it."""

    __slots__ = ("cell", "name", "path")

    def __init__(self, cell: Cell, path: tuple[Step, ...] = ()) -> None:
        self.cell = cell
        self.path = path
        self.name: str = ""  # what the user called the view: the hint of what is read through it

    @property
    def aval(self) -> Aval:
        return self.path[-1].aval if self.path else self.cell.atom.aval

    def __repr__(self) -> str:
        return f"Ref({self.aval})"


@dataclass(frozen=True, slots=True)
class RunRange:
    """range(start, stop, step) where one of them is known only at run time."""

    start: Value
    stop: Value
    step: Value = 1
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Zip:
    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """np.ndindex(*shape): the indices of an array of this shape, in C order."""

    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """`x.flat`, by the view of x with one axis: iterated over and written it is x; what is read from it is a copy."""

    line: Ref


@dataclass(frozen=True, slots=True)
class Enumerate:
    inner: Value
    start: Value = 0


@dataclass(frozen=True, slots=True)
class Reversed:
    inner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Endless:
    """itertools.count, cycle, repeat: as many elements as what goes beside it, or until a loop is left. `counts`: the
    start and the step of a count.
    """

    item: Callable[[int], Value]
    counts: tuple[Value, Value] | None = None


@dataclass(slots=True, eq=False)
class Iterated:
    """An iterator that somebody holds, by what it runs over: a zip, a map, iter(x), ... It can be consumed once."""

    inner: Value
    used: Value = False


@dataclass(slots=True, eq=False)
class Generator:
    """An iterator that evaluates a piece at a time: all that it gives, and what it reads on the way, of which nothing
    may have changed since the journal was `mark` long.
    """

    name: str
    items: tuple[Value, ...]
    cells: frozenset[Cell]
    containers: tuple[Any, ...]
    names: tuple[tuple[Frame, str, Value], ...]  # of functions around it, with what they meant
    mark: int
    used: Value = False

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class DictView:
    """d.keys(), d.values() or d.items() that somebody holds: what it gives is what is in the dict by then."""

    owner: dict[Any, Value]
    kind: str

    def of(self, key: Any) -> Value:
        value = self.owner[key]
        return key if self.kind == "keys" else value if self.kind == "values" else (key, value)

    @property
    def elements(self) -> list[Value]:
        return [self.of(key) for key in self.owner]


LAZY = (RunRange, Zip, Grid, Enumerate, Reversed, Endless, Iterated, Generator, DictView)  # Python iterators and views


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A text with run-time values in it, that an exception is to be raised with."""

    parts: tuple[str | Hole, ...]
    values: tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method of an abstract value: `x.sum`, `items.append`."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A Python function with its first argument."""

    function: Value
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """super(): what the classes behind `cls` give the object."""

    cls: type
    owner: Value


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function defined while reading. It sees the names of the frame around it as they are when it is called."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    defaults: dict[str, Value]

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    function: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Foreign:
    """An object or module outside the function, with the way to it: what is read from it is guarded or captured."""

    value: Any
    capture: Capture


Outside = tuple[int, str, Path]  # a place outside the function: where its name is kept, the name, the way from there


class Mirror:
    """The attributes that the function has put into an object outside it, as they are now."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """A run of an axis of size `n` whose length is not known: `start:stop:step`, the step positive."""

    start: Value
    stop: Value
    step: Value
    n: int


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The True places of a mask, which stands for as many axes as it has and leaves one."""

    mask: Atom


Part = Bounds | Places | None
FULL: Part = None


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """x[mask], x[lo:hi]: the whole array, and what each axis of the selection takes of it.

    A selection by bounds alone is a view: `whole` is the array that it shows. `strict` is the same slice as an array,
    where its length is known and only whether it lies inside the axis is not: `leaves` is true where it does not.
    `axis`: the whole says where its elements stand along this axis of the mask; so it is of np.nonzero.
    `content`: what the whole held when `axis` was told, or when `strict` was computed of slices beside it: stores into
    the whole leave them behind.
    """

    whole: Ref
    parts: tuple[Part, ...]
    strict: Ref | None = None
    leaves: Atom | None = None
    axis: int | None = None
    content: Atom | None = None

    @property
    def is_as_made(self) -> bool:
        """Whether nothing was stored into the whole since."""
        return self.content is None or self.whole.cell.atom is self.content


@dataclass(frozen=True, slots=True, eq=False)
class Updater:
    """`x.at`, of an array as it is now."""

    array: Ref


@dataclass(frozen=True, slots=True, eq=False)
class UpdatePlace:
    """`x.at[key]`."""

    array: Ref
    key: Value


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """`x.at[key].set`, `.add`, ..."""

    place: UpdatePlace
    name: str


@dataclass(frozen=True, slots=True)
class Undefined:
    """The value of a name that has no single value; an error only when the name is used.

    It would be one thing if the run-time values `needs` were known. A number of one dtype or another, `dtypes`, is
    `number` in a dtype that holds both: what casts it to its own dtype, as a store does, may use that. An argument that
    is a generator of random numbers, of which nothing is known but its class `cls`, has a `stream`: loops may draw from
    it (`streams`), by a `method`. `unbound`: of a name that has no value on some of the ways to where it is used.
    """

    why: str
    instead: str = ""
    needs: tuple[Value, ...] = ()
    number: Atom | None = None
    dtypes: tuple[DType, ...] = ()
    stream: Any = None
    method: str = ""
    cls: type = object
    unbound: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Maybe:
    """None where `absent` is true, a number or an array, `value`, where it is false."""

    value: Value
    absent: Value


@dataclass(frozen=True, slots=True, eq=False)
class Unset(Maybe):
    """What a name holds that has no value where `absent` is true (`unset`)."""


YIELDS = "%yields"  # the name under which the frame of a generator holds what it has yielded
SHARED = "%shared"  # the name under which a frame holds its SharedNames


MIRRORS = "%mirrors"  # that under which the outermost frame holds those that there are


class SharedNames:
    """The names of a function that its inner functions bind (`nonlocal`), as attributes."""


class Frame:
    """One call being read: its source, its names, and the scope in which the function was defined."""

    __slots__ = (
        "blocks", "call", "caller", "entered", "env", "fixed", "live", "name", "outer", "scope", "source", "statement",
    )  # fmt: skip

    def __init__(
        self, source: Source, outer: Frame | None, caller: Frame | None, scope: Any, live: Any, fixed: bool, name: str
    ) -> None:
        self.source = source
        self.caller = caller
        self.call: ast.AST | None = None  # what calls it, in the caller's source
        self.statement: ast.AST | None = None  # that is being read
        self.env: dict[str, Value] = {}
        self.outer = outer
        self.scope = scope
        self.live = live
        self.fixed = fixed  # spans stay those of the caller: library source and derivative rules
        self.name = name
        self.blocks = 0  # that were being read when it was entered (recursion.py)
        self.entered: Any = None  # what the arguments were, where somebody asks for it (recursion.py)


class OpenList:
    """A list of the program whose length is not known when it is read: the base of what stands for such lists."""


class Filling(OpenList):
    """A list in a loop that appends to it in every turn (`listed`): `before` the loop, and where its elements are.

    Cells born up to `births` are older than the loop.
    """

    def __init__(self, before: list[Value], births: int) -> None:
        self.before = list(before)
        self.births = births
        self.rows: Ref | None = None
        self.aval: Aval | None = None  # of the elements
        self.turn: Value = None
        self.last: Value = None  # what this turn has appended
        self.cells: dict[Cell, Atom] = {}  # the arrays on the list, and what they hold
        self.names: set[str] = set()  # that lead to them
        self.numbers: list[Atom] = []  # on the list

    def begin(self, turn: Value) -> None:
        """A turn; the next one where the body is read again."""
        self.turn, self.last = turn, None
        self.cells.clear()
        self.numbers.clear()
        if self.rows is None:
            self.aval = None


def is_runtime(v: Value) -> bool:
    """Whether the value itself (not what it contains) is known only at run time."""
    return type(v) is Var or type(v) is Ref


def aval_of_value(v: Value) -> Aval | None:
    return v.aval if type(v) is Var or type(v) is Ref else None


def is_weak(v: Value) -> bool:
    """Whether the value is a Python number of the run."""
    return type(v) is Var and v.aval.weak


def is_number(v: Value) -> bool:
    """A Python or NumPy number known now; bool is not one."""
    return type(v) in (int, float, complex) or (isinstance(v, np.generic) and v.dtype.kind in "iufcV")


_LEAVES = frozenset(
    {Var, Ref, Masked, Closure, Method, Bound, Partial, Foreign, Undefined, RunRange, Zip, Enumerate, Reversed}
    | {Updater, UpdatePlace, Update, Endless, Flat, Super, Generator, Iterated, DictView, Maybe, Unset}
)


def is_leaf(v: Value) -> bool:
    return type(v) in _LEAVES


def is_object(v: Value) -> bool:
    """An instance of a user's class: something with attributes that is no function, class or module."""
    if is_leaf(v) or isinstance(v, _NO_OBJECTS):
        return False
    return hasattr(v, "__dict__") or bool(_slots(type(v)))


def is_mapping(v: Value) -> bool:
    """A dict, or one of a class of dicts that has nothing but its entries: OrderedDict, defaultdict, Counter."""
    return isinstance(v, dict) and not getattr(v, "__dict__", None)


def with_entries(d: dict[Any, Any], entries: Iterable[tuple[Any, Value]]) -> dict[Any, Any]:
    """A new dict of the class of `d`, with other values at its keys."""
    made = copy(d)
    put = OrderedDict.__setitem__ if isinstance(made, OrderedDict) else dict.__setitem__  # no method of a user's class
    for key, value in entries:
        put(made, key, value)
    return made


def is_transformed(v: Any) -> bool:
    """Whether it is a function that says itself how it is read. Objects are not asked: they may answer anything."""
    return hasattr(type(v), "__untraced_read__") or "__untraced_read__" in (
        v.__dict__ if isinstance(v, types.FunctionType) else ()
    )


def attributes_of(v: Any) -> dict[str, Value]:
    """The attributes of an object itself, by name; not to be written to."""
    own: dict[str, Value] = getattr(v, "__dict__", {})
    slots = _slots(type(v))
    return {**dict(_held(v, slots)), **own} if slots else own


def _held(v: Any, slots: Iterable[str]) -> Iterator[tuple[str, Value]]:
    for name in slots:
        try:
            yield name, object.__getattribute__(v, name)  # not by a __getattr__ of the user's
        except AttributeError:
            continue  # nothing is in it


def _slots(cls: type) -> tuple[str, ...]:
    """The names in the `__slots__` of a user's class and those above it, as they are in its objects."""
    known = _SLOTS.get(cls)
    if known is None:
        own = [] if is_library(cls) else [(c, c.__dict__.get("__slots__", ())) for c in reversed(cls.__mro__)]
        listed = [(c, name) for c, names in own for name in ((names,) if isinstance(names, str) else names)]
        named = [as_private(name, c.__name__) for c, name in listed]
        known = _SLOTS[cls] = tuple(name for name in named if name not in ("__dict__", "__weakref__"))
    return known


_SLOTS: weakref.WeakKeyDictionary[type, tuple[str, ...]] = weakref.WeakKeyDictionary()
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_NO_OBJECTS = (*_FUNCTIONS, Filling, ast.AST, type, types.ModuleType, np.ufunc, dataclasses.Field)


def leaves_in(v: Value) -> Iterator[Value]:
    """The leaves of containers, abstract or plain."""
    if type(v) in (tuple, list):
        for item in v:
            yield from leaves_in(item)
    elif isinstance(v, dict):
        for item in v.values():
            yield from leaves_in(item)
    elif isinstance(v, tuple):
        for item in v:
            yield from leaves_in(item)
    else:
        yield v


def has_runtime(v: Value) -> bool:
    """Whether anything in the value is known only at run time."""
    if type(v) in (int, float, str, bool, type(None)):
        return False
    return any(is_leaf(x) for x in leaves_in(v))


def describe(v: Value) -> str:
    """A person's word for the value, for messages."""
    aval = aval_of_value(v)
    if aval is not None:
        if aval.weak:
            kinds = {"i": "int", "f": "float", "c": "complex", "b": "bool"}
            return f"a Python {kinds[aval.dtype.kind]}"
        return f"an array of shape {aval.shape} and dtype {aval.dtype}" if aval.shape else f"a {aval.dtype} number"
    if v is None:
        return "None"
    if isinstance(v, Masked):
        return "a selection whose size is not known before the run"
    if isinstance(v, OpenList):
        return "a list whose length is not known before the run"
    if isinstance(v, Closure):
        return f"the function {v.name}"
    if isinstance(v, Undefined):
        return "undefined"
    if isinstance(v, Maybe):
        return f"None or {describe(v.value)}"
    kind = type(v.value if isinstance(v, Foreign) else v).__name__
    return f"a {kind} of {len(v)}" if type(v) in (list, tuple, dict, set) else f"a {kind}"


def class_name(v: Value) -> str:
    """The name of its class, as Python's own messages have it."""
    aval = aval_of_value(v)
    if isinstance(v, OpenList):
        return "list"
    if aval is None:
        return type(v.value if isinstance(v, Foreign) else v).__name__
    if aval.weak:
        return type(aval.dtype.type(0).item()).__name__
    return "numpy.ndarray" if aval.shape else f"numpy.{aval.dtype}"


def has_array_method(v: Value) -> bool:
    """Whether it is an object of the user's that NumPy makes an array of."""
    return hasattr(type(v.value if isinstance(v, Foreign) else v), "__array__")


def hint_of(name: str) -> str:
    """The hint for a variable bound to a name; of a made-up name such as `%stop0_12_4` the word in it."""
    return name.strip("%").rstrip("0123456789_") if name.startswith("%") else name
