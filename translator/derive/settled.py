"""Elements that a loop stores once, in order: the backward loop reads them from the array that the loop leaves.

    for i in range(1, n):                       for i in reversed(range(1, n)):
        y[i] = np.sin(y[i - 1]) * x                 d_t = d_y[i]
                                                    ...
                                                    d_y[i - 1] += d_t * x * np.cos(y[i - 1])

What trip i finds in y[i - 1] an earlier trip has stored, and no later one will: it is there in the end and needs no
tape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .. import ops
from ..ir import Apply, Atom, Const, For, Statement, Var
from ..ops.core import At, Dyn, Index, IndexAttrs, Put
from .undo import Chain, chains_of


def settled(s: For, forward: Sequence[Statement]) -> list[Statement]:
    """The statements of a trip, with reads of what the loop leaves in place of those of the array as it was."""
    exact = s.range.static()
    if not exact:
        return list(forward)
    makers = {t: a for a in forward if isinstance(a, Apply) for t in a.targets}
    found: dict[Var, Apply] = {}
    for chain in chains_of(s, forward, {}):
        found.update(_of_chain(s, chain, makers, exact))
    # What is stored is read at a place that may be computed behind it: places, which take the index only, come first.
    index = s.body.params[0]
    places = {t: a for t, a in makers.items() if _offset(t, index, makers) is not None}
    rest = [a for a in forward if not isinstance(a, Apply) or a.targets[0] not in places]
    return [*places.values(), *(found.get(a.targets[0], a) if isinstance(a, Apply) else a for a in rest)]


def _of_chain(s: For, chain: Chain, makers: Mapping[Var, Apply], trips: range) -> Iterator[tuple[Var, Apply]]:
    index, size = s.body.params[0], chain.last.aval.shape[0]
    puts = [link.put for link in chain.links if link.put is not None]
    rows = {_row(put, index, makers) for put in puts}
    row = rows.pop() if len(rows) == 1 else None
    if row is None or len(puts) < len(chain.links) or not _within(row, trips, size):
        return
    final = s.targets[chain.slot]
    for v, a in makers.items():
        if isinstance(a.op, Index) and a.args[0] in chain.versions:
            read = _row(a, index, makers)
            if read is None or not _within(read, trips, size):
                continue
            if (read - row) * trips.step < 0 or (read == row and a.args[0] is chain.last):
                yield v, replace(a, args=(final, *a.args[1:]))
    last, old = puts[0], chain.links[0].old
    stored = last.args[1]
    if last.op is not ops.PUT or len(last.args) != 3 or not isinstance(stored, Var) or old is None:
        return
    if stored in makers and old.targets[0].aval == stored.aval:
        yield stored, replace(old, targets=(stored,), args=(final, *old.args[1:]))


def _row(s: Apply, index: Var, makers: Mapping[Var, Apply]) -> int | None:
    """How far before or behind the index the row is that a read or a store touches; None where it is no such row."""
    attrs = s.attrs
    assert isinstance(attrs, IndexAttrs) and isinstance(s.op, Index | Put)
    place = attrs.dims[0] if attrs.dims else None
    if not isinstance(place, At) or not isinstance(place.index, Dyn):
        return None
    return _offset(s.args[place.index.arg], index, makers)


def _offset(a: Atom, index: Var, makers: Mapping[Var, Apply]) -> int | None:
    if a is index:
        return 0
    made = makers.get(a) if isinstance(a, Var) else None
    if made is None or made.op not in (ops.ADD, ops.SUBTRACT) or not isinstance(made.args[1], Const):
        return None
    inner = _offset(made.args[0], index, makers)
    by = int(made.args[1].value) if made.args[1].aval.dtype.kind in "iu" else None
    return None if inner is None or by is None else inner + by if made.op is ops.ADD else inner - by


def _within(offset: int, trips: range, size: int) -> bool:
    """Whether no index counts from the end."""
    return min(trips[0], trips[-1]) + offset >= 0 and max(trips[0], trips[-1]) + offset < size
