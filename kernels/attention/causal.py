"""Attention under a causal mask: the blocks behind the diagonal are left out where that changes nothing.

s = np.where(i >= j, q @ k.T, -np.inf)          a block of rows walks no further than its last row sees,
s = q @ k.T + (1 - np.tri(n)) * -1e9            and than the last key with a value that is no finite number
e = np.exp(s - np.max(s, ...))

Behind the diagonal weights are exp(-inf) = 0. Times a finite value they add nothing; times an infinity or a NaN they
make the sum a NaN, as in NumPy. So a reduction in front of attention's kernel finds how far such values reach. Where
the products themselves are part of what is hidden, or are compared with a number as -1e9, they must be small enough
for it: then such reductions find the keys and the queries that may make larger ones, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...translator import make, ops
from ...translator.builder import Builder
from ...translator.ir import Apply, Atom, Fused, Var
from ...translator.ops.core import Elementwise
from ...translator.passes.alignment import reduction_kind
from ...translator.passes.groups import close
from ..source.layout import INT32, Space
from ..source.values import Call, Convert, Count, Load, Number, Position, Value
from ..tiles import Tile, applies, statements_for

WORTH = 1 << 33  # operations of both products, half of which take as long as one such reduction
TRIED = 8  # places behind the diagonal
LOW = -2000.0  # of exponents this far below the largest nothing is left, in float64 either
KEPT = {"greater_equal": 0, "greater": -1}  # how much further than i - j + k = 0 such a comparison reaches
TURNED = {"less_equal": "greater_equal", "less": "greater", "greater_equal": "less_equal", "greater": "less"}
ANALYTIC = frozenset(  # what of these is 0 at random places is 0 everywhere
    ("add", "subtract", "multiply", "divide", "negative", "positive", "square", "sqrt", "reciprocal", "power"),
).union(
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "erf", "erfc"),
    ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsinh", "arctan"),
)
OPPOSITE = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}

Line = dict[int | None, int]
"""What an integer grows by along each axis, and at None where it starts."""


class Beyond(NamedTuple):
    """Weights are 0 wherever j > i + last. `most`: if no product is larger than that; None: whatever they are."""

    last: int
    most: float | None


class Part(NamedTuple):
    """What a value is in a part of the matrix: `center`, and at most `factor` times the product away from it.

    `peak`: the largest factor on the way there.
    """

    center: float
    factor: float = 0.0
    peak: float = 0.0


def seen_beyond(scores: Tile) -> Beyond | None:
    """Which scores weigh nothing whatever the products are, or while they are no larger than that."""
    places = tuple(_axis(scores.space(variable)) for variable in ("i", "j"))
    if None in places:
        return None
    bounds = {d for v in scores.lowered.values for d in (_until(v, places, w) for w in (True, False)) if d is not None}
    for last in sorted(bounds):
        most = _Parts(scores, places, last).most()
        if most != 0.0:
            return Beyond(last, most)
    return None


def vanishes_behind(tile: Tile, beyond: Beyond, score: str) -> bool:
    """Whether all values of a tile are 0 behind a diagonal, where scores weigh nothing: tried with random products and
    sums of rows. `score`: the name of the product that scores are made of.
    """
    axes = [_axis(tile.space(variable)) for variable in ("i", "j")]
    rng = np.random.default_rng(0)
    row = 2
    places = {axes[0]: np.full(TRIED, row), axes[1]: row + beyond.last + 1 + np.arange(TRIED)}
    highest = 60.0 if beyond.most is None else min(60.0, np.log2(beyond.most))
    found: dict[Value, Any] = {}
    with np.errstate(all="ignore"):
        for v in tile.lowered.values:
            match v.source:
                case Number(value=value) | Count(value=value):
                    found[v] = value
                case Position(term=term) if term.axis in places:
                    found[v] = term.start + term.step * places[term.axis]
                case Load(param=param) if param in tile.held:
                    is_product = tile.held[param].name == score
                    size = 2.0 ** rng.uniform(-20, highest, TRIED) if is_product else rng.uniform(0.5, 2)
                    found[v] = size * rng.choice((-1, 1), np.shape(size))
                case Convert():
                    found[v] = np.asarray(found[v.args[0]], np.bool_ if v.dtype == np.bool_ else np.float64)
                case Call(op=op):
                    found[v] = _tried(op, [found[a] for a in v.args], v)
                case _:
                    return False
        return all(not np.any(found[o.value]) for o in tile.lowered.outputs)


def _tried(op: Elementwise, args: Sequence[Any], v: Value) -> Any:
    """What an operation gives; by chance where it might be something else at other places or for other products."""
    counted = all(a.dtype.kind in "biu" for a in v.args)
    endless = any(np.all(np.isinf(a)) for a in args)  # which is known of hidden scores, and of nothing else
    return op.evaluate(*args) if counted or endless else _by_chance(op, args, v.dtype.kind)


def _by_chance(op: Elementwise, args: Sequence[Any], kind: str) -> Any:
    """An operation of random numbers. Where it is not analytic, chance says which piece counts: the same one for the
    same numbers.
    """
    if op.name in ANALYTIC:
        return op.evaluate(*args)
    if op.name == "where":
        return np.where(*args)
    pieces = args
    if op.name in ("absolute", "fabs"):
        pieces = (args[0], -args[0])
    elif op.name not in ("maximum", "minimum", "fmax", "fmin"):
        return _random(op.name, args, kind)
    return np.where(_random("piece", args, "b"), *pieces)


def _random(name: str, args: Sequence[Any], kind: str) -> Any:
    values = np.stack(np.broadcast_arrays(*(np.asarray(a, np.complex128) for a in args)))
    drawn = np.random.default_rng([*name.encode(), *values.tobytes()]).standard_normal(values.shape[1:])
    return drawn > 0 if kind == "b" else np.rint(8 * drawn) if kind in "iu" else drawn


def _axis(space: Space) -> int | None:
    return space.axes[0].members[0] if len(space.axes) == 1 and len(space.axes[0].members) == 1 else None


class _Parts:
    """The scores behind a diagonal, j > i + last, and before it."""

    def __init__(self, scores: Tile, places: tuple[int | None, ...], last: int) -> None:
        self.scores, self.places, self.last = scores, places, last

    def most(self) -> float | None:
        """How large products may be for weights behind the diagonal to be 0; 0: they may be something else."""
        hidden = self.part(self.scores.value, True)
        if hidden is None or hidden.center > LOW:
            return 0.0
        half = self.scores.value.dtype == np.float16
        largest = 2.0**15 if half else 2.0**100  # so that nothing overflows
        if hidden.center == -np.inf:
            return largest / max(1.0, hidden.peak) if hidden.peak else None
        visible = self.part(self.scores.value, False)
        if visible is None or self.last < 0 or visible.center - hidden.center < -LOW:
            return 0.0
        near = (visible.center - hidden.center) / 2 / (hidden.factor + visible.factor)
        return min(near, largest / max(1.0, hidden.peak, visible.peak))

    def part(self, v: Value, hidden: bool) -> Part | None:
        """None: it may be anything."""
        match v.source:
            case Number(value=value) | Count(value=value) if v.dtype.kind != "c":
                return Part(float(value))
            case Load(param=param) if param in self.scores.held:
                return Part(0.0, 1.0, 1.0)
            case Convert():
                of = self.part(v.args[0], hidden)
                return of and of._replace(center=float(v.dtype.type(of.center)))
            case Call(op=op):
                if (truth := self.truth(v, hidden)) is not None:
                    return Part(truth)
                return _combined(op, [self.part(a, hidden) for a in v.args], v)
        return None

    def truth(self, v: Value, hidden: bool) -> bool | None:
        """Whether a comparison of i and j holds all over one side of the diagonal."""
        for wanted in (True, False):
            until = _until(v, self.places, wanted)
            if until is not None and (until <= self.last if hidden else until >= self.last):
                return wanted != hidden
        return None


def _combined(op: Elementwise, parts: Sequence[Part | None], v: Value) -> Part | None:
    name = op.name
    fixed = [p.center if p is not None and not p.factor else None for p in parts]
    if name == "where":
        condition, x, y = fixed[0], parts[1], parts[2]
        if condition is None:
            return x if x == y else None
        return x if condition else y
    if name in ("logical_and", "logical_or") and float(name == "logical_or") in [p and float(bool(p)) for p in fixed]:
        return Part(float(name == "logical_or"))
    if None in parts:
        return None
    if None not in fixed:
        found = float(op.evaluate(*(np.array(x, a.dtype) for x, a in zip(fixed, v.args, strict=True))))
        return None if np.isnan(found) else Part(found)
    return _moved(name, [p for p in parts if p is not None])


def _moved(name: str, parts: Sequence[Part]) -> Part | None:
    """Arithmetic on what is about as large as the products."""
    x, y = parts[0], parts[-1]
    peak = max(p.peak for p in parts)
    if name in ("add", "subtract"):
        sign = 1 if name == "add" else -1
        found = Part(x.center + sign * y.center, x.factor + y.factor, peak)
    elif name == "multiply" and not (x.factor and y.factor):
        (by,) = [p.center for p in (x, y) if not p.factor]
        (of,) = [p for p in (x, y) if p.factor]
        found = Part(of.center * by, of.factor * abs(by), peak)
    elif name == "divide" and not y.factor and y.center:
        found = Part(x.center / y.center, x.factor / abs(y.center), peak)
    elif name == "negative":
        found = Part(-x.center, x.factor, peak)
    else:
        return None
    known = np.isfinite(found.factor) and not np.isnan(found.center)
    return found._replace(peak=max(peak, found.factor)) if known else None


def _until(v: Value, places: tuple[int | None, ...], wanted: bool) -> int | None:
    """The d for which a comparison is as `wanted` wherever j <= i + d, and nowhere else."""
    if not isinstance(v.source, Call) or v.source.op.name not in OPPOSITE:
        return None
    name = v.source.op.name if wanted else OPPOSITE[v.source.op.name]
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


def reach_of(
    fused: Fused,
    value: Atom,
    labels: Mapping[int, int],
    order: tuple[int, ...],
    column: int | None,
    whole: int,
    name: str,
    largest: float | None = None,
) -> Fused:
    """The group that finds for each matrix how many keys there are up to the last one that has an odd number; 0: there
    is none. Odd are infinities and NaNs, or what is beyond `largest`. `labels`: those of the value's axes; the matrices
    lie in `order`. `column`: the label of keys; None: of what belongs to `whole` keys, as a query does.
    """
    needed = statements_for(applies(fused), [value], frozenset())
    b = Builder(fused.span)
    keys = (*order, column) if column is not None else order
    others = [n for n in labels if n not in keys]
    v = make.transpose(b, value, [labels[n] for n in (*keys, *others)])
    shape = v.aval.shape
    if largest is None:
        is_odd = make.elementwise(b, ops.NOT_EQUAL, make.elementwise(b, ops.SUBTRACT, v, v), 0)  # 0 of what is finite
    else:
        small = make.elementwise(b, ops.LESS_EQUAL, make.elementwise(b, ops.ABSOLUTE, v), largest)
        is_odd = make.elementwise(b, ops.LOGICAL_NOT, small)
    count: Atom = make.full(b, shape, whole, np.int32)
    if column is not None:
        count = make.add(b, make.iota(b, shape[len(order)], np.int32), 1)
        count = make.broadcast_to(b, make.reshape(b, count, (shape[len(order)], *[1] * len(others))), shape)
    axes = tuple(range(len(order), len(shape)))
    reach = make.max(b, make.elementwise(b, ops.WHERE, is_odd, count, 0), axes)
    assert isinstance(reach, Var)
    made = [s for s in b.statements if isinstance(s, Apply)]
    named = Var(name, reach.aval)
    *before, last = made
    made = [*before, Apply((named,), last.op, last.args, last.attrs, last.span)]
    return close([*needed, *made], [named], reduction_kind(shape, axes))
