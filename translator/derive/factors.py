"""Derivatives of linear algebra: the rules of a row are spliced in, and broadcast batch axes are summed.

    def f(a, v):                                  def f_grad(a, v):
        return np.sum(np.linalg.solve(a, v) * v)      return -np.outer(np.linalg.solve(a.T, v), np.linalg.solve(a, v))
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import make
from ..builder import Builder
from ..errors import Diagnostic, UnsupportedError
from ..ir import Apply, Atom, Aval
from ..ops.core import Linalg, LinalgAttrs, Rule, broadcast_shapes
from .cotangents import cast_like, materialise, strong, total, unbroadcast
from .partials import splice_rule


def linalg_vjp(b: Builder, s: Apply, ct: Atom, i: int) -> Atom:
    """The cotangent of argument `i`."""
    op, y = s.op, s.targets[0]
    assert isinstance(op, Linalg)
    rule = _rule(s, op.vjps, i)
    ct = materialise(b, ct, strong(y.aval))
    made = splice_rule(b, rule, (ct, *s.args, y))
    aval = s.args[i].aval
    core = op.core(i, aval)
    batch = broadcast_shapes([a.aval.shape[: a.aval.ndim - op.core(k, a.aval)] for k, a in enumerate(s.args)], op.numpy)
    whole = (*batch, *aval.shape[aval.ndim - core :])
    return cast_like(b, unbroadcast(b, materialise(b, made, Aval(whole, aval.dtype)), whole, aval), strong(aval))


def linalg_jvp(b: Builder, s: Apply, tangents: Sequence[Atom | None]) -> Atom | None:
    """The tangent of the result."""
    op, y = s.op, s.targets[0]
    assert isinstance(op, Linalg)
    out: Atom | None = None
    for i, t in enumerate(tangents):
        if t is None:
            continue
        full = materialise(b, t, strong(s.args[i].aval))
        made = cast_like(b, splice_rule(b, _rule(s, op.jvps, i), (full, *s.args, y)), strong(y.aval))
        out = made if out is None else total(b, out, made)
    return None if out is None else make.broadcast_to(b, out, y.aval.shape)


def _rule(s: Apply, rules: Sequence[Rule | None], i: int) -> Rule:
    op, attrs = s.op, s.attrs
    assert isinstance(op, Linalg) and isinstance(attrs, LinalgAttrs)
    rule = rules[i]
    if attrs.full and op.refusal:
        what = f"{op.numpy} has no derivative of {op.field} with full factors"
        instead = "np.linalg.svd(a, full_matrices=False)" if op.name.startswith("svd") else "np.linalg.qr(a)"
        raise UnsupportedError(Diagnostic(what, s.span, why=op.refusal, instead=instead))
    assert rule is not None, "an argument without a rule carries no derivative"
    return rule
