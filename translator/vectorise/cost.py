"""Whether whole-array statements pay: the work of a loop, and the memory that its values would take.

Measured on the target cpu: a trip of a loop of scalars takes XLA 2 to 6 ns, and 60 ns where there is a branch in it; a
program of whole arrays begins with 5 to 30 us, since XLA hands it to another thread.
"""

from __future__ import annotations

from ..batch.lanes import LOCKSTEP, ON_DEVICE, Lanes
from ..ir import Apply, Atom, Block, For, If, Raise, Statement, While, free_variables, walk
from ..ops.core import Contract, Create, Elementwise, Index, Linalg, Put, Reduce, Reshape
from ..records import dataclass
from .stores import Dependence

WIDEST = 1 << 14  # elements that one trip works on at a time: then the loop itself costs nothing
ELEMENTS = 64  # the same, where trips differ in how long they take
LARGEST = 1 << 27  # bytes of one value of all trips together, or
TIMES = 4  # so many times the largest array that the loop reads or writes
BRANCH = 32  # operations that a branch costs like
UNKNOWN = 8  # trips of a loop of which nobody knows how many they are
_CHEAP = frozenset(("add", "subtract", "multiply", "negative", "maximum", "minimum", "absolute"))


@dataclass(frozen=True, slots=True)
class Policy:
    """What suits a target. `lanes`: how control flow that differs between trips is run. `fewest` trips are worth it,
    and `least` operations in all, `each` for a statement; `inner` in a loop that stays. `series`: running sums are
    computed as such. `diagonals`: stores into diagonals gather. `padding`: an inner loop whose length only the run
    knows is run as long as the longest of all trips' is."""

    lanes: Lanes = LOCKSTEP
    fewest: int = 4
    least: int = 0
    each: int = 0
    inner: int = 0
    series: bool = True
    diagonals: bool = True
    padding: bool = True
    checked: bool = False


EVERYWHERE = Policy()
CPU = Policy(Lanes("auto"), least=4096, inner=512, series=False, diagonals=False)
NATIVE = Policy(Lanes("auto"), least=4096, each=4096, inner=1 << 40, series=False, diagonals=False, padding=False)
"""Of the target cpu where loops over elements become native code, at 1 ns a trip: a loop in a loop that stays is left
to it, and so are those over rows of different lengths. A whole-array statement takes XLA 10 ms to compile, a tenth of
that in native code: de Boor's algorithm at 200 points 1.6 s, where the loop takes 0.3 s and runs in a fifth.
"""
DEVICE = Policy(ON_DEVICE, checked=True)
"""Of GPUs: trips that differ in their number of turns are a thread each, where whole arrays would go through memory in
every turn of the slowest.
"""
DERIVED = Policy(inner=1 << 40, padding=False)
"""Of what is derived there: as few loops as can be, but for those that masks would run over whole arrays in every turn
of another one. The gradient of sums over a triangle of 600 rows takes 2 ms, where the masks make it 760.
"""


def work(block: Block) -> int:
    """About how many operations on elements one run of the block is."""
    return sum(map(_work, block.statements))


def _work(s: Statement) -> int:
    match s:
        case Apply(op=op, targets=(t, *_)):
            if isinstance(op, Put):
                return s.args[1].aval.size
            if isinstance(op, Index | Reshape | Create):
                return 1
            size = max(t.aval.size, *(a.aval.size for a in s.args)) if s.args else t.aval.size
            return size if op.name in _CHEAP else 4 * size
        case If():
            return BRANCH + work(s.then) + work(s.orelse)
        case For(range=r):
            trips = r.static()
            return (UNKNOWN if trips is None else len(trips)) * (1 + work(s.body))
        case While():
            return UNKNOWN * (BRANCH + work(s.condition) + work(s.body))
        case Raise():
            return 1
    return 1


def check_work(loop: For, policy: Policy, least: int) -> None:
    """Raises Dependence where the loop is as cheap as it stands."""
    trips = loop.range.static()
    if trips is None:
        raise Dependence("how often it runs is known only when it runs", loop.span)
    if len(trips) < policy.fewest:
        raise Dependence(f"it runs {len(trips)} times only", loop.span)
    total = len(trips) * (1 + work(loop.body))
    if least and total < least:
        raise Dependence("it has too little to do", loop.span)
    wide, products, statements = 0, False, 0
    for s in walk(loop.body):
        if isinstance(s, For | While) and (isinstance(s, While) or s.range.static() is None):
            elements = max(map(_width, walk(s.body)), default=0)
            if elements > ELEMENTS:
                raise Dependence(f"an inner loop of unknown length works on {elements} elements at a time", s.span)
        if isinstance(s, For) and s.range.static() is None and not policy.padding:
            raise Dependence("an inner loop of unknown length is native code", s.span)
        products = products or (isinstance(s, Apply) and isinstance(s.op, Contract | Linalg))
        wide = max(wide, _width(s))
        statements += isinstance(s, Apply) and not isinstance(s.op, Reshape | Create)
    if least and not products and total < policy.each * statements:
        raise Dependence("it has too little to do for its length", loop.span)
    if wide > WIDEST and not products:
        raise Dependence(f"an iteration works on {wide} elements at a time", loop.span)


def _width(s: Statement) -> int:
    """On how many elements the statement itself computes."""
    if isinstance(s, Apply) and isinstance(s.op, Elementwise | Reduce):
        return max(a.aval.size for a in (*s.args, *s.targets))
    return 0


def check_memory(loop: For, block: Block) -> None:
    """Raises Dependence where the values of all trips together are too large. `block` stands for the loop."""

    def size(a: Atom) -> int:
        return a.aval.nbytes

    given = free_variables(Block((), (loop,), ()))
    limit = max(LARGEST, TIMES * max((size(v) for v in (*given, *loop.targets)), default=0))
    for s in walk(block):
        view = isinstance(s, Apply) and isinstance(s.op, Reshape | Create)
        largest = 0 if view else max(map(size, s.targets), default=0)
        if largest > limit:
            raise Dependence(f"the values of all its iterations together would take {largest >> 20} MiB", loop.span)
