"""The gradient of attention as kernels that make the scores again, block by block, rather than keep their matrix.

p = softmax(x(q @ k.T))             the largest score of each row, and the sum of the exponentials
d_p = d_y @ v.T                     other sums along rows, as np.sum(d_p * p)
d_s = y(p, d_p, np.sum(d_p * p))
d_q = d_s @ k                       what is summed along rows: blocks of rows walk the columns
d_k, d_v = d_s.T @ q, p.T @ d_y     what is summed along columns: blocks of columns walk the rows
d_b = np.sum(d_s, axis=0)           another kernel, for which the one of rows stores d_s

Each of these is one kernel. The matrix of scores is what two products make, `first` ones, and elementwise work on it
between them and the `last` products, which take it as an operand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...translator.ir import Fused, Var
from ..contract import SUMMED
from ..program import GroupPlan
from ..source.maps import Strides
from ..tiles import Tiles, applies, statements_for
from .causal import WORTH, Beyond, reach_of, seen_beyond, vanishes_behind
from .gradient_cuda import CudaGradient
from .gradient_kernel import GradientKernel
from .gradient_pattern import Gradient, Indices, match_gradient, refused
from .gradient_triton import TritonGradient

KERNELS: Mapping[str, type[TritonGradient] | type[CudaGradient]] = {"triton": TritonGradient, "cuda": CudaGradient}
WIDEST_HEAD = {True: 128, False: 64}  # in half precision or not: more do not fit into shared memory


def plan_gradient(
    fused: Fused, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """Raises UnsupportedError for other patterns, and for wide heads."""
    g = match_gradient(fused)
    index = Indices(fused, g, language)
    if any(dtype.name not in SUMMED for dtype in g.types):
        raise refused(fused, "products of this type")
    most = WIDEST_HEAD[g.half]
    if max(index.extents[n] for n in index.depths) > most:
        raise refused(fused, f"more than {most} elements in a row of attention's operands")
    known: dict[Var, int] = {}

    def kernel(whole: bool = False) -> TritonGradient | CudaGradient:
        beyond = None if whole else seen
        return KERNELS[language](fused, g, index, Tiles(fused, language, strides, scalars), known, beyond)

    seen: Beyond | None = None
    seen = _seen(g, index, kernel())
    launches = [kernel().softmax(f"{name}_softmax")]
    known |= {g.largest.targets[0]: 0, g.total.targets[0]: 1}
    left = list(g.sums)
    while left:
        needed = {s: statements_for(applies(fused), [s.args[0]], frozenset(known)) for s in left}
        ready = [s for s in left if not any(other in needed[s] for other in left)]
        launches.append(kernel().summed(f"{name}_sums", ready))
        known |= {s.targets[0]: len(known) + k for k, s in enumerate(ready)}
        left = [s for s in left if s not in ready]
    for along_rows, told in ((True, "rows"), (False, "columns")):
        lasts = [t for t in g.lasts if t.along_rows == along_rows]
        if lasts:
            kept = g.kept if along_rows else ()
            launches.append(kernel(bool(kept)).multiplied(f"{name}_{told}", lasts, kept, along_rows))
    rows = index.extents["batches"], index.extents["rows"]
    return GroupPlan(name, tuple(launches), ((rows, g.gathered),) * len(known))


def _seen(g: Gradient, index: Indices, kernel: GradientKernel) -> Beyond | None:
    """Behind which diagonal nothing adds to any result, while no operand has numbers that are too large."""
    walked = 2.0 * math.prod(index.extents[n] for n in ("batches", "rows", "columns", "depth"))
    firsts = kernel.needed([g.score])
    scores = kernel.tiles.tile([g.score], g.labels, kernel.grid, kernel.held(firsts))
    beyond = seen_beyond(scores)
    if beyond is None or walked < 2 * WORTH or beyond.last < 0:  # a row that sees nothing is NaN behind it, too
        return None
    rows = {s.targets[0]: kernel.row(s.targets[0], "row") for s in (g.largest, g.total, *g.sums)}
    for results in ([t.weight for t in g.lasts], [s.args[0] for s in g.sums]):
        if results:
            tile = kernel.tiles.tile(results, g.labels, kernel.grid, kernel.held(g.firsts) | rows)
            if not vanishes_behind(tile, beyond, g.firsts[0].name):
                return None
    half = any(f.dtype == np.float16 for f in g.firsts)
    most = 2.0**15 if half else 2.0**100
    return Beyond(beyond.last, min(most, most if beyond.most is None else beyond.most))


def reach_groups_of_gradient(fused: Fused, language: str) -> list[Fused]:
    """The groups that find, for the kernels of a causal gradient, whether operands have numbers that are too large."""
    g = match_gradient(fused)
    index = Indices(fused, g, language)
    seen = _seen(g, index, KERNELS[language](fused, g, index, Tiles(fused, language, {}, frozenset()), {}, None))
    if seen is None or seen.most is None:
        return []
    found = []
    for f in g.firsts:
        for atom, labels in ((f.left, f.left_labels), (f.right, f.right_labels)):
            own = {n: k for k, n in enumerate(labels)}
            largest = math.sqrt(seen.most / max(1, index.extents[f.depth]))
            columns, batch = index.extents["columns"], index.batch.labels
            found.append(reach_of(fused, atom, own, batch, None, columns, "reach", largest))
    return found
