"""The program: a typed, single-assignment, structured form of a NumPy function.

The meaning of every node is NumPy's: elementwise operations broadcast and promote as NumPy does (NEP 50; `weak` marks
what was a Python number), so that a program prints as the source that a person would write. A block sees the variables
of the blocks around it; only `Fused` bodies are closed.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, assert_never

import numpy as np

from .errors import NOWHERE, Diagnostic, ObjectsError, Span
from .records import dataclass
from .tree import LEAF, TreeDef

if TYPE_CHECKING:
    from .ops.core import Attrs, Op
    from .thrown import Thrown

DType = np.dtype[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aval:
    """Abstract value. `weak` marks a Python int, float or complex: a 0-d value that adapts to the array it meets."""

    shape: Shape
    dtype: DType
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}{list(self.shape) if self.shape else ''}{'~' if self.weak else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Var:
    """A value with one definition; compared by identity. `hint` is the name that the printer tries first."""

    hint: str
    aval: Aval

    def __repr__(self) -> str:
        return f"{self.hint}@{id(self) & 0xFFFF:04x}:{self.aval}"


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A value known before the run: a Python scalar where `aval.weak`, else a NumPy scalar or read-only array."""

    value: Any
    aval: Aval

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for interchangeable constants: -0.0 and 0.0 differ, NaNs of one bit pattern do not."""
        a = np.asarray(self.value)
        return (self.aval, a.tobytes())

    def __repr__(self) -> str:
        return f"{self.value!r}:{self.aval}"


Atom = Var | Const


def same_atom(x: Atom, y: Atom) -> bool:
    """Whether the two are one variable, or interchangeable constants."""
    return x is y or (isinstance(x, Const) and isinstance(y, Const) and x.key == y.key)


def is_number(a: Atom, value: float) -> bool:
    """Whether `a` is a scalar constant equal to `value`."""
    return isinstance(a, Const) and a.aval.shape == () and bool(a.value == value)


def is_filled(array: Any) -> bool:
    """Whether a NumPy array has elements and all of them are the same number, bit for bit (0.0 and -0.0 differ)."""
    return bool(array.size and array.tobytes() == array.flat[0].tobytes() * array.size)


def const(value: Any) -> Const:
    """A constant typed as NumPy types it: Python numbers are weak, bool is not."""
    if type(value) is bool:
        return Const(np.bool_(value), Aval((), np.dtype(np.bool_)))
    if type(value) in (int, float, complex):
        return Const(value, Aval((), np.result_type(type(value)), weak=True))
    array = np.array(value)
    if array.dtype.hasobject or array.dtype.kind not in "biufcV":
        raise ObjectsError(
            Diagnostic(
                f"an array or number of dtype {array.dtype} is not in the language",
                why="objects, strings, dates and records have no form in compiled code",
                instead="use numbers or bool, or keep it outside the function",
            )
        )
    if array.ndim == 0:
        return Const(array[()], Aval((), array.dtype))
    array.setflags(write=False)
    return Const(array, Aval(array.shape, array.dtype))


class _Facts:
    """What has been asked of a block, which never changes, is kept with it: blocks inside are asked again and again."""

    __slots__ = ("fails", "free")
    free: tuple[Var, ...]  # `free_variables`
    fails: tuple[bool, bool]  # whether it holds a `Raise`, and an `Invoke`


@dataclass(frozen=True, slots=True)
class Block(_Facts):
    params: tuple[Var, ...]
    statements: tuple[Statement, ...]
    results: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """`targets = op(*args)`. Almost every operation has one target."""

    targets: tuple[Var, ...]
    op: Op
    args: tuple[Atom, ...]
    attrs: Attrs
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class If:
    """`condition` is a bool scalar; the results of the two blocks have the types of the targets."""

    targets: tuple[Var, ...]
    condition: Atom
    then: Block
    orelse: Block
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)`, backwards when `reverse` (printed `reversed(range(...))`). `step` is never 0."""

    start: Atom
    stop: Atom
    step: Atom
    reverse: bool = False

    def static(self) -> range | None:
        """The Python range when all three are known (in the order of iteration)."""
        values = [a.value for a in (self.start, self.stop, self.step) if isinstance(a, Const)]
        if len(values) < 3:
            return None
        r = range(*(int(v) for v in values))
        return r[::-1] if self.reverse else r


@dataclass(frozen=True, slots=True)
class For:
    """`body.params = (index, *carried)`, `body.results` are the next carried values, `targets` the last.

    `index` is a weak int64 scalar. `parallel` promises that iterations are independent but for disjoint stores.
    """

    targets: tuple[Var, ...]
    range: Range
    inits: tuple[Atom, ...]
    body: Block
    parallel: bool = False
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class While:
    """`condition.params` and `body.params` are the carried values; `condition.results` is one bool scalar."""

    targets: tuple[Var, ...]
    inits: tuple[Atom, ...]
    condition: Block
    body: Block
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Fused:
    """One kernel: a closed straight-line body; `body.params` stand for `args`.

    `kind` is "pointwise", "row", "reduce" or "contract", or a kind that a target's room adds and describes. A group of
    kind "scatter" stores into its first argument, like the operation `put`: its one target is that array afterwards.
    """

    targets: tuple[Var, ...]
    args: tuple[Atom, ...]
    body: Block
    kind: str
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Raise:
    """`if condition: raise ...`: the function ends there. What follows may still be computed, without effect.

    `body`, which has no parameters, computes the values in the message; it is meaningful only if the condition is true.
    """

    targets: ClassVar[tuple[Var, ...]] = ()
    condition: Atom
    body: Block
    error: Thrown
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Invoke:
    """`targets = routine(*args)`: a call of a recursive function, whose body cannot be inlined."""

    targets: tuple[Var, ...]
    args: tuple[Atom, ...]
    routine: Routine
    span: Span = NOWHERE


Statement = Apply | If | For | While | Fused | Raise | Invoke


@dataclass(frozen=True, slots=True)
class Capture:
    """Where a hidden parameter's value is read at every call: a global or closure cell, then keys or attributes.

    `function` is the one whose scope has the name, or a `Root`. `path` holds ("attr", name) and ("item", key)
    steps from the value that `name` is bound to.
    """

    function: Any
    name: str
    path: tuple[tuple[str, Any], ...] = ()


class Root:
    """An object that captures start from, in place of a function's scope: the name "" stands for the object itself, any
    other name for an attribute of it.
    """

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.owner, name, default) if name else self.owner


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter as the user sees it: a tree over the next `tree.leaf_count` parameters of the body.

    `capture` is set for hidden parameters: arrays found in globals and closures.
    """

    name: str
    tree: TreeDef = LEAF
    capture: Capture | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A whole program. `body.results` = leaves of `out`, then the final values of the parameters in `mutated`.

    `mutated` indexes `body.params`: arrays that the caller passed and that the function wrote in place.
    """

    name: str
    params: tuple[Param, ...]
    body: Block
    out: TreeDef
    mutated: tuple[int, ...] = ()
    span: Span = NOWHERE


class Routine:
    """A function that a program calls and that calls itself, perhaps through others; compared by identity.

    `function` is closed, writes no argument, and has one parameter per leaf and a flat tuple of results; it is set once
    the routines that it calls exist. `derived` holds the routines made from this one: derivatives and batches.
    """

    __slots__ = ("derived", "function", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.function: Function
        self.derived: dict[Any, Routine] = {}

    @property
    def is_made(self) -> bool:
        return hasattr(self, "function")

    def __repr__(self) -> str:
        return f"{self.name}@{id(self) & 0xFFFF:04x}"


def routines_of(block: Block) -> tuple[Routine, ...]:
    """The routines that a block calls, and those that they call, in order of first call."""
    found: dict[Routine, None] = {}
    waiting = [block]
    while waiting:
        for s in walk(waiting.pop()):
            if isinstance(s, Invoke) and s.routine not in found:
                found[s.routine] = None
                if s.routine.is_made:
                    waiting.append(s.routine.function.body)
    return tuple(found)


def blocks_of(statement: Statement) -> tuple[Block, ...]:
    match statement:
        case Apply() | Invoke():
            return ()
        case If(then=then, orelse=orelse):
            return (then, orelse)
        case For(body=body) | Fused(body=body) | Raise(body=body):
            return (body,)
        case While(condition=condition, body=body):
            return (condition, body)
        case _:
            assert_never(statement)


def with_blocks(s: Statement, each: Callable[[Block], Block]) -> Statement:
    """The statement with `each(block)` in place of every block of it; itself where that makes no difference."""
    blocks = blocks_of(s)
    made = tuple(map(each, blocks))
    if all(new is old for new, old in zip(made, blocks, strict=True)):
        return s
    match s:
        case If():
            return replace(s, then=made[0], orelse=made[1])
        case For() | Fused() | Raise():
            return replace(s, body=made[0])
        case While():
            return replace(s, condition=made[0], body=made[1])
        case Apply() | Invoke():
            raise AssertionError("it has no blocks")
        case _:
            assert_never(s)


def with_statements(block: Block, statements: Sequence[Statement]) -> Block:
    """The block with these statements; itself where they are its own."""
    if len(statements) == len(block.statements) and all(map(operator.is_, statements, block.statements)):
        return block
    return replace(block, statements=tuple(statements))


def inputs_of(statement: Statement) -> tuple[Atom, ...]:
    """The atoms that the statement itself uses, not counting its blocks."""
    match statement:
        case Apply(args=args) | Fused(args=args) | Invoke(args=args):
            return args
        case If(condition=condition) | Raise(condition=condition):
            return (condition,)
        case For(range=r, inits=inits):
            return (r.start, r.stop, r.step, *inits)
        case While(inits=inits):
            return inits
        case _:
            assert_never(statement)


def with_inputs(s: Statement, each: Callable[[Atom], Atom]) -> Statement:
    """The statement with `each(atom)` in place of every one of `inputs_of`."""
    match s:
        case Apply() | Fused() | Invoke():
            return replace(s, args=tuple(map(each, s.args)))
        case If() | Raise():
            return replace(s, condition=each(s.condition))
        case For():
            r = Range(each(s.range.start), each(s.range.stop), each(s.range.step), s.range.reverse)
            return replace(s, range=r, inits=tuple(map(each, s.inits)))
        case While():
            return replace(s, inits=tuple(map(each, s.inits)))
        case _:
            assert_never(s)


def walk(block: Block) -> Iterator[Statement]:
    """Every statement, outer before inner, in order."""
    around = [iter(block.statements)]
    while around:
        for s in around[-1]:
            yield s
            inner = blocks_of(s)
            if inner:
                around += [iter(b.statements) for b in reversed(inner)]
                break
        else:
            around.pop()


def may_raise(s: Statement) -> bool:
    """Whether a `Raise` is in the statement, at any depth, or in a routine that it calls."""
    raises, calls = _fails(s)
    if raises or not calls:
        return raises
    called = routines_of(Block((), (s,), ()))
    return any(not r.is_made or any(isinstance(x, Raise) for x in walk(r.function.body)) for r in called)


def _fails(s: Statement) -> tuple[bool, bool]:
    """Whether there is a `Raise`, and an `Invoke`, in the statement."""
    raises, calls = isinstance(s, Raise), isinstance(s, Invoke)
    for b in blocks_of(s):
        if not hasattr(b, "fails"):
            inside = [_fails(inner) for inner in b.statements]
            object.__setattr__(b, "fails", (any(r for r, _ in inside), any(c for _, c in inside)))
        raises, calls = raises or b.fails[0], calls or b.fails[1]
    return raises, calls


def uses_of(block: Block) -> Counter[Var]:
    """How often each variable is read, by statements and as a result of a block."""
    uses = Counter(a for a in block.results if isinstance(a, Var))
    for s in walk(block):
        uses.update(a for a in inputs_of(s) if isinstance(a, Var))
        for inner in blocks_of(s):
            uses.update(a for a in inner.results if isinstance(a, Var))
    return uses


def surely_runs(s: For | While) -> bool:
    """Whether the loop certainly makes a trip, so that what it leaves comes from its body."""
    return isinstance(s, For) and bool(s.range.static())


def free_variables(block: Block) -> tuple[Var, ...]:
    """Variables used in the block and defined outside it, in order of first use."""
    if hasattr(block, "free"):
        return block.free
    bound = set(block.params)
    seen: dict[Var, None] = {}

    def use(atoms: tuple[Atom, ...]) -> None:
        for a in atoms:
            if isinstance(a, Var) and a not in bound:
                seen.setdefault(a)

    for s in block.statements:
        use(inputs_of(s))
        for b in blocks_of(s):
            use(free_variables(b))
        bound.update(s.targets)
    use(block.results)
    object.__setattr__(block, "free", tuple(seen))
    return block.free
