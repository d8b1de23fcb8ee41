"""Inner functions as values: the arguments of grad, vmap and the like inside a function that is read.

    def step(params, x):                        the program of `loss` alone:
        def loss(p):                                loss(p, *, x)
            return np.sum((p * x) ** 2)
        return params - grad(loss)(params)

What the inner function uses of its surroundings becomes hidden parameters, so that it can be transformed as any
program; where the transformed one is spliced in, they stand for the values outside again.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ...errors import Diagnostic, Span, UnsupportedError
from ...ir import Atom, Block, Capture, Function, Param, Var, free_variables
from ...purpose import purpose
from ...rewrite import copy_block, prune
from ...tree import Kind, TreeDef, close_node
from ..core.context import Context, Snapshot
from ..core.values import Bound, Closure, Partial, Ref, Value
from ..facts.signatures import signature_of_closure
from ..text.signature import Signature, static_value
from ..text.source import Source
from .results import MadeHere, Reading, forget, read_specialised, result_tree

FREE = "free variable"  # `Capture.name` of a hidden parameter whose `function` is the variable outside


class Inner(MadeHere):
    """A function defined while reading, with the reading that it belongs to. It is read anew for each signature."""

    __hash__ = None  # type: ignore[assignment]  # it lives no longer than the reading, so nothing may remember it

    def __init__(self, ctx: Context, value: Closure | Bound | Partial, node: ast.AST) -> None:
        self.ctx, self.value, self.node = ctx, value, node
        self.orders = purpose().orders
        self.__name__ = self.__qualname__ = value.name if isinstance(value, Closure) else "function"
        self.__signature__ = _signature_of(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.__name__} exists only inside the function that is read")

    def __untraced_read__(self, signature: Signature) -> Any:
        """Raises UnsupportedError where the function changes a list or a dict outside it, and if no derivative is
        taken of it, where it writes to an array or binds a name there.
        """
        known = {i for i, value in enumerate(signature.values) if value is not None}
        asked = frozenset(i for i in known if (self.node, i) in self.ctx.loops.unroll)
        left = [i if i in known else None for i in range(len(signature.avals)) if i not in asked]
        return read_specialised(partial(self._read, left), signature, asked)

    def _read(self, leaves: Sequence[int | None], signature: Signature) -> Any:
        """`leaves` numbers those of the signature whose value can be asked for."""
        variables: list[Var] = []
        results: list[Atom] = []

        def body() -> TreeDef:
            arguments = _arguments(self.ctx, signature, variables)
            known = ((v, i) for v, i in zip(variables, leaves, strict=True) if i is not None)
            self.ctx.loops.of.update((v, (self.node, i)) for v, i in known)
            value = self._call(arguments)
            return result_tree(self.ctx, value, results, self._source())

        bound = dict(self.ctx.mirrors.bound)
        shot = self.ctx.read_block(body)
        self._forget(shot, bound)
        block = prune(shot.builder.block(variables, results))
        closed, hidden = close(block)
        params = [Param(name, t) for name, t in signature.params]
        return Reading(Function(self.__name__.strip("<>"), (*params, *hidden), closed, shot.flow))

    def _forget(self, shot: Snapshot, bound: dict[str, Span]) -> None:
        """What the function binds outside itself stays as it was, with a warning, if a derivative is taken of it: as
        where CPython runs that derivative. `bound` is what the reading had bound before.
        """
        span = self.ctx.frame.source.span(self.node)
        derived = purpose().orders > self.orders
        if shot.containers or (not derived and (shot.cells or shot.attributes)):
            raise UnsupportedError(
                Diagnostic(
                    f"{self.__name__} writes to what was made outside it",
                    span,
                    why="its transformation computes values only",
                    instead="return the new values, for instance with has_aux=True",
                )
            )
        noted = {name: s for name, s in self.ctx.mirrors.bound.items() if name not in bound}
        self.ctx.mirrors.bound = bound
        unnoted = {name: span for _, name in shot.attributes if not any(n.split(".")[-1] == name for n in noted)}
        forget(self.ctx, noted | unnoted)

    def _call(self, values: dict[str, Value]) -> Value:
        """What is left out of `values` has its default."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        for name, p in self.__signature__.parameters.items():
            if name not in values:
                continue
            match p.kind:
                case p.VAR_POSITIONAL:
                    args += values[name]
                case p.VAR_KEYWORD:
                    kwargs |= values[name]
                case p.KEYWORD_ONLY:
                    kwargs[name] = values[name]
                case _:
                    args.append(values[name])
        return self.ctx.call(self.value, args, kwargs, self.node)

    def _source(self) -> Source:
        source: Source = self.ctx.frame.source
        return (
            Source(self.__name__, source.file, source.lines, self.value.node)
            if isinstance(self.value, Closure)
            else source
        )


class Argument(Inner):
    """An inner function among the arguments of a transformed one: part of the structure of that call, so hashable."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def close(block: Block) -> tuple[Block, list[Param]]:
    """The block over fresh variables, those of its surroundings as further parameters; what these stand for."""
    free = free_variables(block)
    mapping = {v: Var(v.hint, v.aval) for v in (*block.params, *free)}
    copied = copy_block(Block((), block.statements, block.results), dict(mapping))
    closed = Block(tuple(mapping[v] for v in (*block.params, *free)), copied.statements, copied.results)
    return closed, [Param(f"{v.hint}_outside", capture=Capture(v, FREE)) for v in free]


def _signature_of(value: Closure | Bound | Partial) -> inspect.Signature:
    """The parameters of the definition; any arguments for what is bound to some already."""
    kind = inspect.Parameter
    if not isinstance(value, Closure):
        return inspect.Signature([kind("args", kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)])
    return signature_of_closure(value)


def _arguments(ctx: Context, signature: Signature, variables: list[Var]) -> dict[str, Value]:
    """The parameters as abstract values over new variables, one for each leaf of the signature."""
    waiting = enumerate(signature.avals)

    def opened(t: TreeDef, name: str) -> Value:
        if t.kind is Kind.STATIC:
            return static_value(t)
        if t.kind is not Kind.LEAF:
            labels = t.keys or range(len(t.children))
            return close_node(t, [opened(c, child_name(name, k)) for k, c in zip(labels, t.children, strict=True)])
        leaf, aval = next(waiting)
        v = Var(name, aval)
        variables.append(v)
        if not aval.shape:
            return v
        cell = ctx.cell(v)
        cell.immutable = leaf in signature.immutable
        return Ref(cell)

    return {name: opened(t, name) for name, t in signature.params}


def child_name(name: str, key: Any) -> str:
    """A name for a part of the argument `name`: its field or key, else numbered."""
    return key if isinstance(key, str) and key.isidentifier() else f"{name}_{key}"


def outside(p: Param) -> Var | None:
    """The variable outside that a hidden parameter of an inner function stands for."""
    if p.capture is not None and p.capture.name == FREE and isinstance(p.capture.function, Var):
        return p.capture.function
    return None


def free_outside(function: Function) -> Iterator[tuple[Var, Var]]:
    """(parameter of the body, variable outside) for each hidden parameter that stands for one."""
    place = 0
    for p in function.params:
        v = outside(p)
        if v is not None:
            yield function.body.params[place], v
        place += p.tree.leaf_count
