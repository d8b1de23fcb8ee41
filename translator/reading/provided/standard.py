"""Python's standard library over known containers: itertools, functools, operator, dataclasses, copy.

A function here sees which elements there are; the elements themselves may be run-time values.
"""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import enum
import itertools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from ... import surface
from ...errors import DTypeError
from ...ir import Var
from ...library import looping, ordering
from ...tree import is_namedtuple
from ..core.context import Context
from ..core.demand import ask, static
from ..core.values import (
    Endless,
    Foreign,
    Generator,
    Iterated,
    Ref,
    Value,
    attributes_of,
    aval_of_value,
    describe,
    has_runtime,
    is_object,
    is_runtime,
    leaves_in,
)
from ..facts import signatures
from ..facts.keyed import Keyed, are_alike
from ..functions.inlining import inline
from ..parts.known import run_known
from ..uses.attributes import get_attribute
from ..uses.conditions import truth
from ..uses.handlers import call_handler
from ..uses.iteration import known_items, listed
from ..uses.iterators import next_of
from ..uses.operators import binary, compare_pair, python_truth, unary
from ..uses.protocols import has_undecided, special
from ..uses.stores import augmented_value, store
from ..uses.subscripts import index_value

Implementation = Callable[..., Value]


# ---- itertools -----------------------------------------------------------------------------------


def _over_items(python: Callable[..., Iterable[Any]]) -> Implementation:
    """A function that only rearranges the elements of its arguments; options are known values."""

    def implementation(ctx: Context, node: ast.AST, *parts: Value, **options: Value) -> Value:
        known = {k: v if has_runtime(v) else static(ctx, v, node, k) for k, v in options.items()}
        return listed(ctx, node, lambda: python(*(known_items(ctx, p, node) for p in parts), **known))

    return implementation


def _first_items(python: Callable[..., Iterable[Any]], what: str) -> Implementation:
    """Like the function above, for a first argument only; the others are known numbers."""

    def implementation(ctx: Context, node: ast.AST, items: Value, *numbers: Value) -> Value:
        known = [static(ctx, n, node, what) for n in numbers]
        return listed(ctx, node, lambda: python(known_items(ctx, items, node), *known))

    return implementation


def _islice(ctx: Context, node: ast.AST, items: Value, *bounds: Value) -> Value:
    known = [static(ctx, n, node, "a bound of islice") for n in bounds]
    if isinstance(items, Endless):
        stop = slice(*known).stop
        return run_known(ctx, node, lambda: list(itertools.islice([items.item(i) for i in range(stop)], *known)))
    return run_known(ctx, node, lambda: list(itertools.islice(known_items(ctx, items, node), *known)))


def _from_iterable(ctx: Context, node: ast.AST, rows: Value) -> Value:
    return [x for row in known_items(ctx, rows, node) for x in known_items(ctx, row, node)]


def _accumulate(
    ctx: Context, node: ast.AST, items: Value, func: Value = operator.add, *, initial: Value = None
) -> Value:
    rest = known_items(ctx, items, node)
    totals = rest[:1] if initial is None else [initial]
    for x in rest[1:] if initial is None else rest:
        totals.append(ctx.call(func, [totals[-1], x], {}, node))
    return totals


def _starmap(ctx: Context, node: ast.AST, function: Value, rows: Value) -> Value:
    return [ctx.call(function, known_items(ctx, row, node), {}, node) for row in known_items(ctx, rows, node)]


def _verdicts(ctx: Context, node: ast.AST, function: Value, items: list[Value], what: str) -> list[bool]:
    """Whether a condition holds of each element, all of them known."""
    found = [truth(ctx, x if function is None else ctx.call(function, [x], {}, node), node) for x in items]
    open_ones = [v for v in found if not isinstance(v, bool)]
    if open_ones:
        ask(ctx, open_ones)
        ctx.cut(
            node,
            f"{what} keeps elements by data",
            why="its length would not be known when the function is translated",
            instead="keep all elements and weight them with np.where",
        )
    return [bool(v) for v in found]


def _filter(ctx: Context, node: ast.AST, function: Value, items: Value) -> Value:
    known = known_items(ctx, items, node)
    return list(itertools.compress(known, _verdicts(ctx, node, function, known, "filter()")))


def _filterfalse(ctx: Context, node: ast.AST, function: Value, items: Value) -> Value:
    known = known_items(ctx, items, node)
    verdicts = _verdicts(ctx, node, function, known, "filterfalse()")
    return [x for x, kept in zip(known, verdicts, strict=True) if not kept]


def _while(taken: bool) -> Implementation:
    """takewhile and dropwhile."""

    def implementation(ctx: Context, node: ast.AST, function: Value, items: Value) -> Value:
        known = known_items(ctx, items, node)
        end = 0
        while end < len(known) and _verdicts(ctx, node, function, known[end : end + 1], "takewhile()")[0]:
            end += 1
        return known[:end] if taken else known[end:]

    return implementation


def _groupby(ctx: Context, node: ast.AST, items: Value, key: Value = None) -> Value:
    known = known_items(ctx, items, node)
    keys = _keys(ctx, node, known, key, "groupby()")
    groups: list[tuple[Any, list[Value]]] = []
    for k, x in zip(keys, known, strict=True):
        if not groups or groups[-1][0] != k:
            groups.append((k, []))
        groups[-1][1].append(x)
    return groups


def _count(ctx: Context, node: ast.AST, start: Value = 0, step: Value = 1) -> Value:
    def item(i: int) -> Value:
        return binary(ctx, ast.Add, start, binary(ctx, ast.Mult, i, step, node), node) if i else start

    return Endless(item, (start, step))


def _cycle(ctx: Context, node: ast.AST, items: Value) -> Value:
    known = known_items(ctx, items, node)
    return Endless(lambda i: known[i % len(known)])


def _repeat(ctx: Context, node: ast.AST, item: Value, times: Value = None) -> Value:
    if times is None:
        return Endless(lambda i: item)
    return [item] * static(ctx, times, node, "the number of repetitions")


# ---- by order ------------------------------------------------------------------------------------


def _keys(ctx: Context, node: ast.AST, items: list[Value], key: Value, what: str) -> list[Any]:
    """The sort keys of the elements, as known values; asked for where they depend on arguments."""
    keys = items if key is None else [ctx.call(key, [x], {}, node) for x in items]
    if any(map(has_runtime, keys)):
        _refuse_order(ctx, node, keys, what)
    return keys


def _refuse_order(ctx: Context, node: ast.AST, keys: list[Value], what: str) -> NoReturn:
    ask(ctx, keys)
    ctx.cut(
        node,
        f"{what} of run-time values",
        why="the order would depend on the data",
        instead="use np.sort or np.argsort on an array",
    )


def _by_data(ctx: Context, node: ast.AST, items: list[Value], key: Value, what: str) -> Keyed | list[Any]:
    """The keys of the elements: as arrays, where a derivative or batch orders by numbers of the run."""
    keys = items if key is None else [ctx.call(key, [x], {}, node) for x in items]
    if not has_undecided(keys):
        return keys
    heads = _deciding_heads(keys)
    if heads is not None:
        return heads
    if not ctx.transforms:
        _refuse_order(ctx, node, keys, what)
    of_tuples = all(type(k) is tuple and len(k) == len(keys[0]) for k in keys)
    columns = [list(c) for c in zip(*keys, strict=True)] if of_tuples else [keys]
    if not all(_is_number(x) for c in columns for x in c) or not are_alike(ctx, items):
        _refuse_order(ctx, node, keys, what)
    return Keyed(ctx, node, items, [ctx.call(np.array, [c], {}, node) for c in columns])


def _deciding_heads(keys: list[Value]) -> list[Any] | None:
    """The known beginnings of tuples, or lists, where no two are equal: Python compares nothing behind them.

    So `sorted(parameters.items())` is by the names, whatever the run knows of the values.
    """
    if not all(type(k) is type(keys[0]) and type(k) in (tuple, list) for k in keys):
        return None
    known = 0
    for column in zip(*keys, strict=False):
        if not all(type(x) in (str, bytes, bool, int, float) for x in column):
            break
        known += 1
    heads = [tuple(k[:known]) for k in keys]
    return heads if len(set(heads)) == len(heads) else None


def _is_number(x: Value) -> bool:
    aval = aval_of_value(x)
    return type(x) in (int, float) or (aval is not None and not aval.shape and aval.dtype.kind in "iuf")


def sorted_items(ctx: Context, node: ast.AST, items: Value, key: Value = None, reverse: Value = False) -> list[Value]:
    """sorted(items, key=key, reverse=reverse): known keys decide, or known beginnings of them.

    Of run-time numbers a derivative or a batch has np.sort, whose numbers are NumPy's; elsewhere CPython sorts them.
    """
    known = known_items(ctx, items, node)
    if key is None and ctx.transforms and any(map(has_runtime, known)) and all(map(_is_number, known)):
        rising = ctx.call(np.sort, [known], {}, node)
        found = [index_value(ctx, rising, i, node) for i in range(len(known))]
        return found[::-1] if static(ctx, reverse, node, "reverse") else found
    keys = _by_data(ctx, node, known, key, "sorted()")
    if isinstance(keys, Keyed):
        return keys.ordered(static(ctx, reverse, node, "reverse"))
    falls = static(ctx, reverse, node, "reverse")
    order: list[int] = run_known(ctx, node, lambda: sorted(range(len(keys)), key=lambda i: keys[i], reverse=falls))
    return [known[i] for i in order]


def extreme(builtin: Callable[..., Any]) -> Implementation:
    """min and max: with a key by known keys, else of known elements at once, of others by the surface."""

    def implementation(ctx: Context, node: ast.AST, *args: Value, key: Value = None, **default: Value) -> Value:
        if not args:
            raise TypeError(f"{builtin.__name__} expected at least 1 argument, got 0")
        alone = len(args) == 1 and (key is not None or type(args[0]) is not Ref)
        items = known_items(ctx, args[0], node) if alone else list(args)
        if key is None and (type(args[0]) is Ref or any(map(has_runtime, items))):
            if any(type(x) is tuple or type(x) is list for x in items):
                return _extreme_by(ctx, node, builtin, items, _by_data(ctx, node, items, None, f"{builtin.__name__}()"))
            if ctx.keeps_changes and ctx.boxes and any(type(x) is Ref and not x.aval.shape for x in items):
                what = f"{builtin.__name__}() among arrays without axes cannot be compiled"
                ctx.cut(node, what, why="it gives one of them, not its value", instead="take their values, x[()]")
            given = [items] if type(args[0]) is not Ref or len(args) > 1 else [args[0]]
            return call_handler(ctx, surface.handler_for(builtin), builtin, given, default, node)
        keys = _by_data(ctx, node, items, key, f"{builtin.__name__}()")
        if not items:
            return run_known(ctx, node, lambda: builtin([], **default))
        return _extreme_by(ctx, node, builtin, items, keys)

    return implementation


def _extreme_by(
    ctx: Context, node: ast.AST, builtin: Callable[..., Any], items: list[Value], keys: Keyed | list[Any]
) -> Value:
    if isinstance(keys, Keyed):
        return keys.extreme(builtin is max)
    place: int = run_known(ctx, node, lambda: builtin(range(len(keys)), key=lambda i: keys[i]))
    return items[place]


# ---- operator ------------------------------------------------------------------------------------

_BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "lshift": ast.LShift, "rshift": ast.RShift, "and_": ast.BitAnd, "or_": ast.BitOr,
    "xor": ast.BitXor, "matmul": ast.MatMult,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "lt": ast.Lt, "le": ast.LtE, "eq": ast.Eq, "ne": ast.NotEq, "gt": ast.Gt, "ge": ast.GtE, "is_": ast.Is,
    "is_not": ast.IsNot,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {
    "neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "inv": ast.Invert, "not_": ast.Not,
}  # fmt: skip


def _binary_function(kind: type[ast.operator]) -> Implementation:
    return lambda ctx, node, x, y: binary(ctx, kind, x, y, node)


def _in_place_function(kind: type[ast.operator]) -> Implementation:
    return lambda ctx, node, x, y: augmented_value(ctx, kind, x, y, node)


def _comparison(kind: type[ast.cmpop]) -> Implementation:
    return lambda ctx, node, x, y: compare_pair(ctx, kind(), x, y, node)


def _unary_function(kind: type[ast.unaryop]) -> Implementation:
    return lambda ctx, node, x: unary(ctx, kind(), x, node)


def _truth(ctx: Context, node: ast.AST, x: Value) -> Value:
    return python_truth(ctx, x, node)


def _concat(ctx: Context, node: ast.AST, x: Value, y: Value) -> Value:
    """`x + y` of sequences. Raises TypeError for numbers and arrays, which `+` would add."""
    if is_runtime(x) or not hasattr(x, "__getitem__"):
        raise DTypeError(f"{describe(x)} can't be concatenated")
    return binary(ctx, ast.Add, x, y, node)


def _index(ctx: Context, node: ast.AST, x: Value) -> Value:
    """operator.index: an integer as it is, a number of Python's. TypeError for what is none."""
    found = special(ctx, x, "__index__", [], node)
    if found is not NotImplemented:
        return found
    if not is_runtime(x):
        return run_known(ctx, node, operator.index, x)
    aval = ctx.atom(x).aval
    if aval.dtype.kind not in "iu" or aval.shape:
        raise TypeError(f"{describe(x)} cannot be interpreted as an integer")
    return ctx.call(int, [x], {}, node)


def _passed_by_jax(ctx: Context, node: ast.AST, x: Value) -> Value:
    if type(x) is Var and x.aval.weak:
        ctx.numbers.jaxs.add(x)
    if type(x) is not Ref:
        return x
    own = ctx.cell(ctx.read(x))
    own.origin, own.swapped, own.immutable = None if x.path else x.cell.origin, x.cell.swapped, True
    return Ref(own)


def _contains(ctx: Context, node: ast.AST, container: Value, item: Value) -> Value:
    return compare_pair(ctx, ast.In(), item, container, node)


def _getitem(ctx: Context, node: ast.AST, x: Value, key: Value) -> Value:
    return index_value(ctx, x, key, node)


def _setitem(ctx: Context, node: ast.AST, x: Value, key: Value, value: Value) -> None:
    store(ctx, x, key, value, node)


def call_getter(ctx: Context, getter: Any, args: list[Value], node: ast.AST) -> Value:
    """operator.itemgetter(...)(x), attrgetter(...)(x) and methodcaller(...)(x)."""
    (x,) = args
    kind, wanted = getter.__reduce__()[:2]
    if isinstance(getter, operator.methodcaller):
        held: tuple[Any, ...] = getattr(kind, "args", ())  # of the partial that carries keywords
        given = [*held, *wanted]
        method = get_attribute(ctx, x, given[0], node)
        return ctx.call(method, given[1:], dict(getattr(kind, "keywords", {})), node)
    found: list[Value] = []
    for item in wanted:
        if isinstance(getter, operator.itemgetter):
            found.append(index_value(ctx, x, item, node))
        else:
            value = x
            for name in item.split("."):
                value = get_attribute(ctx, value, name, node)
            found.append(value)
    return found[0] if len(found) == 1 else tuple(found)


GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


# ---- dataclasses and copies ----------------------------------------------------------------------


def _replace(ctx: Context, node: ast.AST, obj: Value, **changes: Value) -> Value:
    given = {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj) if f.init}
    return ctx.call(type(obj), [], {**given, **changes}, node)


def _fields_of(obj: Value) -> dict[str, Value]:
    return {f.name: getattr(obj, f.name) for f in dataclasses.fields(obj)}


def _plain(v: Value, kind: Callable[[dict[str, Value]], Value], copied: Callable[[Value], Value]) -> Value:
    """A copy with `kind` of the fields in place of each dataclass."""
    if is_object(v) and dataclasses.is_dataclass(v):
        return kind({name: _plain(x, kind, copied) for name, x in _fields_of(v).items()})
    if type(v) in (list, tuple, dict) or is_namedtuple(v):
        return _with_parts(v, lambda x: _plain(x, kind, copied))
    return copied(v)


def _asdict(ctx: Context, node: ast.AST, obj: Value) -> Value:
    return _plain(obj, dict, lambda v: _deepcopy(ctx, node, v))


def _astuple(ctx: Context, node: ast.AST, obj: Value) -> Value:
    return _plain(obj, lambda fields: tuple(fields.values()), lambda v: _deepcopy(ctx, node, v))


def _with_parts(v: Value, part: Callable[[Value], Value]) -> Value:
    """A container or object like `v`, with `part` of each element or attribute."""
    if type(v) in (list, tuple):
        return type(v)(part(x) for x in v)
    if isinstance(v, dict):
        new = copy.copy(v)
        new.update((k, part(x)) for k, x in v.items())
        return new
    if isinstance(v, tuple):
        return type(v)(*(part(x) for x in v))
    new = object.__new__(type(v))
    for name, x in attributes_of(v).items():
        object.__setattr__(new, name, part(x))
    return new


def _is_of_parts(ctx: Context, v: Value, node: ast.AST) -> bool:
    """Whether a copy of `v` is made of its parts; one of a class that has its own ideas is left to CPython."""
    if type(v) in (list, tuple) or isinstance(v, dict) or is_namedtuple(v):
        return True
    if type(v) is Foreign and not callable(v.value) and not isinstance(v.value, enum.Enum | types.ModuleType):
        ctx.cut(node, f"a copy of {describe(v)} from outside the function")
    if not is_object(v) or isinstance(v, enum.Enum):
        return False
    own = [name for name in _COPIERS if getattr(type(v), name, None) is not getattr(object, name, None)]
    if own:
        ctx.cut(node, f"a copy of {describe(v)}", f"its class makes copies in a way of its own ({own[0]})")
    return True


_COPIERS = (
    "__copy__", "__deepcopy__", "__new__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
    "__getnewargs__",
)


def _namedtuple(ctx: Context, node: ast.AST, *args: Value, **options: Value) -> Value:
    """The class, whose names are known."""
    return run_known(ctx, node, lambda: collections.namedtuple(*args, **options))


def _copy(ctx: Context, node: ast.AST, v: Value) -> Value:
    if type(v) is tuple or not _is_of_parts(ctx, v, node):
        return _array_copy(ctx, v)
    return _with_parts(v, lambda x: x)


def _deepcopy(ctx: Context, node: ast.AST, v: Value, made: dict[int, Value] | None = None) -> Value:
    """`made`: the copies so far, by what they are copies of."""
    made = {} if made is None else made
    if id(v) not in made:
        parts = _is_of_parts(ctx, v, node)
        new = _with_parts(v, lambda x: _deepcopy(ctx, node, x, made)) if parts else _array_copy(ctx, v)
        made[id(v)] = v if type(v) is tuple and all(map(operator.is_, v, new)) else new
    return made[id(v)]


def _array_copy(ctx: Context, v: Value) -> Value:
    if type(v) is Ref:
        return ctx.wrap(ctx.read(v))
    return v.copy() if isinstance(v, set) else v


def _bisect(python: Callable[..., int], source: Any) -> Implementation:
    """A search among values of the run; among known numbers or strings Python's own."""

    def implementation(ctx: Context, node: ast.AST, *args: Value, **options: Value) -> Value:
        if all(isinstance(v, int | float | str | np.number | None) for v in leaves_in((args, *options.values()))):
            return run_known(ctx, node, lambda: python(*args, **options))
        return inline(ctx, source, list(args), options, node, fixed=True)

    return implementation


# ---- iterators -----------------------------------------------------------------------------------


def _iter(ctx: Context, node: ast.AST, items: Value) -> Value:
    if isinstance(items, Endless | Iterated | Generator):
        return items
    return Iterated(items) if is_runtime(items) else known_items(ctx, items, node)


def _next(ctx: Context, node: ast.AST, items: Value, *default: Value) -> Value:
    found = next_of(ctx, items, node)
    if not found and not default:
        raise StopIteration
    return found[0] if found else default[0]


LIBRARY: dict[Any, Implementation] = {
    itertools.product: _over_items(itertools.product),
    itertools.chain: _over_items(itertools.chain),
    itertools.zip_longest: _over_items(itertools.zip_longest),
    itertools.compress: _over_items(itertools.compress),
    itertools.pairwise: _over_items(itertools.pairwise),
    itertools.combinations: _first_items(itertools.combinations, "the length of combinations"),
    itertools.combinations_with_replacement: _first_items(
        itertools.combinations_with_replacement, "the length of combinations"
    ),
    itertools.permutations: _first_items(itertools.permutations, "the length of permutations"),
    itertools.islice: _islice,
    itertools.accumulate: _accumulate,
    itertools.starmap: _starmap,
    itertools.filterfalse: _filterfalse,
    itertools.takewhile: _while(True),
    itertools.dropwhile: _while(False),
    itertools.groupby: _groupby,
    itertools.count: _count,
    itertools.cycle: _cycle,
    itertools.repeat: _repeat,
    filter: _filter,
    sorted: sorted_items,
    min: extreme(min),
    max: extreme(max),
    iter: _iter,
    next: _next,
    operator.truth: _truth,
    operator.index: _index,
    looping.passed: lambda ctx, node, values: inline(ctx, looping.each_passed, [values], {}, node, fixed=True),  # type: ignore[arg-type]
    looping.passed_leaf: _passed_by_jax,
    operator.contains: _contains,
    operator.getitem: _getitem,
    operator.setitem: _setitem,
    operator.concat: _concat,
    dataclasses.replace: _replace,
    dataclasses.fields: lambda ctx, node, obj: dataclasses.fields(obj),
    dataclasses.asdict: _asdict,
    dataclasses.astuple: _astuple,
    **{python: _bisect(python, source) for python, source in ordering.PYTHON.items()},
    **signatures.MOVING,
    collections.namedtuple: _namedtuple,
    copy.copy: _copy,
    copy.deepcopy: _deepcopy,
    **{getattr(operator, name): _binary_function(kind) for name, kind in _BINARY.items()},
    **{getattr(operator, f"i{name.rstrip('_')}"): _in_place_function(kind) for name, kind in _BINARY.items()},
    **{getattr(operator, name): _comparison(kind) for name, kind in _COMPARE.items()},
    **{getattr(operator, name): _unary_function(kind) for name, kind in _UNARY.items()},
}
"""What a call of each means. `itertools.chain.from_iterable`, a method, is new at every look: see `library_for`."""


def library_for(f: Any) -> Implementation | None:
    """The implementation of a function of the standard library; None for all else."""
    if getattr(f, "__self__", None) is itertools.chain:
        return _from_iterable
    return LIBRARY.get(f)
