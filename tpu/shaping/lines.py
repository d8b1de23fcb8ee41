"""Arrays of indices (`np.arange`) and comparisons of them, recomputed inside the loops that use them.

    k = np.arange(n)                  for i in range(n):
    for i in range(n):                    k = np.arange(n)
        ... (k < i) ...                   ... (k < i) ...

A native loop then knows which places a mask holds (`kernels/loops/stretches`), and reads no table.
"""

from __future__ import annotations

from dataclasses import replace

from ...translator.ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    Statement,
    Var,
    While,
    free_variables,
    walk,
)
from ...translator.ops.core import Create, Elementwise
from ...translator.rewrite import Substitution, copy_statement, substituted

_ASKED = ("less", "less_equal", "greater", "greater_equal")


class Lines:
    """Which values of a program are lines, or compare lines with numbers."""

    def __init__(self, function: Function) -> None:
        self.made: dict[Var, Apply] = {}
        self.same: dict[Var, Atom] = {}
        for s in walk(function.body):
            match s:
                case Fused(targets=targets, args=args, body=body):
                    self.same.update(zip(body.params, args, strict=True))
                    self.same.update(zip(targets, body.results, strict=True))
                case Apply(targets=(target,), op=Create(name="iota") | Elementwise()) if len(target.aval.shape) == 1:
                    self.made[target] = s

    def inside(self, loop: For | While) -> For | While:
        """The loop with copies of the lines that it reads from outside; the same one if there are none."""
        known: Substitution = {}
        copies: list[Statement] = []
        for v in free_variables(Block((), (loop,), ())):
            self._copy(v, known, copies)
        known = {v: known[v] for v in free_variables(Block((), (loop,), ())) if v in known}
        if not known:
            return loop
        body = substituted(loop.body, known)
        body = replace(body, statements=(*copies, *body.statements))
        if isinstance(loop, For):
            return replace(loop, body=body)
        return loop if any(v in known for v in free_variables(loop.condition)) else replace(loop, body=body)

    def _copy(self, a: Atom, known: Substitution, copies: list[Statement]) -> bool:
        """Whether a value is a line; it then is among the copies."""
        root = a
        while isinstance(root, Var) and root in self.same:
            root = self.same[root]
        if not isinstance(root, Var) or root not in self.made:
            return False
        if a in known:
            return True
        s = self.made[root]
        if isinstance(s.op, Elementwise):
            if s.op.name not in _ASKED or not any(isinstance(x, Const) for x in s.args):
                return False
            if not all(isinstance(x, Const) or self._copy(x, known, copies) for x in s.args):
                return False
        copies.append(copy_statement(s, known))
        if isinstance(a, Var):
            known[a] = known[root]
        return True
