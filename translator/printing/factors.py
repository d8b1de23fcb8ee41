"""Several results of one factorisation, which NumPy computes once: they are asked for in one line.

    q = np.linalg.qr(a).Q                       q, r = np.linalg.qr(a)
    r = np.linalg.qr(a).R
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ops
from ..ir import Apply, Block, Function, Statement, walk, with_blocks, with_statements
from ..ops.core import Linalg, LinalgAttrs

# What NumPy's functions return, in order; the first one named says with which options.
FACTORISATIONS: tuple[tuple[Linalg, ...], ...] = (
    (ops.QR_Q, ops.QR_R),
    (ops.EIGH_VALUES, ops.EIGH_VECTORS),
    (ops.SLOGDET_SIGN, ops.SLOGDET_LOG),
    (ops.SVD_U, ops.SVD_S, ops.SVD_VH),
)
_HOME = {op.name: factorisation for factorisation in FACTORISATIONS for op in factorisation}


def gathered(function: Function) -> Function:
    """The program with the results of each factorisation behind one another, in their order."""
    if not any(_home(s) for s in walk(function.body)):
        return function
    return replace(function, body=_block(function.body))


def _block(block: Block) -> Block:
    statements: list[Statement] = []
    for s in block.statements:
        first = next((i for i, x in enumerate(statements) if _are_together(x, s)), None)
        if first is None:
            statements.append(with_blocks(s, _block))
            continue
        end = first + len(results_from(statements, first))
        statements[first:end] = sorted((*statements[first:end], s), key=_place)
    return with_statements(block, statements)


def _place(s: Statement) -> int:
    assert isinstance(s, Apply) and isinstance(s.op, Linalg)
    return _home(s).index(s.op)


def results_from(statements: Sequence[Statement], k: int) -> list[Apply]:
    """The statements from there on that ask for results of one factorisation; one where it is alone or none."""
    first, found = statements[k], list[Apply]()
    for s in statements[k:]:
        if not isinstance(s, Apply) or not (s is first or _are_together(first, s)):
            break
        found.append(s)
    return found


def called(results: Sequence[Apply]) -> tuple[Linalg, LinalgAttrs, list[Apply | None]]:
    """The function with its options, and its results in order, None for those that nobody asks for."""
    home = _home(results[0])
    by_name = {s.op.name: s for s in results}
    named = next(s for s in results if isinstance(s.op, Linalg) and s.op.field)
    assert isinstance(named.op, Linalg) and isinstance(named.attrs, LinalgAttrs)
    return named.op, named.attrs, [by_name.get(op.name) for op in home]


def _home(s: Statement) -> tuple[Linalg, ...]:
    return _HOME.get(s.op.name, ()) if isinstance(s, Apply) else ()


def _are_together(x: Statement, s: Statement) -> bool:
    """Whether the two are different results of one factorisation."""
    if not isinstance(x, Apply) or not isinstance(s, Apply) or not _home(s) or _home(x) is not _home(s):
        return False
    parts = [y for y in (x, s) if isinstance(y.op, Linalg) and y.op.field]
    full = {y.attrs.full for y in parts if isinstance(y.attrs, LinalgAttrs)}
    return x.op is not s.op and x.args[0] is s.args[0] and len(full) == 1
