"""The pipeline, top to bottom: read, derive and batch as transformations ask (innermost first), simplify, fuse.

    read       the source of the function becomes a program
    kinds      numbers of a kind that the data decide: see there                     for what is not transformed
    derive     the program becomes its derivative         once for each grad, jvp, vjp, ... around it
    batch      the program gets a batch axis              once for each vmap around it
    simplify   constants folded, common work shared, dead code dropped; sums over slices of long arrays in windows;
               loops whose iterations are independent as whole-array statements, also before derive and batch;
               sorts that are read in part as partitions, where NumPy or XLA run them
    fuse       statements grouped into kernels            not for the target "numpy", which runs the simplified source

A pass is a pure function Function -> Function. The verifier runs after each one, which is
cheap; UNTRACED_VERIFY=0 leaves it out. UNTRACED_VECTORISE=0 leaves loops as they are written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .checked import on_the_host
from .derive.squares import smooth_squares
from .derive.tape import NeedTrip, behind_of
from .errors import CutError, Diagnostic
from .ir import For, Function, walk
from .make import MARKS_KINDS
from .passes.across import across
from .passes.branches import joined_branches
from .passes.counters import counters
from .passes.extremes import extremes
from .passes.fuse import fuse
from .passes.kinds import kinds
from .passes.partitions import partitions
from .passes.simplify import simplify
from .passes.sliding import sliding
from .passes.ties import ties
from .passes.windows import windows
from .reading.changes import Change, Returned
from .reading.draws import differs_in_lanes
from .reading.exact import exact
from .reading.guards import Guard
from .reading.inner import free_outside
from .reading.reader import Finish, Layout, Reading, read, read_specialised
from .reading.recursion import kept
from .reading.signature import Signature
from .records import dataclass
from .rewrite import without_rules, without_stops
from .routines import everywhere
from .verify import verify

if TYPE_CHECKING:
    from .batch.lanes import LoopNote

Pass = Callable[[Function], Function]


def simplified(function: Function) -> Function:
    """The program that the target numpy runs, and that is fused for the others."""
    return everywhere(function, _simplified)


def _simplified(function: Function) -> Function:
    simple = simplify(joined_branches(without_stops(without_rules(function, barriers=True))))
    for apply in (windows, vectorised):
        made = apply(simple)
        simple = simple if made is simple else simplify(made)
    return simple if target() in ("triton", "cuda") else partitions(simple)


def _none_compiled() -> bool:
    return False


compiles_loops: Callable[[], bool] = _none_compiled
"""Whether the target cpu makes native code of loops: `runtime` knows, and says so here."""


def vectorised(function: Function, derives: bool = False) -> Function:
    """The program with whole-array statements for its independent loops, in the form that suits the target. What is
    about to be derived has as few loops as can be: no tapes are kept of whole arrays."""
    notes: list[LoopNote] = []
    if not vectorising or not any(isinstance(s, For) for s in walk(function.body)):
        return function
    from .vectorise.cost import CPU, DERIVED, DEVICE, EVERYWHERE, NATIVE
    from .vectorise.loops import vectorise

    native = target() == "cpu" and compiles_loops()
    if derives:
        policy = DERIVED if native else EVERYWHERE
    else:
        own = {"cpu": NATIVE if native else CPU, "triton": DEVICE, "cuda": DEVICE}
        policy = own.get(target(), EVERYWHERE)
    made = vectorise(function, policy, notes)
    note_loops(notes)
    return made


def _prepared(function: Function, derives: bool) -> Function:
    """What a transformation works on. What is about to be derived computes nothing twice: a value has one cotangent."""
    function = vectorised(function, derives)
    return smooth_squares(simplify(function)) if derives else function


def grouped(function: Function) -> Function:
    """The program in kernels; GPUs find the place of an extreme by reductions that fuse, and counters by indices."""
    if target() not in ("triton", "cuda"):
        sums: tuple[Pass, ...] = (sliding, across, ties) if target() == "cpu" else (sliding, ties)
        for each in sums:
            function = everywhere(function, each)
        return fuse(function)
    made = everywhere(function, lambda f: counters(extremes(f)))
    return fuse(made, on_the_host(made))


PASSES: tuple[tuple[str, Pass], ...] = (("simplify", simplified), ("fuse", grouped))
LAST = PASSES[-1][0]

checking = os.environ.get("UNTRACED_VERIFY", "1") != "0"
vectorising = os.environ.get("UNTRACED_VECTORISE", "1") != "0"


class Stages(Mapping[str, Function]):
    """The program after each pass, in order. The last pass is done when somebody looks: not for the target numpy."""

    def __init__(self, made: dict[str, Function], target: str) -> None:
        self.made, self.target = made, target

    def __getitem__(self, name: str) -> Function:
        if name == LAST and name not in self.made:
            *_, before = self.made.values()
            with _translating_for(self.target):
                self.made[name] = note(name, PASSES[-1][1](before))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.made, LAST)))

    def __len__(self) -> int:
        return len(self.made | {LAST: None})


@dataclass(frozen=True, slots=True)
class Translation:
    """A function specialised to a signature, after each pass.

    `stages` is in order: "read", "derive", "batch", "simplify", "fuse" (a second derive is "derive 2"). `statics` are
    the argument leaves whose values the program is specialised on; it stays valid for as long as all `guards` hold.
    """

    stages: Stages
    statics: frozenset[int]
    guards: tuple[Guard, ...]
    layouts: tuple[Layout, ...] = ()
    reasons: tuple[tuple[int, str], ...] = ()  # what needs the values of leaves among the statics
    changes: tuple[Change, ...] = ()  # of the caller's containers: their contents follow the result
    returned: tuple[Returned, ...] = ()  # results that are arguments in which it stores
    loops: tuple[LoopNote, ...] = ()  # what became of control flow that differs between the lanes of a batch

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
    """All passes in order. Raises UntracedError where the function is not in the language. The program means the same
    for every `target`, which decides between forms of equal meaning."""
    with _recording() as stages, _translating_for(target), _noting_loops() as loops:
        plain = finish in (None, exact)
        with _marking_kinds(plain), _keeping_lists(plain):
            reading = read(fun, signature, finish, changes="kept" if plain else "refused")
        bools = None if target == "numpy" else reading.python_bools
        function = kinds(reading.function, bools) if plain else reading.function
        if function not in stages.values():
            note("read", function)
        for name, apply in PASSES[:-1]:
            function = note(name, apply(function))
    return Translation(
        Stages(stages, target),
        reading.statics,
        reading.guards,
        reading.layouts,
        reading.reasons,
        reading.changes,
        reading.returned,
        tuple(loops),
    )


# ---- what transformations use --------------------------------------------------------------------


def transform(
    name: str,
    read_with: Callable[[Signature], Reading],
    signature: Signature,
    rule: Callable[[Function, Positions], Function],
) -> Reading:
    """Read the inner function, then apply `rule`: the shape of every transformation.

    `rule(function, positions)` gets the inner program and, for each leaf of `signature`, its place among
    `body.params` (None where it was specialised). A loop whose trip count the rule needs is answered by specialising
    the arguments behind it.
    """
    forced: frozenset[int] = frozenset()
    while True:
        orders = _orders.get() + (name == "derive")
        with _deriving(orders, name == "batch"), _marking_kinds(False), _keeping_lists(False):
            reading = read_specialised(read_with, signature, forced)
        note("read", reading.function, unless_known=True)
        if name != "derive" and any(map(differs_in_lanes, reading.function.params)):
            what = "random numbers that a function draws, in a batch of it"
            raise CutError(Diagnostic(what, why="all elements would share them", instead="draw them outside"))
        positions = positions_of(signature, reading.statics)
        try:
            function = rule(_prepared(reading.function, derives=name == "derive"), positions)
        except NeedTrip as need:
            seen = behind_of(reading.function, need.atoms)
            params = reading.function.body.params
            behind = {
                leaf for leaf, p in enumerate(positions) if p is not None and params[p] in seen and params[p].aval.weak
            }
            if not behind:
                around = tuple(v for p, v in free_outside(reading.function) if p in seen)
                if not around:
                    raise
                raise NeedTrip(around, need.diagnostic.span) from None
            forced = reading.statics | behind
            continue
        return Reading(note(name, function), reading.statics, reading.guards, reasons=reading.reasons)


Positions = Sequence[int | None]


def deriving() -> bool:
    """Whether what is being read will be differentiated: then custom rules are read too."""
    return _orders.get() > 0


_orders: ContextVar[int] = ContextVar("orders", default=0)  # how many derivatives will be taken of what is being read


def transposing() -> bool:
    """Whether what is being read may be transposed: also in rules of the last derivative."""
    return _orders.get() >= 0


@contextmanager
def reading_rules(taken: int = 1) -> Iterator[None]:
    """What is read inside are the rules of a function, a derivative already: one derivative less will be taken of them.
    So rules that use functions with rules, which may go ever deeper, are read as deep as anybody will ask for.
    """
    token = _orders.set(_orders.get() - taken)
    try:
        yield
    finally:
        _orders.reset(token)


@contextmanager
def _deriving(orders: int, batching: bool = False) -> Iterator[None]:
    token, calls = _orders.set(orders), kept.set(orders > 0 or batching)
    try:
        yield
    finally:
        _orders.reset(token)
        kept.reset(calls)


def keeps_lists() -> bool:
    """Whether tapes may be lists: CPython runs what is being derived, and nothing is made of it."""
    return _lists.get() and target() == "numpy"


_lists: ContextVar[bool] = ContextVar("lists", default=False)


@contextmanager
def _keeping_lists(on: bool) -> Iterator[None]:
    token = _lists.set(on)
    try:
        yield
    finally:
        _lists.reset(token)


@contextmanager
def _marking_kinds(on: bool) -> Iterator[None]:
    token = MARKS_KINDS.set(on)
    try:
        yield
    finally:
        MARKS_KINDS.reset(token)


def positions_of(signature: Signature, statics: frozenset[int]) -> Positions:
    """For each leaf of the signature its place among the parameters of the body; None for specialised leaves."""
    places: list[int | None] = []
    count = 0
    for i in range(len(signature.avals)):
        places.append(None if i in statics else count)
        count += i not in statics
    return places


def note(name: str, function: Function, unless_known: bool = False) -> Function:
    """Check the result of a pass and keep it for `stages`."""
    stages = _stages.get()
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


_stages: ContextVar[dict[str, Function] | None] = ContextVar("stages", default=None)


def target() -> str:
    """What the program being translated is for."""
    return _target.get()


_target: ContextVar[str] = ContextVar("target", default="numpy")


@contextmanager
def _translating_for(name: str) -> Iterator[None]:
    token = _target.set(name)
    try:
        yield
    finally:
        _target.reset(token)


def note_loops(notes: Sequence[LoopNote]) -> None:
    """Keep for `Translation.loops` what became of loops; what is found again when a program is read again is one."""
    known = _loops.get()
    if known is not None:
        known.update(dict.fromkeys(notes))


_loops: ContextVar[dict[LoopNote, None] | None] = ContextVar("loops", default=None)


@contextmanager
def _noting_loops() -> Iterator[dict[LoopNote, None]]:
    notes: dict[LoopNote, None] = {}
    token = _loops.set(notes)
    try:
        yield notes
    finally:
        _loops.reset(token)


@contextmanager
def _recording() -> Iterator[dict[str, Function]]:
    stages: dict[str, Function] = {}
    token = _stages.set(stages)
    try:
        yield stages
    finally:
        _stages.reset(token)
