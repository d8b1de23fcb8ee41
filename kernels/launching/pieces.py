"""Arrays that are joined of what kernels make: each kernel writes its piece where it belongs.

    before                                      after
    t = empty((4, 8), float32)                  out_whole = empty((2, 4, 8), float32)
    f_t(x, t)                                   t = out_whole[0]
    u = empty((4, 8), float32)                  f_t(x, t)
    f_u(x, u)                                   u = out_whole[1]
    out = concatenate(t[None], u[None])         f_u(x, u)
                                                out = out_whole

Joined afterwards, all of it would be read and written once more. Pieces along the first axis lie together in memory.
"""

from __future__ import annotations

from ...translator.ir import Apply, Block, Var, uses_of
from ...translator.ops.core import Concatenate, ConcatenateAttrs, Reshape
from ...translator.records import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `first` to `last` of what `joined` makes; `views`: what stands between it and the value it is made of."""

    joined: Apply
    first: int
    last: int
    views: tuple[Var, ...]


def pieces_of(block: Block) -> dict[Var, Piece]:
    """The values of a block that nothing needs but a join along the first axis."""
    joins = [s for s in block.statements if isinstance(s, Apply) and isinstance(s.op, Concatenate)]
    if not joins:
        return {}
    uses = uses_of(block)
    makers = {t: s for s in block.statements for t in s.targets}
    found: dict[Var, Piece] = {}
    for s in joins:
        assert isinstance(s.attrs, ConcatenateAttrs)
        first = 0
        for a in s.args if s.attrs.axis == 0 else ():
            last = first + a.aval.shape[0]
            views: list[Var] = []
            while isinstance(a, Var) and uses[a] == 1 and (view := _unshaped(makers.get(a))) is not None:
                views.append(a)
                a = view.args[0]
            if isinstance(a, Var) and uses[a] == 1 and a in makers and a.aval.dtype == s.targets[0].aval.dtype:
                found[a] = Piece(s, first, last, tuple(views))
            first = last
    return found


def _unshaped(maker: object) -> Apply | None:
    """The maker, where it changes the shape alone: the elements stay in order."""
    if not isinstance(maker, Apply) or not isinstance(maker.op, Reshape):
        return None
    return maker if maker.op.name in ("reshape", "expand_dims", "squeeze") else None


def text_of(piece: Piece, whole: str, v: Var) -> str:
    """The piece as a view of the whole, with the shape of the value that is made there."""
    shape = piece.joined.targets[0].aval.shape
    if piece.last == piece.first + 1 and v.aval.shape == shape[1:]:
        return f"{whole}[{piece.first}]"
    part = f"{whole}[{piece.first}:{piece.last}]"
    return part if v.aval.shape == (piece.last - piece.first, *shape[1:]) else f"{part}.reshape({v.aval.shape!r})"
