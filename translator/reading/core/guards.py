"""What a function reads from outside itself: arrays become hidden parameters, the rest is known now and guarded."""

from __future__ import annotations

import builtins
import contextvars
import enum
import functools
import inspect
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

import numpy as np

from ...errors import CutError, Diagnostic, DTypeError, ObjectsError
from ...ir import Atom, Aval, Capture, Param, Root, Var, const
from ...records import dataclass
from ...tree import ARRAY, LEAF, TreeDef, is_namedtuple
from ..text.libraries import is_library, of_library
from ..text.signature import aval_of, is_array_without_axes, is_swapped, runs, value_key
from ..text.source import Scope
from .detours import Restart
from .values import Bound, Cell, Foreign, Outside, Partial, Ref, Value, is_transformed

_MISSING = object()

varying: contextvars.ContextVar[frozenset[Outside]] = contextvars.ContextVar("varying", default=frozenset())
"""Numbers outside the function that are known to change: they are read at every call, and no part of the program."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A fact about the outside that a reading relies on. `kind`: same, equal, array, swapped (an array with its bytes
    in the other order), content, structure, absent.
    """

    capture: Capture
    kind: str
    expected: Any
    space: Any = field(compare=False, repr=False)  # the dict or closure cell that holds the root, found once

    @property
    def place(self) -> Outside:
        return place_of(self.capture, self.space)

    @property
    def of_number(self) -> bool:
        """Whether the guard is about the value of a number, which could be read at every call instead."""
        return self.kind == "equal" and _is_number(self.expected)

    @property
    def of_container(self) -> bool:
        """Whether the guard is about a list, a dict, a set or an object of a user's class."""
        return self.kind == "structure" or isinstance(self.expected, set) or self._of_class

    @property
    def _of_class(self) -> bool:
        return self.capture.path[-1:] == (("attr", "__class__"),)

    @property
    def of_nothing(self) -> bool:
        """Whether the guard is about absence."""
        return self.expected is _MISSING

    def value(self) -> Any:
        """The value found there now. Raises LookupError where there is none."""
        value = _from(self.space, self.capture)
        if value is _MISSING:
            raise LookupError(self.capture.name)
        return value

    def container(self) -> Any:
        """What the guard is about now, where that is a container."""
        if not self._of_class:
            return self.value()
        return _from(self.space, Capture(self.capture.function, self.capture.name, self.capture.path[:-1]))

    def holds(self) -> bool:
        """Whether the fact still holds."""
        value = _from(self.space, self.capture)
        if value is self.expected:
            return True
        match self.kind:
            case "same" | "absent":
                return False
            case "equal":
                return type(value) is type(self.expected) and _equal(value, self.expected)
            case "array" | "swapped":
                found = None if value is _MISSING else _aval_or_none(value)
                return found == self.expected and is_swapped(value) is (self.kind == "swapped")
            case "content":
                return isinstance(value, np.ndarray) and value.dtype == bool and np.array_equal(value, self.expected)
            case _:
                return value is not _MISSING and _structure(value) == self.expected


def place_of(capture: Capture, space: Any) -> Outside:
    return id(space.owner if isinstance(space, Root) else space), capture.name, capture.path


def place_within(capture: Capture, name: str) -> Outside:
    """The place of an attribute of what the capture leads to."""
    number, root, path = place_of(capture, space_of(capture.function, capture.name))
    return number, root, (*path, ("attr", name))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number) and not isinstance(value, bool)


def meant(value: Any) -> Any:
    """What a function of the runtime's namespaces means in a program: untraced.numpy.add is np.add.

    Those that take axes in a list, which NumPy's do not, mean it where they are called (`calls.call_value`).
    """
    if type(value) is types.FunctionType or isinstance(value, type):
        return value if "__untraced_axes__" in value.__dict__ else value.__dict__.get("__untraced_numpy__", value)
    return value


def fetch(capture: Capture) -> Any:
    """The value that a capture names now. Raises NameError where there is none."""
    value = _from(space_of(capture.function, capture.name), capture)
    if value is _MISSING:
        raise NameError(f"name {capture.name!r} is not defined")
    return value


def space_of(function: Any, name: str) -> Any:
    """The namespace that has the name: a closure cell, the module's globals, builtins, or an object."""
    if isinstance(function, Root):
        return function
    free = function.__code__.co_freevars
    if name in free:
        return function.__closure__[free.index(name)]
    if name in function.__globals__:
        return function.__globals__
    return vars(builtins)


def _from(space: Any, capture: Capture) -> Any:
    if isinstance(space, types.CellType):
        try:
            value = space.cell_contents
        except ValueError:
            return _MISSING
    else:
        value = space.get(capture.name, _MISSING)
    for how, key in capture.path:
        try:
            value = getattr(value, key) if how == "attr" else value[key]
        except (AttributeError, LookupError, TypeError):
            return _MISSING
    kind = getattr(type(value), "__untraced_python__", None)  # a number of Python's that poses as JAX's array
    return value if kind is None else kind(value)


def _aval_or_none(value: Any) -> Aval | None:
    """The abstract value; None also for arrays of objects, strings and other things that are no numbers."""
    try:
        return aval_of(value)
    except DTypeError:
        return None


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float | complex | np.generic | tuple):
        return bool(value_key(a) == value_key(b)) or bool(a is b)
    return bool(a == b) or bool(a != a and b != b)


def _structure(v: Any) -> Any:
    if isinstance(v, dict):
        return (type(v), tuple(v))
    return (type(v), len(v)) if isinstance(v, list | tuple) else type(v)


MOST_CONTAINERS = 2000


class Variables:
    """The names in a dict of globals, or the one of a closure cell, as attributes that can be set."""

    def __init__(self, space: Any) -> None:
        self.__dict__["space"] = space

    def __setattr__(self, name: str, value: Any) -> None:
        space = self.__dict__["space"]
        if isinstance(space, types.CellType):
            space.cell_contents = value
        else:
            space[name] = value


class Captures:
    """The captures and guards of one reading.

    Numbers at the places in `varying` are hidden parameters, like arrays, unless they must be `known`. An array of bool
    at a place in `known` is a constant as well: its contents are part of the program. `numbers` and `masks` map the
    hidden parameters of both kinds to their places.
    """

    def __init__(
        self, varying: frozenset[Outside] = frozenset(), known: frozenset[Outside] = frozenset()
    ) -> None:
        self.varying = varying - known
        self.pinned = known
        self.numbers: dict[Var, Outside] = {}
        self.masks: dict[Atom, Outside] = {}
        self.guards: dict[tuple[int, str, Any, str], Guard] = {}
        self.params: list[tuple[Param, Var, Cell | None]] = []
        self.values: dict[Outside, Value] = {}
        self.adopted: dict[int, tuple[Any, Capture]] = {}  # lists and dicts, and where they are found, by id
        self.containers = 0  # how many were met
        self.opened: set[int] = set()  # those that are being looked through
        self.roots: dict[int, Root] = {}

    def load(self, scope: Scope, name: str) -> Value:
        """The value of a name outside the function. Raises NameError."""
        space: Any = scope.space(name)
        if space is scope.globals and name not in space:
            space = vars(builtins)
        key = (id(space), name, ())
        if key in self.values:
            return self.values[key]
        capture = Capture(scope.function, name)
        value = _from(space, capture)
        if value is _MISSING:
            raise NameError(f"name {name!r} is not defined")
        if space is vars(builtins):
            self.guard(capture, "absent", _MISSING, scope.globals)
            return value
        return self.adopt(value, capture, space)

    def root(self, owner: Any) -> Root:
        """The Root of an object; one per object and reading."""
        return self.roots.setdefault(id(owner), Root(owner))

    def known(self, value: Any) -> Value:
        """An object that the function is specialised on, as one from outside: what it holds may change."""
        root = self.root(value)
        return self.adopt(value, Capture(root, ""), root)

    def member(self, owner: Any, name: str) -> Value:
        """An attribute of a class or a function, guarded. Raises AttributeError."""
        value = getattr(owner, name)
        root = self.root(owner)
        return self.adopt(value, Capture(root, name), root)

    def part(self, cls: type, name: str) -> Any:
        """The method or property that a class defines under a name, guarded; None where it has none."""
        found = getattr(cls, name, None)
        if found is not None and not is_library(cls):
            root = self.root(cls)
            kind = "equal" if isinstance(found, types.MethodType) else "same"
            self.guard(Capture(root, name), kind, found, root)
        return found

    def method(self, owner: Foreign, name: str) -> None:
        """Guards that an object's attribute is the method that it is now."""
        capture = Capture(owner.capture.function, owner.capture.name, (*owner.capture.path, ("attr", name)))
        self.guard(capture, "equal", getattr(owner.value, name), space_of(capture.function, capture.name))

    def absent(self, owner: Any, name: str) -> None:
        """Guards that an object, class or function from outside still has no attribute of that name."""
        if isinstance(owner, Foreign):
            capture = Capture(owner.capture.function, owner.capture.name, (*owner.capture.path, ("attr", name)))
            self.guard(capture, "same", _MISSING, space_of(capture.function, capture.name))
        elif isinstance(owner, type | types.FunctionType) and not is_library(owner):
            self.guard(Capture(self.root(owner), name), "same", _MISSING, self.root(owner))

    def of_module(self, module: types.ModuleType | type, name: str, value: Any) -> None:
        """Guards that a function of NumPy or of another library is what it is now: it may be patched."""
        root = self.root(module)
        self.guard(Capture(root, name), "same", value, root)

    def function(self, f: types.FunctionType) -> None:
        """Guards that a function's code is what was read."""
        if not is_library(f):
            root = self.root(f)
            self.guard(Capture(root, "__code__"), "same", f.__code__, root)

    def default(self, f: types.FunctionType, attribute: str, key: Any) -> Value:
        """A default value of a parameter: `key` in `f.__defaults__` or `f.__kwdefaults__`."""
        root = self.root(f)
        capture = Capture(root, attribute, (("item", key),))
        return self.adopt(getattr(f, attribute)[key], capture, root)

    def vary(self, place: Outside) -> None:
        """Note that the function itself changes this: a number there is read at every call, else each value would need
        a program of its own. Raises Restart where it was not so far.
        """
        if _is_number(self.values.get(place)) and place not in self.pinned:
            raise Restart(varying=frozenset({place}))

    def variables(self, space: Any) -> Capture:
        """The way to the names in the globals of a module, or to the one of a closure cell."""
        return Capture(self.roots.setdefault(id(space), Root(Variables(space))), "")

    def unbound(self, scope: Scope, name: str) -> None:
        """Guards that there is no such name."""
        self.guard(Capture(scope.function, name), "same", _MISSING, scope.space(name))

    def attribute(self, owner: Foreign, name: str, value: Any) -> Value:
        """A value read from an attribute of a foreign object."""
        capture = Capture(owner.capture.function, owner.capture.name, (*owner.capture.path, ("attr", name)))
        return self.adopt(value, capture, space_of(capture.function, capture.name))

    def adopt(self, value: Any, capture: Capture, space: Any) -> Value:
        """The abstract value of something outside, with the guard that it needs."""
        key = place_of(capture, space)
        if key not in self.values:
            self.values[key] = meant(self._adopt(value, capture, space))
        return self.values[key]

    def guard(self, capture: Capture, kind: str, expected: Any, space: Any) -> None:
        if isinstance(space, Root) and not capture.name and not capture.path:
            return  # the object itself, which a specialised program holds
        key = (id(space), capture.name, capture.path, kind)
        if key not in self.guards:
            self.guards[key] = Guard(capture, kind, expected, space)

    def merge(self, guards: Iterable[Guard]) -> None:
        """Guards of a reading that was spliced into this one."""
        for g in guards:
            self.guards.setdefault((id(g.space), g.capture.name, g.capture.path, g.kind), g)

    def hidden(self, aval: Aval, capture: Capture, tree: TreeDef = LEAF) -> Value:
        """The hidden parameter for an array, one per path to it."""
        var = Var(_hint(capture), aval)
        cell = Cell(var, 0) if aval.shape or tree == ARRAY else None  # older than any loop in which it is first met
        self.params.append((Param(var.hint, tree, capture), var, cell))
        return Ref(cell) if cell is not None else var

    def _adopt(self, value: Any, capture: Capture, space: Any) -> Value:
        if self.varying and _is_number(value) and place_of(capture, space) in self.varying:
            aval = aval_of(value)
            assert aval is not None
            self.guard(capture, "array", aval, space)
            hidden = self.hidden(aval, capture)
            self.numbers[hidden] = place_of(capture, space)
            return hidden
        if value is None or value is ... or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            self.guard(capture, "equal", value, space)
            return value
        try:
            aval = aval_of(value)
        except DTypeError as error:
            raise ObjectsError(error.diagnostic) from None  # CPython can work with it where it lies
        if aval is not None:
            is_mask = isinstance(value, np.ndarray) and value.dtype == bool
            if is_mask and place_of(capture, space) in self.pinned:
                self.guard(capture, "content", value.copy(), space)
                return Ref(Cell(const(value.copy()), 0))
            swapped = is_swapped(value)
            self.guard(capture, "swapped" if swapped else "array", aval, space)
            hidden = self.hidden(aval, capture, ARRAY if is_array_without_axes(value) else LEAF)
            if isinstance(hidden, Ref):
                hidden.cell.swapped = swapped
            if is_mask and isinstance(hidden, Ref):
                self.masks[hidden.cell.atom] = place_of(capture, space)
            return hidden
        if type(value) in (tuple, list, dict, OrderedDict) or is_namedtuple(value):
            self.guard(capture, "structure", _structure(value), space)
            return self._container(value, capture, space)
        if type(value) in (set, frozenset):
            self.guard(capture, "equal", value.copy(), space)
            return value.copy()
        if hasattr(type(value), "__untraced_value__") or type(value) is inspect.Signature:
            # immutable, equal by what it holds: a PyTreeDef
            self.guard(capture, "equal", value, space)
            return value
        bound = isinstance(value, types.MethodType | types.BuiltinMethodType)  # another object at every look
        self.guard(capture, "equal" if bound else "same", value, space)
        if isinstance(value, types.MethodType | functools.partial):
            return self._callable(value, capture, space)
        if isinstance(value, types.ModuleType):
            return value if of_library(value.__name__) else Foreign(value, capture)
        known = (type, enum.Enum, np.dtype, np.ufunc, range, slice)
        functions = (types.FunctionType, types.BuiltinFunctionType, type(np.sum), functools._lru_cache_wrapper)
        if isinstance(value, known + functions) or hasattr(type(value), "__array_ufunc__"):
            return value
        if is_transformed(value):
            return value
        kind = Capture(capture.function, capture.name, (*capture.path, ("attr", "__class__")))
        self.guard(kind, "same", type(value), space)
        return Foreign(value, capture)

    def _callable(self, value: Any, capture: Capture, space: Any) -> Value:
        """A bound method or functools.partial, whose contents are reached through its attributes."""

        def part(*names: Any) -> Value:
            path = tuple(("attr" if isinstance(n, str) and i == 0 else "item", n) for i, n in enumerate(names))
            inner = Capture(capture.function, capture.name, (*capture.path, *path))
            return self.adopt(_from(space, inner), inner, space)

        if isinstance(value, types.MethodType):
            return Bound(value.__func__, part("__self__"))
        args = tuple(part("args", i) for i in range(len(value.args)))
        return Partial(part("func"), args, {k: part("keywords", k) for k in value.keywords})

    def _container(self, value: Any, capture: Capture, space: Any) -> Value:
        self.containers += 1
        if self.containers > MOST_CONTAINERS:
            what = f"more than {MOST_CONTAINERS:,} lists, tuples and dicts outside the function"
            raise CutError(Diagnostic(what, why="each of them and all that they hold would be compared at every call"))
        if id(value) in self.opened:
            raise CutError(Diagnostic(f"{capture.name} holds itself", why="there is no end to what it holds"))
        self.opened.add(id(value))

        def child(key: Any, item: Any) -> Value:
            inner = Capture(capture.function, capture.name, (*capture.path, ("item", key)))
            return self.adopt(item, inner, space)

        if isinstance(value, dict):
            built: Any = type(value)((k, child(k, v)) for k, v in value.items())
        else:
            items = [child(i, v) for i, v in enumerate(value)]
            built = items if type(value) is list else tuple(items) if type(value) is tuple else type(value)(*items)
        self.opened.remove(id(value))
        if isinstance(built, list | dict):
            self.adopted[id(built)] = built, capture
        return built


def default_guards(fun: Callable[..., Any], given: Iterable[str]) -> tuple[Guard, ...]:
    """Guards of the default values that a call with these parameters uses, since they may be changed or replaced."""
    f = runs(fun)
    if not isinstance(f, types.FunctionType):
        return ()
    captures = Captures()
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    defaults = f.__defaults__ or ()
    for i, name in enumerate(names[len(names) - len(defaults) :] if defaults else ()):
        if name not in given:
            captures.default(f, "__defaults__", i)
    for name in f.__kwdefaults__ or ():
        if name not in given:
            captures.default(f, "__kwdefaults__", name)
    return tuple(captures.guards.values())


def _hint(capture: Capture) -> str:
    parts = [capture.name, *(str(k) for _, k in capture.path)]
    name = "_".join(parts)
    return name if name.isidentifier() else capture.name
