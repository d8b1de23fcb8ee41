"""Which variables differ between the lanes of a batch: a forward data flow to a fixed point."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from ..errors import UnsupportedError
from ..ir import Apply, Atom, Block, Const, For, Function, Fused, If, Range, Var, While


def batched_variables(function: Function, params: Iterable[Var]) -> set[Var]:
    """All variables that depend on the batched `params`, by data or by a branch or a number of turns."""
    batched = set(params)
    count = -1
    while len(batched) > count:
        count = len(batched)
        _block(function.body, batched)
    return batched


def is_batched(a: Atom, batched: set[Var]) -> bool:
    return isinstance(a, Var) and a in batched


def shares_index(r: Range, batched: set[Var]) -> bool:
    """Whether lanes differ at most in where they stop: one index then serves all of them."""
    return not is_batched(r.start, batched) and isinstance(r.step, Const)


def _block(block: Block, batched: set[Var]) -> None:
    def any_of(*atoms: Atom) -> bool:
        return any(is_batched(a, batched) for a in atoms)

    for s in block.statements:
        match s:
            case Apply():
                if any_of(*s.args):
                    batched.update(s.targets)
            case If(condition=condition, then=then, orelse=orelse):
                _block(then, batched)
                _block(orelse, batched)
                for t, a, b in zip(s.targets, then.results, orelse.results, strict=True):
                    if any_of(condition, a, b):
                        batched.add(t)
            case For(range=r, inits=inits, body=body):
                if any_of(r.start, r.stop, r.step):
                    batched.update(body.params[1:] if shares_index(r, batched) else body.params, s.targets)
                for t, p, init, result in zip(s.targets, body.params[1:], inits, body.results, strict=True):
                    if any_of(init, result):
                        batched.update((t, p))
                _block(body, batched)
            case While(inits=inits, condition=test, body=body):
                if any_of(*test.results):
                    batched.update(test.params, body.params, s.targets)
                rows = zip(s.targets, test.params, body.params, inits, body.results, strict=True)
                for t, c, p, init, result in rows:
                    if any_of(init, result):
                        batched.update((t, c, p))
                _block(test, batched)
                _block(body, batched)
            case Fused():
                raise UnsupportedError("a program is batched before it is fused, not after")
            case _:
                assert_never(s)
