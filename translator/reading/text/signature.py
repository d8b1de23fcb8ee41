"""Signatures: what a function is specialised on, the structure of its arguments and each leaf's shape and dtype."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import Diagnostic, DTypeError
from ...float0 import FLOAT0, is_float0, zeros_node
from ...ir import Aval
from ...randomness import kind_of
from ...records import dataclass
from ...tree import ARRAY, LEAF, NONE, TreeDef, leaf_paths, open_node, static
from .source import without_source


@dataclass(frozen=True, slots=True)
class Given:
    """How a call passes its arguments: the first `count` by position, those called `names` by keyword. Other parameters
    have their defaults.
    """

    count: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Signature:
    """`params` are the function's parameters in order, each a tree over the next leaves of `avals`.

    *args is one TUPLE tree and **kwargs one DICT tree. `values` holds the Python value of each number among the leaves
    (None for arrays), for specialisation; it does not count for equality. `given` is None where all arguments are
    passed by position. `swapped` are the leaves that hold their bytes in the other order, `immutable` those that are
    Arrays.
    """

    params: tuple[tuple[str, TreeDef], ...]
    avals: tuple[Aval, ...]
    values: tuple[Any, ...] = field(compare=False, default=())
    given: Given | None = None
    swapped: frozenset[int] = frozenset()
    immutable: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return f"({', '.join(name for name, _ in self.params)}) over {', '.join(map(str, self.avals))}"

    def leaf_name(self, leaf: int) -> str:
        """How Python would reach a leaf: `x`, `params['w']`."""
        paths = [path for name, tree in self.params for path in leaf_paths(tree, name)]
        return paths[leaf] if leaf < len(paths) else f"leaf {leaf}"


def abstract(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Signature:
    """The signature of the call fun(*args, **kwargs).

    Leaves may be NumPy arrays and scalars, Python numbers, device arrays (anything with an `aval`), or an `Aval`.
    Raises TypeError for a call that does not fit the function, DTypeError for a leaf that is no number,
    UnsupportedError for an object that is no tree node.
    """
    return abstract_with_leaves(fun, args, kwargs)[0]


def abstract_with_leaves(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Signature, list[Any]]:
    """The signature, and the argument leaves in its order."""
    leaves: list[Any] = []
    avals: list[Aval] = []
    params = []
    bound = _bound(fun, args, kwargs)
    given = Given(len(args), frozenset(bound.arguments))
    for name, value in _all_of(bound):
        params.append((name, _open(value, leaves, avals, name)))
    values = tuple(x if _is_number(x) else None for x in leaves)
    return Signature(tuple(params), tuple(avals), values, given), leaves


def bind(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Parameters and their values by Python's rules, defaults filled in. Raises Python's own TypeError."""
    return _all_of(_bound(fun, args, kwargs))


def _all_of(bound: inspect.BoundArguments) -> list[tuple[str, Any]]:
    if len(bound.arguments) < len(bound.signature.parameters):
        bound.apply_defaults()
    return list(bound.arguments.items())


def _bound(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    signature = _python_signature(fun)
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        raise misfit(getattr(fun, "__name__", str(fun)), bare(signature), args, kwargs) from None


def misfit(name: str, parameters: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
    """The TypeError of CPython for a call that does not fit, from calling a function with the same parameters."""
    made: dict[str, Any] = {}
    exec(f"def called({parameters}): pass", made)
    called = made["called"]
    called.__qualname__ = name
    try:
        called(*args, **kwargs)
    except TypeError as error:
        return error.with_traceback(None)
    return TypeError(f"{name}() does not take these arguments")


def bare(signature: inspect.Signature) -> str:
    """The parameters as they are written, without annotations, each default None."""
    parameters = [
        p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None)
        for p in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))[1:-1]


def _python_signature(fun: Callable[..., Any]) -> inspect.Signature:
    try:
        return signature_of(fun)
    except ValueError:
        raise without_source(fun) from None


def signature_of(fun: Callable[..., Any]) -> inspect.Signature:
    """The parameters of the function that a call of `fun` runs: of a decorator's wrapper, not of what it wraps.

    Raises ValueError for compiled functions that do not tell.
    """
    run = runs(fun)
    if not isinstance(run, types.FunctionType):
        return inspect.signature(run)
    if run.__defaults__ or run.__kwdefaults__ or run.__dict__:  # they may change, or lead back to the function
        return inspect.signature(run, follow_wrapped=False)
    known = _signatures.get(run)
    if known is None or known[0] is not run.__code__:
        known = _signatures[run] = run.__code__, inspect.signature(run, follow_wrapped=False)
    return known[1]


_signatures: WeakKeyDictionary[types.FunctionType, tuple[types.CodeType, inspect.Signature]] = WeakKeyDictionary()
"""Of functions without defaults: a translation asks three times, 20 us each."""


def arguments_of(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its parameters, with the default values that it uses. Raises TypeError
    for a call that does not fit.
    """
    if _is_itself(fun) and not kwargs:  # inspect takes 15 us
        code, defaults = fun.__code__, fun.__defaults__ or ()
        missing = code.co_argcount - len(args)
        plain = not (code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
        if plain and 0 <= missing <= len(defaults):
            used = defaults[len(defaults) - missing :]
            return dict(zip(code.co_varnames[: code.co_argcount], (*args, *used), strict=True))
    bound = signature_of(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def runs(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside a transformed or accelerated one."""
    found: Callable[..., Any] = inspect.unwrap(fun, stop=_is_itself)
    return found


def _is_itself(fun: Any) -> TypeGuard[types.FunctionType]:
    return isinstance(fun, types.FunctionType) and not hasattr(fun, "__untraced_read__")


def is_array_without_axes(x: Any) -> bool:
    """Whether a leaf is a NumPy array of shape (), which functions can write, or stands for one."""
    return (isinstance(x, np.ndarray) and not x.shape) or getattr(x, "is_array", False) is True


def _is_number(x: Any) -> bool:
    return type(x) in (int, float, complex) or isinstance(x, np.generic)


def _open(x: Any, leaves: list[Any], avals: list[Aval], where: str) -> TreeDef:
    aval = aval_of(x)
    if aval is not None:
        leaves.append(x)
        avals.append(aval)
        return ARRAY if is_array_without_axes(x) else LEAF
    if x is None:
        return NONE
    opened = None if type(x) is Opaque else open_node(x)
    if opened is None:
        return static_node(x, where)
    children, shell = opened
    if not children:
        return shell
    labels = shell.keys or range(len(children))
    inner = (_open(c, leaves, avals, f"{where}[{k!r}]") for k, c in zip(labels, children, strict=True))
    return dataclasses.replace(shell, children=tuple(inner))


_WEAK = {t: Aval((), np.result_type(t), weak=True) for t in (int, float, complex)}


def aval_of(x: Any) -> Aval | None:
    """The abstract value of a leaf; None for what is no leaf. Raises DTypeError for arrays that hold no numbers.

    Device arrays and other stand-ins have `aval` in their class. Other objects are not asked for it, since that could
    run the user's code.
    """
    cls = type(x)
    if cls is np.ndarray or isinstance(x, np.generic):
        if not _holds_numbers(x.dtype):
            if x.dtype == FLOAT0:
                return None
            raise DTypeError.refusing(
                Diagnostic(
                    f"an array of dtype {x.dtype} cannot be an argument",
                    why="arrays of numbers and bool are in the language; objects, strings, dates and records are not",
                    instead="convert it first, e.g. x.astype(float)",
                )
            )
        return Aval(x.shape, x.dtype.newbyteorder("=") if is_swapped(x) else x.dtype)
    if cls in _WEAK:
        return _WEAK[cls]
    if cls is Aval:
        return x  # type: ignore[no-any-return]
    if isinstance(x, np.ndarray):
        return _subclass(x)
    aval = getattr(x, "aval", None) if hasattr(cls, "aval") else None
    return aval if isinstance(aval, Aval) else None


def is_swapped(x: Any) -> bool:
    """Whether this is an array that holds its bytes in the other order than the processor."""
    return isinstance(x, np.ndarray) and not x.dtype.isnative


def _holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this dtype are in the language."""
    return dtype.kind in "biufc" or _extended_float(dtype)


def _extended_float(dtype: np.dtype[Any]) -> bool:
    """bfloat16 and the like, which ml_dtypes registers with kind "V"."""
    return dtype.kind == "V" and dtype.names is None and dtype.type.__module__ == "ml_dtypes"


def is_plain(cls: type) -> bool:
    """Whether operations on arrays of this class are NumPy's own: it is NumPy's, or the runtime's for the host."""
    return cls is np.ndarray or hasattr(cls, "__untraced_plain__")


def _subclass(x: np.ndarray[Any, Any]) -> Aval | None:
    """Whether an array is of a subclass with operations of its own; np.memmap has none."""
    cls = type(x)
    if cls is np.memmap or is_plain(cls):
        return aval_of(x.view(np.ndarray))
    why = "results of NumPy's operations on it are of its class too, which may define any of them anew"
    instead = "pass np.asarray(x)"
    if isinstance(x, np.matrix):
        why = "it redefines what * or arithmetic means"
    elif isinstance(x, np.ma.MaskedArray):
        why, instead = "its mask would be lost", "pass x.filled(...) or x.data and x.mask"
    raise DTypeError.refusing(Diagnostic(f"a {cls.__name__} cannot be an argument", why=why, instead=instead))


def value_key(x: Any) -> Any:
    """A key that is equal for values with the same specialised program; 1 and 1.0 differ, and so do 0.0 and -0.0."""
    if type(x) is float:
        return (float, x.hex())
    if isinstance(x, np.generic):
        return (x.dtype, x.tobytes())
    if type(x) is complex:
        return (complex, x.real.hex(), x.imag.hex())
    if isinstance(x, tuple):
        return (type(x), tuple(map(value_key, x)))
    if isinstance(x, frozenset):
        return (type(x), frozenset(map(value_key, x)))
    return (type(x), x)


def static_node(x: Any, where: str) -> TreeDef:
    """A value that the function is specialised on: bool, string, dtype, function, class, slice, range, ..."""
    if isinstance(x, slice):
        return static(_Slice(x))
    if is_float0(x):
        return zeros_node(x.shape)
    return static(known(x))


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for an object of which only the class is known: a random generator, a file, a date.

    Passing it in place of an object keeps the reader from looking into the object.
    """

    cls: type
    holds: str = ""  # of a generator of random numbers: the kind of its source of bits, where loops may draw from it


MOST_NUMBERS = 16
LONGEST_NAME = 64
"""Characters: what is longer is no name of a mode, nor a list of labels, but data."""


def unopened(x: Any) -> Any:
    """The argument itself; what stands for it where it is a list, tuple or dict of more than `MOST_NUMBERS` numbers (or
    strings), of lists of them, and of nothing else. Read one by one, as parameters each, numbers take seconds to
    compile; CPython has them at once. Nor is a program made for each text or each bytes that are data. What is done
    with strings, dates, records or objects of NumPy's, alone or in arrays, CPython does.
    """
    cls = type(x)
    if cls is bytes or cls is str or cls is bytearray:
        return Opaque(cls) if len(x) > (LONGEST_NAME if cls is str else MOST_NUMBERS) else x
    if cls is np.ndarray or issubclass(cls, np.generic):
        return x if _holds_numbers(x.dtype) or x.dtype == FLOAT0 else Opaque(cls)
    if (cls is not list and cls is not tuple and cls is not dict) or not x:
        return x
    return Opaque(cls) if (_numbers_in(x, _DEEPEST) or 0) > MOST_NUMBERS else x


def _numbers_in(x: Any, depth: int) -> int | None:
    """How many numbers a container holds; None where it holds anything else, or itself."""
    cls = type(x)
    if cls in _NUMBERS_AND_NAMES:
        return 1
    if (cls is not list and cls is not tuple and cls is not dict) or not depth:
        return None
    count = 0
    for child in x.values() if cls is dict else x:
        inner = 1 if type(child) in _NUMBERS_AND_NAMES else _numbers_in(child, depth - 1)
        if inner is None:
            return None
        count += inner
    return count


_DEEPEST = 8
_NUMBERS_AND_NAMES = frozenset({float, int, complex, bool, str, type(None)})


_PLAIN = (bool, str, bytes, enum.Enum, np.dtype, type, range, type(Ellipsis), frozenset, type(np))


def known(x: Any) -> Any:
    """The value that the function is specialised on where `x` is passed: `x`, or what stands for it. A `__hash__` of
    the user's is called only where it decides: it may fail on an object half made, or keep what it finds.
    """
    if type(x) is Opaque:
        return x
    if not (isinstance(x, _PLAIN) or callable(x)):
        return Opaque(type(x), kind_of(x))
    try:
        hash(x)
    except TypeError:
        return Opaque(type(x))
    return x


class _Slice:
    """A hashable stand-in: slices cannot be hashed before Python 3.12."""

    __slots__ = ("value",)

    def __init__(self, value: slice) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Slice) and other.value == self.value

    def __hash__(self) -> int:
        return hash((self.value.start, self.value.stop, self.value.step))


def static_value(node: TreeDef) -> Any:
    """The value in a STATIC node."""
    return node.aux.value if isinstance(node.aux, _Slice) else node.aux


def specialise(signature: Signature, leaves: frozenset[int]) -> tuple[tuple[str, TreeDef], ...]:
    """`signature.params` with STATIC nodes, which hold their values, in place of these leaves."""
    if not leaves:
        return signature.params
    position = 0

    def visit(t: TreeDef) -> TreeDef:
        nonlocal position
        if t.kind is LEAF.kind:
            position += 1
            return static(signature.values[position - 1]) if position - 1 in leaves else t
        return dataclasses.replace(t, children=tuple(visit(c) for c in t.children)) if t.leaf_count else t

    return tuple((name, visit(t)) for name, t in signature.params)
