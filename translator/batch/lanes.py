"""A loop over the lanes of a batch: each lane takes its own branches and its own number of turns.

    while z * z < 4:          n1 = np.empty(1000, np.int64)
        z = z * z + c         for lane in range(1000):
        n += 1                    z1 = z[lane]
                                  n2 = 0
                                  while z1 * z1 < 4:
                                      z1 = z1 * z1 + c[lane]
                                      n2 += 1
                                  n1[lane] = n2

The other form, lockstep (`control`), runs every lane until the slowest is done, and both sides of every branch. It is
as good where lanes differ in straight-line code only, and better where the work of a lane is on whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .. import make, ops
from ..builder import Builder
from ..errors import Span
from ..ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    For,
    If,
    Range,
    Statement,
    Var,
    While,
    blocks_of,
    const,
    free_variables,
    walk,
)
from ..ops.core import TAPE_AVAL, At, Collective, Dim, Dyn, Fourier, Linalg, Put, Run, Sort
from ..records import dataclass
from ..rewrite import Substitution, copy_statement
from .form import Form
from .lists import touches_lists
from .routines import with_called
from .rules import batched_aval, renamed
from .spread import differs, goes_apart

if TYPE_CHECKING:
    from .vmap import Batcher

WIDEST = 64  # elements of a value in the body of a lane: wider ones are better worked on for all lanes at once
STORED = 4096  # elements of an array that a lane stores into bit by bit
LIBRARIES = (Sort, Fourier, Linalg)
FEW = 32  # lanes that step together on the cpu (see `tpu/loops/lanes`): for no more of them both forms are one


@dataclass(frozen=True, slots=True)
class Lanes:
    """Which form is wanted, and by whom. What decides where it is "auto": up to `few` lanes step together at the same
    cost, and a lane may fill arrays of up to `stored` elements, and call what `libraries` do. `derived`: a derivative
    will be taken, so what lanes compute that nobody asks for matters (`company`).
    """

    form: Form = "auto"
    why: str = "asked for by vmap(..., lanes=...)"
    few: int = FEW
    stored: int = STORED
    libraries: bool = True
    derived: bool = False


LOCKSTEP = Lanes("lockstep")
ON_DEVICE = Lanes(few=1, stored=128, libraries=False)  # a thread each: its arrays are in its own memory


@dataclass(frozen=True, slots=True)
class LoopNote:
    """What became of a loop or a branch, for the report: `form` is "loop", "lockstep", "vectorised" or "in order"."""

    span: Span
    form: str
    why: str

    def __str__(self) -> str:
        where = f"line {self.span.line}: " if self.span.line else ""
        return f"{where}{self.form}: {self.why}"


def runs(batcher: Batcher, statements: Sequence[Statement]) -> Iterator[tuple[Sequence[Statement], bool]]:
    """The statements of a block in pieces; True for those that are one loop over lanes. Light statements between two
    that are such loops join them."""
    if batcher.mask is not None or not batcher.size:
        yield statements, False
        return
    chosen = [is_lanes(batcher, s) for s in statements]
    makes = [k for k, s in enumerate(statements) if not isinstance(s, Apply) and touches_lists(s)]
    if makes and not all(chosen[k] or _is_light(statements[k]) for k in range(makes[0], makes[-1] + 1)):
        chosen = [c and k not in makes for k, c in enumerate(chosen)]  # a list stays within one loop over lanes
    at = 0
    while at < len(statements):
        stop = at + 1
        if chosen[at]:
            for k in range(stop, len(statements)):
                if chosen[k]:
                    stop = k + 1
                elif not _is_light(statements[k]):
                    break
        yield statements[at:stop], chosen[at]
        at = stop


def is_lanes(batcher: Batcher, s: Statement) -> bool:
    """The choice, and a note of it where there is one."""
    if goes_apart(s, batcher.batched) and not _speaks(s):
        batcher.notes.append(LoopNote(s.span, "loop", "each lane calls as deep as its data ask for"))
        return True
    if not isinstance(s, If | For | While):
        return False
    loop, why = form_of(batcher.lanes, batcher.size, s, batcher.batched)
    if loop or (why and differs(s, batcher.batched)):
        batcher.notes.append(LoopNote(s.span, "loop" if loop else "lockstep", why))
    return loop


def form_of(wanted: Lanes, size: int, s: If | For | While, batched: set[Var]) -> tuple[bool, str]:
    """Whether a loop over so many lanes, and why; "" where lanes do not differ."""
    uneven = has_uneven_loop(s, batched)
    if not (uneven or differs(s, batched)):
        return False, ""
    if _speaks(s):
        return False, "the lanes tell each other something, so all come to it together"
    if wanted.form != "auto":
        return wanted.form == "loop", wanted.why
    if not uneven:
        return False, "lanes differ in straight-line code only: both sides are computed and one is chosen"
    if size <= wanted.few:
        return False, f"{size} lanes step together at the same cost"
    if not wanted.libraries and (name := _library(s)):
        return False, f"{name} is a library's, for all lanes at once"
    if (excess := _excess(s, wanted.stored)) is not None:
        return False, f"a lane works on {excess} elements at once: operations on whole arrays are cheaper"
    return True, "each lane takes its own branches and number of turns"


def _is_light(s: Statement) -> bool:
    return isinstance(s, Apply) and _excess(s) is None and not _speaks(s)


def _speaks(s: Statement) -> bool:
    """Whether there is a collective in it: a loop over lanes would come to it for one lane at a time."""
    return any(isinstance(t, Apply) and isinstance(t.op, Collective) for t in with_called(s))


def has_uneven_loop(s: Statement, batched: set[Var], under: bool = False) -> bool:
    """Whether a loop runs more often in some lanes than in others; `under`: not all lanes come here."""
    if not isinstance(s, If | For | While):
        return False
    under = under or differs(s, batched)
    if under and not isinstance(s, If):
        return True
    return any(has_uneven_loop(inner, batched, under) for b in blocks_of(s) for inner in b.statements)


def _library(s: Statement) -> str:
    """The name of a library's function in it."""
    names = (t.op.name for t in walk(Block((), (s,), ())) if isinstance(t, Apply) and isinstance(t.op, LIBRARIES))
    return next(names, "")


def _excess(s: Statement, most: int = STORED, filled: Sequence[Var] = ()) -> int | None:
    """The size of a value too wide for the body of a lane. `filled`: what a loop over lanes of its own fills."""
    is_loop = isinstance(s, For) and s.parallel
    if not is_loop:
        stored = isinstance(s, If | For | While) or (isinstance(s, Apply) and isinstance(s.op, Put))
        exempt = isinstance(s, Apply) and (s.op is ops.EMPTY or any(a in filled for a in s.args))
        for t in () if exempt else s.targets:
            if t.aval.size > (most if stored else WIDEST):
                return t.aval.size
    for block in blocks_of(s):
        for inner in block.statements:
            found = _excess(inner, most, block.params[1:] if is_loop else filled)
            if found is not None:
                return found
    return None


def loop(batcher: Batcher, group: Sequence[Statement]) -> None:
    """`for lane in range(size):` the statements as they are, on elements; what they define becomes arrays."""
    targets = [t for s in group for t in s.targets if t.aval != TAPE_AVAL]
    inputs = free_variables(Block((), tuple(group), tuple(targets)))
    outs = [Var(t.hint, batched_aval(t.aval, batcher.size)) for t in targets]
    fresh = tuple(make.empty(batcher.b, out.aval.shape, out.aval.dtype) for out in outs)
    lane = Var("lane", Aval((), const(0).aval.dtype, weak=True))
    carried = [Var(out.hint, out.aval) for out in outs]
    with batcher.block() as b:
        elements: Substitution = {v: _input(batcher, b, v, lane) for v in inputs}
        b.statements.extend(copy_statement(s, elements) for s in group)
        results = [make.put(b, c, elements[t], _dims(t), (lane,)) for c, t in zip(carried, targets, strict=True)]
        body = b.block((lane, *carried), results)
    whole = Range(const(0), const(batcher.size), const(1))
    batcher.b.append(For(tuple(outs), whole, fresh, body, parallel=True, span=group[0].span))
    for t, out in zip(targets, outs, strict=True):
        batcher.mapping[t] = out if t in batcher.batched else _element(batcher.b, out, t, const(0))


def _input(batcher: Batcher, b: Builder, v: Var, lane: Atom) -> Atom:
    """What a lane has for a variable; memory that it fills it makes itself."""
    atom = batcher.atom(v)
    if v in batcher.batched:
        counted = _counted(batcher, b, atom, lane)
        return _element(b, atom, v, lane) if counted is None else _typed(b, counted, v)
    if make.definition(batcher.b, atom, ops.EMPTY) is not None:
        return renamed(b, make.empty(b, v.aval.shape, v.aval.dtype), v.hint)
    if make.definition(batcher.b, atom, ops.TAPE) is not None:
        return b.apply(ops.TAPE, hint=v.hint)
    return atom


def _counted(batcher: Batcher, b: Builder, atom: Atom, lane: Atom) -> Atom | None:
    """The lane's element of np.arange, times and plus constants: computed, which tells more of it than reading."""
    if make.definition(batcher.b, atom, ops.IOTA) is not None:
        return lane
    for op, again in ((ops.ADD, make.add), (ops.SUBTRACT, make.subtract), (ops.MULTIPLY, make.multiply)):
        made = make.definition(batcher.b, atom, op) if atom.aval.dtype == lane.aval.dtype else None
        if made is not None:
            args = [a if _is_number(a) else _counted(batcher, b, a, lane) for a in made.args]
            return None if None in args or all(map(_is_number, made.args)) else again(b, *args)
    return None


def _is_number(a: Atom) -> bool:
    return isinstance(a, Const) and not a.aval.shape


def _element(b: Builder, array: Atom, like: Var, lane: Atom) -> Atom:
    """The element of one lane, of the type of `like`."""
    return _typed(b, make.index(b, array, _dims(like), (lane,)), like)


def _typed(b: Builder, x: Atom, like: Var) -> Atom:
    made = make.number(b, x, like.aval.dtype) if like.aval.weak else make.astype(b, x, like.aval.dtype)
    return renamed(b, made, like.hint)


def _dims(v: Var) -> tuple[Dim, ...]:
    return (At(Dyn(0)), *(Run(0, n) for n in v.aval.shape))
