"""Which transposes are native code (`kernels/loops/transposes`): large ones that no kernel of XLA's joins to its work.

    (x * 2).T, y[:, k] in a loop          the elements are moved by native code
    w.T * x + w                           XLA's older emitters read columns beside rows in one kernel, on all cores

Those take no program that computes exp and the like (`older_emitters`), and the newer ones need ten times as long.
"""

from __future__ import annotations

from ...translator import ops
from ...translator.ir import Apply, Atom, Block, Function, Var, blocks_of, walk
from ...translator.ops.core import AxesAttrs, Cast, Elementwise, Reshape

LEAST = 1 << 16
"""Elements: fewer lie in the caches, and may be joined to what reads them."""
FUNCTIONS = frozenset(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "power", "cbrt"))


def moved(function: Function) -> frozenset[Var]:
    """The targets of those transposes."""
    large = [s for s in walk(function.body) if isinstance(s, Apply) and s.op is ops.TRANSPOSE and _is_large(s)]
    if not large:
        return frozenset()
    from ...kernels.loops.transposes import transpose_of  # which most programs do without
    from ..loops.native import wanted

    avals = {s.targets[0]: (s.args[0].aval, s.attrs) for s in large}
    found = {t for t, (x, a) in avals.items() if isinstance(a, AxesAttrs) and transpose_of(x.shape, x.dtype, a.axes)}
    if not found or not wanted():
        return frozenset()
    if not any(isinstance(s, Apply) and s.op.name in FUNCTIONS for s in walk(function.body)):
        inner = (b for s in walk(function.body) for b in blocks_of(s))
        found = found.difference(*(_crossing(block, found) for block in (function.body, *inner)))
    return frozenset(found)


def _is_large(s: Apply) -> bool:
    return s.targets[0].aval.size >= LEAST


def _crossing(block: Block, turned: set[Var]) -> set[Var]:
    """Which of the transposes have columns that meet rows of another array, element by element."""
    columns: dict[Atom, set[Var]] = {}  # what is computed of transposes alone, and of which
    repeated: set[Atom] = set()
    found: set[Var] = set()
    for s in block.statements:
        if not isinstance(s, Apply):
            continue
        (target,) = s.targets
        if target in turned:
            columns[target] = {target}
        elif isinstance(s.op, Elementwise | Cast):
            whole = [a for a in s.args if a.aval.shape == target.aval.shape and a not in repeated]
            of = set().union(*(columns.get(a, ()) for a in whole))
            if of and any(a not in columns for a in whole):
                found |= of
            elif of:
                columns[target] = of
        elif isinstance(s.op, Reshape) and s.op.name == "broadcast_to":
            repeated.add(target)
    return found
