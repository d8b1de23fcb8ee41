"""Hypothesis strategies for tests of derivatives: arrays that keep away from kinks, trees of them, random programs.

from hypothesis import given
from untraced.testing import check_grads, strategies

@given(strategies.arrays(shape=3))
def test_norm(x): check_grads(norm, (x,))

@given(strategies.programs())
def test_any_program(program): check_grads(program.fun, program.args)
"""

from __future__ import annotations

import itertools
import linecache
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.records import dataclass

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("untraced.testing.strategies needs Hypothesis: pip install hypothesis") from error

Strategy = Any  # a hypothesis SearchStrategy
Pair = namedtuple("Pair", "first second")


def arrays(
    shape: int | Sequence[int] | None = None,
    dtype: Any = np.float64,
    *,
    low: float = -2.0,
    high: float = 2.0,
    avoid: Sequence[float] = (0.0,),
    margin: float = 0.05,
) -> Strategy:
    """Arrays of real or complex numbers between `low` and `high`, no element within `margin` of a number in `avoid`.

    shape    an int, a tuple, or None for any with up to two axes of up to four elements. The elements are also at least
             `margin / size` apart from each other, so that a maximum or a sort has no ties.
    dtype    the dtype; the real and the imaginary part of complex numbers are drawn alike.
    """
    sizes = st.lists(st.integers(1, 4), max_size=2).map(tuple)
    shapes = sizes if shape is None else st.just((shape,) if isinstance(shape, int) else tuple(shape))
    return st.tuples(shapes, st.integers(0, 2**32 - 1)).map(
        lambda drawn: _array(drawn[0], np.dtype(dtype), drawn[1], low, high, avoid, margin)
    )


def _array(
    shape: tuple[int, ...], dtype: Any, seed: int, low: float, high: float, avoid: Sequence[float], margin: float
) -> Any:
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=int))
    parts = [_apart(rng, count, low, high, avoid, margin).reshape(shape) for _ in range(2 if dtype.kind == "c" else 1)]
    value = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return np.asarray(value).astype(dtype)


def _apart(
    rng: np.random.Generator, count: int, low: float, high: float, avoid: Sequence[float], margin: float
) -> np.ndarray[Any, Any]:
    """Numbers on a random grid, each a little off its point, in random order."""
    grid = np.linspace(low, high, 4 * count + 8)
    free = grid[[all(abs(x - a) > margin + (high - low) / len(grid) for a in avoid) for x in grid]]
    if len(free) < count:
        raise ValueError(f"no {count} numbers between {low} and {high} keep {margin} away from {list(avoid)}")
    chosen = rng.choice(free, count, replace=False)
    return chosen + rng.uniform(-0.25, 0.25, count) * (high - low) / len(grid)


def pytrees(leaves: Strategy | None = None, max_leaves: int = 5) -> Strategy:
    """Dicts, lists, tuples, namedtuples and None around `leaves` (by default `arrays()` and floats)."""
    base = st.one_of(arrays(), st.floats(0.1, 1.5)) if leaves is None else leaves

    def around(inner: Strategy) -> Strategy:
        return st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.tuples(inner, inner),
            st.tuples(inner, st.none()),
            st.dictionaries(st.sampled_from(["w", "b", "scale"]), inner, min_size=1, max_size=3),
            st.builds(Pair, inner, inner),
        )

    return st.recursive(base, around, max_leaves=max_leaves)


# ---- random programs -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A NumPy function of random source, which `inspect.getsource` finds, and arguments for it.

    `fun(x, w, n)` takes vectors x and w of `SIZE` elements and an int n, writes none of them, and returns a number.
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    source: str

    def __repr__(self) -> str:
        return f"Program(args={self.args!r})\n{self.source}"


SIZE = 4
_numbers = itertools.count(1)


def programs(statements: int = 6, *, loops: bool = True, stores: bool = True, branches: bool = True) -> Strategy:
    """Smooth random programs of at most so many statements, with loops (`for` with known and unknown trip counts,
    `while`, `break`), stores at fixed, computed and repeated places, views, and branches on data.
    """
    return st.composite(_program)(statements, loops, stores, branches)


def _program(draw: Any, statements: int, loops: bool, stores: bool, branches: bool) -> Program:
    writer = _Writer(draw, loops, stores, branches)
    writer.block(1, statements, 2)
    first = ["import numpy as np", "", "", "def program(x, w, n):", "    a = np.tanh(x)", "    b = w * 0.5"]
    last = ["    return np.sum(a * a) + np.mean(a * b) + np.sin(b[0])", ""]
    source = "\n".join([*first, *writer.lines, *last])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x, w = (_apart(rng, SIZE, -1.5, 1.5, (0.0,), 0.05) for _ in range(2))
    return Program(_compiled(source), (x, w, draw(st.integers(0, 3))), source)


def _compiled(source: str) -> Callable[..., Any]:
    file = f"<random program {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(source, file, "exec"), space)
    made: Callable[..., Any] = space["program"]
    return made


class _Writer:
    """Writes statements over the vectors a, b, x and w. Only a and b are written to; values stay moderate."""

    def __init__(self, draw: Any, loops: bool, stores: bool, branches: bool) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.made = 0
        self.kinds = ["assign", "assign"] + ["store"] * 2 * stores + ["loop", "while"] * loops + ["branch"] * branches

    def pick(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def vector(self, depth: int = 2) -> str:
        kind = self.draw(st.integers(0, 6)) if depth else 0
        if kind <= 1:
            return self.pick("a", "b", "x", "w")
        if kind == 2:
            return f"np.tanh({self.vector(depth - 1)} {self.pick('+', '-', '*')} {self.vector(depth - 1)})"
        if kind == 3:
            return f"np.{self.pick('sin', 'cos', 'tanh')}({self.vector(depth - 1)})"
        if kind == 4:
            return f"np.exp(-{self.pick('a', 'b', 'x')} ** 2) * {self.pick('0.5', 'w', 'a[0]')}"
        if kind == 5:
            return f"np.tanh(np.outer(x, {self.pick('a', 'w')}) @ {self.vector(depth - 1)})"
        return f"{self.pick('a', 'b')}[::-1] * {self.pick('0.5', '-0.25', 'np.mean(w)')}"

    def place(self) -> tuple[str, bool]:
        """An index, and whether it selects one element."""
        fixed = [("0", True), ("-1", True), ("1:3", False), ("::2", False), ("[0, 2, 0]", False)]
        computed = [(f"{c} % {SIZE}", True) for c in self.counters]
        chosen: tuple[str, bool] = self.draw(st.sampled_from([*fixed, *computed]))
        return chosen

    def block(self, indent: int, count: int, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, count))):
            kind = self.draw(st.sampled_from(self.kinds if depth else ["assign", "store"]))
            if kind == "store" and "store" in self.kinds:
                self.store(indent)
            elif kind in ("loop", "while", "branch"):
                getattr(self, f"{kind}_")(indent, depth)
            else:
                self.emit(indent, f"{self.pick('a', 'b')} = {self.vector()}")
                self.emit(indent, "a, b = a.copy(), b.copy()")

    def store(self, indent: int) -> None:
        name, (index, single) = self.pick("a", "b"), self.place()
        numbers = ("0.25", "np.sin(x[1])", "np.tanh(np.sum(a))", "b[2] * 0.5")
        value = self.pick(*numbers) if single else self.pick("0.5", "a[0]")
        self.emit(indent, f"{name}[{index}] {self.pick('=', '+=', '*=')} {value}")

    def loop_(self, indent: int, depth: int) -> None:
        index = "ijk"[len(self.counters)]
        reach = self.pick("range(3)", "range(n)", "reversed(range(1, 3))", "range(3, 0, -1)")
        self.emit(indent, f"for {index} in {reach}:")
        self.counters.append(index)
        self.block(indent + 1, 2, depth - 1)
        if self.draw(st.booleans()):
            self.emit(indent + 1, f"if np.sum({self.pick('a', 'b')}) > 1.2345:")
            self.emit(indent + 2, "break")
        self.counters.pop()

    def while_(self, indent: int, depth: int) -> None:
        self.made += 1
        count = f"turns_{self.made}"
        self.emit(indent, f"{count} = 0")
        self.emit(indent, f"while {count} < 3 and np.sum(a * a) > 0.1234:")
        self.emit(indent + 1, f"{count} += 1")
        self.emit(indent + 1, "a = a * 0.75")
        self.block(indent + 1, 2, depth - 1)

    def branch_(self, indent: int, depth: int) -> None:
        self.emit(indent, f"if np.sum({self.pick('a', 'b', 'x')}) > {self.pick('0.0', '0.4321')}:")
        self.block(indent + 1, 2, depth - 1)
        if self.draw(st.booleans()):
            self.emit(indent, "else:")
            self.block(indent + 1, 2, depth - 1)


__all__ = ["Pair", "Program", "arrays", "programs", "pytrees"]
