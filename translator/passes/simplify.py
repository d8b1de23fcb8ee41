"""Simplification: constants folded, common subexpressions shared, loop invariants hoisted, dead code dropped.

    def f(x, n):                            def f(x, n):
        y = np.zeros(3)                         y = np.zeros(3)
        unused = np.exp(x)                      t = np.sin(x)
        for i in range(n):                      for i in range(n):
            y = y + np.sin(x) * 1.0                 y += t
        return y - (-np.sin(x))                 return y + t

No bit of a result changes (a NaN's sign and payload aside), except where a rounding below the normal range is involved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar, assert_never

from .. import make, ops
from ..bounds import (
    divides_python_numbers,
    is_python_function,
    is_python_int,
    is_python_power,
    narrowed_numbers,
    refuses_negative,
)
from ..builder import Builder
from ..derive.linear import index_parts
from ..errors import UntracedError
from ..ir import (
    Apply,
    Atom,
    Block,
    Const,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Range,
    Statement,
    Var,
    While,
    const,
    may_raise,
    uses_of,
)
from ..ops.core import Cast, Contract, Create, Elementwise, IndexAttrs, Linalg, Op, Reshape, is_store
from ..records import dataclass
from ..remake import remake
from ..thrown import settled
from .bounded import answered, any_place
from .calls import Call, Definitions, Found, Nested
from .dead import dead_code
from .fold import opposite, rewrite
from .numbers import is_power_of_two, number_of
from .unread import unread_stores

__all__ = ["dead_code", "simplify"]

T = TypeVar("T")


def simplify(function: Function) -> Function:
    """Fold, share, move and drop, in one forward walk and one backward; spans, names and mutated parameters stay.

    Simplifying a simplified program gives the same program.
    """
    rebuilt = _Walk(uses_of(function.body))
    rebuilt.open(function.body.params)
    rebuilt.statements(function.body.statements)
    body = Block(function.body.params, tuple(rebuilt.close()), rebuilt.atoms(function.body.results))
    less = dead_code(replace(function, body=body))
    read_before = unread_stores(less)
    return less if read_before is less else simplify(read_before)


@dataclass(slots=True)
class _Level:
    """A block being rebuilt. `loop`: invariants may leave it; `certain`: it runs if the block around it does; `moved`:
    what has come to it out of loops inside of it, which may be visited again.
    """

    loop: bool = False
    certain: bool = True
    statements: list[Statement] = field(default_factory=list)
    known: dict[tuple[object, ...], Var] = field(default_factory=dict)
    moved: set[Var] = field(default_factory=set)


_COMMUTATIVE = frozenset(
    ("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor")
)


class _Walk:
    """One forward walk. Blocks around the current one are visible, and receive what can move out to them."""

    def __init__(self, uses: Mapping[Var, int]) -> None:
        self.levels: list[_Level] = []
        self.replaced: dict[Var, Atom] = {}
        self.definitions = Definitions(uses)
        self.depth: dict[Var, int] = {}
        self.loops: list[For] = []  # those around the current block

    # scopes

    def open(self, params: Sequence[Var], *, loop: bool = False, certain: bool = True) -> None:
        self.levels.append(_Level(loop, certain))
        self.depth.update((p, len(self.levels) - 1) for p in params)

    def close(self) -> list[Statement]:
        return self.levels.pop().statements

    def atom(self, a: Atom) -> Atom:
        return self.replaced.get(a, a) if isinstance(a, Var) else a

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.atom(a) for a in atoms)

    def append(self, s: Statement, level: int = -1) -> None:
        level %= len(self.levels)
        self.levels[level].statements.append(s)
        for t in s.targets:
            self.depth[t] = level
            self.replaced.pop(t, None)

    def replace(self, target: Var, a: Atom) -> None:
        self.replaced[target] = a

    # statements

    def statements(self, statements: Sequence[Statement]) -> None:
        for s in statements:
            match s:
                case Apply():
                    self.apply(s)
                case If():
                    self.branch(s)
                case For():
                    self.for_loop(s)
                case While():
                    self.while_loop(s)
                case Raise():
                    self.raising(s)
                case Fused() | Invoke():
                    self.append(replace(s, args=self.atoms(s.args)))
                case _:
                    assert_never(s)

    def apply(self, s: Apply) -> None:
        if len(s.targets) != 1:
            self.append(replace(s, args=self.atoms(s.args)))
            return
        target, args = s.targets[0], self.atoms(s.args)
        if s.op is ops.PUT_ADD and args[1].aval.dtype == args[0].aval.dtype:  # else -x wraps before it is cast
            less = opposite(args[1], self.definitions)
            if less is not None:
                s = self.subtracting(replace(s, args=args), less)
                args = s.args
        changed = any(a is not b for a, b in zip(args, s.args, strict=True))
        found = self.simplest(Call(s.op, args, s.attrs), s, changed)
        if not isinstance(found, Call):
            self.replace(target, found)
            return
        key = self.key(found)
        shared = self.shared(key)
        if shared is not None:
            self.replace(target, shared)
            return
        if found.op is not s.op or found.attrs is not s.attrs or found.args != s.args:
            s = Apply(s.targets, found.op, found.args, found.attrs, s.span)
        level = self.level_for(s)
        if level < len(self.levels) - 1:
            if target in self.levels[level].moved:
                return
            self.levels[level].moved.add(target)
        self.append(s, level)
        self.definitions.made[target] = s
        if not _is_buffer(s.op) and not _is_element(s):
            self.levels[level].known[key] = target

    def simplest(self, call: Call, s: Apply, changed: bool) -> Atom | Call:
        """The end of all rewrites of the call: an atom that has its value, or the call to make."""
        aval = s.targets[0].aval
        while True:
            found: Found = rewrite(call, aval, self.definitions)
            if found is None and (changed or isinstance(call.op, Reshape | Contract | Cast) or _has_known_place(call)):
                found = self.canonical(call, s)
            if found is None and call.op is ops.INDEX:
                found = self.of_the_whole(call)
            if found is None:
                found = answered(call, self.loops, self.definitions.made) or any_place(call, self.definitions)
            if found is None and (call.op is ops.SOLVE or call.op is ops.CONTRACT):
                found = self.of_known(call)
            if found is None:
                return call
            if isinstance(found, Nested):
                found = self.flat(found, s)
            if not isinstance(found, Call):
                return found
            call, changed = found, True

    def of_the_whole(self, call: Call) -> Call | None:
        """x[i][j] as x[i, j], as it is read back, where x[i] is asked for nothing else; where `x` is stored into in
        between, x[i] is a copy and stays."""
        inner = self.definitions.made.get(call.args[0]) if isinstance(call.args[0], Var) else None
        if inner is None or inner.op is not ops.INDEX or self.definitions.uses.get(inner.targets[0]) != 1:
            return None
        if self.depth[inner.targets[0]] != len(self.levels) - 1:
            return None
        assert isinstance(inner.attrs, IndexAttrs) and isinstance(call.attrs, IndexAttrs)
        dims = make.joined(inner.args[0].aval.shape, inner.attrs.dims, call.attrs.dims, len(inner.args) - 1)
        if dims is None or self.is_stored_into_since(inner):
            return None
        return Call(ops.INDEX, (*inner.args, *call.args[1:]), IndexAttrs(dims))

    def of_known(self, call: Call) -> Call | None:
        """`0.5 * solve(a, y)` for `solve(a, 0.5 * y)` where the former is known without the factor, a power of two."""
        for i, a in enumerate(call.args):
            scaled = self.definitions.get(a) if isinstance(a, Var) and (i or call.op is ops.CONTRACT) else None
            if scaled is None or scaled.op is not ops.MULTIPLY:
                continue
            for c, x in (scaled.args, scaled.args[::-1]):
                number = number_of(c)
                if number is None or not is_power_of_two(number) or x.aval != a.aval or x.aval.dtype.kind not in "fc":
                    continue
                known = self.shared(self.key(replace(call, args=(*call.args[:i], x, *call.args[i + 1 :]))))
                if known is not None:
                    return Call(ops.MULTIPLY, (known, c))
        return None

    def is_stored_into_since(self, made: Apply) -> bool:
        for s in reversed(self.levels[-1].statements):
            if s is made:
                return False
            if not isinstance(s, Apply) or (is_store(s.op) and s.args[0] is made.args[0]):
                return True
        return True

    def subtracting(self, s: Apply, less: Atom | Call | Nested) -> Apply:
        """`x[i] -= v` for `x[i] += -v`; the same values. Stores at computed places, which may be repeated, stay."""
        assert isinstance(s.attrs, IndexAttrs)
        if s.attrs.gathers:
            return s
        dims, dyn = index_parts(s, 2)
        b = Builder(s.span)
        part = make.index(b, s.args[0], dims, dyn)
        value = self.computed(less, s)
        if value.aval != s.args[1].aval or value.aval.shape != part.aval.shape:
            return s
        self.statements(b.statements)
        rest = self.computed(Call(ops.SUBTRACT, (self.atom(part), value)), s)
        return replace(s, op=ops.PUT, args=(s.args[0], rest, *s.args[2:]))

    def flat(self, nested: Nested, s: Apply) -> Call:
        """The outer call, after statements for those within."""
        return Call(nested.op, tuple(self.computed(a, s) for a in nested.args), nested.attrs)

    def computed(self, a: Atom | Call | Nested, s: Apply) -> Atom:
        if isinstance(a, Nested):
            a = self.flat(a, s)
        if not isinstance(a, Call):
            return a
        v = Var("t", a.aval())
        self.apply(Apply((v,), a.op, a.args, a.attrs, s.span))
        return self.atom(v)

    def canonical(self, call: Call, s: Apply) -> Atom | Call | None:
        """The call as `make` builds it; None when that is what it is, or when `make` refuses what is now known."""
        b = Builder(s.span)
        b.definitions = self.definitions.made
        try:
            atom = remake(b, call.op, call.args, call.attrs)
        except UntracedError:
            return None
        if atom.aval != s.targets[0].aval:
            return None
        if not b.statements:
            return atom
        *first, last = b.statements
        assert isinstance(last, Apply)
        if last.targets[0] is not atom or (not first and _same_call(last, call)):
            return None
        self.statements(first)
        return Call(last.op, self.atoms(last.args), last.attrs)

    def branch(self, s: If) -> None:
        condition = self.atom(s.condition)
        if isinstance(condition, Const):
            chosen = s.then if condition.value else s.orelse
            self.statements(chosen.statements)
            for t, r in zip(s.targets, chosen.results, strict=True):
                self.replace(t, self.atom(r))
            return
        then, orelse = self.block(s.then), self.block(s.orelse)
        kept = []
        for i, (t, a, b) in enumerate(zip(s.targets, then.results, orelse.results, strict=True)):
            if _is_same(a, b):
                self.replace(t, a)
            else:
                kept.append(i)
        then, orelse = (replace(b, results=tuple(b.results[i] for i in kept)) for b in (then, orelse))
        self.append(If(tuple(s.targets[i] for i in kept), condition, then, orelse, s.span))

    def raising(self, s: Raise) -> None:
        condition = self.atom(s.condition)
        if isinstance(condition, Const) and not condition.value:
            return
        if self.has_raised(condition):
            return
        if isinstance(condition, Var):
            self.levels[-1].known["raise", _atom_key(condition)] = condition
        body = self.block(s.body)
        error, values = settled(s.error, body.results)
        self.append(Raise(condition, replace(body, results=values), error, s.span))

    def has_raised(self, condition: Atom) -> bool:
        """Whether something has been raised before where it is true, or where either of the two is that it says."""
        if self.shared(("raise", _atom_key(condition))) is not None:
            return True
        made = self.definitions.get(condition) if isinstance(condition, Var) else None
        return made is not None and made.op is ops.LOGICAL_OR and all(map(self.has_raised, made.args))

    def block(self, block: Block) -> Block:
        self.open(block.params)
        self.statements(block.statements)
        return Block(block.params, tuple(self.close()), self.atoms(block.results))

    def for_loop(self, s: For) -> None:
        start, stop, step = self.atoms((s.range.start, s.range.stop, s.range.step))
        turns = Range(start, stop, step, s.range.reverse)
        known = turns.static()
        certain = known is not None and not may_raise(s)
        inits = self.atoms(s.inits)
        if known is not None and not known:
            for t, init in zip(s.targets, inits, strict=True):
                self.replace(t, init)
            return
        if known is not None and len(known) == 1:
            self.single_turn(s, known[0], inits)
            return
        index, *carried = s.body.params
        self.forget(carried)
        slots = self.varying(carried, s.body.results, inits, range(len(carried)))
        same: dict[int, int] = {}
        while True:
            self.open((index, *carried), loop=True, certain=certain)
            self.loops.append(replace(s, range=turns))
            self.statements(s.body.statements)
            results = self.atoms(s.body.results)
            statements = self.close()
            self.loops.pop()
            fewer = self.varying(carried, results, inits, slots)
            fewer = self.single(fewer, (carried, results, inits), statements, same)
            if len(fewer) == len(slots):
                break
            slots = fewer
        self.settle(s.targets, inits, slots, same)
        body = Block((index, *_pick(carried, slots)), tuple(statements), _pick(results, slots))
        self.append(For(_pick(s.targets, slots), turns, _pick(inits, slots), body, s.parallel, s.span))

    def single_turn(self, s: For, index: int, inits: Sequence[Atom]) -> None:
        for p, value in zip(s.body.params, (const(index), *inits), strict=True):
            self.replace(p, value)
        self.statements(s.body.statements)
        for t, result in zip(s.targets, self.atoms(s.body.results), strict=True):
            self.replace(t, result)

    def while_loop(self, s: While) -> None:
        inits = self.atoms(s.inits)
        carried = s.body.params
        self.forget((*carried, *s.condition.params))
        slots = self.varying(carried, s.body.results, inits, range(len(carried)), s.condition.params)
        same: dict[int, int] = {}
        while True:
            self.open(s.condition.params, loop=True)
            self.statements(s.condition.statements)
            stop = self.atoms(s.condition.results)
            test = self.close()
            self.open(carried, loop=True, certain=False)
            self.statements(s.body.statements)
            results = self.atoms(s.body.results)
            statements = self.close()
            fewer = self.varying(carried, results, inits, slots, s.condition.params)
            fewer = self.single(fewer, (carried, results, inits), statements, same, s.condition.params)
            if len(fewer) == len(slots):
                break
            slots = fewer
        if isinstance(stop[0], Const) and not stop[0].value:
            slots = []
        self.settle(s.targets, inits, slots, same)
        if isinstance(stop[0], Const) and not stop[0].value:
            self.asked_once(s, inits)
            return
        condition = Block(_pick(s.condition.params, slots), tuple(test), stop)
        body = Block(_pick(carried, slots), tuple(statements), _pick(results, slots))
        self.append(While(_pick(s.targets, slots), _pick(inits, slots), condition, body, s.span))

    def asked_once(self, s: While, inits: Sequence[Atom]) -> None:
        """What the condition of a loop without turns may raise."""
        if any(map(may_raise, s.condition.statements)):
            for p, init in zip(s.condition.params, inits, strict=True):
                self.replace(p, init)
            self.statements(s.condition.statements)

    def forget(self, params: Sequence[Var]) -> None:
        """Drop what an earlier visit of the loop found about its carried values."""
        for p in params:
            self.replaced.pop(p, None)

    def varying(
        self,
        carried: Sequence[Var],
        results: Sequence[Atom],
        inits: Sequence[Atom],
        slots: Sequence[int],
        twins: Sequence[Var] = (),
    ) -> list[int]:
        """The slots that a body changes; in the others the parameter (and its twin) becomes its initial value."""
        kept = []
        for i in slots:
            if results[i] is carried[i] or _is_same(results[i], inits[i]):
                self.replace(carried[i], inits[i])
                if twins:
                    self.replace(twins[i], inits[i])
            else:
                kept.append(i)
        return kept

    def single(
        self,
        slots: Sequence[int],
        rows: tuple[Sequence[Var], Sequence[Atom], Sequence[Atom]],
        statements: Sequence[Statement],
        same: dict[int, int],
        twins: Sequence[Var] = (),
    ) -> list[int]:
        """The slots without those that always hold what an earlier one does, a second tape of one value: these are
        entered in `same`. `rows`: what is carried, what the body's `statements` make of it, and what it starts from.
        """
        carried, results, inits = rows
        kept: dict[object, int] = {}
        branches = {t: (s, k) for s in statements if isinstance(s, If) for k, t in enumerate(s.targets)}
        for i in slots:
            first = kept.setdefault(self.course(carried[i], results[i], inits[i], branches) or i, i)
            if first != i:
                same[i] = first
        for i, first in same.items():
            self.replace(carried[i], self.atom(carried[first]))
            if twins:
                self.replace(twins[i], self.atom(twins[first]))
        return list(kept.values())

    def course(
        self, param: Var, result: Atom, init: Atom, branches: Mapping[Var, tuple[If, int]]
    ) -> tuple[object, ...] | None:
        """What a carried value starts from and what one statement makes of it in a turn; None where that is more. A
        branch may leave it, or set it to what is known.
        """
        if isinstance(result, Var) and result in branches:
            s, k = branches[result]
            ends = [a.key if isinstance(a := side.results[k], Const) else a is param for side in (s.then, s.orelse)]
            return None if False in ends else (_atom_key(init), param.aval, id(s), *ends)
        made = self.definitions.get(result) if isinstance(result, Var) else None
        if made is None or not made.args or made.args[0] is not param or any(a is param for a in made.args[1:]):
            return None
        start: object = _atom_key(init)
        begun = self.definitions.get(init) if isinstance(init, Var) else None
        if begun is not None and begun.op is ops.EMPTY:
            start = (ops.EMPTY, begun.attrs)
        return (start, param.aval, made.op, made.attrs, *map(_atom_key, made.args[1:]))

    def settle(
        self, targets: Sequence[Var], inits: Sequence[Atom], slots: Sequence[int], same: Mapping[int, int]
    ) -> None:
        for i, (t, init) in enumerate(zip(targets, inits, strict=True)):
            if i not in slots:
                self.replace(t, self.atom(targets[same[i]]) if i in same else init)

    # common subexpressions and invariants

    def key(self, call: Call) -> tuple[object, ...]:
        keys = [_atom_key(a) for a in call.args]
        if isinstance(call.op, Elementwise) and any(isinstance(a, Const) for a in call.args):
            keys = _number_keys(call.op, call.args, keys)
        if call.op.name in _COMMUTATIVE:
            keys.sort(key=hash)
        return (call.op, tuple(keys), call.attrs)

    def shared(self, key: tuple[object, ...]) -> Var | None:
        for level in reversed(self.levels):
            if key in level.known:
                return level.known[key]
        return None

    def level_for(self, s: Apply) -> int:
        """The outermost block that the statement may move to: past loops that its arguments do not depend on."""
        level = len(self.levels) - 1
        if not self.levels[level].loop or not _may_move(s):
            return level
        needed = max((self.depth[a] for a in s.args if isinstance(a, Var)), default=0)
        fails = isinstance(s.op, Linalg) and s.op.error != ""
        fails = fails or divides_python_numbers(s) or bool(refuses_negative(s))
        fails = fails or is_python_power(s) or is_python_int(s) or is_python_function(s)
        fails = fails or bool(narrowed_numbers(s))
        may_raise = fails or (isinstance(s.attrs, IndexAttrs) and len(s.args) > 1)
        while level > needed and self.levels[level].loop and (self.levels[level].certain or not may_raise):
            level -= 1
        return level


def _is_same(a: Atom, b: Atom) -> bool:
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and _atom_key(a) == _atom_key(b))


def _has_known_place(call: Call) -> bool:
    """Whether an index, or where something is stored, is a number by now."""
    if call.op is ops.INDEX:
        return any(isinstance(a, Const) for a in call.args[1:])
    return is_store(call.op) and any(isinstance(a, Const) for a in call.args[2:])


def _same_call(s: Apply, call: Call) -> bool:
    return s.op is call.op and s.attrs == call.attrs and s.args == call.args


def _atom_key(a: Atom) -> object:
    if isinstance(a, Var):
        return a
    return a.key if a.aval.size <= make.FOLD_LIMIT else id(a.value)


def _number_keys(op: Elementwise, args: Sequence[Atom], keys: list[object]) -> list[object]:
    """`x / 2` and `x / 2.0` are one: Python's numbers count as what they become in the loop of floats."""
    loop, _ = op.loop_dtypes([a.aval for a in args])
    number = [isinstance(a, Const) and a.aval.weak and type(a.value) in (int, float) for a in args]
    if all(a.aval.weak for a in args) or any(d.kind != "f" for d in loop):
        return keys
    pairs = zip(args, keys, number, loop, strict=True)
    return [const(d.type(a.value)).key if n and isinstance(a, Const) else k for a, k, n, d in pairs]


def _is_element(s: Apply) -> bool:
    """A number made an array of one: part of np.array([x, y]), and costs nothing."""
    return s.op is ops.EXPAND_DIMS and not s.args[0].aval.shape


def _is_buffer(op: Op) -> bool:
    """Fresh memory to be stored into: two of them are not one, and a loop that stores into its own needs a new one."""
    return op in (ops.TAPE, ops.BLANK_TAPE, ops.ZERO_TAPE) or (isinstance(op, Create) and op is not ops.IOTA)


def _may_move(s: Apply) -> bool:
    """Not buffers, what would only become an array of repeated elements, nor `y[1]`, which reads well where it is."""
    if s.op is ops.INDEX and len(s.args) == 1 and not s.targets[0].aval.shape:
        return False
    return not (_is_buffer(s.op) or is_store(s.op) or s.op is ops.BROADCAST_TO)


def _pick(items: Sequence[T], slots: Sequence[int]) -> tuple[T, ...]:
    return tuple(items[i] for i in slots)
