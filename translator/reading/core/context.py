"""The state of a reading: the block being written, the frame being read, and what the arrays hold at this point.

All changes of cells and containers go through `set_cell` and `touch`, which keep a journal: reading a branch or a loop
body is undone by rolling the journal back, and what it wrote is what the journal lists.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from ... import make
from ...builder import Builder
from ...errors import (
    AliasError,
    CutError,
    Diagnostic,
    DTypeError,
    ShapeError,
    Span,
    UnsupportedError,
    UntracedError,
)
from ...ir import Apply, Atom, Capture, Const, Statement, Var
from ...records import dataclass
from ...thrown import Known, Thrown
from ...tree import is_namedtuple
from ..text.source import Scope
from .aliases import check_union, renew, renew_all, write_either
from .demand import refuse_undefined
from .detours import Detour, Raised
from .layout import check_reshapes
from .reach import containers_of, objects_of, restore_container
from .state import LOOP_REPEATS, Callers, Drawing, Effort, Generators, Lists, Loops, Mirrors, Numbers, Reshapes, Tries
from .steps import is_read_only, replayed, unviewed
from .telling import Telling
from .values import (
    Cell,
    Generator,
    Masked,
    Maybe,
    Mirror,
    Ref,
    Step,
    Undefined,
    Value,
    attributes_of,
    describe,
    has_array_method,
    is_object,
)

Expressions = dict[type[ast.AST], Callable[["Context", Any], Value]]
Statements = dict[type[ast.AST], Callable[["Context", Any, Any], Any]]
_MISSING = object()
WITHIN = "_untraced_within"  # marks what was raised inside of a branch or a loop: the run may not come there
MOST_EVALUATIONS = 50_000  # of expressions, where CPython can take over: a few seconds
_TOO_LONG = Diagnostic(
    "reading this far takes longer than the program is worth",
    why="what is known before the run is computed while the function is read, a thousand times slower than by CPython",
    instead="pass what these statements compute, or let it depend on an array or a number that is given at the call",
)


@dataclass(slots=True)
class Snapshot:
    """A block that has been read and undone: its statements, and the state at its end."""

    builder: Builder
    views: dict[tuple[Atom, Step], Atom]
    env: dict[str, Value]
    cells: dict[Cell, Atom]  # cells older than the block that it wrote
    containers: dict[int, tuple[Any, Any]]  # id -> (list or dict older than the block, its content at the end)
    attributes: dict[tuple[int, str], tuple[Any, Any]]
    flow: Any = None
    births: int = 0  # cells made before


class Context(Telling):
    """One reading. Modules of the reader are functions over it; `language` sets the first six attributes."""

    expressions: ClassVar[Expressions] = {}
    statements: ClassVar[Statements] = {}
    calling: ClassVar[Callable[[Context, Value, list[Value], dict[str, Value], ast.AST], Value]]
    operating: ClassVar[Callable[[Context, type[ast.operator], Value, Value, ast.AST], Value]]
    present: ClassVar[Callable[[Context, Value], Value]]
    comparing: ClassVar[Callable[[Context, ast.cmpop, Value, Value, ast.AST], Value]]

    def __init__(self, builder: Builder, captures: Any) -> None:
        self.b = builder
        self.builders = [builder]
        self.implied: dict[tuple[Atom, bool], frozenset[tuple[Atom, bool]]] = {}  # `maybes`: what conditions tell
        self.branches: set[Builder] = set()  # blocks that may end in a `raise`
        self.views: list[dict[tuple[Atom, Step], Atom]] = [{}]
        self.journal: list[tuple[Any, str | None, Any]] = []
        self.births = 0
        self.captures = captures
        self.keeps_changes = False  # whether the caller's containers can be given new contents
        self.callers = Callers()
        self.mirrors = Mirrors()
        self.numbers = Numbers()
        self.loops = Loops()
        self.lists = Lists()
        self.reshapes = Reshapes()
        self.tries = Tries()
        self.generators = Generators()
        self.drawing = Drawing()
        self.effort = Effort()
        self.warnings: dict[tuple[str, type[Warning]], Span] = {}  # of the user's own, which the reading gives
        self.iterators: dict[int, tuple[Value, Generator]] = {}  # lists that Python has as iterators, by id
        self.objects: dict[int, Any] = {}  # those whose `__dict__` was asked for, by its id
        self.unions: list[Any] = []  # lists and dicts that are one of two: see `aliases.Union`
        self.remembered: dict[Any, Value] = {}  # what functions behind functools.cache gave
        self.recursions: Any = None  # see the module recursion
        self.comprehended: Any = None  # the comprehension that is read: see `comprehensions`

    # ---- evaluation ------------------------------------------------------------------------------

    def eval(self, node: ast.expr) -> Value:
        """The abstract value of an expression; errors gain the place in the user's source."""
        self.effort.evaluations += 1
        try:
            if self.effort.evaluations > MOST_EVALUATIONS and self.keeps_changes:
                raise CutError(_TOO_LONG)
            return self.expressions[type(node)](self, node)
        except UntracedError as error:
            raise self.located(error, node) from error.__cause__
        except Detour:
            raise
        except Exception as error:
            if type(node) not in self.expressions:
                self.refuse(node, f"`{type(node).__name__}` expressions are not in the language")
            self.tell(error, node)
            raise

    def call(self, f: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> Value:
        """The value of a call of whatever can be called."""
        return Context.calling(self, f, args, kwargs, node)

    def binary(self, kind: type[ast.operator], left: Value, right: Value, node: ast.AST) -> Value:
        """The value of an operator between two values."""
        return Context.operating(self, kind, left, right, node)

    def compare(self, kind: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        """The value of a comparison, `in` and `is` included."""
        return Context.comparing(self, kind, left, right, node)

    @property
    def is_printed(self) -> bool:
        """Whether a printed program is read again, which says all that it checks."""
        return self.frame.source.file.startswith("<untraced ")

    def at(self, node: ast.AST) -> None:
        """Statements appended from here on come from `node`; those of this package's own source, from its call."""
        if not self.is_ours:
            self.b.span = self.frame.source.span(node)

    @property
    def span(self) -> Span:
        return self.b.span

    # ---- arrays ----------------------------------------------------------------------------------

    def cell(self, atom: Atom) -> Cell:
        self.births += 1
        return Cell(atom, self.births)

    def wrap(self, result: Any) -> Value:
        """The value of what a handler or constructor returned: atoms become numbers, run-time numbers or arrays."""
        if type(result) is Var:
            return Ref(self.cell(result)) if result.aval.shape else result
        if type(result) is Const:
            return Ref(self.cell(result)) if result.aval.shape else result.value
        if type(result) is tuple or type(result) is list:
            return type(result)(self.wrap(r) for r in result)
        if is_namedtuple(result):
            return type(result)(*(self.wrap(r) for r in result))
        if isinstance(result, np.ndarray):
            value = self.wrap(make.lift(result))
            return value if result.shape else self.boxed(value)
        return result

    @property
    def boxes(self) -> bool:
        """Whether what is read tells arrays of shape () from numbers: code of the user's. In the library and in printed
        programs, which say what values are, both are numbers; calls on an Array, one at a time, are the user's.
        """
        file = self.frame.source.file
        return not self.frame.fixed and (not file.startswith("<untraced ") or file.startswith("<untraced eager "))

    def boxed(self, value: Value) -> Value:
        """An array, also where it has no axes; of a tuple or list, arrays."""
        if type(value) is tuple or type(value) is list:
            return type(value)(map(self.boxed, value))
        if type(value) is Var or isinstance(value, np.generic | bool | int | float | complex):
            atom = make.lift(value)
            return Ref(self.cell(make.astype(self.b, atom, atom.aval.dtype)))
        return value

    def number(self, value: Value) -> Value:
        """The value as NumPy computes with it: the content of an array without axes."""
        if type(value) is not Ref or value.aval.shape:
            return value
        return self.wrap(self.read(value))

    def lower(self, v: Value) -> Any:
        """The inverse of `wrap` for arguments of handlers: arrays become atoms, containers are kept."""
        if type(v) is Ref:
            return self.read(v)
        if type(v) is tuple or type(v) is list:
            return type(v)(self.lower(x) for x in v)
        if type(v) is dict:
            return {k: self.lower(x) for k, x in v.items()}
        if type(v) is slice:
            return slice(self.lower(v.start), self.lower(v.stop), self.lower(v.step))
        if type(v) is Maybe:
            return self.lower(Context.present(self, v))
        if type(v) is Undefined:
            refuse_undefined(self, v)
        if type(v) is Masked:
            raise CutError(Diagnostic(f"{describe(v)} among arrays", instead="use np.where(mask, x, other)"))
        return v

    def atom(self, v: Value) -> Atom:
        """A value as an operand: arrays, numbers, bool, and lists of those, which NumPy takes for arrays."""
        if type(v) is Var:
            return v
        if type(v) is Ref:
            return self.read(v)
        if type(v) is list or type(v) is tuple:
            return self.array(v)
        if isinstance(v, int | float | complex | np.generic):
            atom = make.lift(v)
            if type(v) is np.bool_:
                self.numbers.numpy_bools.add(atom)
            return atom
        if type(v) is range:
            return make.lift(np.array(v, dtype=np.int64))
        if type(v) is Maybe:
            return self.atom(Context.present(self, v))
        if type(v) is Undefined:
            refuse_undefined(self, v)
        if has_array_method(v):
            raise CutError(Diagnostic(f"{describe(v)} stands in arithmetic with arrays", instead="use np.asarray(...)"))
        error = DTypeError if v is None or isinstance(v, str | bytes | dict | set) else UnsupportedError
        raise error(f"{describe(v)} cannot stand in arithmetic with arrays")

    def carried(self, v: Value) -> Atom:
        """Like `atom`, for what a loop carries or a branch leaves: Python ints have 64 bits there."""
        if type(v) is int and not -(2**63) <= v < 2**63:
            raise CutError(Diagnostic("a loop or a branch changes a Python int of over 64 bits"))
        return self.atom(v)

    def array(self, items: Any) -> Atom:
        """np.array(items) for nested lists that may hold run-time values."""
        if not items:
            return make.lift(np.array([]))
        rows = [self.atom(x) for x in items]
        if all(type(r) is Const for r in rows):
            return make.lift(np.array([r.value for r in rows]))  # type: ignore[union-attr]
        return make.concatenate(self.b, [make.expand_dims(self.b, r, 0) for r in rows], 0)

    def read(self, ref: Ref) -> Atom:
        """The current content of the array."""
        cell = ref.cell
        if cell.stale:
            raise AliasError(Diagnostic("this array may have changed", why=cell.stale, instead="take a .copy() first"))
        atom = cell.atom
        for step in ref.path:
            atom = self._view(atom, step)
        if ref.name:
            name_result(atom, ref.name)
        return atom

    def _view(self, base: Atom, step: Step) -> Atom:
        key = (base, step)
        for known in reversed(self.views):
            if key in known:
                return known[key]
        atom = replayed(self.b, base, step)
        self.views[-1][key] = atom
        return atom

    def extend(self, ref: Ref, step: Step) -> Ref:
        return Ref(ref.cell, (*ref.path, step))

    def write(self, ref: Ref, new: Atom) -> None:
        """Replace all that the view shows by `new`, which has its shape and dtype.

        Raises ValueError, as NumPy does, for views that are read-only.
        """
        if any(map(is_read_only, ref.path)):
            raise ValueError("assignment destination is read-only")
        atoms = [ref.cell.atom]
        for step in ref.path[:-1]:
            atoms.append(self._view(atoms[-1], step))
        for step, base in zip(reversed(ref.path), reversed(atoms), strict=bool(ref.path)):
            new = unviewed(self.b, step, base, new)
        self.set_cell(ref.cell, new, ref)

    def set_cell(self, cell: Cell, atom: Atom, through: Ref | None = None) -> None:
        if cell.doubt and self.transforms and (one := next((c for c in cell.group if c.either), None)) is not None:
            if through is None:  # at the end of a branch, or in a loop: the arrays that it may be are written as well
                renew(self, one)
            else:
                write_either(self, one, atom)
            return
        if cell.doubt:
            raise AliasError(
                Diagnostic("this array may be one of two", why=cell.doubt, instead="take a .copy() before writing")
            )
        if cell.origin is not None and cell.origin.strides is None:
            check_reshapes(cell, objects_of(self.frame, self.frame.env, through))
        if self.reshapes.unwritten:
            for c in cell.group:
                self.reshapes.relied_on.update(self.reshapes.unwritten.pop(c, ()))
        old = cell.atom
        if type(atom) is Var and atom.hint == "t":
            object.__setattr__(atom, "hint", cell.name or (old.hint if type(old) is Var else "t"))
        for c in cell.group:
            self.journal.append((c, "atom", c.atom))
            c.atom = atom
            for x in (x for shadow in c.shadows for x in shadow.group):
                self.journal.append((x, "stale", x.stale))
                x.stale = x.doubt
        if self.transforms and any(s.either for c in cell.group for s in c.shadows):
            renew_all(self, [cell])

    def twin(self, cell: Cell, atom: Atom) -> Cell:
        """A cell for the same memory whose content, equal to that of `cell`, goes by another variable."""
        new = self.cell(atom)
        group = cell.group
        new.twins, new.stale = group, cell.stale
        for c in group:
            self.journal.append((c, "twins", c.twins))
            c.twins = (*c.twins, new)
        return new

    # ---- containers ------------------------------------------------------------------------------

    def touch(self, container: Any) -> None:
        """Call before a list, dict or set is changed. Refused where the caller would not see the change."""
        refused = id(container) in self.callers.containers and not self.keeps_changes
        if refused or id(container) in self.captures.adopted:
            raise CutError(
                Diagnostic(
                    f"a {type(container).__name__} from outside the function cannot be changed",
                    why="only what the caller passes is written back",
                    instead="build a new one, e.g. {**d, key: value} or [*items, value], and return it",
                )
            )
        if id(container) in self.objects and len(self.builders) > 1:
            raise CutError(
                Diagnostic(
                    "the attributes of an object are changed as a dict in a branch or a loop",
                    instead="assign them one by one",
                )
            )
        self._check_union(container)
        self.journal.append((container, None, container.copy()))

    def set_attribute(self, obj: Any, name: str, value: Value) -> None:
        if id(obj) in self.callers.containers and not self.keeps_changes:
            raise UnsupportedError(
                Diagnostic(
                    f"an attribute of the caller's {type(obj).__name__} cannot be changed",
                    why="only arrays that the caller passes are written back",
                    instead="return the new value",
                )
            )
        self._check_union(obj)
        old = attributes_of(obj).get(name, _MISSING) if is_object(obj) else getattr(obj, name, _MISSING)
        self.journal.append((obj, name, old))
        object.__setattr__(obj, name, value)

    def _check_union(self, changed: Any) -> None:
        if self.unions:
            check_union(self, changed)

    def mirror(self, of: Any, capture: Capture) -> Mirror:
        """The mirror of an object outside the function, found by `capture`: it holds the attributes put into it."""
        mirror = self.mirrors.by_id.get(id(of))
        if mirror is None:
            mirror = self.mirrors.by_id[id(of)] = Mirror()
            if self.keeps_changes:
                self.callers.containers[id(mirror)], self.callers.paths[id(mirror)] = mirror, capture
            setattr(self.mirrors.shared, str(id(mirror)), mirror)
        return mirror

    def note_outside(self, name: str) -> None:
        self.mirrors.bound.setdefault(name, self.b.span)

    def variable(self, scope: Scope, name: str) -> Value:
        """The value of a name outside the function."""
        space = scope.space(name)
        if self.mirrors.has_put(space, name):
            return self.mirrors.by_id[id(space)].__dict__[name]
        return self.captures.load(scope, name)

    def set_variable(self, scope: Scope, name: str, value: Value) -> None:
        """Bind a name outside the function."""
        space = scope.space(name)
        mirror = self.mirror(space, self.captures.variables(space))
        if name not in mirror.__dict__:
            try:
                mirror.__dict__[name] = self.captures.load(scope, name)
                self.captures.vary((id(space), name, ()))
            except NameError:
                self.captures.unbound(scope, name)
        self.set_attribute(mirror, name, value)

    def iterator(self, v: Value) -> Generator | None:
        """The iterator that a list stands for, if Python has an iterator there."""
        items, made = self.iterators.get(id(v), (None, None))
        return made if items is v else None

    # ---- blocks ----------------------------------------------------------------------------------

    def undo(self, mark: int) -> None:
        """Roll the journal back."""
        journal = self.journal
        while len(journal) > mark:
            target, name, old = journal.pop()
            if name is None:
                restore_container(target, old)
            elif old is _MISSING:
                object.__delattr__(target, name)
            else:
                object.__setattr__(target, name, old)

    def read_branch(self, body: Callable[[], Any]) -> Snapshot:
        """`read_block`, of what may end in a `raise`: the flow is then a `Raised`.

        So it is where NumPy would raise: a branch that nobody takes may hold a product of shapes that do not fit, or an
        index behind the end of a list.
        """

        def ended() -> Any:
            self.branches.add(self.b)
            try:
                return body()
            except Raised as raised:
                return raised
            except (ShapeError, DTypeError, IndexError, KeyError, ZeroDivisionError) as error:
                refused = isinstance(error, DTypeError) and error.refuses and not isinstance(error, CutError)
                if refused or not (self.keeps_changes or self.transforms):
                    raise
                return Raised(_thrown(error), (), self.b.span)

        return self.read_block(ended)

    def read_block(self, body: Callable[[], Any]) -> Snapshot:
        """Read `body` into a block of its own, undo what it did to the state, and say what that was."""
        mark, births, frame = len(self.journal), self.births, self.frame
        builder = Builder(self.b.span)
        outer_maps = self.b.definitions.maps if isinstance(self.b.definitions, ChainMap) else [self.b.definitions]
        builder.definitions = ChainMap({}, *outer_maps)  # rewrites see what made outer variables, too; one flat chain
        outer, env = self.b, frame.env
        self.b = builder
        self.builders.append(builder)
        self.views.append({})
        frame.env = dict(env)
        try:
            flow = body()
            snapshot = self._snapshot(mark, builder, frame.env, flow)
        except Exception as error:
            error.__dict__[WITHIN] = True
            raise
        finally:
            self.undo(mark)
            frame.env = env
            views = self.views.pop()
            self.builders.pop()
            self.b = outer
        snapshot.views, snapshot.births = views, births
        self._keep_young(snapshot, births)
        return snapshot

    def _keep_young(self, shot: Snapshot, births: int) -> None:
        """Leave what the block itself made as it is at the block's end: nothing outside has seen it."""
        for cell in [c for c in shot.cells if c.birth > births]:
            cell.atom = shot.cells.pop(cell)
        if not shot.containers and not shot.attributes:
            return
        young = {*shot.containers, *(k[0] for k in shot.attributes)}.difference(self.callers.containers)
        for v in containers_of(self.frame, self.frame.env):
            if not young:
                return
            young.discard(id(v))
        for made in young.intersection(shot.containers):
            restore_container(*shot.containers.pop(made))
        for key in [k for k in shot.attributes if k[0] in young]:
            obj, value = shot.attributes.pop(key)
            object.__setattr__(obj, key[1], value)

    def _snapshot(self, mark: int, builder: Builder, env: dict[str, Value], flow: Any) -> Snapshot:
        shot = Snapshot(builder, {}, env, {}, {}, {}, flow)
        for target, name, _ in self.journal[mark:]:
            if name is None:
                shot.containers.setdefault(id(target), (target, target.copy()))
            elif isinstance(target, Cell):
                if name == "atom":
                    shot.cells[target] = target.atom
            else:
                shot.attributes.setdefault((id(target), name), (target, getattr(target, name)))
        return shot

    @contextmanager
    def inside(self, shot: Snapshot) -> Iterator[None]:
        """Work at the end of a block that was read before: its cells hold what they held there."""
        mark, outer, env = len(self.journal), self.b, self.frame.env
        for cell, atom in shot.cells.items():
            self.journal.append((cell, "atom", cell.atom))
            cell.atom = atom
        self.b, self.frame.env = shot.builder, shot.env
        self.builders.append(shot.builder)
        self.views.append(shot.views)
        try:
            yield
        finally:
            self.views.pop()
            self.builders.pop()
            self.b, self.frame.env = outer, env
            self.undo(mark)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo everything, appended statements too, when the block inside raises."""
        mark, count, views, env = len(self.journal), len(self.b.statements), len(self.views[-1]), dict(self.frame.env)
        try:
            yield
        except BaseException:
            self.undo(mark)
            del self.b.statements[count:]
            while len(self.views[-1]) > views:
                self.views[-1].popitem()
            self.frame.env = env
            raise

    def definition(self, v: Var) -> Apply | None:
        for builder in reversed(self.builders):
            made = builder.definitions.get(v)
            if made is not None:
                return made
        return None

    def append(self, statement: Statement, loop: ast.AST | None = None) -> tuple[Var, ...]:
        for t in statement.targets:
            self.numbers.compound[t] = (statement, loop)
        if loop is not None and self.effort.repeating:
            self.effort.repeats += LOOP_REPEATS
        return self.b.append(statement)


def name_result(v: Value, name: str) -> None:
    """Give the user's name to a variable that has none yet; hints are cosmetic, so this breaks no identity."""
    if type(v) is Ref and v.path:
        v.name = v.name or name
    elif type(v) is Ref:
        v.cell.name = v.cell.name or name
    atom = v.cell.atom if type(v) is Ref and not v.path else v
    if type(atom) is Var and atom.hint == "t":
        object.__setattr__(atom, "hint", name)


def _thrown(error: Exception) -> Thrown:
    """The exception that NumPy or Python raises where the reading found an error of theirs."""
    cls = next(c for c in (ValueError, TypeError, IndexError, KeyError, ArithmeticError) if isinstance(error, c))
    if isinstance(error, UntracedError):
        return Thrown(cls, (Known(error.diagnostic.what),))
    is_key = isinstance(error, KeyError) and type(error.args[0]) in (int, str)
    return Thrown(cls, (Known(error.args[0] if is_key else str(error)),))
