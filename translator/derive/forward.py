"""Forward mode: every value is computed together with its tangent.

    def f(x, n):                     def f_jvp(x, n, d_x):
        y = np.sin(x)                    y = np.sin(x)
        for i in range(n):               d_y = d_x * np.cos(x)
            y = y * x                    for i in range(n):
        return y                             y_1 = y * x
                                             d_y = d_y * x + d_x * y
                                             y = y_1
                                         return y, d_y

Loops carry the tangents beside the values, so any loop will do, `while` too. Tangents are lazy (`cotangents.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never, cast

from .. import make, ops
from ..builder import Builder
from ..errors import DTypeError
from ..ir import Apply, Atom, Block, For, Function, Fused, If, Invoke, Param, Raise, Statement, Var, While
from ..ops.core import (
    ArgReduce,
    AxesAttrs,
    Cast,
    Collective,
    Concatenate,
    Contract,
    Create,
    CreateAttrs,
    Cumulative,
    Draw,
    Elementwise,
    Fourier,
    Index,
    Linalg,
    Put,
    Reduce,
    Reshape,
    Ruled,
    ShapeAttrs,
    Sort,
    Tape,
)
from ..rewrite import prune, unique_names
from ..tree import Kind, TreeDef
from .across import collective_jvp
from .activity import inexact, linked_args, tangent_tree, varied
from .corners import as_root
from .cotangents import adjoint_hint, cast_like, materialise, named, strong
from .factors import linalg_jvp
from .linear import concatenate_jvp, contract_jvp, index_parts, put_jvp
from .lists import is_list, tape_jvp, zero_list
from .muted import Mute, Mutes, beside_stored, muted_jvp
from .reductions import cumulative_jvp, reduce_jvp
from .reverse import without_leaves
from .routines import routine_jvp
from .ruled import ruled_jvp
from .spectra import extreme_jvp, fourier_jvp, sort_jvp


def jvp(function: Function, active: Sequence[bool]) -> Function:
    """Parameters: those of `function`, then for each with active leaves a tree `d_<name>` of their tangents.

    Results: (result, tangents), the tangents a tree like the result with zeros of dtype float0 in place of integer and
    bool leaves; as leaves: the result's, then the tangents of the real and complex ones, zeros where nothing is
    active.
    Raises DTypeError for an active leaf that is neither real nor complex.
    """
    params = function.body.params
    for v, on in zip(params, active, strict=True):
        if on and not inexact(v.aval):
            raise DTypeError(
                "jvp requires real- or complex-valued inputs, "
                f"but got {v.aval.dtype.name} for `{v.hint}` of {function.name}"
            )
    seeds = {v: Var(adjoint_hint(v), v.aval) for v, on in zip(params, active, strict=True) if on}
    b = Builder(function.span)
    found = forward(b, function.body, dict(seeds))
    results = function.body.results[: function.out.leaf_count]
    marks = [inexact(r.aval) for r in results]
    outs = [materialise(b, t, strong(r.aval)) for t, r, m in zip(found, results, marks, strict=False) if m]
    body = prune(Block((*params, *seeds.values()), tuple(b.statements), (*results, *outs)))
    tree = TreeDef(Kind.TUPLE, (function.out, tangent_tree(function.out, [r.aval for r in results])))
    all_params = (*function.params, *_tangent_params(function, active))
    return Function(f"{function.name}_jvp", all_params, body, tree, span=function.span)


def _tangent_params(function: Function, active: Sequence[bool]) -> list[Param]:
    feed = iter(active)
    chosen = []
    for p in function.params:
        marks = [next(feed) for _ in range(p.tree.leaf_count)]
        if any(marks):
            chosen.append((f"d_{p.name}", without_leaves(p.tree, marks)))
    names = unique_names([name for name, _ in chosen], {p.name for p in function.params})
    return [Param(name, tree) for name, (_, tree) in zip(names, chosen, strict=True)]


def forward(b: Builder, body: Block, tangents: dict[Var, Atom]) -> list[Atom | None]:
    """Append the statements of a body and of its tangents, those of `tangents` given; the tangents of its results."""
    pass_ = _Forward(varied(body, tangents))
    pass_.tangents.update(tangents)
    pass_.block(b, body.statements)
    return [pass_.of(r) for r in body.results]


class _Forward:
    """Appends statements together with those of the tangents. `varied` are the values that may have one."""

    def __init__(self, varied: set[Var]) -> None:
        self.varied = varied
        self.tangents: dict[Var, Atom] = {}
        self.mutes: Mutes = {}

    def of(self, a: Atom) -> Atom | None:
        return self.tangents.get(a) if isinstance(a, Var) else None

    def full(self, b: Builder, a: Atom) -> Atom:
        """The tangent of `a` with its full shape; zeros where there is none."""
        if is_list(a) and self.of(a) is None:
            return zero_list(b, a, b.definitions, adjoint_hint(cast(Var, a)))
        return materialise(b, self.of(a), strong(a.aval))

    def _entry(self, b: Builder, s: Apply, ts: Sequence[Atom | None]) -> Atom | None:
        """The tangent of what `s` puts on a list."""
        added = len(s.args) > 1 and is_list(s.targets[0])
        wanted = added and (ts[1] is not None or s.op is not ops.ADD_ITEM)
        return self.full(b, s.args[1]) if wanted else None

    def block(self, b: Builder, statements: Sequence[Statement]) -> None:
        for s in statements:
            with b.at(s.span):
                self.statement(b, s)

    def statement(self, b: Builder, s: Statement) -> None:
        match s:
            case Apply(op=Ruled()):
                linked = linked_args(s)
                ts = [self.of(a) if i in linked else None for i, a in enumerate(s.args)]
                made = ruled_jvp(b, s, ts)
                self.tangents.update((v, t) for v, t in zip(s.targets, made, strict=True) if t is not None)
            case Apply():
                b.append(s)
                if s.targets[0] in self.varied:
                    t = self.apply(b, s)
                    if t is not None:
                        v = s.targets[0]
                        self.tangents[v] = t if v.hint == "t" else named(b, t, adjoint_hint(v))
            case If():
                self.branch(b, s)
            case For() | While():
                self.loop(b, s)
            case Raise():
                b.append(s)
            case Invoke():
                self.tangents.update(routine_jvp(b, s, [self.of(a) for a in s.args], forward))
            case Fused():
                raise AssertionError("derivatives are taken before fusion")
            case _:
                assert_never(s)

    def apply(self, b: Builder, s: Apply) -> Atom | None:
        """The tangent of the target, lazily; None for zero."""
        s = as_root(s, b.definitions)
        linked = set(linked_args(s))
        ts = [self.of(a) if i in linked else None for i, a in enumerate(s.args)]
        if all(t is None for t in ts):
            return None
        op, t, out = s.op, ts[0], strong(s.targets[0].aval)
        match op:
            case Elementwise():
                return muted_jvp(b, s, ts, self.mutes)
            case Contract():
                return contract_jvp(b, s, ts)
            case Concatenate():
                return concatenate_jvp(b, s, ts)
            case Linalg():
                return linalg_jvp(b, s, ts)
            case Put():
                if ts[0] is None and (mute := beside_stored(b, s)) is not None:
                    self.mutes[s.targets[0]] = (mute,)
                return put_jvp(b, s, ts[0], ts[1])
            case Tape():
                return tape_jvp(b, s, t, self._entry(b, s, ts), b.definitions)
            case ArgReduce() | Ruled() | Draw():
                return None
            case Collective():
                assert t is not None
                return collective_jvp(b, s, t)
            case Cast() | Reduce() | Cumulative() | Sort() | Fourier() | Reshape() | Create() | Index():
                assert t is not None
        match op:
            case Cast():
                if isinstance(s.args[0], Var) and s.args[0] in self.mutes:
                    self.mutes[s.targets[0]] = self.mutes[s.args[0]]
                return cast_like(b, t, out)
            case Reduce():
                return reduce_jvp(b, s, t)
            case Cumulative(name="cummax" | "cummin"):
                return extreme_jvp(b, s, t)
            case Cumulative():
                return cumulative_jvp(b, s, t)
            case Sort():
                return sort_jvp(b, s, t)
            case Fourier():
                return fourier_jvp(b, s, t)
            case Reshape():
                return _reshape(b, s, t)
            case Create():
                assert isinstance(s.attrs, CreateAttrs)
                return cast_like(b, t, out)
            case Index():
                if not t.aval.shape:
                    return t
                return make.index(b, materialise(b, t, strong(s.args[0].aval)), *index_parts(s, 1))
            case _:
                assert_never(op)

    def branch(self, b: Builder, s: If) -> None:
        """Both branches return the tangents of the targets that may have one."""
        moving = [i for i, t in enumerate(s.targets) if t in self.varied]
        blocks = []
        for side, block in ((True, s.then), (False, s.orelse)):
            inner = Builder(s.span)
            self.block(inner, block.statements)
            extra = tuple(self.full(inner, block.results[i]) for i in moving)
            blocks.append(Block(block.params, tuple(inner.statements), (*block.results, *extra)))
            for i in moving:
                if self.of(value := block.results[i]) is None:
                    self.mutes[s.targets[i]] = (Mute(ops.WHERE, (s.condition,), side, value),)
        new = self.fresh([s.targets[i] for i in moving])
        b.append(If((*s.targets, *new), s.condition, blocks[0], blocks[1], s.span))

    def loop(self, b: Builder, s: For | While) -> None:
        carried = s.body.params[1:] if isinstance(s, For) else s.body.params
        moving = [i for i, v in enumerate(carried) if v in self.varied]
        inits = (*s.inits, *(self.full(b, s.inits[i]) for i in moving))
        entry = self.fresh([carried[i] for i in moving])
        inner = Builder(s.span)
        self.block(inner, s.body.statements)
        results = (*s.body.results, *(self.full(inner, s.body.results[i]) for i in moving))
        body = Block((*s.body.params, *entry), tuple(inner.statements), results)
        targets = (*s.targets, *self.fresh([s.targets[i] for i in moving]))
        if isinstance(s, For):
            b.append(For(targets, s.range, inits, body, s.parallel, s.span))
            return
        unused = tuple(Var(v.hint, v.aval) for v in entry)
        test = Block((*s.condition.params, *unused), s.condition.statements, s.condition.results)
        b.append(While(targets, inits, test, body, s.span))

    def fresh(self, values: Sequence[Var]) -> tuple[Var, ...]:
        """New variables for the tangents of these values."""
        new = tuple(Var(adjoint_hint(v), strong(v.aval)) for v in values)
        self.tangents.update(zip(values, new, strict=True))
        return new


def _reshape(b: Builder, s: Apply, t: Atom) -> Atom:
    """The same change of axes; what stays implicit needs none."""
    if not t.aval.shape or (s.op.name == "broadcast_to"):
        return t
    t = materialise(b, t, strong(s.args[0].aval))
    match s.attrs:
        case AxesAttrs(axes=axes) if s.op.name == "transpose":
            return make.transpose(b, t, axes)
        case AxesAttrs(axes=axes) if s.op.name == "expand_dims":
            return make.expand_dims(b, t, axes)
        case AxesAttrs(axes=axes):
            return make.squeeze(b, t, axes)
        case ShapeAttrs(shape=shape):
            return make.reshape(b, t, shape)
    raise AssertionError(f"{s.op.name} with {s.attrs}")
