"""Loops as CUDA kernels, from the generator of the host's native loops: a thread for each lane, or one for all.

    for lane in range(n):              const long long lane = (long long)blockIdx.x * blockDim.x + threadIdx.x;
        z1 = z[lane]                   if (lane >= lanes) return;
        while z1 * z1 < 4: ...         double z1 = z[lane];
        turns[lane] = n1               while (true) { ... }
                                       turns[lane] = n1;

Lanes take their own branches and numbers of turns; a warp is done when its slowest lane is. A loop whose turns need
each other runs in one thread: slow for a device, but a launch for each operation is slower. What goes wrong in a lane
is written beside it, and the first lane's failure is raised when the kernel has ended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...translator.checked import Checked
from ...translator.errors import TOO_WIDE, Diagnostic, Span, UnsupportedError, WideIntError
from ...translator.ir import (
    Apply,
    Atom,
    Block,
    DType,
    For,
    Function,
    Fused,
    If,
    Raise,
    Var,
    While,
    inputs_of,
    walk,
)
from ...translator.ops.core import ArgReduce, At, Cumulative, Dyn, Elementwise, IndexAttrs, Put, Reduce
from ...translator.passes.groups import spans_of
from ...translator.tree import LEAF
from ..program import Argument, GroupPlan, Launch, Program, header
from ..source.dialects import CUDA, is_half
from ..source.names import RESERVED
from ..source.render import render
from .checks import Checks, Failure, divides_counts
from .host import Scalar
from .native import INT, LoopWriter, arguments_of, loop_of
from .values import Array, Buffer, NotNative, Stored

LANES = 128  # threads of a block: few, since a block is done when its slowest lane is
LOCAL = 2048  # bytes of arrays that one thread makes for itself: a device reserves them for all that it can hold
FAILURES = ("partial", 0, np.dtype(np.int64))


def plan_loop(group: Fused, name: str, scalars: frozenset[int]) -> GroupPlan:
    """The kernel of a group of kind "lanes" or "loops". Raises UnsupportedError where the generator has no form for it.

    Its arrays are in C order. Results begin as copies of what the loop carries; `scalars` are passed by value.
    """
    loop = loop_of(group)
    lanes = group.kind == "lanes"
    if lanes and (not isinstance(loop, For) or not fills_lanes(loop)):
        raise UnsupportedError(Diagnostic("lanes that share what they write", group.span))
    checks = Checked(Function(name, (), group.body, LEAF))
    try:
        return DeviceLoop(group, loop, checks, scalars).written(name, lanes)
    except NotNative as why:
        raise UnsupportedError(Diagnostic(f"kernels of loops do not support {why}", group.span)) from None


def fills_lanes(loop: For) -> bool:
    """Whether all that the loop carries are arrays of which each turn writes its own elements, and reads nothing."""
    index, *carried = loop.body.params
    turns = loop.range.static()
    if turns is None or turns.start != 0 or turns.step != 1 or loop.range.reverse:
        return False
    read = [a for s in walk(loop.body) for a in inputs_of(s)]
    return all(
        _writes_its_own(p, r, loop.body, index, len(turns), read)
        for p, r in zip(carried, loop.body.results, strict=True)
    )


def _writes_its_own(p: Var, r: Atom, block: Block, index: Var, lanes: int, read: Sequence[Atom]) -> bool:
    """Whether a block makes `r` of `p` by a store at the lane's place along an axis, or by a loop whose turns do."""
    made = next((s for s in block.statements if not isinstance(s, If | Raise) and r in s.targets), None)
    if made is None or read.count(p) != 1 or r in read:
        return False
    if isinstance(made, For):
        k = made.targets.index(r)
        param, result = made.body.params[1 + k], made.body.results[k]
        return made.inits[k] is p and _writes_its_own(param, result, made.body, index, lanes, read)
    if not (isinstance(made, Apply) and isinstance(made.op, Put) and isinstance(made.attrs, IndexAttrs)):
        return False
    own = [
        isinstance(d, At) and isinstance(d.index, Dyn) and made.args[d.index.arg] is index and n == lanes
        for d, n in zip(made.attrs.dims, p.aval.shape, strict=True)
    ]
    return made.args[0] is p and any(own)


class DeviceLoop(LoopWriter):
    """Writes the body of a kernel. Pointers to what the loop carries are its results."""

    copying = "memcpy"
    dialect = CUDA
    sweeping = False
    cutting = False

    def __init__(self, group: Fused, loop: For | While, checks: Checks, scalars: frozenset[int]) -> None:
        super().__init__(group, loop, checks)
        self.names.reserved = self.names.reserved | RESERVED | {"lanes", "failures_ptr"}
        self.by_value = scalars
        self.parameters: list[tuple[str, Argument]] = []
        self.texts: dict[int, str] = {}  # of the user's lines, whole
        for span in spans_of(group):
            self.texts[span.line] = max(self.texts.get(span.line, ""), span.text.split("\n")[0], key=len)

    def tell(self, span: Span) -> None:
        if span.line and (self._told is None or span.line != self._told.line):
            self._told = span
            self.line(f"// line {span.line}: {self.texts.get(span.line, span.text)}".rstrip(": \\"))

    def poll(self) -> None:
        """Nobody can interrupt a kernel."""

    def type_name(self, dtype: DType) -> str:
        return CUDA.type_name(dtype) if is_half(dtype) else super().type_name(dtype)

    def written(self, name: str, lanes: bool) -> GroupPlan:
        carried, others = arguments_of(self.group)
        places = {p: k for k, p in enumerate(self.group.body.params)}
        count = len(self.loop.range.static() or ()) if lanes and isinstance(self.loop, For) else 1
        for p, target in zip(carried, self.loop.targets, strict=True):
            self._result(p, self.group.body.results.index(target))
        for p in others:
            self._given(p, places[p])
        if lanes:
            assert isinstance(self.loop, For)
            self._lane(self.loop, carried)
        else:
            self.statement(self.loop)
            self.finish(carried)
        body, self.lines = self.lines, []
        for buffer, home in self.memories.items():
            if buffer in self.moving or any(home in line for line in body):
                self.line(f"{self.type_name(buffer.dtype)} *{buffer.name} = {home};")
            else:
                self.parameters = [(buffer.name if n == home else n, a) for n, a in self.parameters]
        self._local_arrays()
        if lanes:
            self.parameters.append(("lanes", Argument("number", 0, INT, count)))
        if self.failures:
            self.parameters.append(("failures_ptr", Argument(*FAILURES)))
        source = render(
            "loop.cuda.j2",
            name=name,
            header=header(self.group),
            dialect="cuda",
            lanes=lanes,
            lines=[*self.lines, *body],
            parameters=[self._declared(n, a) for n, a in self.parameters],
            tables=self.tables,
            fails=bool(self.failures),
        )
        launch = self._launch(name, source, count, lanes)
        partials = (((count,), INT),) if self.failures else ()
        begun = [(p, t) for p, t in zip(carried, self.loop.targets, strict=True) if p in places]
        starts = tuple((self.group.body.results.index(t), places[p]) for p, t in begun)
        return GroupPlan(name, (launch,), partials, starts, tuple(self.failures))

    def _launch(self, name: str, source: str, count: int, lanes: bool) -> Launch:
        signature = tuple((n, a.dtype.name) for n, a in self.parameters)
        program = Program(name, "cuda", source, signature)
        grid = (-(-count // LANES), 1) if lanes else (1, 1)
        return Launch(program, tuple(a for _, a in self.parameters), grid, LANES if lanes else 1)

    # ---- parameters --------------------------------------------------------------------------------

    def _result(self, p: Var, place: int) -> None:
        name = self.names.fresh(f"{p.hint}_memory")
        self.parameters.append((name, Argument("out", place, p.aval.dtype)))
        if not p.aval.shape:
            self.env[p] = Scalar(f"*{name}", p.aval.dtype)
            return
        buffer = Buffer(self.names.fresh(p.hint), p.aval.dtype, max(p.aval.size, 1), users={p})
        self.env[p] = Stored(buffer, p.aval.shape)
        self.memories[buffer] = name

    def _given(self, p: Var, place: int) -> None:
        dtype = p.aval.dtype
        if not p.aval.shape and place in self.by_value:
            name, given = self.names.fresh(p.hint), np.dtype(np.float32) if is_half(dtype) else dtype
            self.parameters.append((name, Argument("scalar", place, given)))
            self.env[p] = Scalar(CUDA.convert(name, given, dtype), dtype)
            return
        name = self.names.fresh(p.hint)
        self.parameters.append((name, Argument("in", place, dtype)))
        if p.aval.shape:
            self.env[p] = Stored(Buffer(name, dtype, max(p.aval.size, 1), owned=False, users={p}), p.aval.shape)
        else:
            self.env[p] = Scalar(f"*{name}", dtype)

    def _declared(self, name: str, a: Argument) -> str:
        kind = self.type_name(a.dtype)
        if a.role in ("scalar", "number"):
            return f"const {kind} {name}"
        return f"{'const ' if a.role == 'in' else ''}{kind} *__restrict__ {name}"

    def _local_arrays(self) -> None:
        size = sum(b.count * b.dtype.itemsize for b in self.temporaries)
        if size > LOCAL:
            raise NotNative(f"{size:,} bytes of arrays of its own in a thread")
        for b in self.temporaries:
            kind = self.type_name(b.dtype)
            if b not in self.moving:
                self.line(f"{kind} {b.name}[{max(b.count, 1)}];")  # C++ has no arrays of nothing
                continue
            memory = self.names.fresh(f"{b.name}_memory")
            self.line(f"{kind} {memory}[{max(b.count, 1)}], *{b.name} = {memory};")

    # ---- the body ----------------------------------------------------------------------------------

    def _lane(self, loop: For, carried: Sequence[Var]) -> None:
        index, *params = loop.body.params
        for p, init in zip(params, loop.inits, strict=True):
            home = self.env[p] = self.env[self.lifetimes.root(init)]  # type: ignore[index]
            assert isinstance(home, Stored)
            home.buffer.users = {p}
        self.env[index] = Scalar("lane", INT)
        self.block(loop.body)
        for r, init in zip(loop.body.results, loop.inits, strict=True):
            made, home = self.value(r), self.env[init]  # type: ignore[index]
            if not isinstance(made, Stored) or not isinstance(home, Stored) or made.buffer is not home.buffer:
                raise NotNative("lanes whose results do not stay where they are")

    def fail_where(self, bad: str, index: str, error: type[Exception], message: str, span: Span) -> None:
        self.failures.append(Failure(error, message, span))
        place = "lane" if self.group.kind == "lanes" else "0"
        code = f"failed({index}, {len(self.failures)})"
        self.line(f"if ({bad}) {{ failures_ptr[{place}] = {code}; return; }}")

    def check_growth(self, s: Apply, args: Sequence[Scalar], made: Scalar) -> None:
        if s.op.name not in ("add", "subtract", "multiply"):
            raise NotNative("Python ints that may outgrow 64 bits")
        x, y = (a.as_type(INT) for a in args)
        self.fail_where(f"{s.op.name}_outgrows({x}, {y})", "0", WideIntError, TOO_WIDE, s.span)

    def elementwise(self, s: Apply, op: Elementwise) -> Scalar | Array:
        if s.targets[0].aval.shape or not divides_counts(s, self.checks.interval):
            return super().elementwise(s, op)
        (target,), (x, y) = s.targets, (self.scalar(a).as_type(s.targets[0].aval.dtype) for a in s.args)
        return self.declare(target.hint, f"{x} {'/' if op.name == 'floor_divide' else '%'} {y}", target.aval.dtype)

    # ---- half precision ----------------------------------------------------------------------------

    def reduce(self, s: Apply, op: Reduce) -> Scalar | Array:
        return super().reduce(s, op) if self._is_whole(s) else self._refuse(op.numpy)

    def arg_reduce(self, s: Apply, op: ArgReduce) -> Scalar | Array:
        return super().arg_reduce(s, op) if self._is_whole(s) else self._refuse(op.numpy)

    def cumulative(self, s: Apply, op: Cumulative) -> Array:
        return super().cumulative(s, op) if self._is_whole(s) else self._refuse(op.numpy)

    def contract(self, s: Apply) -> Scalar | Array:
        return super().contract(s) if self._is_whole(s) else self._refuse("products")

    def put(self, s: Apply, *, accumulate: bool) -> Array:
        return super().put(s, accumulate=accumulate) if not accumulate or self._is_whole(s) else self._refuse("sums")

    def _is_whole(self, s: Apply) -> bool:
        return not any(is_half(a.aval.dtype) for a in (*s.args, *s.targets))

    def _refuse(self, what: str) -> Array:
        raise NotNative(f"{what} in half precision")
