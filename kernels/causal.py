"""Attention under a causal mask: the blocks behind the diagonal are left out where that changes nothing.

s = np.where(i >= j, q @ k.T, -np.inf)          a block of rows walks no further than its last row sees,
e = np.exp(s - np.max(s, ...))                  and than the last key with a value that is no finite number

Behind the diagonal weights are exp(-inf) = 0. Times a finite value they add nothing; times an infinity or a NaN they
make the sum a NaN, as in NumPy. So a reduction in front of attention's kernel finds how far such values reach.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..translator import make, ops
from ..translator.builder import Builder
from ..translator.ir import Apply, Atom, Fused, Var
from ..translator.passes.alignment import reduction_kind
from ..translator.passes.groups import close
from .layout import INT32, Space
from .lower import Call, Convert, Number, Position, Value
from .tiles import Tile, applies, statements_for

WORTH = 1 << 33  # operations of both products, half of which take as long as finding how far such values reach
KEPT = {"greater_equal": 0, "greater": -1}  # how much further than i - j + k = 0 such a comparison reaches
TURNED = {"less_equal": "greater_equal", "less": "greater", "greater_equal": "less_equal", "greater": "less"}
OPPOSITE = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}

Line = dict[int | None, int]
"""What an integer grows by along each axis, and at None where it starts."""


def seen_beyond(scores: Tile) -> int | None:
    """The d for which scores are -inf, whatever the products are, wherever j > i + d. None where there is none."""
    places = tuple(_axis(scores.space(variable)) for variable in ("i", "j"))
    return None if None in places else _beyond(scores.value, places)


def _axis(space: Space) -> int | None:
    return space.axes[0].members[0] if len(space.axes) == 1 and len(space.axes[0].members) == 1 else None


def _beyond(v: Value, places: tuple[int | None, ...]) -> int | None:
    if isinstance(v.source, Convert):
        return _beyond(v.args[0], places)
    if not isinstance(v.source, Call) or v.source.op.name != "where":
        return None
    condition, x, y = v.args
    found = [_holds_until(condition, places, True)] if _is_lowest(y) else []
    found += [_holds_until(condition, places, False)] if _is_lowest(x) else []
    found += [_beyond(a, places) for a in (x, y) if _is_lowest(y if a is x else x)]  # of a mask within a mask
    return min((d for d in found if d is not None), default=None)


def _is_lowest(v: Value) -> bool:
    return isinstance(v.source, Number) and float(v.source.value) == -np.inf


def _holds_until(v: Value, places: tuple[int | None, ...], wanted: bool) -> int | None:
    """The d for which the condition is not as `wanted` wherever j > i + d."""
    if not isinstance(v.source, Call):
        return None
    name = v.source.op.name
    if name == "logical_not":
        return _holds_until(v.args[0], places, not wanted)
    if name == ("logical_and" if wanted else "logical_or"):  # each of them alone decides
        found = [_holds_until(a, places, wanted) for a in v.args]
        return min((d for d in found if d is not None), default=None)
    if name not in OPPOSITE:
        return None
    name = name if wanted else OPPOSITE[name]
    terms = _difference(v.args[0], v.args[1])
    i, j = places
    if terms is None or i is None or j is None or {abs(terms.get(k, 0)) for k in places} != {1}:
        return None
    if terms[i] < 0:
        name, terms = TURNED[name], {k: -n for k, n in terms.items()}
    straight = terms[j] == -1 and not any(n for k, n in terms.items() if k not in (i, j, None))
    return terms.get(None, 0) + KEPT[name] if straight and name in KEPT else None


def _difference(x: Value, y: Value) -> Line | None:
    """x - y."""
    return _together(_linear(x), _linear(y), -1)


def _together(one: Line | None, two: Line | None, sign: int) -> Line | None:
    found = {} if one is None or two is None else {k: one.get(k, 0) + sign * two.get(k, 0) for k in {*one, *two}}
    return found if found and abs(found.get(None, 0)) < INT32 else None  # larger numbers might wrap around


def _linear(v: Value) -> Line | None:
    if v.dtype.kind != "i" or v.dtype.itemsize < 4:
        return None
    match v.source:
        case Number(value=value):
            return {None: int(value)} if abs(int(value)) < INT32 else None
        case Position(term=term):
            return {None: term.start} if term.axis < 0 else {None: term.start, term.axis: term.step}
        case Convert():
            return _linear(v.args[0])
        case Call(op=op) if op.name == "subtract":
            return _difference(*v.args)
        case Call(op=op) if op.name == "add":
            return _together(_linear(v.args[0]), _linear(v.args[1]), 1)
    return None


def reach_of(fused: Fused, value: Atom, labels: Mapping[int, int], order: tuple[int, ...], column: int) -> Fused:
    """The group that finds for each matrix how many keys there are up to the last one with a value that is no finite
    number; 0: there is none. `labels`: those of the value's axes; the matrices lie in `order`.
    """
    needed = statements_for(applies(fused), [value], frozenset())
    b = Builder(fused.span)
    channels = [n for n in labels if n not in (*order, column)]
    v = make.transpose(b, value, [labels[n] for n in (*order, column, *channels)])
    shape = v.aval.shape
    off = make.elementwise(b, ops.SUBTRACT, v, v)  # 0 of what is finite
    is_odd = make.elementwise(b, ops.NOT_EQUAL, off, 0)
    count = make.add(b, make.iota(b, shape[len(order)], np.int32), 1)
    count = make.broadcast_to(b, make.reshape(b, count, (shape[len(order)], *[1] * len(channels))), shape)
    axes = tuple(range(len(order), len(shape)))
    reach = make.max(b, make.elementwise(b, ops.WHERE, is_odd, count, 0), axes)
    assert isinstance(reach, Var)
    made = [s for s in b.statements if isinstance(s, Apply)]
    named = Var("reach", reach.aval)
    *before, last = made
    made = [*before, Apply((named,), last.op, last.args, last.attrs, last.span)]
    return close([*needed, *made], [named], reduction_kind(shape, axes))
