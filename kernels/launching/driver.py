"""The host side of a GPU program as Python source: allocations, launches, the library's calls, last uses, control flow.

    before (fused program)                     after (text)
    h = contract(x, w)                         # line 3: y = np.tanh(x @ w + b)
    y = pointwise(h, b)                        h = matmul(x, w)
                                               y = empty((128, 10), float64)
                                               layer_y(h, b, y)              # 5 blocks of 256 threads
                                               del h

The text is written for what each argument is: a number, or an array of given strides. What is known of a value follows
from there; where strides are not known before the run, the group is called as a function that plans by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, assert_never

from ...translator.bounds import is_integer_power
from ...translator.checked import Checked, is_number
from ...translator.errors import Span
from ...translator.ir import (
    Apply,
    Atom,
    Block,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Statement,
    Var,
    While,
    blocks_of,
    free_variables,
    inputs_of,
    walk,
)
from ...translator.ops.core import At, Cast, ContractAttrs, CreateAttrs, Dyn, Elementwise, IndexAttrs, Linalg, Put, Run
from ...translator.ops.shapes import c_strides
from ...translator.passes.alignment import nbytes
from ...translator.passes.groups import spans_of
from ...translator.printing.lifetimes import Lifetimes, stores
from ...translator.printing.names import Names, identifier
from ...translator.printing.ownership import Ownership
from ...translator.printing.sourcetext import Line, join
from ...translator.printing.temporaries import Folding
from ...translator.records import dataclass
from ...translator.routines import left_to_cpython
from ...translator.tree import LEAF, Kind, TreeDef
from ..program import GroupPlan, Launch
from ..source.lower import gathers
from .arrays import fits, no_negative_exponents, number
from .backend import Backend
from .forms import Form, Number, Strided, Unknown, in_order, joined
from .host_lines import HostLines, Made, tupled
from .pieces import Piece, axis_of, pieces_of, text_of
from .steps import (
    LOOPS,
    Group,
    comes_in_order,
    either,
    given_of,
    lone_group,
    operation,
    ordering,
    raising,
    storing,
)
from .turns import CHEAP, RECORDED, Recorder, turning
from .views import subscript_of, view_of


@dataclass(frozen=True, slots=True)
class Driver:
    """The source of the host side, the name of its function, and the globals that it needs."""

    text: str
    name: str
    namespace: Mapping[str, Any]
    spans: tuple[Span | None, ...]
    """Of which place of the user's source each line is made."""


def write_driver(function: Function, backend: Backend, forms: Sequence[Form], made: Made, checks: bool) -> Driver:
    """The host source of a settled program without rules, for parameters of these forms."""
    out = TreeDef(Kind.TUPLE, (LEAF,) * len(function.body.results))
    alone = Function(function.name, function.params, function.body, out, span=function.span)  # no write-back
    return _Writer(alone, backend, made, checks).write(forms)


class _Writer(HostLines):
    def __init__(self, function: Function, backend: Backend, made: Made, checks: bool) -> None:
        self.ownership = Ownership(
            function, lambda keep: Lifetimes(function.body, Folding(), keep), frozenset(), elements_are_views=True
        )
        self.lifetimes = self.ownership.lifetimes
        self.read = _read(function.body)
        self.checked = Checked(function, checks)
        super().__init__(function, backend, made, Names(function.body, self.ownership))
        self.ends: frozenset[str] = frozenset()  # names that are deleted after an enclosing statement
        self.looping = 0  # how many loops enclose the current line
        self.enqueued = 0  # launches written so far
        self.pieces: dict[Var, Piece] = {}
        self.wholes: dict[int, str] = {}  # the memory of what is joined, by the statement
        self.placed: set[Var] = set()  # pieces that were made there, and their views

    def write(self, forms: Sequence[Form]) -> Driver:
        body = self.function.body
        self.forms.update(zip(body.params, forms, strict=True))
        name = identifier(self.function.name.strip("<>") or "function")
        self.block(body)
        self.line(f"return {tupled([self.atom(a) for a in body.results])}")
        parameters = ", ".join(self.names[p] for p in body.params)
        lines = [Line(0, f"def {name}({parameters}):"), *self.lines]
        return Driver(join(lines), name, self.namespace, tuple(o[0].span if (o := n.origins) else None for n in lines))

    # ---- blocks ------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """The statements of a block. Arrays of its own are let go of after their last use; names that the statement
        around it lets go of stay bound on all paths through it.
        """
        own = set(block.params).union(*(s.targets for s in block.statements))
        ends_around = self.ends
        self.pieces.update(pieces_of(block))
        left: list[str] = []  # by statements that are not written
        for s in block.statements:
            ends = [n for n in self.ends_at(s, own) if n not in ends_around]
            if self.lies_there(s):
                left += ends
                continue
            if left:
                self.line(f"del {', '.join(left)}")
                left = []
            around, self.origins = self.origins, (s,)
            self.ends = ends_around.union(ends)
            self.statement(s)
            self.origins = around
            if ends and not (block is self.function.body and s is block.statements[-1]):
                self.line(f"del {', '.join(ends)}")
        self.ends = ends_around

    def ends_at(self, s: Statement, own: Set[Var]) -> list[str]:
        """The names of arrays among `own` that nobody reads after the statement."""
        used = [a for a in inputs_of(s) if isinstance(a, Var)]
        if not isinstance(s, Fused):
            used += [v for inner in blocks_of(s) for v in free_variables(inner)]
        after = self.lifetimes.members(self.lifetimes.after[id(s)])
        alive = {self.names[v] for v in after if v in self.read}
        bound = (v for v in (*used, *s.targets) if v not in self.placed or v in self.pieces)
        names = (self.names[v] for v in bound if v in own and v.aval.shape)
        return [n for n in dict.fromkeys(names) if n not in alive]

    def statement(self, s: Statement) -> None:
        match s:
            case Apply(op=Put()):
                self.say([s.span])
                self.put(s)
            case Apply() if id(s) in self.wholes:
                self.say([s.span])
                self.join(s)
            case Apply():
                self.say([s.span])
                self.apply(s)
            case Fused():
                self.say(spans_of(s))
                if stores(s):
                    self.scatter(s)
                    return
                self.group(s.targets, self.made_group(s), s.args)
            case If():
                self.branch(s)
            case For():
                self.counted(s)
            case While():
                self.repeated(s)
            case Raise():
                self.line(f"if {self.truth(s.condition)}:")
                self.line(f'    raise RaisedError("{s.error.error.__name__}, which CPython was to raise")')
            case Invoke():
                raise left_to_cpython(s)
            case _:
                assert_never(s)

    # ---- control flow ------------------------------------------------------------------------------

    def branch(self, s: If) -> None:
        for head, block in ((f"if {self.truth(s.condition)}:", s.then), ("else:", s.orelse)):
            self.line(head)
            start, self.said = len(self.lines), ""
            self.indent += 1
            self.block(block)
            self.moves(s.targets, block.results)
            if len(self.lines) == start:
                self.line("pass")
            self.indent -= 1
        self.said = ""
        for t, a, b in zip(s.targets, s.then.results, s.orelse.results, strict=True):
            self.forms[t] = joined(self.form(a), self.form(b))

    def counted(self, s: For) -> None:
        start, told = len(self.lines), (self.enqueued, self.waits)
        self.for_loop(s)
        launches, waits = self.enqueued - told[0], self.waits - told[1]
        if self.looping or waits or not launches or not self.may_record(s):
            return
        del self.lines[start:]
        self.said = ""
        name = self.free_name("loop")
        outside = [a for a in (*free_variables(s.body), *inputs_of(s)) if isinstance(a, Var)]
        given = ", ".join(dict.fromkeys(self.names[v] for v in outside))
        self.line(f"def {name}({given}):")
        self.indent += 1
        self.for_loop(s)
        self.line(f"return {tupled([self.names[t] for t in s.targets])}")
        self.indent -= 1
        recorder = self.name_for("recorded", Recorder(self.backend, launches), id(s))
        turns = self.range_of(s)
        call = f"{recorder}({', '.join([turns, name, *([given] if given else [])])})"
        self.line(f"{tupled([self.names[t] for t in s.targets])} = {call}", "a graph when it comes again")

    def may_record(self, s: For) -> bool:
        """Whether the loop's arguments and results are few enough bytes to be copied."""
        outside = {*free_variables(s.body), *(a for a in s.inits if isinstance(a, Var)), *s.targets}
        return bool(s.targets) and sum(v.aval.nbytes for v in outside) <= RECORDED

    def range_of(self, s: For) -> str:
        start, stop, step = map(self.integer, (s.range.start, s.range.stop, s.range.step))
        numbers = [stop] if (start, step) == ("0", "1") else [start, stop] if step == "1" else [start, stop, step]
        return f"range({', '.join(numbers)})"

    def for_loop(self, s: For) -> None:
        index, *params = s.body.params
        self.forms[index] = Number()
        self.start(s, params)
        turns = self.range_of(s)
        turns = f"reversed({turns})" if s.range.reverse else turns
        self.turns(s, params, f"for {self.names[index]} in {turns}:")

    def repeated(self, s: While) -> None:
        params = s.body.params
        self.start(s, params)
        start = len(self.lines)
        self.turns(s, params, "while True:")
        if isinstance(self.form(s.condition.results[0]), Number) or not _may_go_ahead(s):
            return
        del self.lines[start:]
        carried = ", ".join(self.names[p] for p in params)
        names = []
        for hint, block in (("going", s.condition), ("turn", s.body)):
            names.append(self.free_name(hint))
            self.said = ""
            self.line(f"def {names[-1]}({carried}):")
            self.indent += 1
            self.block(block)
            results = [self.atom(a) for a in block.results]
            self.line(f"return {results[0] if hint == 'going' else tupled(results)}")
            self.indent -= 1
        self.said = ""
        turns = self.name_for("turns", turning(self.backend), "turns")
        targets = tupled([self.names[t] for t in s.targets])
        self.line(f"{targets} = {turns}({', '.join(names)}, {carried})", "asks the device after several turns")

    def start(self, s: For | While, params: Sequence[Var]) -> None:
        copied = [(id(s), k) in self.ownership.copied_inits for k in range(len(params))]
        self.moves(params, s.inits, copied)
        for p, init, c in zip(params, s.inits, copied, strict=True):
            self.forms[p] = in_order(p.aval.shape) if c else self.form(init)

    def turns(self, s: For | While, params: Sequence[Var], head: str) -> None:
        """The loop, written with what is known of the carried values at the start of every turn."""
        start = len(self.lines)
        while True:
            del self.lines[start:]
            self.said = ""
            known = [self.forms[p] for p in params]
            self.line(head)
            self.indent += 1
            self.looping += 1
            if isinstance(s, While):
                self.forms.update(zip(s.condition.params, known, strict=True))
                self.block(s.condition)
                self.line(f"if not {self.truth(s.condition.results[0])}:")
                self.line("    break")
            self.block(s.body)
            self.moves(params, s.body.results)
            if len(self.lines) == start + 1:
                self.line("pass")
            self.indent -= 1
            self.looping -= 1
            after = [joined(k, self.form(r)) for k, r in zip(known, s.body.results, strict=True)]
            if after == known:
                break
            self.forms.update(zip(params, after, strict=True))
        self.said = ""
        self.moves(s.targets, params)
        self.forms.update(zip(s.targets, known, strict=True))

    # ---- groups ------------------------------------------------------------------------------------

    def made_group(self, s: Fused) -> Group:
        if id(s) not in self.made.groups:
            self.made.groups[id(s)] = Group(s, self.function.name, self.backend)
        group = self.made.groups[id(s)]
        assert group is not None
        return group

    def group(self, targets: Sequence[Var], group: Group, args: Sequence[Atom]) -> None:
        """The launches, where the strides of all arguments are known; else a call that plans them at run time."""
        if group.whole.kind not in LOOPS:
            self.check(group.whole.body.statements, dict(zip(group.whole.body.params, args, strict=True)))
        forms = [self.form(a) for a in args]
        numbers = all(isinstance(f, Number) for f in forms) and not any(t.aval.shape for t in targets)
        moved = group.whole.kind in LOOPS and any(
            isinstance(f, Strided) and f != in_order(a.aval.shape) for f, a in zip(forms, args, strict=True)
        )
        if group.fused is None or numbers or moved or any(isinstance(f, Unknown) for f in forms):
            self.waits += not numbers
            name = self.name_for(group.name, group, id(group))
            self.line(f"{', '.join(self.names[t] for t in targets)} = {name}({', '.join(map(self.atom, args))})")
            plain = numbers and all(isinstance(b, Apply) and _counts(b) for b in group.whole.body.statements)
            on_host = not any(v.aval.shape for v in (*args, *targets))  # perhaps: all are numbers
            on_host = on_host and not any(isinstance(f, Strided) for f in forms)
            for t in targets:
                self.forms[t] = (
                    Number() if plain else Unknown() if on_host or group.fused is None else in_order(t.aval.shape)
                )
            return
        scalars = frozenset(i for i, f in enumerate(forms) if isinstance(f, Number))
        strides = {
            i: f.strides
            for i, (f, a) in enumerate(zip(forms, args, strict=True))
            if isinstance(f, Strided) and f != in_order(a.aval.shape)
        }
        pieces = [(k, self.pieces[t]) for k, t in enumerate(targets) if t in self.pieces]
        strides.update((~k, p.strides) for k, p in pieces if axis_of(p.joined))
        self.launches(group, group.plan_for(strides, scalars), targets, args)
        self.forms.update((t, Strided(strides.get(~k, c_strides(t.aval.shape)))) for k, t in enumerate(targets))

    def launches(self, group: Group, chosen: GroupPlan, targets: Sequence[Var], args: Sequence[Atom]) -> None:
        inputs = [self.atom(a) for a in args]
        outputs = [self.names[t] for t in targets]
        bound: dict[str, str] = {}  # a result with the name of an argument has it when all kernels are enqueued
        for k, name in enumerate(outputs):
            if name in inputs:
                bound[name] = outputs[k] = self.free_name(f"{name}_new")
        for t, name in zip(targets, outputs, strict=True):
            self.line(f"{name} = {self.memory_for(t)}")
        for result, begin in chosen.starts:
            self.line(f"{outputs[result]}[...] = {inputs[begin]}")
        self.enqueue(group, chosen, inputs, outputs, bound)

    def memory_for(self, t: Var) -> str:
        """The allocation of a result, or where it lies in what it is joined to."""
        piece = self.pieces.get(t)
        if piece is None:
            return self.allocation(t.aval.shape, t.aval.dtype)
        (joined,) = piece.joined.targets
        if id(piece.joined) not in self.wholes:
            whole = self.wholes[id(piece.joined)] = self.free_name(f"{self.names[joined]}_whole")
            self.line(f"{whole} = {self.allocation(joined.aval.shape, joined.aval.dtype)}")
        self.placed.update((t, *piece.views))
        return text_of(piece, self.wholes[id(piece.joined)], t)

    def lies_there(self, s: Statement) -> bool:
        """Whether the statement only gives another shape to a piece that lies in what it is joined to."""
        return isinstance(s, Apply) and self.placed.issuperset(s.targets)

    def join(self, s: Apply) -> None:
        """A concatenation whose pieces lie there, all or some."""
        (t,), whole, first, axis = s.targets, self.wholes[id(s)], 0, axis_of(s)
        for a in s.args:
            last = first + a.aval.shape[axis]
            if a not in self.placed:
                self.line(f"{whole}[{':, ' * axis}{first}:{last}] = {self.atom(a)}")
            first = last
        self.line(f"{self.names[t]} = {whole}")
        self.line(f"del {whole}")
        self.forms[t] = in_order(t.aval.shape)
        del self.wholes[id(s)]  # a loop that is written again makes it again
        self.placed -= {v for piece in self.pieces.values() if piece.joined is s for v in piece.views}
        self.placed -= {v for v, piece in self.pieces.items() if piece.joined is s}

    def enqueue(
        self,
        group: Group,
        chosen: GroupPlan,
        inputs: Sequence[str],
        outputs: Sequence[str],
        bound: Mapping[str, str] | None = None,
    ) -> None:
        """The launches into allocated memory, and what they share. `bound`: the names of the results afterwards."""
        partials = [self.free_name("part") for _ in chosen.partials]
        for k, (name, (shape, dtype)) in enumerate(zip(partials, chosen.partials, strict=True)):
            text = self.allocation(shape, dtype)
            if chosen.sorts is None or k != chosen.sorts[1]:
                self.line(f"{name} = {text.replace('empty', 'zeros', 1) if k < chosen.zeros else text}")
        arrays = {"in": inputs, "scalar": inputs, "out": outputs, "partial": partials}
        for launch in chosen.launches:
            if launch.grid[0] * launch.grid[1]:
                kernel = self.name_for(launch.program.name, self.backend.prepare(launch), (id(chosen), id(launch)))
                given = ", ".join(arrays[a.role][a.index] for a in given_of(launch))
                self.enqueued += 1
                self.line(f"{kernel}({given})", _grid(launch))
            if chosen.sorts and launch is chosen.launches[0]:
                self.waits += 1
                places, order = (partials[k] for k in chosen.sorts)
                sort = self.name_for("argsort", ordering(self.backend), "argsort")
                self.line(f"{order} = {sort}({places})")
        if chosen.failures:
            self.waits += 1
            told = self.name_for("raise_failed", raising(chosen.failures), (id(chosen), "failures"))
            self.line(f"{told}({partials[0]})")
        if chosen.looks:
            self.waits += 1
            told = self.name_for("raise_outside", group.raise_outside, (id(group), "outside"))
            self.line(f"{told}({', '.join([partials[0], *inputs])})")
        bound = bound or {}
        if bound:
            self.line(f"{', '.join(bound)} = {', '.join(bound.values())}")
        if partials or bound:
            self.line(f"del {', '.join((*partials, *bound.values()))}")

    def scatter(self, s: Fused) -> None:
        """A kernel that stores into an array in place, if nobody reads the old contents later."""
        (t,), x = s.targets, s.args[0]
        group = self.made_group(s)
        self.check(s.body.statements, dict(zip(s.body.params, s.args, strict=True)))
        forms = [self.form(a) for a in s.args]
        ordered = isinstance(x, Var) and id(s) not in self.ownership.copied and forms[0] == in_order(x.aval.shape)
        if group.fused is None or any(isinstance(f, Unknown) for f in forms[1:]):
            self.group(s.targets, group, s.args)
            return
        scalars = frozenset(i for i, f in enumerate(forms) if isinstance(f, Number))
        copied = frozenset(i for i, a in enumerate(s.args) if not i or self.shares(a, x))
        strides = {
            i: f.strides
            for i, (f, a) in enumerate(zip(forms, s.args, strict=True))
            if i not in copied and isinstance(f, Strided) and f != in_order(a.aval.shape)
        }
        if ordered:
            self.moves([t], [x])
        else:
            self.line(f"{self.names[t]} = copy({self.atom(x)})")
        inputs = [f"copy({self.atom(a)})" if i in copied else self.atom(a) for i, a in enumerate(s.args) if i]
        self.enqueue(group, group.plan_for(strides, scalars), [self.atom(x), *inputs], [self.names[t]])
        self.forms[t] = in_order(t.aval.shape)

    def shares(self, a: Atom, x: Atom) -> bool:
        """Whether an argument of a store may lie in the memory that is stored into."""
        return not self.ownership.of(x).isdisjoint(self.ownership.of(a))

    # ---- operations without a kernel -------------------------------------------------------------------------

    def apply(self, s: Apply) -> None:
        (t,) = s.targets
        forms = [self.form(a) for a in s.args]
        view = view_of(s, forms, list(map(self.atom, s.args)), self)
        if view is not None:
            text, self.forms[t] = view
            if t in self.ownership.copied_views:
                text, self.forms[t] = f"copy({text})", in_order(t.aval.shape)
            self.line(f"{self.names[t]} = {text}")
            return
        if isinstance(s.attrs, CreateAttrs) and s.op.name in ("full", "empty") and t.aval.shape:
            value = self.atom(s.args[0]) if s.args else ""
            if value == self.names[t]:
                value = self.free_name(f"{value}_value")
                self.line(f"{value} = {self.names[t]}")
            self.line(f"{self.names[t]} = {self.allocation(s.attrs.shape, s.attrs.dtype)}")
            if s.op.name == "full":
                self.line(f"{self.names[t]}[...] = {value}")
            self.forms[t] = in_order(t.aval.shape)
            return
        checked = self.checked.enabled and self.checked.apply(s)
        if checked:
            self.check([s], dict(zip(s.args, s.args, strict=True)))
        if _counts(s) and (all(isinstance(f, Number) for f in forms) or (checked and is_number(s))):
            self.call(s, operation(s, self.backend), list(map(self.number, s.args)))
            self.forms[t] = Number()
            return
        if id(s) not in self.made.groups:
            self.made.groups[id(s)] = lone_group(s, self.function.name, self.backend)
        group = self.made.groups[id(s)]
        if group is None:
            self.call(s, operation(s, self.backend))
            self.forms[t] = in_order(t.aval.shape) if comes_in_order(s) else Unknown()
        elif t.aval.shape or any(isinstance(f, Strided) for f in forms):
            self.group(s.targets, group, group.whole.args)
        else:
            self.call(s, either(s, group, self.backend))
            self.forms[t] = Unknown()

    def number(self, a: Atom) -> str:
        """The text of an operand of Python arithmetic."""
        if isinstance(self.form(a), Number):
            return self.atom(a)
        self.waits += 1
        return f"{self.name_for('number', number, 'number')}({self.atom(a)})"

    def check(self, statements: Iterable[Statement], outside: Mapping[Atom, Atom]) -> None:
        """Checks of kernel operands that NumPy would refuse: Python ints too large for a dtype, negative exponents.
        `outside`: what the operands are called here."""
        for s in statements:
            if not isinstance(s, Apply) or not self.checked.enabled:
                continue
            for i, dtype in self.checked.too_large(s):
                if s.args[i] in outside:
                    told = self.name_for("fits", fits, "fits")
                    self.line(f"{told}({self.number(outside[s.args[i]])}, {self.kind(dtype)})")
            if is_integer_power(s) and s.args[-1] in outside and self.checked.apply(s):
                exponents = outside[s.args[-1]]
                self.waits += not isinstance(self.form(exponents), Number)
                told = self.name_for("no_negative_exponents", no_negative_exponents, "exponents")
                self.line(f"{told}({self.atom(exponents)})")

    def call(self, s: Apply, made: Any, given: Sequence[str] = ()) -> None:
        (t,) = s.targets
        self.waits += not all(isinstance(self.form(a), Number) for a in s.args)
        name = self.name_for(s.op.name, made, (id(s), made.__name__))
        text = f"{name}({', '.join(given or map(self.atom, s.args))})"
        text = f"copy({text})" if t in self.ownership.copied_views else text
        self.line(f"{self.names[t]} = {text}", _labels(s.attrs) if isinstance(s.attrs, ContractAttrs) else "")

    def put(self, s: Apply) -> None:
        (t,), x = s.targets, s.args[0]
        name = self.names[t]
        if not isinstance(x, Var) or id(s) in self.ownership.copied:
            self.line(f"{name} = copy({self.atom(x)})")
            self.forms[t] = in_order(t.aval.shape)
        else:
            self.moves([t], [x])
            self.forms[t] = self.form(x)
        key = subscript_of(s, [self.form(a) for a in s.args], list(map(self.atom, s.args)), self.checked)
        if key is not None:
            self.line(f"{name}[{key}] {'=' if s.op.name == 'put' else '+='} {self.atom(s.args[1])}")
            return
        self.waits += 1
        store = self.name_for(s.op.name, storing(s, self.backend), id(s))
        self.line(f"{store}({', '.join([name, *map(self.atom, s.args[1:])])})")


UNSURE = (*LOOPS, "scatter")
"""Kinds of groups that may raise, or write into what is there. Those that choose elements may raise, too."""


def _counts(s: Apply) -> bool:
    """Whether the operation gives a number where all operands are numbers."""
    return isinstance(s.op, Elementwise | Cast) and not s.targets[0].aval.shape


def _may_go_ahead(s: While) -> bool:
    """Whether superfluous turns do no harm: they are cheap, store into nothing and raise nothing."""
    statements = (*s.condition.statements, *s.body.statements)
    if any(isinstance(b, Apply) and isinstance(b.op, Put | Linalg) for b in statements):
        return False
    if not all(isinstance(b, Apply) or (isinstance(b, Fused) and b.kind not in UNSURE) for b in statements):
        return False
    own = [a for b in statements for a in (b.body.statements if isinstance(b, Fused) else (b,))]
    if any(isinstance(a, Apply) and (_looks_up(a) or gathers(a)) for a in own):
        return False
    return sum(nbytes(a) for b in statements for a in (*inputs_of(b), *b.targets)) <= CHEAP


def _looks_up(s: Apply) -> bool:
    """Whether the place is only known at run time: the index is fetched from the device and checked."""
    if not isinstance(s.attrs, IndexAttrs):
        return False
    places = (d.index if isinstance(d, At) else d.start if isinstance(d, Run) else None for d in s.attrs.dims)
    return any(isinstance(p, Dyn) for p in places)


def _read(block: Block) -> frozenset[Var]:
    """All values that are read anywhere; for what only a loop's condition reads, the carried value."""
    found: set[Var] = {a for a in block.results if isinstance(a, Var)}
    for s in walk(block):
        found.update(a for a in inputs_of(s) if isinstance(a, Var))
        for inner in blocks_of(s):
            found.update(a for a in inner.results if isinstance(a, Var))
    for s in walk(block):
        if isinstance(s, While):
            found.update(p for c, p in zip(s.condition.params, s.body.params, strict=True) if c in found)
    return frozenset(found)


def _labels(attrs: ContractAttrs) -> str:
    """The axes of a product in einsum's notation."""
    x, y, out = ("".join(chr(ord("a") + label) for label in part) for part in (attrs.lhs, attrs.rhs, attrs.out))
    return f"{x},{y}->{out}"


def _grid(launch: Launch) -> str:
    blocks = f"{launch.grid[0]} x {launch.grid[1]}" if launch.grid[1] > 1 else f"{launch.grid[0]}"
    threads = 32 * launch.program.num_warps if launch.program.language == "triton" else launch.block
    return f"{blocks} block{'s' * (blocks != '1')} of {threads} threads"
