"""`custom_vmap`: functions of which the user says what a batch is; the namespace `untraced.custom_batching`.

    @custom_vmap                                  vmap(solve)(xs) is what the rule gives for all xs at once
    def solve(x): ...

    @solve.def_vmap
    def rule(axis_size, in_batched, xs): return solve_all(xs), True

The function is read with its results marked by the rule. A derivative sees the function; a batch reads the rule, which
is NumPy source, for the arguments that have turned out to be batched, and splices it in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...translator import make
from ...translator.batch.rules import Value, batched_aval, spread
from ...translator.builder import Builder
from ...translator.errors import tell_place
from ...translator.ir import Apply, Atom, Capture, Root, Var
from ...translator.library.looping import map_rows
from ...translator.ops.core import RULED, RuledAttrs
from ...translator.purpose import purpose, purposed
from ...translator.reading.core.guards import Guard
from ...translator.reading.functions.results import Reading
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature, static_value
from ...translator.reading.text.source import definition
from ...translator.rewrite import splice_block
from ...translator.tree import Kind, TreeDef
from ..calls.callables import readable
from ..trees.tree import map as tree_map
from ..trees.tree_util import describe
from .custom import Wrapper
from .products import rebuild
from .splicing import Site, Tagged

Fun = Callable[..., Any]
_read: ContextVar[list[Guard] | None] = ContextVar("read", default=None)


@contextmanager
def rules_read() -> Iterator[list[Guard]]:
    """The facts that the rules read inside rely on, which belong to the reading of the batch."""
    found: list[Guard] = []
    token = _read.set(found)
    try:
        yield found
    finally:
        _read.reset(token)


class CustomVmap(Wrapper):
    """See `custom_vmap`."""

    verb = "custom_vmap"
    nondiff_argnums: tuple[int, ...] = ()
    nondiff_argnames: tuple[str, ...] = ()
    vmap_rule: Fun | None = None

    def def_vmap(self, vmap_rule: Fun) -> Fun:
        """Give the rule: vmap_rule(axis_size, in_batched, *args) -> (result, out_batched). A decorator.

        `args` are those of the function, the batched ones with the batch as their first axis; `in_batched` is a list of
        trees like the arguments, and `out_batched` a tree like the result or a prefix of it, of bools: whether there
        is that axis.
        """
        self.vmap_rule = readable(vmap_rule)
        return vmap_rule

    def __untraced_read__(self, signature: Signature) -> Reading:
        reading = read(self.fun, signature)
        if not purpose().keeps_calls:
            return reading
        site, root = BatchSite(self, signature, reading), Root(self)
        watched = Guard(Capture(root, "vmap_rule"), "same", self.vmap_rule, root)
        return dataclasses.replace(reading, function=site.marked(), guards=(*reading.guards, watched))


class BatchSite(Site):
    """A call of a custom_vmap, and what its rule makes of a batch."""

    def marked(self) -> Any:
        """The program of the function, its results marked."""
        function = self.primal.function
        b = Builder(function.span)
        outer = tuple(Var(v.hint, v.aval) for v in function.body.params)
        values = splice_block(b, function, outer)
        targets = tuple(Var(v.hint if isinstance(v, Var) else "t", v.aval) for v in values)
        b.append(Apply(targets, RULED, (*values, *outer), RuledAttrs(len(values), batch=self.batched), b.span))
        return dataclasses.replace(function, body=b.block(outer, targets))

    def batched(self, b: Builder, inputs: Sequence[Atom], lanes: Sequence[bool], size: int) -> list[Atom]:
        """The results for a batch of `size`, all with the batch axis in front; `lanes` says which inputs have one."""
        if self.custom.vmap_rule is None:
            name = self.custom.__name__
            error = AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap")
            tell_place(error, definition(self.custom.fun))
            raise error
        mapped = {i for i, lane in zip(self.kept, lanes, strict=False) if lane}
        with purposed(keeps_calls=True):  # what the batch is made for is known no more
            part = self.read(self.custom.vmap_rule, self._arguments(mapped, size), {("input", i): None for i in mapped})
        if part.hidden:
            raise self.refused(f"the rule of {self.name} uses the array {part.hidden[0].param.name} from outside")
        if not part.statics <= self.primal.statics:
            raise self.refused(f"the rule of {self.name} needs to know an argument before the run")
        found = _read.get()
        if found is not None:
            found += part.guards
        given = self.input_values([Var("x", a.aval) for a in inputs])
        given |= {("input", i): a for i, a in zip(self.kept, inputs, strict=False)}
        results = self.spliced(b, part, given, ())
        return self._with_axes(b, part.function.out, results, size)

    def _arguments(self, mapped: set[int], size: int) -> list[Any]:
        """What the rule is called for."""
        avals = self.signature.avals
        flags, values = [], []
        for first, tree in self.every:
            leaves = range(first, first + tree.leaf_count)
            flags.append(rebuild(tree, iter([i in mapped for i in leaves])))
            tagged = [Tagged(batched_aval(avals[i], size) if i in mapped else avals[i], ("input", i)) for i in leaves]
            values.append(rebuild(tree, iter(tagged)))
        return [size, flags, *values]

    def _with_axes(self, b: Builder, out: TreeDef, results: Sequence[Atom], size: int) -> list[Atom]:
        what = f"the rule of {self.name}"
        if out.kind not in (Kind.TUPLE, Kind.LIST) or len(out.children) != 2:
            raise TypeError(f"{what} must return a pair, the result and whether it is batched, not {describe(out)}")
        value, flags = out.children
        if describe(value) != describe(self.primal.function.out):
            wanted = describe(self.primal.function.out)
            raise TypeError(f"{what} must give a result like the function's, {wanted}, but gives {describe(value)}")
        made = []
        for r, v, lane in zip(results, self.values, _flags(value, flags, what), strict=True):
            aval = batched_aval(v.aval, size) if lane else v.aval
            if r.aval.shape != aval.shape:
                raise TypeError(f"{what} must give the shape {aval.shape}, as it says, but gives {r.aval.shape}")
            made.append(spread(b, Value(make.fitted(b, r, aval), lane, v.aval), size))
        return made


def _flags(value: TreeDef, flags: TreeDef, what: str) -> list[bool]:
    """One bool for each leaf, of a tree of bools that is a prefix of the result."""
    if flags.kind is Kind.STATIC and isinstance(static_value(flags), bool):
        return [static_value(flags)] * value.leaf_count
    if flags.kind is Kind.LEAF or len(flags.children) != len(value.children):
        raise TypeError(f"{what} must say with bools whether each part of the result is batched, not {describe(flags)}")
    return [lane for v, f in zip(value.children, flags.children, strict=True) for lane in _flags(v, f, what)]


def custom_vmap(fun: Fun) -> CustomVmap:
    """`fun` with a batch of its own, given with `.def_vmap`; a decorator. As jax.custom_batching.custom_vmap.

    The rule should give what the elements one by one would: a derivative of the function is batched as any other
    program is, and where a loop runs the elements one after another it runs the function. A vmap without a rule is an
    AttributeError. A rule may use functions and numbers from outside, no arrays.

    >>> @custom_vmap
    ... def total(x):
    ...     return np.sum(x)
    >>> @total.def_vmap
    ... def rule(axis_size, in_batched, xs):
    ...     return np.sum(xs, axis=1), True
    >>> untraced.vmap(total)(np.ones((2, 3)))
    array([3., 3.])
    """
    return CustomVmap(fun)


def sequential_vmap(f: Fun) -> CustomVmap:
    """`f`, of which a batch is a loop over its elements, so that memory for one is enough; a decorator."""
    custom = CustomVmap(f)

    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        def one(i: Any) -> Any:
            return f(*tree_map(lambda lane, x: x[i] if lane else x, tuple(in_batched), args))

        return map_rows(one, np.arange(axis_size)), True

    custom.def_vmap(rule)
    return custom


__all__ = ["custom_vmap", "sequential_vmap"]

for _made_at_translation in (custom_vmap, sequential_vmap, CustomVmap.def_vmap):
    _made_at_translation.__dict__["__untraced_static__"] = True
