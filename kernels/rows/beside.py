"""The CUDA kernel of short rows that lie beside each other (`beside_groups`): lanes have rows, warps parts of them.

    x.max(axis=0)    x.reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3))

So do windows: each leaves the elements of the next one between its own.
"""

from __future__ import annotations

from ...translator.errors import Diagnostic, UnsupportedError
from ..program import Launch, make_launch
from ..source.body import Body
from ..source.layout import Access
from .held import REGISTERS, HeldRows

SHARES = ((4, 1, 4), (8, 2, 4), (16, 4, 4), (32, 8, 4), (64, 8, 8), (128, 8, 16), (256, 8, 32), (512, 16, 32))
"""Up to so many columns: warps that share rows, elements of a thread."""
BESIDE = 32  # rows of a block
LONGEST_ROW = 512
FEWEST_ROWS = 4096  # that keep a device busy


def lies_beside(body: Body) -> bool:
    """Whether all that is stored along rows has neighbours in the next rows."""
    stores = [body.stored_at(o) for o in body.lowered.outputs if o.along]
    return bool(stores) and all(is_near(body, a) for a in stores)


def is_near(body: Body, access: Access) -> bool:
    """Whether the next row's elements of an array lie beside or between those of a row."""
    outer = body.layout.outer
    step = abs(access.strides[outer[-1].members[-1]]) if outer else 0
    return step == 1 or 1 < step < body.layout.columns


def plan_beside(body: Body, heading: list[str], name: str) -> Launch:
    """The CUDA kernel. Raises UnsupportedError where rows are too long for registers."""
    held, layout = HeldRows(body), body.layout
    share = next((s for s in SHARES if layout.columns <= s[0]), None)
    if share is None or share[2] * held.words > REGISTERS:
        raise UnsupportedError(Diagnostic("kernels do not support such long rows beside each other"))
    _, threads, each = share
    sections: dict[str, object] = {
        "passes": held.passes(),
        "row_stores": held.row_stores(),
        "finish": held.finish,
        "kept": [held.kept_as(v) for v in held.kept],
    }
    block = BESIDE * threads
    grid = (min(-(-layout.rows // BESIDE), 1 << 20), 1)
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    constants = (("BLOCK", block), ("THREADS", threads), ("EACH", each))
    return make_launch(held, "row_beside.cuda.j2", name, heading, sections, extents, grid, block, constants, 4)
