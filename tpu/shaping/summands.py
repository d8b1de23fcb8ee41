"""Sums that make what they sum themselves, rather than have it written to memory and read it there.

    centred = x - mean                         another kernel needs it as well: a subtraction is soon made anew
    variance = np.mean(centred * centred)      but YNNPACK, which sums, joins only what nobody else needs

So the sum is given a subtraction of its own. A barrier in front of the mean keeps XLA from finding the two the same: it
stands before a few numbers, and is gone (or costs nothing) where kernels are made. A layer norm of 2048 x 512 float64
numbers then moves 32 MB in place of 48.
"""

from __future__ import annotations

import math
from collections import defaultdict

from ...translator.errors import Span
from ...translator.patterns import pattern
from ...translator.records import dataclass
from .apart import region_of_each

SMALLEST = 1 << 16  # elements that are summed: fewer stay in the caches
MOST = 6  # operations that are done twice
FEWER = 8  # how many times fewer numbers are spread over what is summed

_SUM = pattern(
    r"= stablehlo\.reduce\((%\w+) init: %\w+\) applies stablehlo\.add .* : \(tensor<((?:\d+x)+)f(?:32|64)>"
)
_MADE = pattern(r"^\s*(%\w+) = \"?(?:stablehlo\.)?(\w+)\b.* tensor<((?:\d+x)*)\w+>$")
_NAME = pattern(r"%\w+")
_SOURCE = pattern(r" : \((tensor<((?:\d+x)*)\w+>)\) -> ")

_CHEAP = frozenset(("add", "subtract", "multiply", "negate"))
_FUSED = _CHEAP | {"divide", "maximum", "minimum", "abs", "sqrt", "exponential", "tanh", "select", "compare"}
_FROM_MEMORY = frozenset(("dot_general", "convolution", "custom_call", "sort", "fft", "optimization_barrier"))


@dataclass(frozen=True, slots=True)
class _Made:
    """A value: the line that makes it, the region it stands in, the operation, what it reads, how many elements."""

    at: int
    region: int
    op: str
    operands: tuple[str, ...]
    elements: int


@dataclass(frozen=True, slots=True)
class _Chain:
    """What leads to a sum: a few rows or numbers that are spread over all elements, and the arithmetic on them."""

    spread: tuple[str, ...]
    arithmetic: tuple[str, ...]  # each behind what it reads


def with_own_summands(lines: list[str], spans: list[Span]) -> tuple[list[str], list[Span]]:
    """The lines of a program (its StableHLO) and their spans, with the values that sums make for themselves."""
    sums = [(k, found[1]) for k, line in enumerate(lines) if (found := _SUM.search(line)) and _is_large(found[2])]
    if not sums:
        return lines, spans
    program = _Program(lines)
    written: dict[int, list[str]] = {}
    for k, summed in sums:
        chain = program.chain(summed, k)
        if chain is not None:
            written[k] = program.with_copies(chain, k)
    out = [(line, span) for k, span in enumerate(spans) for line in written.get(k, (lines[k],))]
    return [line for line, _ in out], [span for _, span in out]


def _is_large(sizes: str) -> bool:
    return _elements(sizes) >= SMALLEST


def _elements(sizes: str) -> int:
    return math.prod(int(n) for n in sizes.split("x") if n)


class _Program:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._regions = list(region_of_each(lines))
        self._made: dict[str, _Made] = {}
        self._readers: dict[str, list[int]] = defaultdict(list)
        self._hidden: dict[tuple[str, int], str] = {}  # behind how many barriers XLA was shown a value, in a region
        for k, line in enumerate(lines):
            found = _MADE.match(line)
            names = _NAME.findall(line)
            read = names[1:] if found is not None else names
            if found is not None:
                self._made[found[1]] = _Made(k, self._regions[k], found[2], tuple(read), _elements(found[3]))
            for name in set(read):
                self._readers[name].append(k)

    def chain(self, summed: str, at: int) -> _Chain | None:
        """What the sum in line `at` should make for itself; None where XLA joins it to the sum, where it is in memory
        anyway, and where making it again would read more than one array.
        """
        found = self._leading_to(summed, at)
        if found is None:
            return None
        inside = {at, *(self._made[name].at for name in found.arithmetic)}
        others = {k for name in found.arithmetic for k in self._readers[name] if k not in inside}
        joined = all(self._op_in(k) in _FUSED or _SUM.search(self._lines[k]) for k in others)
        return found if others and joined else None

    def _leading_to(self, summed: str, at: int) -> _Chain | None:
        spread: set[str] = set()
        arithmetic: set[str] = set()
        arrays: set[str] = set()
        waiting = [summed]
        while waiting:
            name = waiting.pop()
            made = self._made.get(name)
            if made is None or made.region != self._regions[at] or made.op in _FROM_MEMORY:
                arrays.add(name)
            elif made.op in _CHEAP:
                waiting += () if name in arithmetic else made.operands
                arithmetic.add(name)
            elif made.op == "broadcast_in_dim" and not self._is_constant(made):
                spread.add(name)
            elif made.op not in ("constant", "broadcast_in_dim"):
                return None
            if len(arithmetic) > MOST or len(arrays) > 1:
                return None
        if not all(map(self._repeats_few, spread)):
            return None
        ordered = sorted(arithmetic, key=lambda name: self._made[name].at)
        hidden = set(spread)
        for name in ordered:
            if hidden.isdisjoint(self._made[name].operands):  # XLA finds it to be the same, and writes it
                return None
            hidden.add(name)
        return _Chain(tuple(sorted(spread)), tuple(ordered))

    def _repeats_few(self, name: str) -> bool:
        source = _SOURCE.search(self._lines[self._made[name].at])
        return source is not None and _elements(source[2]) * FEWER <= self._made[name].elements

    def _is_constant(self, made: _Made) -> bool:
        made_of = [self._made.get(name) for name in made.operands]
        return made.op == "broadcast_in_dim" and made_of[0] is not None and made_of[0].op == "constant"

    def _op_in(self, at: int) -> str:
        found = _MADE.match(self._lines[at])
        return found[2] if found is not None else ""

    def with_copies(self, chain: _Chain, at: int) -> list[str]:
        """The sum in line `at`, behind copies of what leads to it."""
        own = {name: f"{name}_of{at}" for name in (*chain.spread, *chain.arithmetic)}
        out = []
        for name in chain.spread:
            line = self._lines[self._made[name].at]
            (few,), kind = self._made[name].operands, _SOURCE.search(line)
            assert kind is not None
            if few not in own:
                before = self._hidden.get((few, self._regions[at]), few)  # two barriers before one value are the same
                own[few] = self._hidden[few, self._regions[at]] = f"{few}_for{at}"
                out.append(f"    {own[few]} = stablehlo.optimization_barrier {before} : {kind[1]}")
            out.append(_renamed(line, own))
        out += (_renamed(self._lines[self._made[name].at], own) for name in chain.arithmetic)
        (target,) = _NAME.findall(self._lines[at])[:1]
        return [*out, _renamed(self._lines[at], {k: v for k, v in own.items() if k != target})]


def _renamed(line: str, names: dict[str, str]) -> str:
    return _NAME.sub(lambda m: names.get(m.group(), m.group()), line)
