"""The pipeline, top to bottom: read, derive and batch as transformations ask (innermost first), simplify, fuse.

    read       the source of the function becomes a program
    kinds      numbers whose kind depends on the data get flags       plain functions only
    derive     the program becomes its derivative                     once for each grad, jvp, vjp, ... around it
    batch      the program gets a batch axis                          once for each vmap around it
    simplify   constants folded, common work shared, dead code dropped; independent loops as whole-array statements
               (before derive and batch, too); sums over slices in windows; partial sorts as partitions; before derive,
               elements picked of what is computed elementwise are computed alone
    tapes      lists become windows of arrays                         where there are lists, not for the target "numpy"
    fuse       short loops turn behind turn; picks; kernels           not for the target "numpy"

A pass is a pure function Function -> Function. The verifier runs after each one, which is cheap; UNTRACED_VERIFY=0
leaves it out. UNTRACED_VECTORISE=0 leaves loops as they are written. What a translation is for (its target, the
derivatives still to be taken) is in `purpose`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .checked import on_the_host
from .derive.logistic import smooth_logistics
from .derive.nested import merged_tapes
from .derive.shifts import without_shifts
from .derive.squares import smooth_squares
from .derive.standing import reads_ahead
from .derive.tape import NeedTrip, behind_of
from .errors import CutError, Diagnostic
from .ir import For, Function, walk
from .make import lift
from .passes.across import across
from .passes.branches import joined_branches
from .passes.certain import certain
from .passes.columns import columns
from .passes.components import components
from .passes.counters import counters
from .passes.dead import dead_code
from .passes.dots import dots
from .passes.extremes import extremes
from .passes.finer import finer
from .passes.fuse import fuse
from .passes.interleaved import interleaved
from .passes.joins import joins
from .passes.kinds import kinds
from .passes.ones import ones
from .passes.partitions import partitions
from .passes.picks import picks
from .passes.simplify import simplify
from .passes.sliding import sliding
from .passes.tapes import tapes
from .passes.ties import ties
from .passes.turns import turns
from .passes.weighted import weighted
from .passes.windows import windows
from .purpose import note_loops, purpose, purposed
from .reading.core.guards import Guard
from .reading.facts.changes import Change
from .reading.facts.exact import exact
from .reading.facts.handed import Returned
from .reading.functions.inner import free_outside
from .reading.functions.results import Layout, Reading, read_specialised
from .reading.provided.draws import differs_in_lanes
from .reading.reader import Finish, read
from .reading.text.signature import Signature
from .records import dataclass
from .rewrite import without_rules, without_stops
from .routines import everywhere
from .settings import switch
from .verify import verify

if TYPE_CHECKING:
    from .batch.lanes import LoopNote

Pass = Callable[[Function], Function]


def simplified(function: Function) -> Function:
    """The program that the target "numpy" runs, and that is fused for the other targets."""
    return everywhere(function, _simplified)


def _simplified(function: Function) -> Function:
    simple = simplify(joined_branches(without_stops(without_rules(function, barriers=True))))
    for apply in (windows, vectorised):
        made = apply(simple)
        simple = simple if made is simple else simplify(made)
    return simple if purpose().target in ("triton", "cuda") else partitions(simple)


def vectorised(function: Function, derives: bool = False) -> Function:
    """The program with its independent loops as whole-array statements, where that suits the target.

    What is about to be derived (`derives`) keeps as few loops as possible, since each loop needs tapes.
    """
    notes: list[LoopNote] = []
    if not vectorising or not any(isinstance(s, For) for s in walk(function.body)):
        return function
    from .vectorise.cost import CPU, DERIVED, DEVICE, EVERYWHERE, NATIVE
    from .vectorise.loops import vectorise

    target, native = purpose().target, purpose().runs_loops
    if derives:
        policy = DERIVED if native else EVERYWHERE
    else:
        own = {"cpu": NATIVE if native else CPU, "triton": DEVICE, "cuda": DEVICE}
        policy = own.get(target, EVERYWHERE)
    if derives or purpose().derives:
        policy = replace(policy, lanes=replace(policy.lanes, derived=True))
    made = vectorise(function, policy, notes)
    note_loops(notes)
    return made


def _prepared(function: Function, derives: bool) -> Function:
    """The program that a transformation works on. What is about to be derived is simplified: a value that is computed
    twice would have two cotangents.
    """
    function = vectorised(function, derives)
    if not derives:
        return function
    simple = simplify(function)
    ahead = reads_ahead(simple)
    ready = without_shifts(smooth_logistics(smooth_squares(simple if ahead is simple else simplify(ahead))))
    picked = picks(ready)
    return ready if picked is ready else simplify(picked)


def grouped(function: Function) -> Function:
    """The program with its statements grouped into kernels, after the rewrites that show what goes into one."""
    target = purpose().target
    function = everywhere(function, lambda f: picks(turns(f), fused=True))
    if target not in ("triton", "cuda"):
        sums: tuple[Pass, ...] = (columns, dots, sliding, across, ties) if target == "cpu" else (sliding, ties)
        for each in sums:
            function = everywhere(function, each)
        return fuse(function)
    for each in (interleaved, joins, finer, certain, extremes, weighted, components, ones, counters):
        function = everywhere(function, each)
    return fuse(function, on_the_host(function))


def without_lists(function: Function) -> Function:
    """The program without lists, which CPython alone has."""
    if purpose().target == "numpy":
        return function
    made = everywhere(function, tapes)
    return function if made is function else simplified(made)


PASSES: tuple[tuple[str, Pass], ...] = (("simplify", simplified), ("tapes", without_lists), ("fuse", grouped))
LAST = PASSES[-1][0]

checking = switch("UNTRACED_VERIFY", True)
vectorising = switch("UNTRACED_VECTORISE", True)


class Stages(Mapping[str, Function]):
    """The program after each pass, in order. The last pass runs when its result is first asked for."""

    def __init__(self, made: dict[str, Function], target: str) -> None:
        self.made, self.target = made, target
        self._without: dict[frozenset[int], Stages] = {}

    def __getitem__(self, name: str) -> Function:
        if name == LAST and name not in self.made:
            *_, before = self.made.values()
            with purposed(target=self.target):
                self.made[name] = note(name, PASSES[-1][1](before))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.made, LAST)))

    def without(self, leaves: frozenset[int]) -> Stages:
        """The last two stages of the program that gives zeros for these leaves of the result."""
        if leaves and leaves not in self._without:
            source = self.unfused
            results = [lift(0.0) if k in leaves else r for k, r in enumerate(source.body.results)]
            kept = dead_code(replace(source, body=replace(source.body, results=tuple(results))))
            self._without[leaves] = Stages({"simplify": kept}, self.target)
        return self._without[leaves] if leaves else self

    @property
    def unfused(self) -> Function:
        """The final program before fusion, as targets take it that have no lists."""
        return self.made.get("tapes", self.made["simplify"])

    def __len__(self) -> int:
        return len(self.made | {LAST: None})


@dataclass(frozen=True, slots=True)
class Translation:
    """A function specialised to a signature, after each pass.

    `stages` is in order: "read", "derive", "batch", "simplify", "tapes", "fuse" (a second derive is "derive 2").
    `statics` are the argument leaves whose values the program is specialised on; it stays valid for as long as all
    `guards` hold. `ordered` are the leaves of the result that lie in C's order, however the arguments do.
    """

    stages: Stages
    statics: frozenset[int]
    guards: tuple[Guard, ...]
    layouts: tuple[Layout, ...] = ()
    reasons: tuple[tuple[int, str], ...] = ()  # why leaves among the statics are specialised
    changes: tuple[Change, ...] = ()  # the caller's containers whose new contents follow the result
    returned: tuple[Returned, ...] = ()  # results, or parts of it, that are the caller's or show other arrays
    beside: int = 0  # how many values stand behind the contents for that; then, too, the result is a tuple
    loops: tuple[LoopNote, ...] = ()  # what became of loops, and of control flow that differs between lanes
    ordered: frozenset[int] = frozenset()
    defaults: int = 0  # how many of the guards, the last, are of default values, which are read as arguments

    @property
    def function(self) -> Function:
        """The final program."""
        return self.stages[LAST]

    @property
    def source(self) -> Function:
        """The final program before fusion: what the target "numpy" runs."""
        return self.stages["simplify"]

def translate(
    fun: Callable[..., Any], signature: Signature, finish: Finish | None = None, target: str = "cpu"
) -> Translation:
    """Run all passes in order. The program means the same for every `target`, which chooses between equivalent forms.

    Raises UntracedError where the function is not in the language.
    """
    stages: dict[str, Function] = {}
    loops: dict[LoopNote, None] = {}
    with purposed(target=target, stages=stages, loops=loops):
        plain = finish in (None, exact)
        with purposed(marks_kinds=plain):
            reading = read(fun, signature, finish, changes="kept" if plain else "refused")
        function = reading.function
        if plain and not (target == "numpy" and hasattr(fun, "__untraced_read__")):  # which no CPython makes again
            function = kinds(function, reading.python_bools, exact=finish is exact)
        if function not in stages.values():
            note("read", function)
        for name, apply in PASSES[:-1]:
            made = apply(function)
            if made is not function or name == "simplify":
                function = note(name, made)
    return Translation(
        Stages(stages, target),
        reading.statics,
        reading.guards,
        reading.layouts,
        reading.reasons,
        reading.changes,
        reading.returned,
        reading.beside,
        tuple(loops),
        reading.ordered,
    )


# ---- what transformations use --------------------------------------------------------------------


def transform(
    name: str,
    read_with: Callable[[Signature], Reading],
    signature: Signature,
    rule: Callable[[Function, Positions], Function],
) -> Reading:
    """Read the inner function, then apply `rule`: what every transformation does.

    `rule(function, positions)` gets the inner program and, for each leaf of `signature`, its place among
    `body.params` (None where it was specialised). Where the rule needs the trip count of a loop, the arguments that
    decide it are specialised and the function is read again.
    """
    forced: frozenset[int] = frozenset()
    while True:
        orders = purpose().orders + (name == "derive")
        calls = orders > 0 or name == "batch"
        with purposed(orders=orders, keeps_calls=calls, marks_kinds=False):
            reading = read_specialised(read_with, signature, forced)
        note("read", reading.function, unless_known=True)
        if name != "derive" and any(map(differs_in_lanes, reading.function.params)):
            what = "random numbers that a function draws, in a batch of it"
            raise CutError(Diagnostic(what, why="all elements would share them", instead="draw them outside"))
        positions = positions_of(signature, reading.statics)
        try:
            function = rule(_prepared(reading.function, derives=name == "derive"), positions)
        except NeedTrip as need:
            forced = reading.statics | _leaves_behind(need, reading.function, positions)
            continue
        function = merged_tapes(function) if name == "derive" else function
        return Reading(note(name, function), reading.statics, reading.guards, reasons=reading.reasons)


Positions = Sequence[int | None]


def _leaves_behind(need: NeedTrip, function: Function, positions: Positions) -> set[int]:
    """The argument leaves, Python numbers, from which the trip count of a loop is computed.

    Without any, raises NeedTrip for the variables of the function around this one that it is computed from, or `need`.
    """
    seen, params = behind_of(function, need.atoms), function.body.params
    leaves = {leaf for leaf, p in enumerate(positions) if p is not None and params[p] in seen and params[p].aval.weak}
    if leaves:
        return leaves
    around = tuple(v for p, v in free_outside(function) if p in seen)
    if not around:
        raise need
    raise NeedTrip(around, need.diagnostic.span) from None


def positions_of(signature: Signature, statics: frozenset[int]) -> Positions:
    """For each leaf of the signature its place among the parameters of the body; None for specialised leaves."""
    places: list[int | None] = []
    count = 0
    for i in range(len(signature.avals)):
        places.append(None if i in statics else count)
        count += i not in statics
    return places


def note(name: str, function: Function, unless_known: bool = False) -> Function:
    """Verify the result of a pass and record it under a fresh name ("derive 2" after "derive")."""
    stages = purpose().stages
    if unless_known and stages is not None and any(f is function for f in stages.values()):
        return function
    if checking:
        verify(function)
    if stages is not None:
        free, n = name, 1
        while free in stages:
            n += 1
            free = f"{name} {n}"
        stages[free] = function
    return function
