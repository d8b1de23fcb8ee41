"""What a reading gives: the program, what it relies on, and the structure of the result."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ...errors import Span
from ...ir import Atom, Function, Var
from ...records import dataclass
from ...tree import ARRAY, LEAF, NONE, TreeDef, open_node, rows_node, static
from ..core.context import Context
from ..core.demand import check_defined
from ..core.guards import Guard
from ..core.values import (
    Masked,
    Ref,
    Value,
    describe,
    is_leaf,
    is_number,
    is_object,
    is_runtime,
    is_transformed,
    leaves_in,
)
from ..facts.booleans import returned
from ..facts.changes import Change
from ..facts.handed import Returned
from ..facts.maybes import some
from ..facts.views import Lying
from ..parts.listed import rows_of
from ..parts.selection import concrete
from ..paths.iterables import held
from ..text.signature import Signature, specialise
from ..text.source import Source


@dataclass(frozen=True, slots=True)
class Layout:
    """The memory layout that a reading assumed of the argument leaf `leaf`, where it matters.

    It matters for reshapes: NumPy decides by an array's strides whether one is a view or a copy.
    """

    leaf: int
    lying: Lying

    def holds(self, x: Any) -> bool:
        return not isinstance(x, np.ndarray) or x.flags.c_contiguous or self.lying.holds(x)


@dataclass(frozen=True, slots=True)
class Reading:
    """A function read for one signature.

    `statics` are the leaves (positions in `Signature.avals`) whose values the program was specialised on; they are not
    among its parameters, and `reasons` say what needs their values. `guards` are the facts about the outside that the
    program relies on, `layouts` those about the memory layout of arguments. `ordered` are the leaves of the result
    that lie in C's order, however the arguments do.
    """

    function: Function
    statics: frozenset[int] = frozenset()
    guards: tuple[Guard, ...] = ()
    layouts: tuple[Layout, ...] = ()
    reasons: tuple[tuple[int, str], ...] = ()
    changes: tuple[Change, ...] = ()  # then the result is a tuple: what is returned, and the contents for each
    returned: tuple[Returned, ...] = ()
    beside: int = 0  # so many values stand behind the contents, and then, too, the result is a tuple
    python_bools: frozenset[Var] = frozenset()  # variables that are Python's own bools, which the types do not tell
    ordered: frozenset[int] = frozenset()


def read_specialised(
    read_with: Callable[[Signature], Reading], signature: Signature, forced: frozenset[int]
) -> Reading:
    """Read with the leaves `forced` specialised on their values; `statics` of the result count the leaves of
    `signature`.
    """
    if not forced:
        return read_with(signature)
    kept = [i for i in range(len(signature.avals)) if i not in forced]
    values = tuple(signature.values[i] for i in kept)
    params = specialise(signature, forced)
    swapped, immutable = (
        frozenset(k for k, i in enumerate(kept) if i in leaves) for leaves in (signature.swapped, signature.immutable)
    )
    avals = tuple(signature.avals[i] for i in kept)
    narrow = replace(signature, params=params, avals=avals, values=values, swapped=swapped, immutable=immutable)
    reading = read_with(narrow)
    reasons = tuple((kept[i], why) for i, why in reading.reasons)
    return Reading(reading.function, forced | {kept[i] for i in reading.statics}, reading.guards, reasons=reasons)


MOST_RESULTS = 1 << 11
"""Results that a program may have. XLA's time for a program grows with the square of their number: 10,000 take 13 s."""


def check_count(ctx: Context, value: Value, source: Source) -> None:
    """Leave containers of thousands of numbers or arrays to CPython, which makes them at once."""
    if next(islice(leaves_in(value), MOST_RESULTS, None), None) is not None:
        ctx.cut(
            source.node,
            f"the function returns more than {MOST_RESULTS:,} numbers or arrays one by one",
            why="each would be a result of its own of what is compiled",
            instead="return an array of them",
        )


def forget(ctx: Context, bound: Mapping[str, Span]) -> None:
    """Have it warned, at the user's assignments, that a derivative or a batch binds nothing outside itself."""
    for name, span in bound.items():
        what = f"{name} lives outside the function: a derivative or a batch leaves it as it was"
        ctx.warnings.setdefault((what, UserWarning), span)


def result_tree(ctx: Context, value: Value, results: list[Atom], source: Source) -> TreeDef:
    """The structure of what is returned; its leaves become results."""
    check_defined(ctx, value, source.node)
    value = some(ctx, value)
    if isinstance(value, Masked):
        value = concrete(ctx, value, source.node, "the function returns a selection x[mask]")
    if type(value) is int and not -(2**63) <= value < 2**63:
        return static(value)
    if type(value) is Ref and value.cell.stale:
        ctx.cut(
            source.node,
            "the function returns an array that may have changed",
            why=value.cell.stale,
            instead="return a copy of it, taken before the store",
        )
    if is_runtime(value) or is_number(value) or isinstance(value, np.bool_):
        results.append(returned(ctx, value))
        return ARRAY if type(value) is Ref and not value.aval.shape else LEAF
    if value is None:
        return NONE
    value = held(ctx, value)
    rows = rows_of(ctx, value)
    if rows is not None:
        results.append(rows[0])
        return rows_node(rows[1])
    if is_leaf(value):
        ctx.cut(
            source.node,
            f"the function returns {describe(value)}",
            why="results are arrays, numbers and containers of them",
            instead="return the arrays",
        )
    opened = open_node(value)
    if opened is None:
        return _static_result(ctx, value, source)
    children, shell = opened
    if not children:
        return shell
    parts = tuple(result_tree(ctx, c, results, source) for c in children)
    return TreeDef(shell.kind, parts, shell.keys, shell.type, shell.aux)


def _static_result(ctx: Context, value: Value, source: Source) -> TreeDef:
    if is_made_here(value):
        what = "what is made of a function that is defined inside leaves the function"
        ctx.cut(source.node, what, why="it exists only while that is read", instead="make it outside, and pass it")
    if is_object(value) and not isinstance(value, enum.Enum) and not is_transformed(value):
        what = f"the function returns {describe(value)}"
        ctx.cut(source.node, what, instead="make it a dataclass, or return its arrays")
    try:
        hash(value)
    except TypeError:
        ctx.cut(
            source.node,
            f"the function returns {describe(value)}",
            why="results are arrays, numbers and containers of them",
            instead="return the arrays",
        )
    return static(value)


class MadeHere:
    """What exists only while a function is read: its inner functions, as objects (`inner`)."""


def is_made_here(f: Any) -> bool:
    """Whether this is an inner function, or what transformations and `accelerate` have made of one."""
    while is_transformed(f) and not isinstance(f, MadeHere) and hasattr(f, "fun"):
        f = f.fun
    return isinstance(f, MadeHere)
