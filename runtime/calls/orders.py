"""NumPy arguments that do not lie in C's order in memory, as XLA wants them.

    np.sum(x, axis=0)        of x in Fortran's order: of x.T, which lies in C's, along the other axis
    np.sum(x)                of x[::2]: by NumPy, which copies nothing
    np.std(x)                of x[::2]: of a copy

Copies are made in any case where they take little of the time, or the memory lies in no order of the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...translator.ir import Apply, Function, walk
from ...translator.ops import TRANSPOSE
from ...translator.pipeline import grouped, note
from ...translator.purpose import purposed
from ..targets.programs import Program, load, runs_in_numpy

if TYPE_CHECKING:
    from ...translator.batch.turning import Given

Order = tuple[int, ...]
Lying = tuple[tuple[int, Order | None], ...]
"""The places of the arguments that do not lie in C's order, and the order of their axes in memory, if there is one."""

SMALLEST = 1 << 18
"""Bytes of an argument: a copy of fewer takes less than compiling for their order in thousands of calls."""
MOST = 4  # orders of the arguments of one function that it is compiled for


def order_of(x: np.ndarray[Any, Any]) -> Order | None:
    """The order of axes in which a transpose of x lies as C's arrays do, in one piece."""
    order = tuple(sorted(range(x.ndim), key=lambda a: -x.strides[a]))
    return order if x.transpose(order).flags.c_contiguous else None


class Orders:
    """The ways in which a compiled function is called with arguments in other orders than C's."""

    def __init__(self, source: Function, ordered: frozenset[int], checks: bool) -> None:
        self._source, self._ordered, self._checks = source, ordered, checks
        params = source.body.params
        self.large = tuple(k for k, p in enumerate(params) if p.aval.nbytes >= SMALLEST)
        self._ways: dict[Lying, Turned | Literal["numpy"] | None] = {}

    def lying(self, values: Sequence[Any]) -> Lying:
        """How the arguments lie; empty where XLA can take them as they are."""
        return tuple(
            (k, order_of(x))
            for k in self.large
            if type(x := values[k]) is np.ndarray and not x.flags.c_contiguous
        )

    def way(self, lying: Lying) -> Turned | Literal["numpy"] | None:
        """The fastest way: NumPy's, a program for these orders, or that for C's order and copies (None)."""
        if lying not in self._ways:
            if len(self._ways) == MOST:
                return None
            self._ways[lying] = self._chosen(lying)
        return self._ways[lying]

    def _chosen(self, lying: Lying) -> Turned | Literal["numpy"] | None:
        given = self._given_as({k: order for k, order in lying if order is not None})
        if runs_in_numpy(given.function, [k for k, _ in lying if k not in given.orders]):
            return "numpy"
        return Turned(given, self._checks) if given.orders else None

    def _given_as(self, orders: Mapping[int, Order]) -> Given:
        """The final program for arguments in these orders. Those remain of which no transpose is left: the others had
        better be copied.
        """
        from ...translator.batch.turning import as_given

        kept = dict(orders)
        while True:
            given = as_given(self._source, kept, self._ordered)
            turned = {s.args[0] for s in walk(given.function.body) if isinstance(s, Apply) and s.op is TRANSPOSE}
            again = [k for k in kept if given.function.body.params[k] in turned]
            for k in again:
                del kept[k]
            if not again:
                break
        with purposed(target="cpu"):
            return replace(given, function=note("fuse", grouped(given.function)))


class Turned:
    """A program for arguments in certain orders."""

    def __init__(self, given: Given, checks: bool) -> None:
        self._orders: Mapping[int, Order] = given.orders
        self._results = dict(given.results)
        leaves = given.function.out.leaf_count
        finals = enumerate(given.function.mutated, leaves)
        self._results |= {i: _inverse(given.orders[k]) for i, k in finals if k in given.orders}
        self._program: Program = load("cpu", given.function, checks=checks)

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """As `Program.host`."""
        orders = self._orders
        outs = self._program.host([x.transpose(orders[k]) if k in orders else x for k, x in enumerate(values)])
        for i, order in self._results.items():
            outs[i] = outs[i].transpose(order)
        return outs


def _inverse(order: Order) -> Order:
    return tuple(order.index(a) for a in range(len(order)))
