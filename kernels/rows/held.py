"""Rows that the threads of a block keep between reductions (CUDA), in registers and then in shared memory.

    e = np.exp(x - np.max(x, axis=1, keepdims=True))          float x[EACH];        the thread's share of a row
    y = e / np.sum(e, axis=1, keepdims=True)                  float e[EACH];

Each array is read once. How many threads have a row, and how many elements each, are constants of the compilation, so
that the source is that of all lengths. A twin of the kernel reads and writes neighbours together, 16 bytes at a time.
Of a row of more than 16,384 elements what lies behind those is in shared memory, and walked by loops of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import field, replace

from ...translator.records import dataclass
from ..program import Launch, make_launch
from ..source.body import Body, Pass
from ..source.values import Fold, Load, Number, Position, Scan, Value
from .divisors import Divisors
from .neighbours import Neighbours

SHARES = (  # up to so many columns: threads of a row, elements of a thread
    (4, 1, 4), (8, 2, 4), (16, 4, 4), (32, 8, 4), (64, 16, 4), (128, 32, 4), (256, 32, 8), (512, 32, 16),
    (1024, 128, 8), (2048, 128, 16), (4096, 256, 16), (8192, 512, 16), (16384, 512, 32),
)  # fmt: skip
REGISTERS = 32  # of a thread, for what it keeps: compilers use up to four times as many; 512 threads have 128 each
LINES = 2048  # of an unrolled loop
LONG = 512  # threads of a row that goes on in shared memory
FOLDS = 1 << 12  # bytes of shared memory for what warps tell each other: an element a warp for each kind of reduction
PIECES = 1 << 15  # bytes of shared memory that launches differ by, so that a new row length seldom compiles anew
MOST_TRIED = 100  # sets of values that are not kept
FEWEST = 128  # threads of a block: more than one row where they are short


@dataclass(slots=True)
class Kept:
    """An array in registers; `far` is what of it is in shared memory, `known` and `made` neighbours there."""

    type: str
    name: str
    far: str = ""
    known: str = ""
    made: str = ""


@dataclass(slots=True)
class HeldPass(Pass):
    """`loads` and `packs`: of neighbours, as (name, type, address). `keeps`, `places`: whether the lines name k,
    and the column. `known`, `found`: what lines in the far part of a row take from there, and what they leave there."""

    loads: list[tuple[str, str, str]] = field(default_factory=list)
    packs: list[tuple[str, str, str]] = field(default_factory=list)
    keeps: bool = False
    places: bool = False
    known: list[Kept] = field(default_factory=list)
    found: list[Kept] = field(default_factory=list)


def plan_held(body: Body, heading: list[str], name: str, shared: int) -> Launch | None:
    """The launch; None where a row is too long, or something runs along it. `shared`: bytes that a block may have."""
    values, layout, room = body.lowered.values, body.layout, shared - FOLDS
    if any(isinstance(v.source, Scan) for v in values) or not SHARES:
        return None
    held, fit = _held_rows(body, room)
    if fit is None:
        return None
    threads, each, far = fit
    block, pack = max(threads, FEWEST), held.widest_pack(each)
    sections, packed = _sections(held, pack, far > 0)
    rows = block // threads
    grid = (min(-(-layout.rows // rows), 1 << 20), 1)
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    memory = (("SHARED", min(-(-far // PIECES) * PIECES, room)),) if far else ()
    constants = (("BLOCK", block), ("THREADS", threads), ("EACH", each), *memory)
    launch = make_launch(held, "row_held.cuda.j2", name, heading, sections, extents, grid, block, constants, 4)
    return replace(launch, packed=packed, pack=pack, reread=held.reread())


def _held_rows(body: Body, room: int) -> tuple[HeldRows, tuple[int, int, int] | None]:
    """The values to keep so that the fewest bytes are read twice; others are computed again, ultimately from memory.

    y = e / t; z = np.sum(y * w, axis=1); d = y * (w - z)          of y and w rows of 65,536 may have one kept
    """
    first = HeldRows(body)
    best, fit = first, _fit(first, room)
    todo = [first] if fit is None else []
    tried = {first.again}
    for held in todo:
        for v in held.kept:
            again = held.again | {id(v)}
            if again in tried or len(tried) == MOST_TRIED:
                continue
            tried.add(again)
            other = HeldRows(body, again)
            found = _fit(other, room)
            if found is None:
                todo.append(other)
            elif fit is None or other.reread() < best.reread():
                best, fit = other, found
    return best, fit


def _fit(held: HeldRows, room: int) -> tuple[int, int, int] | None:
    """Threads of a row, elements of a thread in registers, and bytes of the rest in shared memory; None: too much."""
    columns = held.layout.columns
    share = next((s for s in SHARES if columns <= s[0]), None)
    if share is None or share[2] * held.words > REGISTERS:
        share = (0, LONG, REGISTERS >> max(held.words - 1, 0).bit_length())
        if columns < share[1] * share[2] or not held.words:
            return None
    _, threads, each = share
    far = held.slots() * max(0, columns - threads * each)
    fits = each >= 4 and far <= room and each * len(held.lowered.values) <= LINES
    return (threads, each, far) if fits else None


def _sections(held: HeldRows, pack: int, far: bool) -> tuple[dict[str, object], int]:
    """The sections that fill the template, and the extent that must be a multiple of `pack` for the twin."""
    if far:
        held.name_places()
    taken = set(held.lowered.names.taken)

    def walks(packed: bool, behind: bool) -> list[Pass]:
        held.lowered.names.restart(taken)  # all walks have the same names
        held.packed, held.far = packed, behind
        return held.passes()

    passes = walks(False, False)
    sections: dict[str, object] = {"passes": passes, "row_stores": held.row_stores(), "finish": held.finish}
    sections["far"] = walks(False, True) if far else []
    if held.packable:
        sections["twin"] = walks(True, False)
        sections["far_twin"] = walks(True, True) if far else []
    sections["kept"] = [held.kept_as(v) for v in held.kept]
    sections["places"] = held.slot_places() if far else []
    sections["pack"] = pack
    return sections, held.layout.columns if held.packable and held.packs_align(pack) else 0


class HeldRows(Neighbours):
    """Writes the values of a row kernel, the ones that a later pass needs as arrays of the thread.

    `again`: what each pass that needs it makes again.
    """

    def __init__(self, body: Body, again: frozenset[int] = frozenset()) -> None:
        super().__init__(body)
        self.again = again
        self.neighbour = "lane"
        self.far_names: dict[int, list[str]] = {}
        self.far = False  # lines are for the part of a row in shared memory
        self.schedule = self.scheduled()
        self.kept, self.words = self.keep()
        self.places = {id(v) for v in self.kept}

    # ---- what is computed when ---------------------------------------------------------------------

    def roots(self, p: int) -> tuple[list[Value], list[Value], list[int]]:
        """The reductions that pass `p` gathers, what they and its stores are of, and these stores."""
        outputs = self.lowered.outputs
        folds = [v for v in self.lowered.values if isinstance(v.source, Fold) and v.stage == p + 1]
        stores = [i for i, o in enumerate(outputs) if o.along and o.value.stage == p]
        return folds, [f.args[0] for f in folds] + [outputs[i].value for i in stores], stores

    def scheduled(self) -> list[list[Value]]:
        """For each pass the values it needs that vary along the row; cheap ones are computed again."""
        last = max((v.stage for v in self.lowered.values), default=0)
        return [self.along(self.roots(p)[1]) for p in range(last + 1)]

    def keep(self) -> tuple[list[Value], int]:
        """The values that a pass takes from an earlier one, and the registers they need for an element of the row."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for p in range(len(self.schedule)):
            todo, seen = list(self.roots(p)[1]), set[int]()
            while todo:
                v = todo.pop()
                if not v.along or id(v) in seen or isinstance(v.source, Number | Position):
                    continue
                seen.add(id(v))
                if first.setdefault(id(v), p) == p or id(v) in self.again:
                    todo += v.args
                else:
                    last[id(v)] = p
        kept = [v for v in self.lowered.values if id(v) in last]
        words = [
            sum(max(1, v.dtype.itemsize // 4) for v in kept if first[id(v)] <= p < last[id(v)])
            for p in range(len(self.schedule))
        ]
        self.first, self.last = first, last
        return kept, max(words, default=0)

    def reread(self) -> int:
        """Bytes that passes read of arrays that earlier ones have read."""
        fresh = [self.fresh(p, needed, self.roots(p)[1])[0] for p, needed in enumerate(self.schedule)]
        read = [v for step in fresh for v in step if isinstance(v.source, Load)]
        once = {id(v): v for v in read}
        return sum(self.nbytes(v) * (sum(u is v for u in read) - 1) for v in once.values())

    def nbytes(self, v: Value) -> int:
        """Of what a load reads for all rows: caches have what all of them read."""
        strides = self.accesses[id(v)].strides
        axes = [a for space in self.layout.spaces for a in space.axes if strides[a.members[-1]]]
        return v.dtype.itemsize * math.prod(a.extent for a in axes)

    def passes(self) -> list[Pass]:
        result: list[Pass] = []
        self.divisors = Divisors()
        for p, needed in enumerate(self.schedule):
            step = HeldPass()
            for v in self.lowered.values:
                if not v.along and v.stage == p and not isinstance(v.source, Fold):
                    step.before += self.line(v)
            folds, roots, stores = self.roots(p)
            own, known = self.fresh(p, needed, roots)
            step.inside = [text for v in own for text in self.line(v)]
            step.before += self.divisors.made() if self.divisors else []
            step.known = [self.kept_as(v) for v in known]
            step.found = [self.kept_as(v) for v in own if id(v) in self.places]
            step.gathered = [self.gathered(f) for f in folds]
            step.stores = [self.store(i, self.lowered.outputs[i]) for i in stores]
            if self.packed:
                step.loads = self.packs_loaded(own)
                step.packs = [self.pack_stored(i) for i in stores if self.packs(self.stored[i])]
            lines = " ".join([*step.inside, *step.stores, *(g.operand for g in step.gathered)])
            step.keeps = "[k]" in lines
            step.places = len(self.layout.inner) > 1 or re.search(r"\bcolumn\b", lines) is not None
            result.append(step)
        return result

    def fresh(
        self, p: int, needed: Sequence[Value], roots: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The values that pass `p` computes, without those that only kept values need; and the kept ones it uses."""
        found, known, todo = set[int](), set[int](), [v for v in roots if v.along]
        while todo:
            v = todo.pop()
            if id(v) in self.places and self.first[id(v)] < p:
                known.add(id(v))
            elif id(v) not in found:
                found.add(id(v))
                todo += [a for a in v.args if a.along]
        return [v for v in needed if id(v) in found], [v for v in self.kept if id(v) in known]

    # ---- the part in shared memory -----------------------------------------------------------------

    def name_places(self) -> None:
        fresh = self.lowered.names.fresh
        self.far_names = {id(v): [fresh(f"{v.name}_{end}") for end in ("far", "known", "made")] for v in self.kept}

    def kept_as(self, v: Value) -> Kept:
        return Kept(self.dialect.type_name(v.dtype), v.name, *self.far_names.get(id(v), ()))

    def slots(self) -> int:
        """Bytes for each element of a row."""
        return sum(group[0].dtype.itemsize for group in self.shared_slots())

    def shared_slots(self) -> list[list[Value]]:
        """Kept values of one type that may have the same memory: one is made when another is read for the last time."""
        groups: list[list[Value]] = []
        for v in sorted(self.kept, key=lambda v: (-v.dtype.itemsize, self.first[id(v)])):
            fits = [g for g in groups if g[0].dtype == v.dtype and self.last[id(g[-1])] <= self.first[id(v)]]
            if fits:
                fits[0].append(v)
            else:
                groups.append([v])
        return groups

    def slot_places(self) -> list[tuple[str, str, int]]:
        """(type, name, bytes that lie before it for each element) of the values in shared memory."""
        places, before = [], 0
        for group in self.shared_slots():
            places += [(kept.type, kept.far, before) for kept in map(self.kept_as, group)]
            before += group[0].dtype.itemsize
        return places

    # ---- lines -------------------------------------------------------------------------------------

    def text(self, v: Value) -> str:
        return f"{v.name}[k]" if id(v) in self.places and not self.far else super().text(v)

    def declare(self, v: Value, expression: str) -> str:
        text = super().declare(v, expression)
        kept = id(v) in self.places and not self.far
        return f"{v.name}[k] = {text.partition(' = ')[2]}" if kept else text
