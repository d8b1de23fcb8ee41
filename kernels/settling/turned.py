"""Pointwise kernels over arrays in different orders: a block takes a tile of two axes, and reads all as they lie.

    y = x.T * 2 + b           neighbours in `b` and `y` are in a row of the tile, neighbours in `x` in a column

In CUDA such arrays go through shared memory; Triton's compiler sees to it by itself where blocks have two axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...translator.records import dataclass
from ..program import Launch, make_launch
from ..source.body import Body
from ..source.layout import Access, Axis, layout_over
from ..source.values import Call, Inside, Load, Look, Value

SECTOR = 32  # bytes that memory and caches move at once
LANES = 32
SIDE = 32  # of a tile in CUDA, whose rows in shared memory are one element longer: no two lanes want one bank
THREADS = 256
STAGED = 48 << 10  # bytes of shared memory for tiles
L2 = 40 << 20  # bytes of the smallest second-level cache in use: what is farther apart is read from memory again


@dataclass(frozen=True, slots=True)
class Turn:
    """The axes of a tile, and the bytes that caches move for it. `staged`: the loads that go along its columns."""

    rows: Axis
    columns: Axis
    staged: tuple[Value, ...]
    moved: float


def turn_of(body: Body) -> Turn | None:
    """The tile that moves least; None where taking neighbours along the last axis does not move more."""
    axes = body.layout.outer
    if len(axes) < 2 or not body.layout.rows or any(isinstance(v.source, Look | Inside) for v in body.lowered.values):
        return None
    turns = [t for rows in axes[:-1] if (t := _turn(body, rows, axes[-1])).staged]
    best = min(turns, key=lambda t: t.moved, default=None)
    plain = _stored(body) + sum(_fetched(body, v, _neighbours(body)) for v in loads(body))
    return best if best is not None and best.moved < plain else None


def fetched_again(body: Body) -> int:
    """Bytes that neighbours along the last axis read again: sectors that no cache holds till their next elements are
    wanted, a whole row later."""
    axes = body.layout.outer
    if not axes or axes[-1].extent * SECTOR <= L2:
        return 0
    more = [_fetched(body, v, _neighbours(body)) - body.layout.rows * v.dtype.itemsize for v in loads(body)]
    return sum(max(0, round(n)) for n in more)


def _turn(body: Body, rows: Axis, columns: Axis) -> Turn:
    staged: list[Value] = []
    moved, shared = _stored(body), 0
    for v in loads(body):
        down, across = (_fetched(body, v, [(axis, min(LANES, axis.extent))]) for axis in (rows, columns))
        shared += (size := SIDE * (SIDE + 1) * v.dtype.itemsize)
        if down < across and body.accesses[id(v)].strides[rows.members[-1]] and (body.triton or shared <= STAGED):
            staged.append(v)
        else:
            shared -= size
        moved += down if v in staged else across
    idle = math.prod(-(-axis.extent // SIDE) * SIDE / axis.extent for axis in (rows, columns))
    return Turn(rows, columns, tuple(staged), moved * idle)


def loads(body: Body) -> list[Value]:
    return [v for v in body.lowered.values if isinstance(v.source, Load)]


def _neighbours(body: Body) -> list[tuple[Axis, int]]:
    """How many elements along which axes the lanes of a warp have that go along the last one, row after row."""
    *_, before, last = body.layout.outer if len(body.layout.outer) > 1 else (*body.layout.outer, *body.layout.outer)
    along = min(LANES, last.extent)
    return [(last, along), (before, min(LANES // along, before.extent))]


def _stored(body: Body) -> float:
    return float(body.layout.rows * sum(o.dtype.itemsize for o in body.lowered.outputs))


def _fetched(body: Body, v: Value, lanes: Sequence[tuple[Axis, int]]) -> float:
    """The bytes of the sectors in which the elements lie that the lanes of warps read together."""
    sectors = together = 1
    for axis, n in lanes:
        stride = abs(body.accesses[id(v)].strides[axis.members[-1]]) * v.dtype.itemsize
        sectors *= max(1, min(n, -(-n * stride // SECTOR)))
        together *= n
    return body.layout.rows * sectors * SECTOR / together


# ---- the kernel ----------------------------------------------------------------------------------


def plan_turned(body: Body, turn: Turn, heading: list[str], name: str) -> Launch:
    """The launch of a kernel whose blocks take a tile each."""
    tiles = _Tiles(body, turn)
    rows, columns = turn.rows.extent, turn.columns.extent
    extents = [("rows", rows), ("columns", columns)]
    calls = sum(isinstance(v.source, Call) and "libdevice" in v.source.op.triton for v in body.lowered.values)
    side = SIDE if not body.triton or calls > 8 else 2 * SIDE
    count = -(-rows // side) * -(-columns // side) * (body.layout.rows // (rows * columns))
    constants = (("SIDE", side),) if body.triton else ()
    template, sections = f"turned.{body.dialect.name}.j2", tiles.sections()
    return make_launch(tiles, template, name, heading, sections, extents, (count, 1), THREADS, constants, 8)


class _Tiles(Body):
    """Writes the lines for one element of a tile (CUDA), or for all of them (Triton)."""

    def __init__(self, body: Body, turn: Turn) -> None:
        rows, columns = turn.rows.members, turn.columns.members
        others = [i for i in range(len(body.lowered.domain)) if i not in (*rows, *columns)]
        spaces = [(others, "plane", "planes"), (rows, "row", "rows"), (columns, "column", "columns")]
        stores = [body.stored_at(o) for o in body.lowered.outputs]
        layout = layout_over(body.lowered, [*body.accesses.values(), *stores], spaces)
        super().__init__(body.lowered, layout, body.accesses, body.dialect)
        self.staged = () if body.triton else turn.staged
        self.tiles = {id(v): self.lowered.names.fresh(f"{v.name}_tile") for v in self.staged}

    def sections(self) -> dict[str, object]:
        fills = [(self.dialect.type_name(v.dtype), self.tiles[id(v)], self.fill(v)) for v in self.staged]
        return {"fills": fills, "lines": self.straight(), "planes": bool(self.layout.spaces[0].axes)}

    def fill(self, v: Value) -> str:
        """The element of a staged load, as it is read along the rows of its array."""
        assert isinstance(v.source, Load)
        return super().load(v, v.source)

    def load(self, v: Value, source: Load) -> str:
        return f"{self.tiles[id(v)]}[lane][k]" if id(v) in self.tiles else super().load(v, source)

    def mask(self, access: Access) -> str:
        _, rows, columns = (any(access.strides[a.members[-1]] for a in s.axes) for s in self.layout.spaces)
        edge = "mask" if rows and columns else "row_mask" if rows else "column_mask"
        return f", mask={edge}" if rows or columns else ""
