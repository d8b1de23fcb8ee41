"""The parts of a `Context`: what one reading keeps in mind, by subject."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ...builder import Builder
from ...ir import Atom, Aval, Capture, Statement, Var
from ...records import dataclass
from .detours import Site
from .values import Cell, Frame, Mirror, Path, Ref, SharedNames, Value, attributes_of, is_object, is_transformed

if TYPE_CHECKING:
    from ...errors import Span
    from ..facts.views import Lying


@dataclass(slots=True)
class Callers:
    """The caller's own containers and arrays among the arguments, and the ways that lead to them.

    containers   by id; held, so that ids stay theirs.
    arrays       those that are arguments or in them: number of the leaf, cell.
    variables    of the program, that are its arguments.
    """

    containers: dict[int, Any] = field(default_factory=dict)
    paths: dict[int, Path | Capture] = field(default_factory=dict)
    arrays: list[tuple[int, Cell]] = field(default_factory=list)
    array_paths: dict[Cell, Path] = field(default_factory=dict)
    variables: frozenset[Var] = frozenset()

    def adopt(self, v: Value, path: Path = ()) -> Value:
        """Mark the containers and arrays in `v`, which the caller passes at `path`, as the caller's."""
        if type(v) is Ref:
            self.array_paths[v.cell] = path
        elif isinstance(v, tuple):
            for i, item in enumerate(v):
                self.adopt(item, (*path, ("item", i)))
        elif isinstance(v, list | dict | set) or (is_object(v) and not is_transformed(v)):
            self.containers[id(v)], self.paths[id(v)] = v, path
            how = "attr" if is_object(v) and not isinstance(v, dict | list) else "item"
            held = attributes_of(v) if how == "attr" else v if isinstance(v, dict) else dict(enumerate(v))
            for key, item in list(held.items()):
                self.adopt(item, (*path, (how, key)))
        return v


@dataclass(slots=True)
class Mirrors:
    """The attributes and names outside the function that it sets, kept apart from the real ones.

    by_id    the mirror of each such object.
    shared   holds all mirrors for those who look through what the names lead to.
    bound    the names that are bound, and where.
    """

    by_id: dict[int, Mirror] = field(default_factory=dict)
    shared: SharedNames = field(default_factory=SharedNames)
    bound: dict[str, Span] = field(default_factory=dict)

    def has_put(self, obj: Any, name: str) -> bool:
        """Whether the function has put this attribute into an object outside it."""
        return name in self.by_id[id(obj)].__dict__ if id(obj) in self.by_id else False


@dataclass(slots=True)
class Numbers:
    """Facts about run-time numbers.

    leaf_of        those that are arguments, and which leaf of the call each is; `leaf_values` has the values.
    compound       what loops and branches give: the statement, and the loop's syntax.
    blended        numbers that are of one kind or of another, depending on a condition.
    boxed          those that NumPy may have as arrays without axes, which a store in place would change.
    python_bools   those that Python has as bool (`booleans`).
    jaxs           those that bodies and branches of `lax` are given, and that its loops and branches give: JAX has
                   arrays for them, so comparisons of them are NumPy's bools.
    forms, sides, ranges   what `demand` has found out about integers: each is looked at once, since there are
                           exponentially many paths through minima and maxima of each other.
    numpy_bools    constants that are NumPy's bool_; others are Python's.
    """

    leaf_of: dict[Var, int] = field(default_factory=dict)
    leaf_values: tuple[Any, ...] = ()
    compound: dict[Var, tuple[Statement, ast.AST | None]] = field(default_factory=dict)
    blended: set[Var] = field(default_factory=set)
    boxed: set[Var] = field(default_factory=set)
    python_bools: set[Var] = field(default_factory=set)
    jaxs: set[Atom] = field(default_factory=set)
    forms: dict[Var, tuple[dict[Var, int], int]] = field(default_factory=dict)
    sides: dict[Var, tuple[Any, list[Any]]] = field(default_factory=dict)
    ranges: dict[Var, tuple[int | None, int | None]] = field(default_factory=dict)
    numpy_bools: set[Atom] = field(default_factory=set)


@dataclass(slots=True)
class Loops:
    """Loops that are read.

    of          the loop whose index a variable is.
    counters    start, stop and step of such an index.
    unroll      loops that are read trip by trip; grows from one reading to the next.
    turns       bodies of loops of a known number of trips, and which trip it is.
    unbounded   bodies of loops of a number that only the run knows: start, stop, step.
    peeling     loops whose first trip is read apart.
    unrolled    which trip of a loop is being read, of those that are read trip by trip.
    lessons     what loops were found to carry (`parts/lessons`), by their places; `met` has those of the loops that are
                being read, `order` those that each body had when it was read last, `inside` says which body is being
                read, and `count` how many loops of it have been.
    """

    of: dict[Var, Site] = field(default_factory=dict)
    counters: dict[Var, tuple[Value, Value, Value]] = field(default_factory=dict)
    unroll: frozenset[Site] = frozenset()
    turns: dict[Builder, Any] = field(default_factory=dict)
    unbounded: dict[Builder, tuple[Value, Value, Value]] = field(default_factory=dict)
    peeling: set[tuple[ast.AST, Frame]] = field(default_factory=set)
    unrolled: dict[ast.AST, int] = field(default_factory=dict)
    lessons: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    met: dict[ast.AST, object] = field(default_factory=dict)
    order: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    inside: tuple[Any, ...] = ()
    count: int = 0


@dataclass(slots=True)
class Lists:
    """Lists that loops fill.

    only_rows  loops that stand for comprehensions: their lists are rows, or the loops are not read.
    rows      of arrays that are elements of lists (`listed`).
    whole     lists that hold the rows of one array, by id: the list, what it held, the array's cell and its value.
    empty     lists that may turn out to grow (`growing`), by id.
    entries   what is on lists that grow, by where they are made.
    """

    only_rows: set[ast.For] = field(default_factory=set)
    rows: dict[Var, ast.For] = field(default_factory=dict)
    whole: dict[int, tuple[list[Value], tuple[Any, ...], Cell, Atom]] = field(default_factory=dict)
    empty: dict[int, tuple[list[Value], ast.AST]] = field(default_factory=dict)
    entries: dict[Any, Aval] = field(default_factory=dict)


@dataclass(slots=True)
class Reshapes:
    """Reshapes of arrays whose strides the reading does not know, which are taken to be views, or copies.

    taken       of what, and what was taken for granted.
    unwritten   cells not written since, and their positions in `taken`.
    relied_on   positions in `taken` where what they show, or their copy, was written later.
    copied      cells of copies: of what, and the position in `taken`.
    """

    taken: list[tuple[Cell, Lying]] = field(default_factory=list)
    unwritten: dict[Cell, list[int]] = field(default_factory=dict)
    relied_on: set[int] = field(default_factory=set)
    copied: dict[Cell, tuple[Ref, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Tries:
    """`try` statements that are read (`trying`).

    catching   the blocks inside them, and what their handlers catch.
    handled    the exception of the handler that is read.
    any        whether something may be caught: then what nobody reads has to fail where it would.
    """

    catching: list[tuple[Builder, tuple[type[BaseException], ...]]] = field(default_factory=list)
    handled: Exception | None = None
    any: bool = False


@dataclass(slots=True)
class Generators:
    """Generators of random numbers, by id: those made by the function, and those that are arguments (and which)."""

    made: dict[int, Any] = field(default_factory=dict)
    given: dict[int, tuple[Any, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Drawing:
    """The generators of random numbers that loops draw from (`streams`).

    given      how many there are among the arguments, as far as they have been met.
    streams    of those found outside, by the id of their source of bits.
    words      the state of each stream that something draws from.
    passing    names that are handed to functions of the user, or asked for a method.
    loops      the bodies of loops.
    anywhere   what is outside loops draws as well: a loop may draw, or its iterations have been written out.
    """

    given: int = 0
    streams: dict[int, Any] = field(default_factory=dict)
    words: dict[Any, Ref] = field(default_factory=dict)
    passing: set[ast.AST] = field(default_factory=set)
    loops: set[Builder] = field(default_factory=set)
    anywhere: bool = False


LOOP_REPEATS = 8  # XLA takes a tenth of a second to compile a loop


@dataclass(slots=True)
class Effort:
    """How much has been read, for the limits of it.

    depth     calls that are being read, one inside another.
    repeating among those, calls of functions that are being read already.
    repeats   such calls in all; a loop in one counts as LOOP_REPEATS more.
    ways      ways on from loops that are read apart (`written`).
    """

    depth: int = 0
    repeating: int = 0
    calls: int = 0
    repeats: int = 0
    ways: int = 0
    evaluations: int = 0
