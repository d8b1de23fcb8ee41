"""Runs a fused program: groups as kernels, products and shape operations by an array module, control flow on the host.

The backend is the only thing that knows a device, so that the same executor runs on a GPU (CuPy) and, in the tests, on
NumPy arrays with kernels executed by Triton's interpreter or compiled for the host.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

from ..translator.errors import RaisedError, UnsupportedError
from ..translator.evaluate import apply_op
from ..translator.ir import (
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
)
from ..translator.ops.core import Contract, Elementwise, IndexAttrs, Put
from ..translator.passes.groups import kind_of, report
from ..translator.routines import left_to_cpython
from .arrays import apply_on, is_host, store
from .decompose import decompose
from .facts import H200, Facts
from .plan import plan, single
from .program import GroupPlan, Launch, Program
from .settle import settle


class Backend(Protocol):
    """A device: its array module and how kernels of its language are launched on its arrays."""

    language: str
    xp: Any

    def launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        """Run one kernel; `arguments` are arrays and NumPy scalars of exactly the types that the kernel takes."""

    def asarray(self, value: Any) -> Any:
        """The value in the device's memory."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A generated kernel as `inspect` shows it; `program` can be compiled with `ahead.compile_program`.

    The rest is its group's; a reduction in two stages has two kernels of one group.
    """

    name: str
    language: str
    source: str
    lines: tuple[int, ...]
    bytes_moved: int
    bytes_minimum: int
    why_cut: str
    kind: str
    program: Program


_Environment = dict[Var, Any]
_Key = tuple[Any, ...]


class _Group:
    """A group as it runs: its kernels for each set of strides seen, or None where it runs operation by operation."""

    def __init__(self, fused: Fused, name: str, language: str) -> None:
        self.name = name
        self.language = language
        self.plans: dict[_Key, GroupPlan] = {}
        self.fused: Fused | None
        self.refusal = ""
        try:
            self.fused = decompose(fused, language)
            self.plan_for({}, frozenset(i for i, p in enumerate(fused.body.params) if not p.aval.shape))
        except UnsupportedError as error:
            self.fused, self.refusal = None, str(error)

    def plan_for(self, strides: dict[int, tuple[int, ...]], scalars: frozenset[int]) -> GroupPlan:
        assert self.fused is not None
        key = (scalars, *strides.items())
        found = self.plans.get(key)
        if found is None:
            found = self.plans[key] = plan(self.fused, self.language, self.name, strides, scalars)
        return found


class GpuExecutor:
    """A callable program: `executor(leaves)` takes values of `body.params` and returns those of `body.results`."""

    def __init__(self, function: Function, backend: Backend, facts: Facts = H200) -> None:
        self.function = settle(function, backend.language, facts)
        self.backend = backend
        self.groups: dict[int, _Group] = {}
        self.singles: dict[int, Fused] = {}
        self.constants: dict[int, Any] = {}
        self.last_uses: dict[int, list[list[Var]]] = {}

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        return self.block(self.function.body, list(leaves), {})

    # ---- statements --------------------------------------------------------------------------------

    def block(self, block: Block, arguments: list[Any], outer: _Environment) -> list[Any]:
        """The block's results. `arguments` is emptied: values are let go of after their last use."""
        env = dict(outer)
        env.update(zip(block.params, arguments, strict=True))
        arguments.clear()
        for s, dying in zip(block.statements, self.deaths(block), strict=True):
            env.update(zip(s.targets, self.statement(s, env, dying), strict=True))
            for v in dying:
                env.pop(v, None)
        return [self.value(a, env) for a in block.results]

    def deaths(self, block: Block) -> list[list[Var]]:
        """For each statement the values of the block that nothing needs after it."""
        if id(block) not in self.last_uses:
            alive = {a for a in block.results if isinstance(a, Var)}
            own = set(block.params).union(*(s.targets for s in block.statements))
            deaths: list[list[Var]] = []
            for s in reversed(block.statements):
                used = [a for a in inputs_of(s) if isinstance(a, Var)]
                used += [v for inner in blocks_of(s) for v in free_variables(inner)]
                dying = [v for v in dict.fromkeys((*used, *s.targets)) if v not in alive and v in own]
                alive.update(dying)
                deaths.append(dying)
            self.last_uses[id(block)] = deaths[::-1]
        return self.last_uses[id(block)]

    def statement(self, s: Statement, env: _Environment, dying: Sequence[Var]) -> Sequence[Any]:
        match s:
            case Apply(op=Put()):
                return (self.put(s, env, dying),)
            case Apply():
                return (self.apply(s, env),)
            case Fused():
                return self.fused(s, [self.value(a, env) for a in s.args])
            case If():
                return self.block(s.then if bool(self.value(s.condition, env)) else s.orelse, [], env)
            case For():
                return self.loop(s, env)
            case Invoke():
                raise left_to_cpython(s)
            case Raise():
                if bool(self.value(s.condition, env)):
                    raise RaisedError(f"{s.error.error.__name__}, which CPython was to raise")
                return ()
            case While():
                carried = [self.value(a, env) for a in s.inits]
                while bool(self.block(s.condition, list(carried), env)[0]):
                    carried = self.block(s.body, carried, env)
                return carried
            case _:
                assert_never(s)

    def loop(self, s: For, env: _Environment) -> list[Any]:
        r = s.range
        indices = range(*(int(self.value(a, env)) for a in (r.start, r.stop, r.step)))
        carried = [self.value(a, env) for a in s.inits]
        for i in reversed(indices) if r.reverse else indices:
            carried.insert(0, i)
            carried = self.block(s.body, carried, env)
        return carried

    def value(self, a: Atom, env: _Environment) -> Any:
        if isinstance(a, Var):
            return env[a]
        if not a.aval.shape:
            return a.value
        key = id(a)
        if key not in self.constants:
            self.constants[key] = self.backend.asarray(a.value)
        return self.constants[key]

    def apply(self, s: Apply, env: _Environment) -> Any:
        values = [self.value(a, env) for a in s.args]
        kind = kind_of(s) or ("pointwise" if isinstance(s.op, Elementwise) else "")
        if kind in ("", "contract") or all(map(is_host, values)):
            return apply_on(self.backend.xp, s.op, values, s.attrs, s.targets[0].aval.dtype)
        group = self.singles.get(id(s))
        if group is None:
            group = self.singles[id(s)] = single(s, kind)
        known = dict(zip(s.args, values, strict=True))
        return self.fused(group, [known[a] if a in known else self.value(a, env) for a in group.args])[0]

    def put(self, s: Apply, env: _Environment, dying: Sequence[Var]) -> Any:
        """A store: in place where nothing else can see the array, into a copy otherwise."""
        assert isinstance(s.op, Put) and isinstance(s.attrs, IndexAttrs)
        values = [self.value(a, env) for a in s.args]
        for v in dying:
            env.pop(v, None)
        x, values[0] = values[0], None
        # Views hold their base: two references are this name's and the count's own argument's.
        if is_host(x) or x.base is not None or sys.getrefcount(x) > 2:
            x = self.backend.xp.array(x)
        store(self.backend.xp, s.op.name, x, values, s.attrs)
        return x

    # ---- groups ------------------------------------------------------------------------------------

    def group(self, s: Fused) -> _Group:
        found = self.groups.get(id(s))
        if found is None:
            found = self.groups[id(s)] = _Group(s, self.function.name, self.backend.language)
        return found

    def fused(self, s: Fused, values: list[Any]) -> list[Any]:
        group = self.group(s)
        if group.fused is None:
            return self.one_by_one(s, values)
        if all(map(is_host, values)) and not any(t.aval.shape for t in s.targets):
            return self.one_by_one(s, values)
        scalars = frozenset(i for i, v in enumerate(values) if is_host(v))
        params = group.fused.body.params
        values = [v if is_host(v) else _typed(v, p) for v, p in zip(values, params, strict=True)]
        strides = {
            i: tuple(n // v.itemsize for n in v.strides)
            for i, v in enumerate(values)
            if i not in scalars and not v.flags.c_contiguous
        }
        return self.run(group.plan_for(strides, scalars), values, s)

    def run(self, chosen: GroupPlan, values: Sequence[Any], s: Fused) -> list[Any]:
        xp = self.backend.xp
        outputs = [xp.empty(t.aval.shape, t.aval.dtype) for t in s.targets]
        partials = [xp.empty(shape, dtype) for shape, dtype in chosen.partials]
        arrays = {"in": values, "out": outputs, "partial": partials}
        for launch in chosen.launches:
            if launch.grid[0] * launch.grid[1] == 0:
                continue
            arguments = [_argument(a, arrays) for a in launch.arguments]
            self.backend.launch(launch, arguments)
        return outputs

    def one_by_one(self, s: Fused, values: Sequence[Any]) -> list[Any]:
        """The operations of a group that no kernel can express, through the array module."""
        inner: _Environment = dict(zip(s.body.params, values, strict=True))
        for b in s.body.statements:
            assert isinstance(b, Apply)
            operands = [self.value(a, inner) for a in b.args]
            apply = apply_op(b.op, operands, b.attrs) if all(map(is_host, operands)) else None
            if apply is None or b.targets[0].aval.shape:
                apply = apply_on(self.backend.xp, b.op, operands, b.attrs, b.targets[0].aval.dtype)
            inner[b.targets[0]] = apply
        return [self.value(r, inner) for r in s.body.results]


def _argument(a: Any, arrays: dict[str, Any]) -> Any:
    match a.role:
        case "number":
            return a.dtype.type(a.value)
        case "scalar":
            return a.dtype.type(arrays["in"][a.index])
    return arrays[a.role][a.index]


def _typed(value: Any, param: Var) -> Any:
    return value if value.dtype == param.aval.dtype else value.astype(param.aval.dtype)


# ---- inspecting ----------------------------------------------------------------------------------


def kernels_of(function: Function, language: str, facts: Facts = H200) -> tuple[Kernel, ...]:
    """The kernels of a fused program, in order, for arrays in C order; groups that no kernel can express have none.

    `language` is "triton" or "cuda". Needs neither a device nor the language's compiler.
    """
    function = settle(function, language, facts)
    groups = iter(report(function, lone=True))
    found: list[Kernel] = []
    for s in _kernel_statements(function.body):
        g = next(groups)
        fused = _as_group(s)
        if fused is None:
            continue
        group = _Group(fused, function.name, language)
        for chosen in group.plans.values():
            for launch in chosen.launches:
                p = launch.program
                moved = g.bytes_moved + chosen.bytes_between
                found.append(Kernel(p.name, language, p.source, g.lines, moved, g.bytes_minimum, g.why_cut, g.kind, p))
    return tuple(found)


def _kernel_statements(block: Block) -> list[Statement]:
    found: list[Statement] = []
    for s in block.statements:
        if kind_of(s):
            found.append(s)
        elif not isinstance(s, Apply):
            for inner in blocks_of(s):
                found += _kernel_statements(inner)
    return found


def _as_group(s: Statement) -> Fused | None:
    if isinstance(s, Fused):
        return s
    assert isinstance(s, Apply)
    return None if isinstance(s.op, Contract) else single(s, kind_of(s))
