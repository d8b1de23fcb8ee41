"""Arrays that are joined of what kernels make: each kernel writes its piece where it belongs.

    before                                      after
    t = empty((4, 8), float32)                  out_whole = empty((4, 2, 8), float32)
    f_t(x, t)                                   t = out_whole[:, 0]
    u = empty((4, 8), float32)                  f_t(x, t)
    f_u(x, u)                                   u = out_whole[:, 1]
    out = concatenate(t[:, None], u[:, None])   f_u(x, u)
                                                out = out_whole

Joined afterwards, all of it would be read and written once more. Pieces along the first axis lie together in memory, so
that any kernel may make them; those along another axis are written with strides, which kernels over elements and rows
have. Of memory that is moved in sectors each has to be written by one kernel.
"""

from __future__ import annotations

import math

from ...translator.ir import Apply, Block, Fused, Shape, Statement, Var, uses_of
from ...translator.ops.core import Concatenate, ConcatenateAttrs, Reshape
from ...translator.ops.shapes import c_strides
from ...translator.passes.alignment import without_ones
from ...translator.passes.groups import kind_of
from ...translator.records import dataclass
from ..settling.turned import SECTOR
from ..source.maps import Strides


@dataclass(frozen=True, slots=True)
class Piece:
    """From `first` to `last` along the axis of what `joined` makes; `views`: what stands between it and the value it
    is made of, whose elements have these strides there.
    """

    joined: Apply
    first: int
    last: int
    views: tuple[Var, ...]
    strides: Strides


def axis_of(joined: Apply) -> int:
    assert isinstance(joined.attrs, ConcatenateAttrs)
    return joined.attrs.axis


def pieces_of(block: Block) -> dict[Var, Piece]:
    """The values of a block that nothing needs but a join."""
    joins = [s for s in block.statements if isinstance(s, Apply) and isinstance(s.op, Concatenate)]
    if not joins:
        return {}
    uses = uses_of(block)
    makers = {t: s for s in block.statements for t in s.targets}
    found: dict[Var, Piece] = {}
    for s in joins:
        axis, first, own = axis_of(s), 0, dict[Var, Piece]()
        for a in s.args:
            last, given = first + a.aval.shape[axis], a.aval.shape
            views: list[Var] = []
            while isinstance(a, Var) and uses[a] == 1 and (view := _unshaped(makers.get(a))) is not None:
                views.append(a)
                a = view.args[0]
            if isinstance(a, Var) and uses[a] == 1 and a in makers and a.aval.dtype == s.targets[0].aval.dtype:
                strides = _strides(s, given, a.aval.shape)
                if strides is not None:
                    own[a] = Piece(s, first, last, tuple(views), strides)
            first = last
        found.update(own if axis == 0 else _in_sectors(s, own, makers))
    return found


def _unshaped(maker: object) -> Apply | None:
    """The maker, where it changes the shape alone: the elements stay in order."""
    if not isinstance(maker, Apply) or not isinstance(maker.op, Reshape):
        return None
    return maker if maker.op.name in ("reshape", "expand_dims", "squeeze") else None


def _strides(joined: Apply, given: Shape, shape: Shape) -> Strides | None:
    """The strides, in what is joined, of a piece that is `given` to the join and has this shape where it is made."""
    if axis_of(joined) == 0:
        return c_strides(shape)
    if without_ones(given) != without_ones(shape):
        return None
    there = c_strides(joined.targets[0].aval.shape)
    rest = iter([stride for stride, n in zip(there, given, strict=True) if n != 1])
    return tuple(next(rest) if n != 1 else 1 for n in shape)


def _in_sectors(joined: Apply, pieces: dict[Var, Piece], makers: dict[Var, Statement]) -> dict[Var, Piece]:
    """The pieces that kernels write into every so many bytes of what is joined, none into a part of a sector alone."""
    (target,) = joined.targets
    _, *inside = target.aval.shape[axis_of(joined) :]
    width, least = target.aval.dtype.itemsize * math.prod(inside), min(SECTOR, target.aval.nbytes)
    written: dict[int, int] = {}
    for v, piece in pieces.items():
        written[id(makers[v])] = written.get(id(makers[v]), 0) + (piece.last - piece.first) * width
    least = min(least, width * target.aval.shape[axis_of(joined)])

    def is_written(v: Var) -> bool:
        maker = makers[v]
        strided = isinstance(maker, Apply | Fused) and kind_of(maker) in ("pointwise", "row")
        return strided and written[id(maker)] >= least

    return {v: piece for v, piece in pieces.items() if is_written(v)}


def text_of(piece: Piece, whole: str, v: Var) -> str:
    """The piece as a view of the whole, with the shape of the value that is made there."""
    shape, axis = piece.joined.targets[0].aval.shape, axis_of(piece.joined)
    before, after = shape[:axis], shape[axis + 1 :]
    if piece.last == piece.first + 1 and v.aval.shape == (*before, *after):
        return f"{whole}[{':, ' * axis}{piece.first}]"
    part = f"{whole}[{':, ' * axis}{piece.first}:{piece.last}]"
    given = (*before, piece.last - piece.first, *after)
    return part if v.aval.shape == given else f"{part}.reshape({v.aval.shape!r})"
