"""Values of native loops that are zero outside one run of places: products and sums cover only that run.

    np.where(k < i, a, 0.0) @ np.where(k < i, x, 0.0)        for (long long k = 0; k < i; k++) sum += a[k] * x[k];

with `k = np.arange(n)`. So slices that grow with a loop, as in `a[i, :i] @ x[:i]`, cost what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ...translator.ir import Apply, Atom, Const, DType
from ...translator.ops.core import Elementwise
from .checks import INT, Checking
from .host import HOST, Scalar
from .values import Array, Lazy, Stretch

LANES = 8
"""Partial sums of a long sum, which one vector instruction adds to."""
SAFE = 2**62
"""Places beyond that are left to the plain form: their differences might wrap around."""
_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


class Stretches(Checking):
    """Finds the runs, and goes over them."""

    def stretched(self, s: Apply, op: Elementwise, values: Sequence[Scalar | Array], made: Lazy) -> Lazy:
        """The result of an elementwise operation with what is known of its places."""
        if len(made.shape) != 1:
            return made
        match op.name, values:
            case "add", (Lazy(first=str()) as x, Scalar() as y):
                return self._moved(made, x, y, s.args[1])
            case "add", (Scalar() as x, Lazy(first=str()) as y):
                return self._moved(made, y, x, s.args[0])
            case "less" | "less_equal" | "greater" | "greater_equal", (Lazy(first=str()) as x, Scalar() as y):
                return self._bounded(made, op.name, x, y, s.args[1])
            case "less" | "less_equal" | "greater" | "greater_equal", (Scalar() as x, Lazy(first=str()) as y):
                return self._bounded(made, _MIRRORED[op.name], y, x, s.args[0])
            case "bitwise_and" | "logical_and", (Lazy(stretch=Stretch() as p), Lazy(stretch=Stretch() as q)):
                if p.inside is None and q.inside is None:
                    return replace(made, stretch=p.within(q), view=True)
            case "where", (Lazy(stretch=Stretch(inside=None) as p), x, _) if self._is_zero(s.args[2]):
                return replace(made, stretch=self._chosen(p, x))
        return made

    def _moved(self, made: Lazy, line: Lazy, by: Scalar, source: Atom) -> Lazy:
        """`np.arange(n) + by`."""
        if made.dtype != INT or line.first != "0" or not self._is_place(source):
            return made
        return replace(made, first=by.as_type(INT), view=True)

    def _bounded(self, made: Lazy, order: str, line: Lazy, bound: Scalar, source: Atom) -> Lazy:
        """A comparison of `np.arange(n) + first` with a bound."""
        if line.dtype != INT or not self._is_place(source):
            return made
        place = bound.as_type(INT) if line.first == "0" else f"{bound.as_type(INT)} - {line.first}"
        if order in ("less_equal", "greater"):
            place = f"{place} + 1"
        stretch = Stretch((), (place,)) if order.startswith("less") else Stretch((place,), ())
        return replace(made, stretch=stretch, view=True)

    def _is_place(self, a: Atom) -> bool:
        return not a.aval.shape and a.aval.dtype.kind in "iu" and self.checks.interval(a).within(-SAFE, SAFE)

    def _is_zero(self, a: Atom) -> bool:
        root = self.lifetimes.root(a)
        return isinstance(root, Const) and not root.aval.shape and root.value == 0

    def _chosen(self, mask: Stretch, x: Scalar | Array) -> Stretch:
        if isinstance(x, Lazy) and x.stretch is not None and x.stretch.inside is not None:
            return replace(mask.within(x.stretch), inside=x.stretch.inside)
        if isinstance(x, Scalar):
            return replace(mask, inside=lambda _: x)
        return replace(mask, inside=lambda i: self.element(x, i if x.shape != (1,) else ("0",)))

    def inner_product(self, x: Array, y: Array, dtype: DType, hint: str) -> Scalar | None:
        """The sum of the products of two lines that are zero outside the same run; None for others."""
        p, q = (v.stretch if isinstance(v, Lazy) else None for v in (x, y))
        if p is None or q is None or p.inside is None or q.inside is None or x.shape != y.shape or dtype.kind == "b":
            return None
        if (p.low, p.high) != (q.low, q.high):
            return None
        first, second = p.inside, q.inside
        return self._along(
            p, x.shape[0], dtype, hint, lambda k: f"{first((k,)).as_type(dtype)} * {second((k,)).as_type(dtype)}"
        )

    def _along(self, stretch: Stretch, n: int, dtype: DType, hint: str, term: Callable[[str], str]) -> Scalar:
        """The sum of terms over a run, of floats in partial sums."""
        kind = self.type_name(dtype)
        low, high = self.declare("low", stretch.lowest(), INT).text, self.declare("high", stretch.highest(n), INT).text
        held, k = self.declare(hint, HOST.literal(0, dtype), dtype, fixed=False), self.names.fresh("k")
        self.line(f"long long {k} = {low};")
        if dtype.kind == "f":
            parts, lane = self.names.fresh(f"{hint}_parts"), self.names.fresh("i")
            self.line(f"{kind} {parts}[{LANES}] = {{}};")
            with self.braces(f"for (; {k} + {LANES} <= {high}; {k} += {LANES})"), self.lanes(k, LANES, lane) as place:
                self.line(f"{parts}[{lane}] += {term(place)};")
            self.line(f"{held.text} = {in_pairs(parts)};")
        with self.braces(f"for (; {k} < {high}; {k}++)"), self.forgetting():
            self.line(f"{held.text} = {held.text} + {term(k)};")
        return held

    @contextmanager
    def lanes(self, block: str, count: int | str, lane: str) -> Iterator[str]:
        """The places `block + lane`. GCC 12 goes wrong where it makes vectors of several blocks that choose: the empty
        statement keeps it to the lanes of one (twice the time of a product in the first cache, so only there).
        """
        mark = len(self.lines)
        with self.braces(f"for (int {lane} = 0; {lane} < {count}; {lane}++)"):
            place = self.declare("k", f"{block} + {lane}", INT).text
            with self.forgetting():
                yield place
        if any(" ? " in line for line in self.lines[mark:]):
            self.line('__asm__ volatile("");')


def in_pairs(parts: str) -> str:
    """The sum of partial sums."""
    found = [f"{parts}[{k}]" for k in range(LANES)]
    while len(found) > 1:
        found = [f"({a} + {b})" for a, b in zip(found[::2], found[1::2], strict=True)]
    return found[0]
