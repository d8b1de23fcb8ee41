"""Tapes of loops in loops: one array for both, not an array for each trip that is then kept in another.

    t_tape_tape = np.empty((5, 3))                  t_tape = np.empty((5, 3))
    for i in range(5):                              for i in range(5):
        t_tape = np.empty(3)                            for j in range(3):
        for j in range(3):                                  t_tape[i, j] = t
            t_tape[j] = t                                   ...
            ...
        t_tape_tape[i] = t_tape

The backward loops read t_tape[i, j], too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from .. import make, ops
from ..ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    Raise,
    Statement,
    Var,
    blocks_of,
    uses_of,
    walk,
    with_blocks,
    with_inputs,
)
from ..ops.core import At, IndexAttrs, Run
from ..records import dataclass
from ..rewrite import rebuilt, substitute
from .differences import Makers

TAPE = "_tape"  # how the names of tapes end


def merged_tapes(function: Function) -> Function:
    """The program with such tapes in one; itself where there are none."""
    tapes: set[Var] = set()
    names: dict[Var, Var] = {}
    while True:
        made = {t: s for s in walk(function.body) if isinstance(s, Apply) for t in s.targets}
        found = next(_nests(function.body, uses_of(function.body), made), None)
        if found is None:
            break
        loop, slot, kept = found
        tapes.add(loop.targets[slot])
        both = (loop.inits[slot], loop.targets[slot], loop.body.params[slot + 1])
        names.update((v, Var(_short(v), v.aval)) for v in both if isinstance(v, Var))
        function = replace(function, body=_with(function.body, loop, _merged(loop, slot, kept)))
    return replace(function, body=_renamed(_read_at_once(function.body, tapes), names)) if tapes else function


def _short(v: Var) -> str:
    return re.sub(f"({TAPE})+$", TAPE, v.hint)


def _renamed(block: Block, names: Mapping[Var, Var]) -> Block:
    """The block with other variables, also where they are made."""

    def new(v: Var) -> Var:
        return names.get(v, v)

    def named(s: Statement) -> Statement:
        s = with_inputs(with_blocks(s, lambda inner: _renamed(inner, names)), lambda a: substitute(a, names))
        if isinstance(s, Raise) or names.keys().isdisjoint(s.targets):
            return s
        return replace(s, targets=tuple(map(new, s.targets)))

    results = tuple(substitute(r, names) for r in block.results)
    return Block(tuple(map(new, block.params)), tuple(map(named, block.statements)), results)


def _with(block: Block, old: Statement, new: Statement) -> Block:
    statements = (new if s is old else with_blocks(s, lambda inner: _with(inner, old, new)) for s in block.statements)
    return replace(block, statements=tuple(statements))


@dataclass(frozen=True, slots=True)
class _Kept:
    """How a trip keeps the tape that an inner loop has made: the loop, which of its values that is, the stores into it
    behind the loop, and the store of the whole into the outer tape.
    """

    inner: For
    slot: int
    more: tuple[Apply, ...]
    store: Apply


def _nests(block: Block, uses: Mapping[Var, int], made: Makers) -> Iterator[tuple[For, int, _Kept]]:
    """Loops, carried tapes of theirs, and how they keep those of inner loops."""
    for s in block.statements:
        if isinstance(s, For):
            for slot, p in enumerate(s.body.params[1:]):
                if p.hint.endswith(TAPE) and (kept := _kept(s.body, slot, uses, made)) is not None:
                    yield s, slot, kept
        for inner in blocks_of(s):
            yield from _nests(inner, uses, made)


def _kept(body: Block, slot: int, uses: Mapping[Var, int], made: Makers) -> _Kept | None:
    """The one thing that a trip does to the tape, where that is to keep the tape of an inner loop."""
    tape, result = body.params[slot + 1], body.results[slot]
    places = {t: i for i, x in enumerate(body.statements) for t in x.targets}
    store = _store(result, places, uses, made)
    if store is None or store.args[0] is not tape or uses[tape] != 1 or not _is_entry(store):
        return None
    more: list[Apply] = []
    v = store.args[1]
    while (x := _store(v, places, uses, made)) is not None:
        more.append(x)
        v = x.args[0]
    inner = body.statements[places[v]] if isinstance(v, Var) and v in places and uses[v] == 1 else None
    if not isinstance(inner, For) or not isinstance(v, Var):
        return None
    k = inner.targets.index(v)
    empty = inner.inits[k]
    by = made.get(empty) if isinstance(empty, Var) and empty in places and uses[empty] == 1 else None
    fresh = by is not None and by.op is ops.EMPTY
    ahead = all(places[a] < places[v] for a in store.args[2:] if isinstance(a, Var) and a in places)
    if not fresh or not ahead or not _only_stores(inner, k, uses, made):
        return None
    return _Kept(inner, k, tuple(reversed(more)), store)


def _store(v: Atom, places: Mapping[Var, int], uses: Mapping[Var, int], made: Makers) -> Apply | None:
    """The store in this block that leaves `v`, which nothing else reads."""
    x = made.get(v) if isinstance(v, Var) and v in places and uses[v] == 1 else None
    return x if x is not None and x.op is ops.PUT else None


def _only_stores(inner: For, slot: int, uses: Mapping[Var, int], made: Makers) -> bool:
    """Whether the trips of a loop do nothing but store into its tape."""
    p, v = inner.body.params[slot + 1], inner.body.results[slot]
    places = {t: i for i, x in enumerate(inner.body.statements) for t in x.targets}
    while (x := _store(v, places, uses, made)) is not None:
        v = x.args[0]
    return v is p and v is not inner.body.results[slot] and uses[p] == 1


def _is_entry(s: Apply) -> bool:
    """Whether an index or a store is of whole arrays behind single places."""
    assert isinstance(s.attrs, IndexAttrs)
    return all(isinstance(d, At) or d == Run(0, n) for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True))


def _merged(loop: For, slot: int, kept: _Kept) -> For:
    """The loop whose inner loop stores into the tape at once."""
    tape, inner = loop.body.params[slot + 1], kept.inner
    p = inner.body.params[kept.slot + 1]
    news: dict[Var, Var] = {v: Var(_short(tape), tape.aval) for v in (p, inner.targets[kept.slot])}

    def at_once(x: Statement) -> Statement:
        if not isinstance(x, Apply) or x.op is not ops.PUT or x.args[0] not in news:
            return x
        assert isinstance(x.attrs, IndexAttrs) and isinstance(kept.store.attrs, IndexAttrs)
        where = kept.store.args[2:]
        dims = make.joined(tape.aval.shape, kept.store.attrs.dims, x.attrs.dims, len(where))
        assert dims is not None
        base = news[x.args[0]]
        news[x.targets[0]] = Var(_short(tape), tape.aval)
        args = (base, x.args[1], *where, *x.args[2:])
        return replace(x, targets=(news[x.targets[0]],), args=args, attrs=IndexAttrs(dims))

    def body_of(block: Block) -> Block:
        statements = tuple(map(at_once, block.statements))
        renamed = tuple(news.get(a, a) if isinstance(a, Var) else a for a in block.results)
        return Block(tuple(news.get(v, v) for v in block.params), statements, renamed)

    targets = tuple(news.get(t, t) for t in inner.targets)
    inits = tuple(tape if k == kept.slot else a for k, a in enumerate(inner.inits))
    new = replace(inner, targets=targets, inits=inits, body=body_of(inner.body))
    rest = [new if x is inner else at_once(x) for x in loop.body.statements if x is not kept.store]
    last = kept.more[-1].targets[0] if kept.more else inner.targets[kept.slot]
    results = tuple(news[last] if k == slot else r for k, r in enumerate(loop.body.results))
    return replace(loop, body=replace(loop.body, statements=tuple(rest), results=results))


def _read_at_once(block: Block, tapes: set[Var]) -> Block:
    """Entries of these tapes that are arrays, of which only parts are read: read from the tape at once."""
    uses = uses_of(block)
    reads = [s for s in walk(block) if isinstance(s, Apply) and s.op is ops.INDEX]
    bases = Counter(s.args[0] for s in reads if isinstance(s.attrs, IndexAttrs) and not s.attrs.gathers)
    entries: dict[Var, Apply] = {}

    def each(s: Apply) -> Apply:
        if s.op is not ops.INDEX or not isinstance(s.args[0], Var):
            return s
        if (outer := entries.get(s.args[0])) is not None:
            assert isinstance(s.attrs, IndexAttrs) and isinstance(outer.attrs, IndexAttrs)
            shape = outer.args[0].aval.shape
            dims = make.joined(shape, outer.attrs.dims, s.attrs.dims, len(outer.args) - 1)
            assert dims is not None
            s = replace(s, args=(*outer.args, *s.args[1:]), attrs=IndexAttrs(dims))
        t = s.targets[0]
        if s.args[0] in tapes and t.aval.shape and _is_entry(s) and bases[t] == uses[t]:
            entries[t] = s
        return s

    return rebuilt(block, each)
