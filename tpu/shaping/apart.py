"""Barriers where a kernel would compute a value again and again, because each element needs others of it.

    w = w[::-1] * x + w         40 such lines

An element of the last w needs two of the one before, those need four: where XLA does not see it (a reversal costs
nothing in its eyes), it stops for minutes, or the program does; and where it does, it repeats up to 15 times what is
sooner read from memory: forty turns of `w / 2 + (np.roll(w, 1, 0) + np.roll(w, -1, 1)) / 4` took 510 ms, NumPy 14,
and now 2. What stands behind a barrier is kept in memory: another kernel begins. XLA drops barriers before it makes
kernels, unless it is told to leave them (`options.Flags.apart`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from ...translator.errors import Span
from ...translator.patterns import pattern
from ...translator.records import dataclass

FEWEST = 6  # operations that move elements: fewer make few copies
WORTH = 4  # operations on an element that take as long as writing and reading it
ACROSS = 12  # how much longer that takes where it is read across: by columns instead of rows
BEGINNING = 3000  # operations that take as long as starting one more kernel
SHIFTED = 2  # parts of arrays: a sum over values made of as many takes 2 to 60 times as long as the arithmetic
LONG = 1 << 13  # elements of a sum
STREAMS = 16  # parts of arrays that one kernel reads side by side
MOST = 300  # operations on an element, however few elements there are
DEAR = 10  # operations on an element that is repeated in many equal rows, or along those of a factor
DEEPEST = 4  # chained permutations, or nested branches: each further one doubles XLA's time

LOOP_BYTES = 1 << 18  # XLA makes loops over less into functions, unless a barrier stands in them
SMALLEST = 1 << 14  # bytes of an array in a loop: a pass over so many takes longer than starting a kernel

MARK = "_apart"

_STATEMENT = pattern(r"^\s*(%\w+) = \"?stablehlo\.(\w+)\b(.*) (tensor<((?:\d+x)*)[^<>]*(?:<[^<>]*>)?>)$")
_BARRIER = pattern(r"^\s*(%\w+) = stablehlo\.optimization_barrier (%\w+) : tensor<((?:\d+x)*)(b?f\d+)>$")
_ANY_BARRIER = pattern(r"= stablehlo\.optimization_barrier (%\w+) :")
_DEFINITION = pattern(r"^\s*(%\w+) = ")
_QUOTIENT = pattern(r"= stablehlo\.divide (%\w+), (%\w+) :")
_SPREAD = pattern(
    r"= stablehlo\.broadcast_in_dim (%\w+), dims = \[(?:\d+, )*(\d+)\]"
    r" : \(tensor<(?:\d+x)*?(\d+)x[a-z]\w*>\) -> tensor<((?:\d+x)*)"
)
_NANS = {"f64": "0x7FF8000000000000", "f32": "0x7FC00000", "f16": "0x7E00", "bf16": "0x7FC0"}
_NAME = pattern(r"%\w+")
_MOVES = frozenset(
    (
        *("broadcast_in_dim", "slice", "reshape", "transpose", "reverse", "dynamic_slice", "gather"),
        *("concatenate", "pad", "dynamic_update_slice"),
    )
)
_PARTS = frozenset(("slice", "dynamic_slice", "concatenate", "pad", "reverse"))
_PERMUTES = frozenset(("transpose", "gather"))
BRANCHES = frozenset(("concatenate", "pad", "dynamic_update_slice"))
_COUNTED = ("slice ", "reverse ", "transpose ", "gather", "concatenate ", "pad ")
_ALONE = frozenset(
    (
        *("dot_general", "convolution", "custom_call", "sort", "fft", "while", "case", "if", "scatter"),
        *("reduce", "sum", "reduce_window", "constant", "iota"),
    )
)
"""Made by kernels of their own, by none, or in no time."""
_COSTS = {
    **dict.fromkeys(("divide", "sqrt", "rsqrt", "remainder"), 6),
    **dict.fromkeys(("exponential", "log", "tanh", "power", "sine", "cosine", "tan"), 20),
}


@dataclass(frozen=True, slots=True)
class _Made:
    """A value: the operation and its operands ("sum" is a reduction), the number of elements, and the value that it
    repeats as `rows`, or `along` them.
    """

    name: str
    op: str
    operands: frozenset[str]
    elements: int
    rows: str | None
    along: str | None


def set_apart(lines: list[str], spans: list[Span]) -> tuple[list[str], list[Span]]:
    """The lines of a program (its StableHLO), no kernel of which does the same over and over, and their spans."""
    moving = sum(op in line for line in lines for op in _COUNTED)
    summed = moving >= SHIFTED and any("stablehlo.reduce" in line for line in lines)
    if moving < FEWEST and not summed and not any(_SPREAD.search(line) for line in lines):
        return lines, spans
    regions = _regions(lines)
    least = WORTH if all(map(_is_large, regions.loops)) else MOST
    kept = {name for region in regions.all for name in _repeated(region, least)}
    uses = Counter(name for line in lines for name in set(_NAME.findall(line)))
    if not kept or any(uses[v] > 2 for v in _barred(lines)):
        return lines, spans
    hidden = _Hidden(lines, uses, {v.name for v in regions.values if v.op in ("broadcast_in_dim", "constant")})
    out: list[tuple[str, Span]] = []
    renamed: dict[str, str] = {}
    for line, span in zip(lines, spans, strict=True):
        if renamed and not renamed.keys().isdisjoint(_NAME.findall(line)):
            line = _NAME.sub(lambda m: renamed.get(m.group(), m.group()), line)
        out += [(written, span) for written in hidden.rewritten(line, renamed)]
        made = _DEFINITION.match(line)
        if made is not None and made[1] in kept and (found := _STATEMENT.match(line)) is not None:
            name, kind = found[1], found[4]
            renamed[name] = name + MARK
            out.append((f"    {name}{MARK} = stablehlo.optimization_barrier {name} : {kind}", span))
    return [line for line, _ in out], [span for _, span in out]


def _barred(lines: list[str]) -> Iterator[str]:
    """The values behind barriers that `_Hidden` does not replace. Where barriers are kept, a kernel that reads
    an array under both its names may write its result there: XLA sees that it is read at one place under the first.
    """
    for line in lines:
        found = None if _BARRIER.match(line) else _ANY_BARRIER.search(line)
        if found is not None:
            yield found[1]


class _Hidden:
    """Barriers that hide from XLA's simplifier how a float was made, and should end no kernel: what is the same as
    itself, else NaN. Of a divisor what it divides is asked, which makes NaN of NaN too; were all of it spread from
    numbers, XLA would spread their reciprocal.
    """

    def __init__(self, lines: list[str], uses: Mapping[str, int], spread: set[str]) -> None:
        regions = list(region_of_each(lines))
        made = {m[1]: r for line, r in zip(lines, regions, strict=True) if (m := _DEFINITION.match(line)) is not None}
        self.divided: dict[str, str] = {}
        for line, region in zip(lines, regions, strict=True):
            found = _QUOTIENT.search(line)
            if found is None:
                continue
            numerator, divisor = found.groups()
            if uses[divisor] == 2 and made.get(divisor) == region and numerator != divisor:  # made and used only here
                self.divided[divisor] = numerator
        self.unknown = spread | made.keys()
        self.spread = spread

    def rewritten(self, line: str, renamed: Mapping[str, str]) -> list[str]:
        made = _DEFINITION.match(line)
        if made is not None and made[1] not in self.spread:
            self.unknown.discard(made[1])
        found = _BARRIER.match(line)
        if found is None:
            return [line]
        name, value, sizes, float_ = found.groups()
        asked = next((a for a in (self.divided.get(name, value), value) if a not in self.unknown), None)
        if asked is None:  # a number, or one spread over an array: each kernel makes it itself
            return [line]
        asked, kind, test = renamed.get(asked, asked), f"tensor<{sizes}{float_}>", f"tensor<{sizes}i1>"
        return [
            f"    {name}_nan = stablehlo.constant dense<{_NANS[float_]}> : {kind}",
            f"    {name}_same = stablehlo.compare EQ, {asked}, {asked} : ({kind}, {kind}) -> {test}",
            f"    {name} = stablehlo.select {name}_same, {value}, {name}_nan : {test}, {kind}",
        ]


@dataclass(frozen=True, slots=True)
class _Regions:
    """For each region of a program what it computes (kernels end where regions do), and for each loop what it does."""

    all: list[list[_Made]]
    loops: list[list[_Made]]

    @property
    def values(self) -> Iterator[_Made]:
        return (v for region in self.all for v in region)


def _regions(lines: list[str]) -> _Regions:
    top: list[_Made] = []
    regions, open_ = _Regions([top], []), [top]
    for line in lines:
        if line.lstrip().startswith("}"):
            open_.pop()
        if line.endswith("{"):
            open_.append([])
            regions.all.append(open_[-1])
        if line.endswith("do {"):
            regions.loops.append(open_[-1])
        found = _STATEMENT.match(line)
        if found is not None:
            name, op, rest, _, sizes = found.groups()
            elements = math.prod(map(int, sizes.rstrip("x").split("x"))) if sizes else 1
            if op == "reduce" and "applies stablehlo.add " in rest:
                op = "sum"
            open_[-1].append(_Made(name, op, frozenset(_NAME.findall(rest)), elements, _rows(line), _repeats(line)))
    return regions


def _rows(line: str) -> str | None:
    """The value that a line repeats in many equal rows: it would be computed anew in each of them."""
    found = _SPREAD.search(line)
    if found is None or int(found[2]) != found[4].count("x") - 1 or int(found[3]) == 1:
        return None
    return found[1]


def _repeats(line: str) -> str | None:
    """The value that a line repeats along its rows: most loops compute it once for the row, but not those over the
    factors of a product, which may be read across.
    """
    found = _SPREAD.search(line)
    return None if found is None or _rows(line) is not None else found[1]


def region_of_each(lines: list[str]) -> Iterator[int]:
    """A number for the region in which each line stands."""
    open_, last = [0], 0
    for line in lines:
        if line.lstrip().startswith("}"):
            open_.pop()
        yield open_[-1]
        if line.endswith("{"):
            last += 1
            open_.append(last)


def _is_large(loop: list[_Made]) -> bool:
    """Whether the loop is too large for XLA to make a function of it; such functions must be free of barriers."""
    return any(v.elements * 8 >= SMALLEST and v.op not in ("broadcast_in_dim", "constant", "iota") for v in loop)


def _repeated(region: list[_Made], least: float) -> Iterator[str]:
    """The values that kernels would compute over and over, those before them being kept: where that takes more than
    the `least` number of operations on an element.
    """
    work = _Work(region, least)
    for v in region:
        if v.op in ("sum", "reduce") and least < MOST:
            yield from (a for a in v.operands if work.elements.get(a, 0) >= LONG and work.shifted(a) >= SHIFTED)
        if v.op in _ALONE:
            continue
        work.count(v)
        if work.is_too_much(v):
            yield work.keep(v)


class _Work:
    """What a kernel that reads a value of a region would compute for it: back to the values that are kept in memory.

    here    arithmetic at the index of the element itself, one bit for each operation
    moves   operations that need other elements, one bit for each; `behind` has how much arithmetic each of them needs,
            `parts` which of them read parts of arrays
    deep, nested   how many permutations are chained, and how many branches are nested
    """

    def __init__(self, region: list[_Made], least: float) -> None:
        self.least = least
        multiplied = _multiplied(region) if least < MOST else set()
        self.spread = {v.along: v.elements for v in region if v.name in multiplied}
        self.spread |= {v.rows: v.elements for v in region if least < MOST}
        self.uses, self.across = _uses(region), {a for v in region if v.op == "transpose" for a in v.operands}
        self.parted = Counter(a for v in region if v.op in _PARTS for a in v.operands)
        self.direct = Counter(a for v in region if v.op not in _MOVES for a in v.operands)
        self.elements: dict[str, int] = {}
        self.here: dict[str, int] = {}
        self.moves: dict[str, int] = {}
        self.deep: dict[str, int] = {}
        self.nested: dict[str, int] = {}
        self.behind: list[int] = []
        self.operations, self.parts = 0, 0

    def shifted(self, name: str) -> int:
        """How many parts of arrays the value is made of."""
        return (self.moves.get(name, 0) & self.parts).bit_count()

    def on(self, name: str) -> int:
        """The operations that make an element of the value."""
        inside = self.here.get(name, 0).bit_count()
        return inside + sum(self.behind[k] for k in _bits(self.moves.get(name, 0)))

    def count(self, v: _Made) -> None:
        self.elements[v.name] = v.elements
        if v.op in _MOVES:
            part = v.op in _PARTS or (v.op == "reshape" and any(map(self.shifted, v.operands)))
            self.parts |= part << len(self.behind)
            self.moves[v.name] = 1 << len(self.behind)
            self.behind.append(sum(map(self.on, v.operands)))
        else:
            cost = _COSTS.get(v.op, 1)
            self.here[v.name] = ((1 << cost) - 1) << self.operations
            self.operations += cost
            for a in v.operands:
                self.here[v.name] |= self.here.get(a, 0)
                self.moves[v.name] = self.moves.get(v.name, 0) | self.moves.get(a, 0)
        self.deep[v.name] = max((self.deep.get(a, 0) for a in v.operands), default=0) + (v.op in _PERMUTES)
        self.nested[v.name] = max((self.nested.get(a, 0) for a in v.operands), default=0) + (v.op in BRANCHES)

    def enough(self, v: _Made) -> float:
        """The operations on an element above which the value is sooner read."""
        return max(self.least, min(MOST, BEGINNING / max(v.elements, 1)))

    def is_too_much(self, v: _Made) -> bool:
        """Whether kernels would do too much of it again, or read too many parts side by side."""
        if v.op == "broadcast_in_dim":
            return False
        work = self.on(v.name)
        again = (self.uses[v.name] - 1) * work * (ACROSS if v.name in self.across else 1)
        dear = work >= DEAR and work * self.spread.get(v.name, 0) > 10 * BEGINNING
        many = self.parted[v.name] * self.shifted(v.name) > STREAMS
        steep = self.nested[v.name] >= DEEPEST and v.elements * 8 >= SMALLEST
        return again > self.enough(v) or self.deep[v.name] > DEEPEST or steep or dear or many

    def keep(self, v: _Made) -> str:
        """The value that is kept: `v`, or what it is made of, where others need that as well and `v` is sooner made of
        it again than read.
        """
        kept, own = v.name, _COSTS.get(v.op, 1)
        below = [a for a in v.operands if self.on(a)]
        cheap = self.uses[v.name] * own <= self.enough(v)
        if v.op not in _MOVES and len(below) == 1 and self.direct[below[0]] > 1 and cheap:
            kept = below[0]
            self.here[v.name] = ((1 << own) - 1) << (self.operations - own)
            self.moves[v.name] = self.deep[v.name] = self.nested[v.name] = 0
        self.here[kept] = self.moves[kept] = self.deep[kept] = self.nested[kept] = 0
        return kept


def _multiplied(region: list[_Made]) -> set[str]:
    """The values that the factors of products are made of, element by element."""
    found: set[str] = set()
    for v in reversed(region):
        if v.op == "dot_general" or (v.name in found and v.op not in _ALONE):
            found |= v.operands
    return found


def _uses(region: list[_Made]) -> dict[str, float]:
    """How often each value is needed: once at its own index, and once for each operation that permutes all of it."""
    known = {v.name: v for v in region}
    moved = dict.fromkeys(known, 0.0)
    direct: set[str] = set()
    for v in region:
        for a in v.operands & known.keys():
            if v.op in _MOVES:
                moved[a] += min(1.0, v.elements / max(known[a].elements, 1))
            else:
                direct.add(a)
    return {name: times + (name in direct) for name, times in moved.items()}


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
