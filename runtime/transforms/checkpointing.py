"""`checkpoint`: values that the backward pass recomputes, so that they need not be kept.

    @checkpoint                                  only h is kept; np.tanh(h @ w) is computed again, then differentiated
    def layer(h, w): return np.tanh(h @ w)

    @checkpoint(memory="200MB")                  loops keep the first states of segments, and run each segment again
    def simulate(x): ...
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...translator.builder import Builder
from ...translator.derive.activity import inexact
from ...translator.derive.program_rules import Checkpoint
from ...translator.derive.ruled import mark
from ...translator.errors import NOWHERE
from ...translator.ir import Apply, Function, Var
from ...translator.ops.core import Contract, Linalg
from ...translator.purpose import purpose
from ...translator.reading.functions.results import Reading
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature
from ...translator.rewrite import splice_block
from .custom import Wrapper
from .residuals import print_saved_residuals

Fun = Callable[..., Any]

POLICIES: dict[str, Callable[[Apply], bool]] = {
    "nothing_saveable": lambda s: False,
    "dots_saveable": lambda s: isinstance(s.op, Contract | Linalg),
    "everything_saveable": lambda s: True,
}
POLICIES["checkpoint_dots"] = POLICIES["dots_with_no_batch_dims_saveable"] = POLICIES["dots_saveable"]

_NONE, _DOTS, _ALL = "nothing_saveable", "dots_saveable", "everything_saveable"
checkpoint_policies = SimpleNamespace(
    **{name: name for name in POLICIES},
    # what has a name is kept or recomputed as what has none: the values are the same
    save_only_these_names=lambda *names: _NONE,
    save_any_names_but_these=lambda *names: _NONE,
    save_anything_except_these_names=lambda *names: _ALL,
    save_and_offload_only_these_names=lambda **options: _NONE,
    offload_dot_with_no_batch_dims=lambda src, dst: _DOTS,
    save_from_both_policies=lambda *policies: max(policies, key=(_NONE, _DOTS, _ALL).index),
)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x` itself, or a tree of arrays: policies do not look at names here."""
    return x


class Checkpointed(Wrapper):
    """See `checkpoint`."""

    verb = "checkpoint"

    def __init__(self, fun: Fun, policy: str | None, memory: int | None) -> None:
        super().__init__(fun)
        self.policy, self.memory = policy, memory

    def __untraced_read__(self, signature: Signature) -> Reading:
        reading = read(self.fun, signature)
        if not purpose().derives or self.policy == "everything_saveable":
            return reading
        return dataclasses.replace(reading, function=self._marked(reading.function))

    def _marked(self, function: Function) -> Function:
        b = Builder(NOWHERE)
        outer = tuple(Var(v.hint, v.aval) for v in function.body.params)
        outs = splice_block(b, function, outer)
        linked = tuple(i for i, v in enumerate(outer) if inexact(v.aval))
        saved = POLICIES[self.policy] if self.policy is not None else None
        rule = Checkpoint(self.__name__, linked, lambda: function, self.memory, saved)
        return dataclasses.replace(function, body=b.block(outer, mark(b, outs, outer, rule)))


def checkpoint(
    fun: Fun | None = None,
    *,
    policy: str | None = None,
    memory: str | int | None = None,
    prevent_cse: bool = True,
    static_argnums: Any = (),
    static_argnames: Any = (),
    concrete: bool = False,
) -> Any:
    """Let the backward pass recompute the inner values of `fun` instead of keeping them; also a decorator.

    policy   "nothing_saveable" (the default) keeps the arguments only; "dots_saveable" keeps products and solutions of
             linear systems as well; "everything_saveable" recomputes nothing.
    memory   how much the tapes of one loop in `fun` may take: bytes, or text such as "200MB" or "1.5 GiB". A loop that
             needs more runs in segments, of which only the first states are kept: about sqrt(n) of n trips, or
             segments of segments where that is too much. The generated source shows them. Other values are kept.
    prevent_cse, static_argnums, static_argnames, concrete   accepted for JAX's sake; static arguments are found by
             themselves.

    Values and derivatives, of any order and mode, are those of `fun`. Raises ValueError for an unknown policy, for a
    memory that is no size, and where both are given.

    >>> @checkpoint
    ... def layer(w, x):
    ...     return np.tanh(w @ x)
    >>> grad(lambda w: np.sum(layer(w, np.ones(2))))(np.zeros((1, 2)))
    array([[1., 1.]])
    """
    if memory is not None and policy is not None:
        raise ValueError("checkpoint takes a policy or a memory, not both")
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"the policies of checkpoint are {', '.join(POLICIES)}, not {policy!r}")
    size = None if memory is None else bytes_in(memory)
    if fun is None:
        return functools.partial(_checkpointed, policy=policy, memory=size)
    return Checkpointed(fun, policy, size)


def _checkpointed(fun: Fun, policy: str | None, memory: int | None) -> Checkpointed:
    return Checkpointed(fun, policy, memory)


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def bytes_in(memory: str | int) -> int:
    """The number of bytes in "200MB", "1.5 GiB", "64K" or 1000."""
    if isinstance(memory, int):
        if memory < 0:
            raise ValueError(f"a memory of {memory} bytes")
        return memory
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", memory.upper())
    if found is None or found[2] not in _UNITS:
        raise ValueError(f'a memory is a number of bytes, or text such as "200MB" or "1.5 GiB", not {memory!r}')
    return int(float(found[1]) * _UNITS[found[2]])


remat = checkpoint
__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]

for _made_at_translation in (checkpoint, _checkpointed):
    _made_at_translation.__dict__["__untraced_static__"] = True  # within a function that is read it is called then
