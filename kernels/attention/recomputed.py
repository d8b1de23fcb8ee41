"""Scores of attention that are made again where its gradient needs them, rather than kept.

    e, total = row(q @ k.T)            y = attention(q, k, v)
    y = (e / total) @ v                ...
    ...                                d_q, d_k, d_v = attention(q, k, v, d_y)
    d_p = d_y @ v.T
    d_s = row(d_p, e, total)
    d_q, d_k, d_v = d_s @ k, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...translator.ir import Apply, Atom, Block, Fused, Shape, Statement, Var, blocks_of, free_variables, inputs_of
from ...translator.ops.core import Cast, Contract, Create, Elementwise, Reduce, ReduceAttrs
from ...translator.passes.alignment import is_free, nbytes
from ...translator.passes.groups import LONGEST, close
from ..contract import Roles, library_rate
from ..facts import Facts
from ..grouping import fits, inline, users_of
from ..tiles import statements_for
from .forward import products_of

FLAT = ("contract", "row", "pointwise", "reduce")


def with_recomputed_scores(block: Block, language: str, facts: Facts) -> Block:
    """The block with each gradient of attention as one group, where that is worth it on this device."""
    flat = [(s, b) for s in block.statements if _is_flat(s) for b in inline(s)]
    if sum(isinstance(b.op, Contract) for _, b in flat) < 4:
        return block
    for _, s in flat:
        if s.op.name == "max" and isinstance(s.attrs, ReduceAttrs) and len(s.attrs.axes) == 1:
            scores = _Scores(block, {id(b): owner for owner, b in flat}, [b for _, b in flat], s.args[0].aval.shape)
            changed = scores.replaced(language, facts) if scores.grown(s) else None
            if changed is not None:
                return with_recomputed_scores(changed, language, facts)
    return block


def _is_flat(s: Statement) -> bool:
    if isinstance(s, Fused):
        return s.kind in FLAT
    return isinstance(s, Apply) and (isinstance(s.op, Contract | Elementwise | Cast | Reduce) or is_free(s))


class _Scores:
    """The matrices of scores around one softmax. `matrix`: values of their shape; `region`: the statements that make
    these, and what is reduced of their rows; `lasts`: the products that take them; `kept`: what else sees of them.
    """

    def __init__(self, block: Block, owners: Mapping[int, Statement], flat: Sequence[Apply], shape: Shape) -> None:
        self.block, self.owners, self.flat, self.shape = block, owners, flat, shape
        self.users = users_of(block)
        self.places = {id(s): k for k, s in enumerate(block.statements) if _is_flat(s)}
        self.makers = {t: s for s in flat for t in s.targets}
        self.matrix: set[Var] = set()
        self.rows: set[Var] = set()
        self.counted: set[Var] = set()
        self.region: list[Apply] = []
        self.lasts: list[Apply] = []
        self.kept: list[Var] = []

    def grown(self, top: Apply) -> bool:
        """Find what belongs to the scores of which this is the largest. False: sums of rows are seen elsewhere."""
        todo, readers = [a for a in top.args if isinstance(a, Var)], _readers(self.flat)
        rows: set[Var] = set()
        seen: set[Var] = set()  # by what turns them
        while todo:
            v = todo.pop()
            if v in self.matrix or v in rows:
                continue
            is_row = v.aval.shape != self.shape
            (rows if is_row else self.matrix).add(v)
            maker = self.makers.get(v)
            if not is_row and maker is not None and isinstance(maker.op, Elementwise | Cast):
                todo += [a for a in maker.args if isinstance(a, Var) and a.aval.shape == self.shape]
            for s in readers.get(v, ()):
                if isinstance(s.op, Contract):
                    if is_row or s.targets[0].aval.shape == self.shape:
                        return False
                elif not is_row and self._turns(s, top):
                    seen.add(v)
                elif isinstance(s.op, Reduce):
                    if is_row:
                        return False
                    todo += s.targets
                elif isinstance(s.op, Elementwise | Cast) or is_free(s):
                    todo += s.targets
                else:
                    return False
        known, counted = self.matrix | rows, _counted(self.flat)
        self.rows, self.counted = rows, counted
        self.region = [s for s in self.flat if s.targets[0] in known | counted]
        self.lasts = [s for s in self.flat if isinstance(s.op, Contract) and self.matrix & {*s.args}]
        own = self.matrix - counted
        self.kept = [t for s in self.region for t in s.targets if t in own and (t in seen or self._is_seen(t))]
        return not any(self._is_seen(v) for v in rows - counted)

    def _turns(self, s: Apply, top: Apply) -> bool:
        """Whether it takes a matrix by other axes than the softmax, or in another order."""
        if isinstance(s.op, Reduce):
            return _axes(s) != _axes(top)
        return is_free(s) and (s.targets[0].aval.shape != self.shape or s.op.name == "transpose")

    def _is_seen(self, v: Var) -> bool:
        """Whether something that is not flat sees a value."""
        return bool(self.users.get(v, set()) - {*self.places})

    # ---- groups ------------------------------------------------------------------------------------

    def slice_of(self, lasts: Iterable[Apply], kept: Iterable[Var] = ()) -> list[Apply]:
        """The statements of the region that these products need, and these matrices; and the products themselves."""
        lasts = list(lasts)
        wanted = [a for s in lasts for a in s.args if a in self.matrix]
        return [*statements_for([*self.region], [*wanted, *kept], frozenset()), *lasts]

    def firsts(self, lasts: Iterable[Apply], kept: Iterable[Var] = ()) -> list[Apply]:
        return [s for s in self.slice_of(lasts, kept) if isinstance(s.op, Contract) and s.targets[0] in self.matrix]

    def replaced(self, language: str, facts: Facts) -> Block | None:
        """The block with the scores made again; None: it is no gradient, or that is not worth it."""
        if len(self.firsts(self.lasts)) < 2:
            return None
        backward = [s for s in self.lasts if len(self.firsts([s])) > 1]
        if not backward or any(len(self.firsts([], [v])) < 2 for v in self.kept):
            return None  # what else is seen is no gradient
        before = self._ancestors(self._inputs(backward))
        alone = [s for s in self.lasts if s not in backward and s.targets[0] in before]
        together = [s for s in self.lasts if s not in alone]
        made = {s.targets[0] for s in together}.union(self.kept)
        if made & self._ancestors(self._inputs(together)):
            return None  # one of them waits for another, as in derivatives of second order
        groups = [close(self.slice_of([s]), s.targets, "attention") for s in alone]
        results = [*(s.targets[0] for s in together), *self.kept]
        groups.append(close(self.slice_of(together, self.kept), results, "attention"))
        if any(len(g.body.statements) > LONGEST or not fits(g, language) for g in groups):
            return None
        return self._rebuilt(groups) if self._is_worth(groups, language, facts) else None

    def _inputs(self, lasts: Sequence[Apply]) -> set[Var]:
        """What these products and the work in front of them take from outside of the region."""
        made = {s.targets[0] for s in self.region}
        return {a for s in self.slice_of(lasts) for a in s.args if isinstance(a, Var) and a not in made}

    def _ancestors(self, values: set[Var]) -> set[Var]:
        """The values, and all that they are made of."""
        makers: dict[Var, Statement] = {t: s for s in self.block.statements for t in s.targets}
        found, todo = set[Var](), list(values)
        while todo:
            v = todo.pop()
            if v not in found:
                found.add(v)
                maker = self.makers.get(v) or makers.get(v)
                todo += _read_by(maker) if maker is not None else []
        return found

    def _is_worth(self, groups: Sequence[Fused], language: str, facts: Facts) -> bool:
        """Whether the memory that is not moved makes up for the products that are made again."""
        owners = {id(s): s for s in self.owners.values()}.values()
        size = [nbytes(a) for s in owners for a in (*inputs_of(s), *s.targets) if a in self.matrix]
        size += [-2 * nbytes(v) for v in self.kept]  # stored, and read
        ours = library = 0.0
        for s in (*self.firsts(self.lasts), *self.lasts):
            library += Roles(s).operations / library_rate(Roles(s), s.targets[0], facts)
        for g in groups:
            for s, times in products_of(g):
                ours += times * Roles(s).operations / facts.kernel_rate(s.targets[0].aval.dtype.name, language)
        return sum(size) / facts.bandwidth > ours - library

    def _rebuilt(self, groups: Sequence[Fused]) -> Block:
        """The block with these groups, each where its last product was, and what else the statements around made."""
        gone = (self.matrix | self.rows | {s.targets[0] for s in self.lasts}) - self.counted
        owners = {s.targets[0]: self.owners[id(s)] for s in self.flat}
        places = {id(g): max(self.places[id(owners[t])] for t in g.targets) for g in groups}
        asked = {a for g in groups for a in g.args}
        statements: list[Statement] = []
        for k, s in enumerate(self.block.statements):
            statements += [g for g in groups if places[id(g)] == k]
            made = {t: None for b in inline(s) for t in b.targets} if isinstance(s, Fused) and s.kind in FLAT else {}
            left = [t for t in s.targets if t not in gone]
            if isinstance(s, Fused) and gone & {*made}:
                # What groups ask for comes before them, each value by itself, and the rest behind.
                early = [t for t in made if t in asked and t not in gone]
                for wanted in (*([t] for t in early), [t for t in left if t not in early]):
                    own = statements_for(inline(s), wanted, frozenset(gone).union(early) - {*wanted})
                    statements += [close(own, wanted, _kind(s, own))] if wanted else []
            elif left or not s.targets:
                statements.append(s)
        block = replace(self.block, statements=tuple(_in_order(statements)))
        read = users_of(block)
        return replace(block, statements=tuple(s for s in block.statements if not self._is_idle(s, read)))

    def _is_idle(self, s: Statement, read: Mapping[Var, object]) -> bool:
        """Whether nobody reads a mask any more."""
        return isinstance(s, Apply | Fused) and {*s.targets} <= self.counted and not any(t in read for t in s.targets)


def _kind(s: Statement, own: Sequence[Apply]) -> str:
    """Of a part of a group, or what is left of it without its product."""
    folds = any(isinstance(b.op, Reduce) for b in own)
    return s.kind if isinstance(s, Fused) and s.kind != "contract" and folds else "pointwise"


def _axes(s: Apply) -> tuple[int, ...]:
    assert isinstance(s.attrs, ReduceAttrs)
    return s.attrs.axes


def _readers(flat: Sequence[Apply]) -> dict[Atom, list[Apply]]:
    found: dict[Atom, list[Apply]] = {}
    for s in flat:
        for a in s.args:
            found.setdefault(a, []).append(s)
    return found


def _counted(flat: Sequence[Apply]) -> set[Var]:
    """What follows from positions and numbers alone: masks, which a kernel makes again anywhere."""
    found: set[Var] = set()
    for s in flat:
        known = all(not isinstance(a, Var) or a in found for a in s.args)
        if known and (isinstance(s.op, Create | Elementwise | Cast) or is_free(s)):
            found.update(s.targets)
    return found


def _read_by(s: Statement) -> list[Var]:
    inner = [v for b in blocks_of(s) for v in free_variables(b)]
    return [a for a in (*inputs_of(s), *inner) if isinstance(a, Var)]


def _in_order(statements: Sequence[Statement]) -> list[Statement]:
    """The statements, each behind those that make what it reads."""
    makers = {t: s for s in statements for t in s.targets}
    found: dict[int, Statement] = {}

    def add(s: Statement) -> None:
        for v in _read_by(s):
            if (maker := makers.get(v)) is not None and id(maker) not in found:
                add(maker)
        found[id(s)] = s

    for s in statements:
        if id(s) not in found:
            add(s)
    return list(found.values())
