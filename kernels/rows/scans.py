"""Running sums, products and extremes: several elements a thread, and chunks of a long row to blocks of their own.

    part[k] = np.sum(np.exp(x[k]))                          for chunks k of a long row, by the first kernel
    y[k] = np.sum(part[:k]) + np.cumsum(np.exp(x[k]))       by the second

Both read the array. In one kernel, whose blocks would wait for what the blocks before them come to, the order of sums
would depend on which of them is faster; so it is the same in every run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from ...translator.ir import Fused
from ...translator.ops import MAX, MIN, PROD, SUM
from ...translator.passes.alignment import nbytes
from ...translator.records import dataclass
from ..loops.reductions import RUNNING
from ..program import GroupPlan, Launch, header, make_launch, prepare, walks_neighbours
from ..source.body import Body
from ..source.dialects import accumulator
from ..source.layout import Layout
from ..source.lower import lower
from ..source.maps import Strides
from ..source.values import Fold, Load, Look, Lowered, Number, Output, Position, Scan, Value
from .neighbours import Neighbours
from .parts import ENOUGH_BLOCKS, Chunks, chunks_of, first_stage

FOLDS = {op.name: op for op in (SUM, PROD, MAX, MIN)}
THREADS = 256
PACKED = 8  # neighbours that a thread takes at a time, at most: chunks begin at such
LONGEST_WALK = {False: 8192, True: 1024}  # columns that one block walks sooner than a second kernel starts; beside
MOST_CHUNKS = {False: 2048, True: 256}  # each block folds what all before it came to; a thread alone takes longer


def plan_scan(
    fused: Fused, body: Body, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan | None:
    """None where one walk does not do: reductions beside the running ones, or running ones of each other."""
    lowered, layout, triton = body.lowered, body.layout, body.triton
    scans = running(lowered)
    if not _takes_one_walk(lowered, scans):
        return None
    beside = walks_neighbours(body)
    body.alone = beside and not triton
    body = body if triton or beside else ScanRows(body)
    each = body.widest_pack(8) if isinstance(body, ScanRows) else 1
    if triton:
        rows, width = (64, 32) if beside else (1, 2048)
    else:
        rows, width = (min(128, -(-layout.rows // 32) * 32), 1) if beside else (1, THREADS * each)
    chunks = _chunks(layout, max(rows, 1), width, beside)
    second = _scan_launch(body, header(fused), name, chunks, each, scans)
    if chunks.count == 1:
        return GroupPlan(name, (second,))
    first = _folds(fused, scalars, body.dialect.name, strides)
    own = chunks_of(first.layout, walks_neighbours(first), body.dialect.name)
    own = replace(own, count=chunks.count, length=chunks.length)
    parts = first_stage(first, header(fused), name, own, len(scans))
    outer = tuple(n for i, n in enumerate(lowered.domain) if i not in lowered.axes)
    partials = tuple(((*outer, chunks.count), accumulator(v.dtype)) for v in scans)
    return GroupPlan(name, (parts, replace(second, reread=_reread(fused, first))), partials)


def running(lowered: Lowered) -> list[Value]:
    return [v for v in lowered.values if isinstance(v.source, Scan)]


def _takes_one_walk(lowered: Lowered, scans: Sequence[Value]) -> bool:
    if any(isinstance(v.source, Fold | Look) for v in lowered.values) or not all(o.along for o in lowered.outputs):
        return False
    before = {id(v) for v in needed(lowered, [a for s in scans for a in s.args])}
    return not any(id(s) in before for s in scans)


def needed(lowered: Lowered, roots: Sequence[Value]) -> list[Value]:
    """These values and all that they are computed from, in order."""
    found, todo = set[int](), list(roots)
    while todo:
        v = todo.pop()
        if id(v) not in found:
            found.add(id(v))
            todo += v.args
    return [v for v in lowered.values if id(v) in found]


def _chunks(layout: Layout, rows: int, width: int, beside: bool) -> Chunks:
    """The chunks of a row; whole rows where these keep a device busy."""
    tiles = max(1, -(-layout.rows // rows))
    if layout.columns <= LONGEST_WALK[beside] or tiles >= ENOUGH_BLOCKS:
        return Chunks(rows, width, 1, layout.columns)
    least = LONGEST_WALK[beside] // 4
    count = max(1, min(layout.columns // least, -(-MOST_CHUNKS[beside] // tiles)))
    width = max(width, PACKED)  # the first kernel may find the rows one behind the other
    length = -(-layout.columns // (count * width)) * width
    return Chunks(rows, width, -(-layout.columns // length), length)


def _folds(fused: Fused, scalars: frozenset[int], language: str, strides: Mapping[int, Strides]) -> Body:
    """The totals of the chunks: the group with reductions instead of running ones, without what depends on them."""
    lowered = lower(fused, scalars)
    folds = [
        Value(v.name, v.dtype, Fold(FOLDS[RUNNING[v.source.op.name]]), v.args, False, 1, v.span)
        for v in running(lowered)
        if isinstance(v.source, Scan)
    ]
    lowered.values = [*needed(lowered, [a for f in folds for a in f.args]), *folds]
    lowered.outputs = [Output(f, (), f.dtype, (), False, ()) for f in folds]
    return prepare(fused, lowered, language, strides)


def _reread(fused: Fused, first: Body) -> int:
    """Bytes that the second kernel reads again."""
    params = {v.source.param for v in first.lowered.values if isinstance(v.source, Load) and v.along}
    return sum(nbytes(fused.body.params[p]) for p in params)


# ---- the walk ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Carried:
    """The running reduction at the start of a chunk: `part` points to the totals of all chunks."""

    sofar: str
    type: str
    start: str
    combine: str
    part: str
    run: str


def _scan_launch(
    body: Body, heading: list[str], name: str, chunks: Chunks, each: int, scans: Sequence[Value]
) -> Launch:
    layout, triton, divided = body.layout, body.triton, chunks.count > 1
    sections: dict[str, object]
    packed = 0
    if isinstance(body, ScanRows):
        sections, packed = body.sections(each), layout.columns if body.packable and body.packs_align(each) else 0
    else:
        sections = {"step": body.passes()[0], "alone": body.alone}
    sections |= {"divided": divided, "carried": [_carried(body, i, v, divided) for i, v in enumerate(scans)]}
    sections |= {"combine": body.joined, "fold": body.folded}
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    extents += [("chunks", chunks.count), ("chunk_length", chunks.length)] if divided else []
    tiles = -(-layout.rows // chunks.rows)
    grid = (tiles if triton or body.alone else min(tiles, 1 << 20), chunks.count)
    block = chunks.rows if body.alone else THREADS
    constants = (("ROWS", chunks.rows), ("BLOCK", chunks.block)) if triton else () if body.alone else (("EACH", each),)
    warps = 4 if chunks.rows > 1 else 8
    launch = make_launch(
        body, f"scan.{body.dialect.name}.j2", name, heading, sections, extents, grid, block, constants, warps
    )
    return replace(launch, packed=packed, pack=each) if packed else launch


def _carried(body: Body, index: int, v: Value, divided: bool) -> Carried:
    assert isinstance(v.source, Scan)
    dtype, fold = accumulator(v.dtype), RUNNING[v.source.op.name]
    part = body.pointer("partial", index, f"{v.name}_part", dtype) if divided else ""
    start, kind = body.start(v.source, dtype), body.dialect.type_name(dtype)
    run = body.runs[id(v)] if isinstance(body, ScanRows) else ""
    return Carried(body.carried[id(v)], kind, start, fold if body.triton else body.combine(fold, dtype), part, run)


@dataclass(slots=True)
class Walk:
    """One walk over a thread's elements. `given`: arrays of what runs, what changes nothing, and the operands."""

    lines: list[str] = field(default_factory=list)
    loads: list[tuple[str, str, str]] = field(default_factory=list)
    packs: list[tuple[str, str, str]] = field(default_factory=list)
    given: list[tuple[str, str, str]] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)


class ScanRows(Neighbours):
    """Writes running reductions of which a thread has several neighbours: all before them, and then all behind (CUDA).

    What both need is kept in arrays of the thread.
    """

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.scans = running(self.lowered)
        self.before = [v for v in needed(self.lowered, [a for s in self.scans for a in s.args]) if v.along]
        self.behind, kept = self._behind({id(v) for v in self.before})
        self.kept = [v for v in self.lowered.values if id(v) in kept]
        self.places = kept
        self.runs: dict[int, str] = {}

    def _behind(self, before: set[int]) -> tuple[list[Value], set[int]]:
        """The statements after the running reductions, and the values before them that these need."""
        found, kept, todo = set[int](), set[int](), [o.value for o in self.lowered.outputs]
        while todo:
            v = todo.pop()
            if not v.along or id(v) in found:
                continue
            if id(v) in before and not isinstance(v.source, Number | Position):
                kept.add(id(v))
                continue
            found.add(id(v))
            todo += [] if isinstance(v.source, Scan) else v.args
        return [v for v in self.lowered.values if id(v) in found], kept

    def sections(self, each: int) -> dict[str, object]:
        fresh = self.lowered.names.fresh
        self.runs = {id(v): fresh(f"{v.name}_run") for v in self.scans}
        rows = [text for v in self.lowered.values if not v.along for text in self.line(v)]
        rows += [text for v in self.scans if isinstance(v.source, Scan) for text in self.carry(v, v.source)]
        arrays = [(self.dialect.type_name(v.dtype), v.name) for v in self.kept]
        arrays += [(self.dialect.type_name(accumulator(v.dtype)), self.runs[id(v)]) for v in self.scans]
        made: dict[str, object] = {"before": rows, "arrays": arrays, "each": each}
        made["walks"] = self._walks(False)
        made["twin"] = self._walks(True) if self.packable else []
        return made

    def _walks(self, packed: bool) -> list[Walk]:
        self.packed = packed
        first, last = Walk(), Walk()
        first.lines = [text for v in self.before for text in self.line(v)]
        for v in self.scans:
            assert isinstance(v.source, Scan)
            (arg,), dtype = v.args, accumulator(v.dtype)
            operand = self.dialect.convert(self.text(arg), arg.dtype, dtype)
            first.given.append((self.runs[id(v)], self.start(v.source, dtype), operand))
        last.lines = [text for v in self.behind for text in self.line(v)]
        last.stores = [self.store(i, o) for i, o in enumerate(self.lowered.outputs)]
        if packed:
            first.loads = self.packs_loaded(self.before)
            last.loads = self.packs_loaded(self.behind)
            last.packs = [self.pack_stored(i) for i, a in self.stored.items() if self.packs(a)]
        self.packed = False
        return [first, last]

    def line(self, v: Value) -> list[str]:
        if not isinstance(v.source, Scan):
            return super().line(v)
        return [self.declare(v, self.dialect.convert(f"{self.runs[id(v)]}[k]", accumulator(v.dtype), v.dtype))]

    def text(self, v: Value) -> str:
        return f"{v.name}[k]" if id(v) in self.places else super().text(v)

    def declare(self, v: Value, expression: str) -> str:
        text = super().declare(v, expression)
        return f"{v.name}[k] = {text.partition(' = ')[2]}" if id(v) in self.places else text
