"""Which temporaries are written inside the expression that uses them, instead of getting a line and a name.

    before                                  after
    t = x @ w                               h = np.tanh(x @ w + b)
    t1 = t + b
    h = np.tanh(t1)

Moving a computation to its use changes no value, for values never change. What it must not do is keep an array alive
across a store into it, for then the store would have to copy; nor enter a loop.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import lru_cache
from typing import assert_never

from .. import ops
from ..ir import Apply, Atom, Block, Const, For, Fused, If, Invoke, Raise, Statement, Var, While, blocks_of, walk
from ..ops.core import (
    ArgReduce,
    At,
    AxesAttrs,
    Cast,
    Collective,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    Create,
    Cumulative,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    Gather,
    Index,
    IndexAttrs,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    Run,
    Sort,
    Tape,
    is_store,
)
from ..records import dataclass

WIDTH = 72  # characters of an expression, roughly: names are given later
LINE, WIDEST = 92, 84  # of a line, and of an expression that a line has room for
TWICE, FEW, SOME, MANY = 2, 3, 6, 1000  # how often a mask, a transpose, a slice and an element may be written again
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_WORK = Reduce | Contract | Linalg | Fourier | Sort | Cumulative  # what costs more than to be named
SMALL = 10  # an expression below this is never worth a line of its own

Roots = Mapping[Var, frozenset[Var]]


def is_temporary(v: Var) -> bool:
    """Whether the name was made by untraced, not by the user."""
    return _is_made_up(v.hint)


def _is_passing(v: Var, user: Statement | None) -> bool:
    """Whether it is an adjoint that is stored and nothing else, or a number that is the adjoint of a temporary to which
    nothing is added.
    """
    if is_adjoint(v) and isinstance(user, Apply) and isinstance(user.op, Put):
        return user.args[1] is v
    made_up = not v.aval.shape and is_adjoint(v) and _is_made_up(v.hint[2:])
    return made_up and isinstance(user, Apply) and user.targets[0].hint != v.hint


@lru_cache(maxsize=4096)
def _is_made_up(hint: str) -> bool:
    return re.fullmatch(r"t?\d*", hint) is not None


def is_adjoint(v: Var) -> bool:
    return v.hint.startswith("d_")


@dataclass(frozen=True, slots=True)
class Site:
    """A use of a variable: argument, condition or range ("arg"), the array of a store ("base"), the start of a dynamic
    run ("start"), an initial value ("init") or a result of the block ("result"). `position` counts statements."""

    block: Block
    position: int
    statement: Statement | None
    slot: str


@dataclass(slots=True)
class Folding:
    """`definitions[v]` is the expression that stands for `v` wherever it is used."""

    definitions: dict[Var, Apply] = field(default_factory=dict)

    def leaves(self, *atoms: Atom) -> Iterator[Var]:
        """The named variables that an expression reads."""
        waiting = list(atoms)
        while waiting:
            a = waiting.pop()
            if isinstance(a, Const):
                continue
            if a in self.definitions:
                waiting.extend(self.definitions[a].args)
            else:
                yield a


def find_folds(body: Block, roots: Roots, moved: Set[Var], kept: Set[Var] = frozenset()) -> Folding:
    """Decide for one function. `moved`: temporaries to be written in the assignments at the start or end of a loop or
    branch. `kept`: temporaries that must keep their line."""
    finder = _Finder(body, roots, moved, kept)
    finder.block(body, "return")
    return Folding(finder.folded)


class _Finder:
    def __init__(self, body: Block, roots: Roots, moved: Set[Var], kept: Set[Var]) -> None:
        self.roots, self.moved, self.kept = roots, moved, kept
        self.folded: dict[Var, Apply] = {}
        self.renamed: set[Var] = set()
        self.sites = _sites(body)
        self.makers = {t: s for s in walk(body) if isinstance(s, Apply) for t in s.targets}
        self.indices = {s.body.params[0] for s in walk(body) if isinstance(s, For)}

    def block(self, block: Block, role: str, depth: int = 1) -> None:
        for s in block.statements:
            for inner in blocks_of(s):
                if not isinstance(s, Fused):
                    test = isinstance(s, While) and inner is s.condition
                    kind = "condition" if test else "return" if isinstance(s, Raise) else "inner"
                    self.block(inner, kind, depth + 1)
        self._choose(block, role)
        self._limit_width(block, depth)

    def _choose(self, block: Block, role: str) -> None:
        barriers = _Barriers(block, self.roots)
        self.renamed |= self._renamed(block)
        final: dict[Var, int] = {}  # the statement into which a folded variable finally goes
        for position in range(len(block.statements) - 1, -1, -1):
            s = block.statements[position]
            if not isinstance(s, Apply) or is_store(s.op):
                continue
            (v,) = s.targets
            sites = self.sites.get(v, [])
            if self._is_place(s) and v not in self.kept and all(x.slot in ("arg", "start") for x in sites):
                self.folded[v], final[v] = s, position
                continue
            if self._is_unpacked(v, block, position) and v not in self.kept:
                self.folded[v], final[v] = s, position + 1
                continue
            if not 1 <= len(sites) <= self._most_uses(s) or v in self.kept or any(x.block is not block for x in sites):
                continue
            if not all(self._may_fold(v, s, site, role, block) for site in sites):
                continue
            if self._most_uses(s) == 1 and isinstance(s.op, _WORK) and self._is_repeated(sites[0]):
                continue
            if s.op is ops.IOTA and any(_along_axes(site.statement, v) > 1 for site in sites):
                continue
            at = max(self._written_at(site, final) for site in sites)
            fleeting = [a for a in s.args if all(self._written_at(x, final) < at for x in self._others(a, s, block))]
            if not barriers.between(position, at, s.args, fleeting):
                self.folded[v] = s
                final[v] = at
                barriers.gone.add(position)
        for s in block.statements:
            if s.targets and s.targets[0] in self.folded and self._goes_on(s.targets[0]):
                del self.folded[s.targets[0]]

    def _is_unpacked(self, v: Var, block: Block, position: int) -> bool:
        """Whether the next lines name the numbers in `v`, and nothing else reads it: `x, y = s + h * k`."""
        sites = self.sites.get(v, [])
        if v.aval.ndim != 1 or not is_temporary(v) or len(sites) < 2 or position + 1 == len(block.statements):
            return False
        count = elements(block.statements, position + 1, lambda e: e not in self.folded, frozenset())
        return count == len(sites) and all(x.block is block and 0 < x.position - position <= count for x in sites)

    def _is_repeated(self, site: Site) -> bool:
        """Whether it is in an expression that is written several times."""
        while isinstance(site.statement, Apply) and site.statement.targets[0] in self.folded:
            site, *others = self.sites[site.statement.targets[0]]
            if others:
                return True
        return False

    def _others(self, a: Atom, s: Apply, block: Block) -> list[Site]:
        """Where else in the block than in `s` a value is read. The last of these keeps it its name."""
        sites = self.sites.get(a, []) if isinstance(a, Var) else []
        return [x for x in sites if x.block is block and x.statement is not s]

    def _most_uses(self, s: Apply) -> int:
        """How often an expression is written; the new axis of a part of np.stack is not written at all."""
        (v,) = s.targets
        if s.op is ops.EXPAND_DIMS and all(is_stack(site.statement, v, s) for site in self.sites.get(v, [])):
            return MANY
        return max(_most_uses(s), FEW if self._is_short(s) or self._is_entry(s) else 1)

    def _is_entry(self, s: Apply) -> bool:
        """Whether it reads an array at the index of a loop, or a step beside it: `x[i]`, `x[i + 1, :]`."""
        if s.op is not ops.INDEX or len(s.args) < 2:
            return False
        places = (a for a in s.args[1:] if isinstance(a, Var))
        return all(a in self.indices or self._is_place(self.makers.get(a)) for a in places)

    def _is_short(self, s: Apply) -> bool:
        """Whether a number is the sum, difference, product, quotient, power or comparison of two that have names, are
        elements or are written out: `y * y`, `d_r[0, 1] * 2`, `a > b`. People write that again rather than name it.
        """
        (v,) = s.targets
        if v.aval.shape or len(s.args) != 2 or not isinstance(s.op, Elementwise):
            return False
        return s.op.operator in (*COMPARISONS, "+", "-", "*", "/", "**") and all(self._is_word(a) for a in s.args)

    def _is_word(self, a: Atom) -> bool:
        if isinstance(a, Const):
            return a.aval.weak and len(repr(a.value)) <= SMALL
        made = self.makers.get(a)
        if a.aval.shape or not is_temporary(a):
            return not a.aval.shape
        return made is None or (made.op is ops.INDEX and len(made.args) == 1)

    def _is_start_of(self, s: Apply, user: Statement | None) -> bool:
        """Whether the same line of the user's source goes on to add to what `s` makes: `d_x = a` and `d_x += b`. What
        adds to something that stays, as to what a loop carries, does so in place."""
        (v,) = s.targets
        if is_adjoint(v) and isinstance(user, Apply) and isinstance(user.op, Cast) and user.targets[0].hint == v.hint:
            return True  # `d_x = np.float64(2.0 * x)`
        if not is_adjoint(v) or not isinstance(user, Apply) or user.op not in (ops.ADD, ops.SUBTRACT):
            return False
        if user.args[0] is not v or user.args[1] is v or user.targets[0].hint != v.hint:
            return False
        before = s.args[0] if s.op in (ops.ADD, ops.SUBTRACT) else None
        if not isinstance(before, Var) or before.hint != v.hint or self._is_sum_of_numbers(s, user):
            return True
        made = self.makers.get(before)
        return made is not None and len(self.sites[before]) == 1 and self._is_start_of(made, s)

    def _is_sum_of_numbers(self, s: Apply, user: Apply) -> bool:
        """Whether the same line of the user's adds to a number twice: in place would save nothing."""
        return not s.targets[0].aval.shape and (s.span.file, s.span.line) == (user.span.file, user.span.line)

    def _goes_on(self, v: Var) -> bool:
        """Whether the statement adds to an adjoint that has its own line and is not returned."""
        made = self.folded[v]
        user = self.sites[v][0].statement
        if isinstance(user, Apply) and self._is_sum_of_numbers(made, user):
            return False
        before = made.args[0] if is_adjoint(v) and made.op in (ops.ADD, ops.SUBTRACT) else None
        if not isinstance(before, Var) or before.hint != v.hint or before in self.folded:
            return False
        site = self.sites[v][0]
        while isinstance(site.statement, Apply) and site.statement.targets[0] in self.folded:
            site = self.sites[site.statement.targets[0]][0]
        return site.slot != "result"

    def _renamed(self, block: Block) -> set[Var]:
        """Variables used once whose name still stands for an earlier value: `z = z - m; np.exp(z)`, where a
        derivative asks for the first z once more. Written where it is used, it costs the user no name."""
        ends: dict[str, int] = {}  # the last use of each name's values
        found: set[Var] = set()

        def define(v: Var) -> None:
            last = max((x.position for x in self.sites.get(v, []) if x.block is block), default=-1)
            ends[v.hint] = max(ends.get(v.hint, -1), last)

        for p in block.params:
            define(p)
        for i, s in enumerate(block.statements):
            for v in s.targets:
                if ends.get(v.hint, -1) > i and not is_adjoint(v) and len(self.sites.get(v, [])) == 1:
                    found.add(v)
                define(v)
        return found

    def _is_place(self, s: Apply | None) -> bool:
        """Whether the value is `i + 1` for a loop index i; such places are written out wherever they are used."""
        return s is not None and is_affine(s) and s.args[0] in self.indices and is_temporary(s.targets[0])

    def _written_at(self, site: Site, final: Mapping[Var, int]) -> int:
        user = site.statement
        if user is not None and user.targets and user.targets[0] in self.folded:
            return final[user.targets[0]]
        return site.position

    def _may_fold(self, v: Var, s: Apply, site: Site, role: str, block: Block) -> bool:
        if role == "condition":
            return site.slot != "start" or is_affine(s)
        match site.slot:
            case "arg":
                if is_temporary(v) or _is_passing(v, site.statement):
                    return True
                return self._is_start_of(s, site.statement) or v in self.renamed
            case "start":
                return is_temporary(v) and is_affine(s)
            case "result" if role == "return":
                return is_temporary(v) or (is_adjoint(v) and len(block.results) == 1)
            case "result" | "init":
                return v in self.moved
            case _:
                return False

    def _limit_width(self, block: Block, depth: int) -> None:
        widths: dict[Var, int] = {}

        def width(a: Atom) -> int:
            if isinstance(a, Const):
                return _width_of(a) if a.aval.shape else len(repr(a.value))
            return widths.get(a, _length(a))

        for s in block.statements:
            args = list(_inputs(s))
            total = sum(map(width, args)) + (2 * len(args) if self._is_row(s) else _own_width(s))
            most = self._most_width(s, depth)
            while total > most:
                folded = dict.fromkeys(self._inside(a, s) for a in args if isinstance(a, Var))
                written = sorted((a for a in folded if a in self.folded), key=lambda a: (not is_adjoint(a), -width(a)))
                wide = [a for a in written if width(a) > SMALL]
                if not wide:
                    break
                for a in wide:
                    total -= width(a) - _length(a)
                    del self.folded[a], widths[a]
                    if total <= most:
                        break
            if s.targets and s.targets[0] in self.folded:
                site = self.sites[s.targets[0]][0].statement
                stacked = isinstance(s, Apply) and is_stack(site, s.targets[0], s)
                widths[s.targets[0]] = width(s.args[0]) if stacked and isinstance(s, Apply) else total

    def _most_width(self, s: Statement, depth: int) -> int:
        """How wide the expression may be: what has a short name and stands far on the left has more room."""
        if not isinstance(s, Apply) or s.targets[0] in self.folded or is_store(s.op):
            return WIDTH
        return max(WIDTH, min(LINE - 4 * depth - len(s.targets[0].hint) - 3, WIDEST))

    def _is_row(self, s: Statement) -> bool:
        """Whether numbers are joined to a row of an array of such rows."""
        if not isinstance(s, Apply) or not isinstance(s.op, Concatenate) or len(self.sites.get(s.targets[0], ())) != 1:
            return False
        widened = self.sites[s.targets[0]][0].statement
        if s.targets[0] not in self.folded or not isinstance(widened, Apply) or widened.targets[0] not in self.folded:
            return False
        users = [site.statement for site in self.sites[widened.targets[0]]]
        return all(is_stack(user, widened.targets[0], widened) for user in users)

    def _inside(self, a: Var, user: Statement) -> Var:
        """The temporary that gets its own line where `a` is too long; for a part of np.stack not its new axis."""
        made = self.folded.get(a)
        if made is None or not is_stack(user, a, made):
            return a
        (x,) = made.args
        return x if isinstance(x, Var) else a


def _most_uses(s: Apply) -> int:
    """How often an expression is written: `y[1]` wherever it is used, as people do, a slice or `a.T` a few times, and
    `np.arange(n)`, a question about a number or its negative twice."""
    if s.op is ops.TRANSPOSE and s.args[0].aval.ndim == 2:
        return FEW
    if s.op is ops.IOTA:
        return TWICE
    if not s.targets[0].aval.shape and (_with_a_number(s) or s.op is ops.NEGATIVE):
        return TWICE
    if not (s.op is ops.INDEX and len(s.args) == 1):
        return 1
    return SOME if s.targets[0].aval.shape else MANY


def _length(v: Var) -> int:
    """Of a name; that of a temporary is given later."""
    return max(len(v.hint), 2) if is_temporary(v) else len(v.hint)


def _width_of(a: Const) -> int:
    """Of an array that is written out."""
    if a.aval.size > MANY:
        return 8 * a.aval.size
    row = (1,) if a.aval.ndim == 1 and a.aval.size == 1 else a.aval.shape  # an element of what is joined
    return sum(len(str(x)) + 2 for x in a.value.ravel().tolist()) + 2 * math.prod(row[:-1]) - 2


def start_of(v: Var, folded: Mapping[Var, Apply]) -> Var | None:
    """The value that a folded adjoint adds to, where that is folded, too."""
    before = next(iter(folded[v].args), None) if is_adjoint(v) else None
    return before if isinstance(before, Var) and before in folded and before.hint == v.hint else None


def _along_axes(user: Statement | None, places: Var) -> int:
    """How many axes the array indexes: 2 in `d[n, n]`."""
    if not isinstance(user, Apply) or not isinstance(user.attrs, IndexAttrs):
        return 0
    return sum(isinstance(d, Gather) and user.args[d.arg] is places for d in user.attrs.dims)


def _with_a_number(s: Apply) -> bool:
    """Whether it combines a variable and a literal, as `n > 0` or `1.0 - t` do."""
    if not isinstance(s.op, Elementwise) or s.op.operator is None or len(s.args) != 2:
        return False
    if s.op in (ops.ADD, ops.SUBTRACT):
        return any(isinstance(a, Const) for a in s.args)
    return s.op.operator in COMPARISONS and isinstance(s.args[1], Const)


def elements(
    statements: Sequence[Statement], start: int, is_named: Callable[[Var], bool], copied: Set[Var]
) -> int:
    """How many statements from there on name the elements of an array one by one, as in `x, y, z = v`. A view that is
    copied has a line of its own.
    """
    first = statements[start]
    if not isinstance(first, Apply) or first.op is not ops.INDEX or len(first.args) != 1:
        return 0
    x = first.args[0]
    count, *rest = x.aval.shape
    if not 2 <= count <= len(statements) - start:
        return 0
    for i, s in enumerate(statements[start : start + count]):
        if not isinstance(s, Apply) or s.op is not ops.INDEX or s.args != (x,) or not is_named(s.targets[0]):
            return 0
        if s.attrs != IndexAttrs((At(i), *(Run(0, n) for n in rest))) or s.targets[0] in copied:
            return 0
    return count


def is_stack(user: Statement | None, a: Atom, made: Apply) -> bool:
    """Whether `a`, made by `made`, is a part of a concatenation that puts it along a new axis."""
    if not isinstance(user, Apply) or not isinstance(user.attrs, ConcatenateAttrs):
        return False
    return made.op is ops.EXPAND_DIMS and made.attrs == AxesAttrs((user.attrs.axis,))


class _Barriers:
    """Statements of a block that an expression is not moved across."""

    def __init__(self, block: Block, roots: Roots) -> None:
        self.roots = roots
        self.compound = [i for i, s in enumerate(block.statements) if not isinstance(s, Apply | Fused | Invoke)]
        self.stores: list[tuple[int, frozenset[Var]]] = []
        self.named: dict[str, list[int]] = {}
        self.gone: set[int] = set()  # folded statements, which have no line
        for i, s in enumerate(block.statements):
            if isinstance(s, Apply) and is_store(s.op) and isinstance(s.args[0], Var):
                self.stores.append((i, roots.get(s.args[0], frozenset()) | {s.args[0]}))
            for t in s.targets:
                if not is_temporary(t):
                    self.named.setdefault(t.hint, []).append(i)

    def between(self, start: int, end: int, reads: tuple[Atom, ...], fleeting: Sequence[Atom]) -> bool:
        """Whether a loop or branch, a store into what is read, or a new version of it lies strictly between. Only new
        versions of what is `fleeting` count: the name of a value that others read later still is another one.
        """
        if end - start <= 1:
            return False
        if _any_between(self.compound, start, end):
            return True
        for a in reads:
            touched = self.roots.get(a, frozenset()) | {a} if isinstance(a, Var) else frozenset()
            if any(start < i < end and touched & stored for i, stored in self.stores):
                return True
        hints = (a.hint for a in fleeting if isinstance(a, Var))
        return any(start < i < end and i not in self.gone for hint in hints for i in self.named.get(hint, ()))


def _any_between(positions: list[int], start: int, end: int) -> bool:
    i = bisect_right(positions, start)
    return i < len(positions) and positions[i] < end


def is_affine(s: Apply) -> bool:
    """variable + constant or variable - constant, on Python ints: the reader recognises it in both ends of a slice."""
    if s.op is not ops.ADD and s.op is not ops.SUBTRACT:
        return False
    x, c = s.args
    return isinstance(x, Var) and isinstance(c, Const) and c.aval.weak and s.targets[0].aval.weak


def _inputs(s: Statement) -> tuple[Atom, ...]:
    match s:
        case Apply(args=args) | Fused(args=args) | Invoke(args=args):
            return args
        case If(condition=condition) | Raise(condition=condition):
            return (condition,)
        case For(range=r):
            return (r.start, r.stop, r.step)
        case While(condition=condition):
            return condition.results
        case _:
            assert_never(s)


def _sites(body: Block) -> dict[Var, list[Site]]:
    sites: dict[Var, list[Site]] = {}

    def use(a: Atom, site: Site) -> None:
        if isinstance(a, Var):
            sites.setdefault(a, []).append(site)

    def visit(block: Block) -> None:
        for i, s in enumerate(block.statements):
            for place, a in enumerate(_inputs(s)):
                if not isinstance(s, While):
                    use(a, Site(block, i, s, _slot(s, place)))
            if isinstance(s, For | While):
                for a in s.inits:
                    use(a, Site(block, i, s, "init"))
            if not isinstance(s, Fused):
                for inner in blocks_of(s):
                    visit(inner)
        for a in block.results:
            use(a, Site(block, len(block.statements), None, "result"))

    visit(body)
    return sites


def _slot(s: Statement, place: int) -> str:
    if isinstance(s, Apply) and place == 0 and is_store(s.op):
        return "base"
    if not isinstance(s, Apply) or not isinstance(s.op, Index | Put):
        return "arg"
    assert isinstance(s.attrs, IndexAttrs)
    starts = [d.start for d in s.attrs.dims if isinstance(d, Run)]
    return "start" if Dyn(place) in starts else "arg"


def _is_of_a_name(s: Apply) -> bool:
    """Whether what has a name is reduced to a number: `np.sum(d_k_terms)`."""
    x = s.args[0]
    return not s.targets[0].aval.shape and isinstance(x, Var) and not is_temporary(x)


def _own_width(s: Statement) -> int:
    """Roughly how many characters the operation takes, besides its arguments."""
    if not isinstance(s, Apply):
        return 8
    match s.op:
        case Elementwise(operator=operator, numpy=name):
            return len(operator) + 2 if operator else len(name) + 2 * len(s.args)
        case Cast():
            return 20
        case Reduce(numpy=name) if _is_of_a_name(s):
            return len(name) + 2
        case Reduce() | ArgReduce() | Cumulative() | Sort() | Fourier():
            return 14
        case Collective():
            return 20
        case Linalg(numpy=name, field=field):
            return len(name) + len(field) + 4
        case Contract():
            return 6
        case Reshape() if s.op is ops.TRANSPOSE and s.targets[0].aval.ndim == 2:
            return 2
        case Reshape() | Create():
            return 8 + 4 * s.targets[0].aval.ndim
        case Concatenate():
            axis = s.attrs.axis if isinstance(s.attrs, ConcatenateAttrs) else 0
            stacked = all(a.aval.shape[axis] == 1 for a in s.args)
            return (9 if stacked else 18) + 2 * len(s.args)
        case Index() | Put():
            assert isinstance(s.attrs, IndexAttrs)
            shape = s.args[0].aval.shape
            return sum(4 if isinstance(d, Run) and d.size < n else 3 for d, n in zip(s.attrs.dims, shape, strict=True))
        case Tape() | Draw():
            return 6
        case Ruled():
            raise AssertionError("rules are taken out of a program before")
        case _:
            assert_never(s.op)
