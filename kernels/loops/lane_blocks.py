"""Lanes in Triton: a block of scalar programs in lockstep, until the last of them is done.

    while a * a + b * b <= 4 and n < 1000:          running = mask
        a, b = ...                                  while tl.max(running.to(tl.int32), axis=0) > 0:
        n += 1                                          running = running & (t <= 4) & (n < 1000)
                                                        a = tl.where(running, a_1, a)
                                                        n = tl.where(running, n + 1, n)

Of both branches of an `if` one value is chosen. What reports errors, or looks elements up, is a CUDA kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ...translator.bounds import analyse, interval_of
from ...translator.builder import Builder
from ...translator.checked import Checked
from ...translator.errors import NOWHERE, Diagnostic, Span, UnsupportedError
from ...translator.fits import decided, exact_dtypes
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    DType,
    For,
    Function,
    Fused,
    If,
    Var,
    While,
    free_variables,
    walk,
)
from ...translator.ops import EMPTY
from ...translator.ops.core import At, Cast, Dyn, Elementwise, Index, IndexAttrs, Put
from ...translator.ops.shapes import c_strides
from ...translator.passes.groups import spans_of
from ...translator.records import dataclass
from ...translator.tree import LEAF
from ..program import Argument, GroupPlan, Launch, Program, header
from ..source.dialects import TRITON, bare, call_expression, carrier, primitive, working
from ..source.layout import INT32
from ..source.names import RESERVED, Names
from ..source.powers import by_products
from ..source.render import render
from ..source.values import Call, Number, Value
from .checks import divides_counts
from .native import loop_of

LANES, WARPS = 64, 1  # of a block: one warp asks by one instruction, without a barrier, whether a lane is running
MANY, EVEN_LANES, EVEN_WARPS = 1 << 18, 512, 4  # where all lanes take the same turns, nobody asks: 16 bytes at a time
INT = np.dtype(np.int64)


@dataclass(frozen=True, slots=True)
class Held:
    """A value's text and dtype; `number` where it is known. `varies`: it is a block, one value a lane."""

    text: str
    dtype: DType
    varies: bool = True
    number: Const | None = None


def plan_lane_block(group: Fused, name: str, scalars: frozenset[int]) -> GroupPlan:
    """The kernel of a group of kind "lanes", of arrays in C order. Raises UnsupportedError for what has no form."""
    return _Lanes(group, scalars).written(name)


class _Lanes:
    def __init__(self, group: Fused, scalars: frozenset[int]) -> None:
        loop = loop_of(group)
        if not isinstance(loop, For):
            raise _refused("a loop without lanes", group.span)
        self.group, self.loop, self.by_value = group, loop, scalars
        whole = Function("lanes", (), group.body, LEAF)
        self.checks = Checked(whole)
        self.known = analyse(whole, refine=False)  # lanes that are done, or on the other branch, go along
        self.names = Names(reserved=RESERVED | {"lanes"})
        self.env: dict[Var, Held] = {}
        self.pointers: dict[Var, str] = {}
        self.parameters: list[tuple[str, Argument]] = []
        self.lines: list[str] = []
        self.depth, self.active, self.told = 0, "mask", -1
        self.texts: dict[int, str] = {}
        for span in spans_of(group):
            self.texts[span.line] = max(self.texts.get(span.line, ""), span.text.split("\n")[0], key=len)

    def written(self, name: str) -> GroupPlan:
        loop, params = self.loop, self.group.body.params
        index, *carried = loop.body.params
        if any(not (isinstance(s, Apply) and s.op is EMPTY) for s in self.group.body.statements[:-1]):
            raise _refused("work before its lanes", self.group.span)
        read = free_variables(loop.body)
        for k, p in enumerate(params):
            if p in read:
                self.parameter(p, k)
        for p, target in zip(carried, loop.targets, strict=True):
            if len(p.aval.shape) != 1:
                raise _refused("lanes that fill rows", loop.span)
            pointer = self.pointers[p] = self.names.fresh(f"{target.hint}_out_ptr")
            place = self.group.body.results.index(target)
            self.parameters.append((pointer, Argument("out", place, p.aval.dtype)))
        count = loop.targets[0].aval.shape[0]
        self.env[index] = Held("lane" if count > INT32 else "lane.to(tl.int64)", INT)
        self.lane = index
        self.block(loop.body)
        extent = np.dtype(np.int64 if count > INT32 else np.int32)
        self.parameters.append(("lanes", Argument("number", 0, extent, count)))
        signature = tuple((n, _type(a)) for n, a in self.parameters)
        source = render(
            "lanes.triton.j2",
            name=name,
            header=header(self.group),
            dialect="triton",
            parameters=[n for n, _ in signature],
            wide=count > INT32,
            lines=self.lines,
        )
        regular = tuple(n for n, a in self.parameters if a.role != "scalar")
        even = count >= MANY and not any(isinstance(s, While) for s in walk(loop.body))
        lanes, warps = (EVEN_LANES, EVEN_WARPS) if even else (LANES, WARPS)
        program = Program(name, "triton", source, signature, (("BLOCK", lanes),), warps, regular)
        launch = Launch(program, tuple(a for _, a in self.parameters), (-(-count // lanes), 1), lanes)
        return GroupPlan(name, (launch,))

    def parameter(self, p: Var, place: int) -> None:
        dtype = p.aval.dtype
        if p.aval.shape or place not in self.by_value:
            pointer = self.pointers[p] = self.names.fresh(f"{p.hint}_ptr")
            self.parameters.append((pointer, Argument("in", place, dtype)))
            if not p.aval.shape:
                self.declare(p, f"tl.load({pointer})", dtype, False)
            return
        name = self.names.fresh(p.hint)
        self.parameters.append((name, Argument("scalar", place, carrier(dtype))))
        self.env[p] = Held(TRITON.convert(name, carrier(dtype), dtype), dtype, False)

    # ---- values ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def declare(self, target: Var, text: str, dtype: DType, varies: bool) -> Held:
        name = self.names.fresh(target.hint)
        self.line(f"{name} = {text}")
        self.env[target] = held = Held(name, dtype, varies)
        return held

    def held(self, a: Atom) -> Held:
        if isinstance(a, Var):
            return self.env[a]
        return Held(TRITON.literal(np.asarray(a.value).astype(a.aval.dtype)[()], a.aval.dtype), a.aval.dtype, False, a)

    def as_type(self, x: Held, dtype: DType) -> str:
        if x.number is not None:
            return TRITON.literal(np.asarray(x.number.value).astype(dtype)[()], dtype)
        return TRITON.convert(x.text, x.dtype, dtype)

    def as_block(self, x: Held, dtype: DType) -> str:
        """The value as a block, which everything a loop carries is from the start."""
        text = self.as_type(x, dtype)
        return text if x.varies else f"tl.full([BLOCK], {text}, {TRITON.type_name(dtype)})"

    # ---- statements --------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for s in block.statements:
            self.tell(s.span)
            match s:
                case Apply():
                    self.apply(s)
                case If():
                    self.branches(s)
                case While():
                    self.while_loop(s)
                case For():
                    self.for_loop(s)
                case Fused():
                    for p, a in zip(s.body.params, s.args, strict=True):
                        self.env[p] = self.held(a)
                    self.block(s.body)
                    for t, r in zip(s.targets, s.body.results, strict=True):
                        self.env[t] = self.held(r)
                case _:
                    raise _refused(f"{type(s).__name__.lower()} in Triton's lanes", s.span)

    def tell(self, span: Span) -> None:
        if span.line and span.line != self.told:
            self.told = span.line
            self.line(f"# line {span.line}: {self.texts.get(span.line, span.text)}".rstrip(": \\"))

    def apply(self, s: Apply) -> None:
        (target,) = s.targets
        if self.checks.statement(s):
            raise _refused("what may fail in Triton's lanes", s.span)
        match s.op:
            case Put(name="put"):
                self.store(s)
            case Index():
                self.load(s, target)
            case Elementwise() if not target.aval.shape:
                self.elementwise(s, s.op, target)
            case Cast() if not target.aval.shape:
                x = self.held(s.args[0])
                self.declare(target, self.as_type(x, target.aval.dtype), target.aval.dtype, x.varies)
            case _:
                raise _refused(f"{s.op.name} in Triton's lanes", s.span)

    def elementwise(self, s: Apply, op: Elementwise, target: Var) -> None:
        avals = [a.aval for a in s.args]
        dtypes, result = exact_dtypes(op, avals, s.args), op.loop_dtypes(avals)[1]
        known = decided(op, s.args, dtypes)
        if known is not None:
            self.env[target] = self.held(Const(np.bool_(known), target.aval))
            return
        held, call = [self.held(a) for a in s.args], Call(op, dtypes)
        varies = any(h.varies for h in held)
        if divides_counts(s, lambda a: interval_of(a, self.known)):
            count, size = (self.as_type(h, result) for h in held)
            self.declare(target, f"{count} {'//' if op.name == 'floor_divide' else '%'} {size}", result, varies)
            return
        b = Builder(s.span)
        if (power := by_products(b, s)) is not None:
            self.made_of(b, power, target)
            return
        if primitive(call, "triton"):
            values = tuple(_value(h, d) for h, d in zip(held, dtypes, strict=True))
            text = call_expression(TRITON, Value("", result, call, values, False, 0, s.span), call)
            self.declare(target, bare(TRITON.convert(text, result, target.aval.dtype)), target.aval.dtype, varies)
            return
        if op.decompose is None:
            raise _refused(f"{op.numpy} in Triton's lanes", s.span)
        from ...translator.reading.splicing import splice

        atoms = list[Atom]()
        for h, d in zip(held, map(working, dtypes), strict=True):
            if h.number is not None:
                atoms.append(Const(np.asarray(h.number.value).astype(d)[()], Aval((), d)))
                continue
            given = Var("t", Aval((), d))
            self.env[given] = Held(self.as_type(h, d), d, h.varies)
            atoms.append(given)
        made = splice(b, op.decompose, atoms)
        assert isinstance(made, Var | Const)
        self.made_of(b, made, target)

    def made_of(self, b: Builder, made: Atom, target: Var) -> None:
        """The target is what other statements make."""
        self.block(Block((), tuple(b.statements), (made,)))
        x = self.held(made)
        self.env[target] = Held(self.as_type(x, target.aval.dtype), target.aval.dtype, x.varies)

    def address(self, x: Var, attrs: IndexAttrs, args: Sequence[Atom], span: Span) -> tuple[str, bool]:
        """The address of an element that is surely inside, and whether it differs between lanes."""
        terms, varies = [], False
        for d, n, stride in zip(attrs.dims, x.aval.shape, c_strides(x.aval.shape), strict=True):
            match d:
                case At(index=int(k)):
                    terms += [str(k % n * stride)] if k else []
                case At(index=Dyn(arg=arg)) if interval_of(args[arg], self.known).within(0, n - 1):
                    place = Held("lane", INT) if args[arg] is self.lane else self.held(args[arg])
                    terms.append(place.text if stride == 1 else f"{place.text} * {stride}")
                    varies |= place.varies
                case _:
                    raise _refused("elements looked up in Triton's lanes", span)
        if not terms or x.aval.size > INT32:
            raise _refused("elements looked up in Triton's lanes", span)
        return " + ".join(terms), varies

    def load(self, s: Apply, target: Var) -> None:
        x = s.args[0]
        if target.aval.shape or not isinstance(x, Var) or x not in self.pointers or not isinstance(s.attrs, IndexAttrs):
            raise _refused("elements looked up in Triton's lanes", s.span)
        at, varies = self.address(x, s.attrs, s.args, s.span)
        mask = ", mask=mask" if varies else ""
        self.declare(target, f"tl.load({self.pointers[x]} + {at}{mask})", x.aval.dtype, varies)

    def store(self, s: Apply) -> None:
        x = s.args[0]
        if self.depth or not isinstance(x, Var) or x not in self.pointers or not isinstance(s.attrs, IndexAttrs):
            raise _refused("stores under conditions in Triton's lanes", s.span)
        at, varies = self.address(x, s.attrs, s.args, s.span)
        if not varies:
            raise _refused("stores of all lanes to one place", s.span)
        self.line(f"tl.store({self.pointers[x]} + {at}, {self.as_type(self.held(s.args[1]), x.aval.dtype)}, mask=mask)")
        self.pointers[s.targets[0]] = self.pointers[x]

    # ---- control flow ------------------------------------------------------------------------------

    def branches(self, s: If) -> None:
        condition = self.held(s.condition)
        for other, branch in ((False, s.then), (True, s.orelse)):
            with self.among(f"({condition.text} == 0)" if other else condition.text, branch):
                self.block(branch)
        for t, x, y in zip(s.targets, s.then.results, s.orelse.results, strict=True):
            one, two = self.held(x), self.held(y)
            text = f"tl.where({condition.text}, {self.as_type(one, t.aval.dtype)}, {self.as_type(two, t.aval.dtype)})"
            if not (condition.varies or one.varies or two.varies):
                raise _refused("branches that all lanes take together", s.span)
            self.declare(t, text, t.aval.dtype, True)

    @contextmanager
    def among(self, condition: str, branch: Block) -> Iterator[None]:
        """Loops of a branch wait only for the lanes that take it."""
        before = self.active
        if any(isinstance(s, While | For) for s in walk(branch)):
            self.active = self.names.fresh("taken")
            self.line(f"{self.active} = {before} & {condition}")
        yield
        self.active = before

    def while_loop(self, s: While) -> None:
        homes, live = self.carry(s.body.params, s.inits), self.names.fresh("running")
        for p, h in zip(s.condition.params, homes, strict=True):
            self.env[p] = h
        self.line(f"{live} = {self.active}")
        self.line(f"while tl.max({live}.to(tl.int32), axis=0) > 0:")
        before, self.active = self.active, live
        self.depth += 1
        self.block(s.condition)
        self.line(f"{live} = {live} & {self.held(s.condition.results[0]).text}")
        self.block(s.body)
        self.turn(s.body.results, homes, live)
        self.depth -= 1
        self.active = before
        self.env.update(zip(s.targets, homes, strict=True))

    def for_loop(self, s: For) -> None:
        index, *params = s.body.params
        r = s.range
        bounds = [self.held(a) for a in (r.start, r.stop, r.step)]
        if r.reverse or any(b.varies for b in bounds):
            raise _refused("ranges that differ between Triton's lanes", s.span)
        homes, turn = self.carry(params, s.inits), self.names.fresh("turn")
        start, stop, step = (b.text if b.number is None else str(int(b.number.value)) for b in bounds)
        given = [start, stop, step] if step != "1" else [start, stop] if start != "0" else [stop]
        self.line(f"for {turn} in range({', '.join(given)}):")
        self.depth += 1
        if index in free_variables(replace(s.body, params=tuple(params))):
            self.declare(index, f"tl.full((), {turn}, tl.int64)", INT, False)
        self.block(s.body)
        self.turn(s.body.results, homes)
        self.depth -= 1
        self.env.update(zip(s.targets, homes, strict=True))

    def carry(self, params: Sequence[Var], inits: Sequence[Atom]) -> list[Held]:
        if any(p.aval.shape for p in params):
            raise _refused("arrays that Triton's lanes carry", self.loop.span)
        begun = [self.as_block(self.held(a), p.aval.dtype) for p, a in zip(params, inits, strict=True)]
        return [self.declare(p, text, p.aval.dtype, True) for p, text in zip(params, begun, strict=True)]

    def turn(self, results: Sequence[Atom], homes: Sequence[Held], live: str = "") -> None:
        """The next turn's values; of lanes that are done the old ones."""
        made = [self.held(r) for r in results]
        moved = {h.text for h in homes}
        for k, (x, home) in enumerate(zip(made, homes, strict=True)):
            if x.text in moved and x.text != home.text:  # it is replaced before it is read
                name = self.names.fresh(x.text)
                self.line(f"{name} = {x.text}")
                made[k] = Held(name, x.dtype, x.varies)
        for x, home in zip(made, homes, strict=True):
            if x.text != home.text:
                new = self.as_type(x, home.dtype) if live else self.as_block(x, home.dtype)
                self.line(f"{home.text} = tl.where({live}, {new}, {home.text})" if live else f"{home.text} = {new}")


def _value(x: Held, dtype: DType) -> Value:
    if x.number is not None:
        return Value("", dtype, Number(np.asarray(x.number.value).astype(dtype)[()]), (), False, 0, NOWHERE)
    return Value(x.text, x.dtype, Call(None, ()), (), False, 0, NOWHERE)  # type: ignore[arg-type]


def _type(a: Argument) -> str:
    return TRITON.signature(a.dtype) if a.role in ("scalar", "number") else TRITON.pointer(a.dtype)


def _refused(what: str, span: Span) -> UnsupportedError:
    return UnsupportedError(Diagnostic(f"kernels do not support {what}", span))
