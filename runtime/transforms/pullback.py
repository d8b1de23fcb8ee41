"""The two halves of vjp: a forward program that also returns what the backward one needs, and that backward program.

    out, aux, residuals, backward = Forward(fun, ...)(*primals)
    cotangents = backward(residuals, ct)

`backward` is a value known at translation: it stands in the structure of the forward program's result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.builder import Builder
from ...translator.derive import reverse
from ...translator.errors import Span
from ...translator.ir import Atom, Block, Function, Param, Var
from ...translator.pipeline import Positions, note
from ...translator.reading.functions.results import Reading
from ...translator.reading.text.signature import Signature
from ...translator.rewrite import splice_block, without_raises
from ...translator.tree import NONE, Kind, TreeDef, Unlike, beside, static, tuple_tree
from ..calls.accelerated import Accelerated
from ..trees.tree_util import describe
from . import choices, rules
from .products import fitting, product_signature
from .transformation import Transformation, transformed


class Forward(Transformation):
    """fun(*primals) -> (result, aux or None, residuals, backward)."""

    verb = "vjp"
    stage = "derive"

    def __init__(self, fun: Callable[..., Any], count: int, has_aux: bool, options: Any = None) -> None:
        self.count, self.has_aux, self.options = count, has_aux, options
        super().__init__(fun)

    @classmethod
    def of_accelerated(cls, fun: Accelerated, *options: Any) -> Forward:
        count, has_aux = options
        return cls(fun.fun, count, has_aux, fun.options.without_arguments())

    def rule(self, function: Function, positions: Positions, signature: Signature) -> Function:
        main, aux = rules.split_aux(function.out, self.has_aux)
        results = function.body.results[: main.leaf_count]
        only = dataclasses.replace(
            function, body=dataclasses.replace(function.body, results=results), out=main, mutated=()
        )
        arguments = choices.positional(self.fun, signature)[: self.count]
        chosen = choices.Chosen.of(arguments, signature, TreeDef(Kind.TUPLE, tuple(tree for _, tree in arguments)))
        places, tree = rules.differentiable(only, positions, chosen, allow_int=True)
        ahead, back = reverse.vjp_split(only, places, out=tree)
        return self._with_aux(function, ahead, main, aux, Backward(back, main))

    def _with_aux(
        self, function: Function, ahead: Function, main: TreeDef, aux: TreeDef | None, backward: Backward
    ) -> Function:
        outer = tuple(Var(v.hint, v.aval) for v in function.body.params)
        b = Builder(function.span)
        outs = splice_block(b, ahead, outer)
        again = dataclasses.replace(function.body, statements=without_raises(function.body.statements))
        extra = splice_block(b, again, outer)[main.leaf_count : function.out.leaf_count] if aux else ()
        m = main.leaf_count
        residuals = outs[m:]
        tree = TreeDef(
            Kind.TUPLE,
            (main, aux or NONE, tuple_tree(len(residuals)), static(self._ready(backward))),
        )
        body = Block(outer, tuple(b.statements), (*outs[:m], *extra, *residuals))
        return Function(ahead.name, function.params, body, tree, span=function.span)

    def _ready(self, backward: Backward) -> Any:
        return Accelerated(backward, self.options) if self.options is not None else backward


class Backward(Transformation):
    """(residuals, ct) -> cotangents of the primals, a tuple of trees."""

    verb = "the pullback"

    def __init__(self, function: Function, main: TreeDef) -> None:
        self.function, self.main = function, main
        super().__init__(_named(function.name))
        self.__signature__ = product_signature("residuals", "ct")
        del self.__wrapped__

    @property
    def place(self) -> Span:
        return self.function.span

    def __call__(self, residuals: Any, ct: Any) -> Any:
        """Conditions among the residuals, Python's bools where Python numbers are compared, are data here."""
        return super().__call__(tuple(np.bool_(r) if type(r) is bool else r for r in residuals), ct)

    def __untraced_read__(self, signature: Signature) -> Reading:
        (_, residuals), (_, given) = signature.params
        inner = self.function.body.params
        outer = [Var(v.hint, a) for v, a in zip(inner, signature.avals, strict=False)]
        outer += [Var("ct", a) for a in signature.avals[len(outer) :]]
        count = residuals.leaf_count
        b = Builder(self.function.span)
        cts = self._cotangents(given, outer[count:])
        atoms: list[Atom] = list(outer[:count])
        atoms += [fitting(b, c, v.aval, path) for (path, c), v in zip(cts, inner[count:], strict=True)]
        results = splice_block(b, self.function, atoms)
        params = (Param("residuals", residuals), Param("ct", given))
        body = Block(tuple(outer), tuple(b.statements), results)
        function = Function(self.function.name, params, body, self.function.out, span=self.function.span)
        return Reading(note("derive", function), frozenset(), ())


    def _cotangents(self, given: TreeDef, cts: Sequence[Var]) -> list[tuple[str, Var]]:
        """The cotangents of the real and complex results, each with its path; those of others may be anything.

        Raises ValueError where the structure is not that of the result.
        """
        waiting = iter(cts)
        found: list[tuple[str, Var]] = []
        wanted = [node.kind is Kind.LEAF for _, node in beside(self.main, self.function.params[-1].tree)]
        try:
            for (path, node), moves in zip(beside(self.main, given, "ct"), wanted, strict=True):
                ct = next(waiting) if node.kind is Kind.LEAF else None
                if moves and ct is None:
                    raise Unlike(path)
                if moves and ct is not None:
                    found.append((path, ct))
        except Unlike as where:
            raise ValueError(
                f"the cotangent given to vjp_fun has the structure {describe(given)}, but the result of the function "
                f"has {describe(self.main)}: they differ at {where}"
            ) from None
        return found


def _named(name: str) -> Callable[..., Any]:
    def backward(residuals: Any, ct: Any) -> Any:
        """Stands for the program, which has the name and no source of its own."""

    backward.__name__ = backward.__qualname__ = name
    return backward


def forward_half(fun: Callable[..., Any], count: int, has_aux: bool) -> Any:
    """The function that `vjp` calls; accelerated where `fun` is."""
    return transformed(fun, Forward, count, has_aux)
