"""Reverse mode: a program becomes its gradient, which is a program too.

    def loss(w, x, y):              def loss_grad(w, x, y):
        h = np.tanh(x @ w)              h = np.tanh(x @ w)
        e = h - y                       e = h - y
        return np.mean(e * e)           d_e = e * 0.0015625      # 2 / 1280
                                        d_t = d_e * (1.0 - h * h)
                                        return x.T @ d_t

Cotangents follow JAX's convention: for complex z they are multiplied by the partial, not by its conjugate. The final
values of arguments that the function writes in place count as results without cotangent; derivatives write none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..builder import Builder
from ..errors import Diagnostic, DTypeError, MismatchError
from ..ir import Atom, Block, Function, Param, Statement, Var, const, free_variables
from ..rewrite import copy_block, prune, unique_names
from ..tree import LEAF, NONE, Kind, TreeDef, flat_tree, tuple_tree
from .activity import inexact, useful, varied
from .adjoints import Adjoints
from .cotangents import materialise, strong
from .fresh import set_once
from .linear import assembled
from .lists import made_again
from .trips import Trips


def grad(
    function: Function,
    wrt: Sequence[int],
    *,
    value: bool = False,
    aux: int = 0,
    out: TreeDef | None = None,
) -> Function:
    """The gradient of the first result leaf, a real scalar, with respect to the parameter leaves `wrt`.

    Same parameters. Results: the value if `value`, the `aux` trailing result leaves, then one gradient for each of
    `wrt`, of the leaf's shape and dtype (of a Python number, a NumPy scalar). `out` is their structure; without it they
    are a flat tuple, or the one result itself.

    Raises DTypeError where the result is not one real scalar, or a leaf of `wrt` is neither real nor complex.
    """
    _check_inputs(function, wrt, "grad")
    results = function.body.results[: function.out.leaf_count]
    main, rest = results[: len(results) - aux], results[len(results) - aux :]
    _check_scalar(main)
    b, forward, gradients = _derive(function, wrt, main, [const(1.0)])
    outputs = (*(main if value else ()), *rest, *gradients)
    body = set_once(prune(Block(function.body.params, (*forward, *b.statements), outputs)))
    return Function(f"{function.name}_grad", function.params, body, out or flat_tree(len(outputs)), span=function.span)


def vjp(function: Function, wrt: Sequence[int], *, out: TreeDef | None = None) -> Function:
    """Parameters: those of `function`, then `ct`, a tree of cotangents like its result (None for integer leaves).

    Results: one cotangent for each parameter leaf in `wrt`. Raises DTypeError for a leaf of `wrt` without derivatives.
    """
    _check_inputs(function, wrt, "vjp")
    results = function.body.results[: function.out.leaf_count]
    param, cts = _cotangent_param(function)
    b, forward, gradients = _derive(function, wrt, results, cts)
    params = (*function.body.params, *(c for c in cts if c is not None))
    body = set_once(prune(Block(params, (*forward, *b.statements), gradients)))
    trees = (*function.params, param)
    return Function(f"{function.name}_vjp", trees, body, out or flat_tree(len(gradients)), span=function.span)


def vjp_split(
    function: Function, wrt: Sequence[int], *, out: TreeDef | None = None, memory: int | None = None
) -> tuple[Function, Function]:
    """The two halves of `vjp`, (forward, backward), with the forward values that the backward half needs between them.

    forward: the parameters of `function` -> its result leaves, then the residuals, as one flat tuple.
    backward: the residuals, then `ct` as in `vjp` -> one cotangent for each of `wrt`. Loops whose tapes would take more
    than `memory` bytes run in segments.
    """
    _check_inputs(function, wrt, "vjp")
    results = function.body.results[: function.out.leaf_count]
    param, cts = _cotangent_param(function)
    b, forward, gradients = _derive(function, wrt, results, cts, memory)
    ct_vars = tuple(c for c in cts if c is not None)
    backward = made_again(prune(Block(ct_vars, tuple(b.statements), gradients)), forward)  # no program returns lists
    residuals = free_variables(backward)
    body = copy_block(Block((*residuals, *ct_vars), backward.statements, backward.results), {})
    names = unique_names([v.hint for v in residuals], {param.name})
    params = (*(Param(name) for name in names), param)
    back = Function(f"{function.name}_backward", params, body, out or flat_tree(len(gradients)), span=function.span)
    outputs = (*results, *residuals)
    ahead = prune(Block(function.body.params, tuple(forward), outputs))
    tree = tuple_tree(len(outputs))
    return Function(f"{function.name}_forward", function.params, ahead, tree, span=function.span), back


def _derive(
    function: Function,
    wrt: Sequence[int],
    results: Sequence[Atom],
    cts: Sequence[Atom | None],
    memory: int | None = None,
) -> tuple[Builder, list[Statement], tuple[Atom, ...]]:
    """The builder with the backward statements, the forward statements with their tapes, and the gradients."""
    params = function.body.params
    depends = varied(function.body, (params[i] for i in wrt))
    wanted = useful(function.body, results)
    b = Builder(function.span)
    adj = Adjoints(b, depends & wanted, Trips(function, memory))
    for r, c in zip(results, cts, strict=True):
        adj.add(r, c)
    forward = adj.backward(function.body.statements)
    found = ((adj.table.get(params[i]), strong(params[i].aval)) for i in wrt)
    return b, forward, tuple(materialise(b, None if c is None else assembled(b, c), aval) for c, aval in found)


def _check_inputs(function: Function, wrt: Sequence[int], what: str) -> None:
    for i in wrt:
        v = function.body.params[i]
        if not inexact(v.aval):
            said = (
                f"{what} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), "
                f"but got {v.aval.dtype.name} for `{v.hint}` of {function.name}"
            )
            given = "3.0, not 3" if v.aval.weak else f"{v.hint}.astype(float)"
            raise DTypeError(Diagnostic(said, instead=f"pass floats ({given}), or choose other arguments by argnums"))


def _check_scalar(results: Sequence[Atom]) -> None:
    if len(results) != 1:
        raise MismatchError(
            f"Gradient only defined for scalar-output functions. Output had {len(results)} leaves; "
            "return one number, and others through has_aux=True"
        )
    aval = results[0].aval
    if aval.shape:
        what = f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}."
        raise MismatchError(Diagnostic(what, instead="sum or average the result, or use jacrev for all derivatives"))
    if aval.dtype.kind not in "fV":
        what = "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
        if aval.dtype.kind == "c":
            instead = "return np.real(...) or np.abs(...) of it, or pass holomorphic=True"
        else:
            instead = "return a float: integers and bools, such as counts and comparisons, have no derivative"
        raise DTypeError(Diagnostic(f"{what}{aval.dtype.name}", instead=instead))


def _cotangent_param(function: Function) -> tuple[Param, list[Var | None]]:
    """A parameter like the result of `function`, and a variable for each of its leaves that has a cotangent."""
    results = function.body.results[: function.out.leaf_count]
    marks = [inexact(r.aval) for r in results]
    (name,) = unique_names(["ct"], {p.name for p in function.params})
    hints = [name if len(results) == 1 else f"d_{r.hint if isinstance(r, Var) else 't'}" for r in results]
    cts = [Var(h, strong(r.aval)) if m else None for h, r, m in zip(hints, results, marks, strict=True)]
    return Param(name, without_leaves(function.out, marks)), cts


def without_leaves(tree: TreeDef, keep: Sequence[bool]) -> TreeDef:
    """The tree with None in place of each leaf that is not kept."""
    feed = iter(keep)

    def visit(t: TreeDef) -> TreeDef:
        if t.kind is Kind.LEAF:
            return LEAF if next(feed) else NONE
        return dataclasses.replace(t, children=tuple(visit(c) for c in t.children))

    return visit(tree)
