"""Elementwise derivatives: partials are spliced in, and broadcasting is undone, here and nowhere else.

    def f(y, x):                        def f_grad(y, x):
        return np.sum(np.sin(x) * y)        return np.sum(np.sin(x), axis=0)

`x` has an axis in front that `y` has not: the cotangent of `y` is the sum over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import make, ops
from ..builder import Builder
from ..errors import Diagnostic, UnsupportedError
from ..ir import Apply, Atom, Block, Const, Statement, Var, is_number, same_atom
from ..ops.core import Elementwise, Rule
from ..purpose import purposed
from ..reading.splicing import splice
from ..rewrite import Substitution, prune, substitute
from .cotangents import cast_like, product, strong, total, unbroadcast

Contribute = Callable[[Var, Atom], None]


def elementwise_vjp(
    b: Builder,
    s: Apply,
    ct: Atom,
    active: Sequence[int],
    contribute: Contribute,
    chosen: Callable[[Atom], Atom] | None = None,
    seen: Apply | None = None,
) -> None:
    """Send `ct * partial` to each active argument, summed over the axes along which the argument was broadcast.

    An argument that stands in several places gets one contribution: `x * x` gives `2.0 * x * ct`. `chosen` is applied
    to `ct * partial`. The rules see `seen`, where that is not the statement itself (corners.py).
    """
    op = s.op
    assert isinstance(op, Elementwise)
    done: set[Var] = set()
    for i in active:
        x = s.args[i]
        if not isinstance(x, Var) or x in done:
            continue
        done.add(x)
        c = _chain(b, seen or s, ct, [j for j in active if s.args[j] is x], op.vjps)
        if c is not None and chosen is not None:
            c = chosen(c)
        if c is not None:
            contribute(x, unbroadcast(b, c, s.targets[0].aval.shape, x.aval, alone=len(active) == 1))


def elementwise_jvp(
    b: Builder, s: Apply, tangents: Sequence[Atom | None], seen: Apply | None = None
) -> Atom | None:
    """The tangent of the result from those of the arguments (None: zero); lazy like them. The rules see `seen`."""
    op = s.op
    assert isinstance(op, Elementwise)
    out: Atom | None = None
    for i, t in enumerate(tangents):
        places = [j for j in range(len(s.args)) if s.args[j] is s.args[i]]
        if t is None or places[0] != i:
            continue
        c = _chain(b, seen or s, t, places, op.jvps)
        if c is not None:
            c = cast_like(b, c, strong(s.targets[0].aval))
            out = c if out is None else total(b, out, c)
    return out


def _chain(b: Builder, s: Apply, d: Atom, places: Sequence[int], overrides: Sequence[Rule | None]) -> Atom | None:
    """`d` times the sum of the partials at these places, which hold one variable; None for zero."""
    op = s.op
    assert isinstance(op, Elementwise)
    terms: list[Atom] = []
    partials: list[Atom] = []
    for i in places:
        if i in op.unknown:
            raise _no_rule(s, i)
        if i < len(overrides) and (override := overrides[i]) is not None:
            terms.append(splice_rule(b, override, (d, *s.args, s.targets[0])))
        elif i < len(op.partials) and (rule := op.partials[i]) is not None:
            p = splice_rule(b, rule, (*s.args, s.targets[0]))
            if not is_number(p, 0):
                partials.append(p)
    term = _times_sum(b, d, partials)
    if term is not None:
        terms.append(term)
    if not terms:
        return None
    out = terms[0]
    for t in terms[1:]:
        out = total(b, out, t)
    return out


def _no_rule(s: Apply, i: int) -> UnsupportedError:
    return UnsupportedError(
        Diagnostic(
            f"{s.op.name} has no derivative by argument {i + 1}",
            s.span,
            why="no closed form of it is known here",
            instead="hold that argument constant with untraced.stop_gradient, or give a rule with custom_jvp",
        )
    )


def _times_sum(b: Builder, d: Atom, partials: Sequence[Atom]) -> Atom | None:
    if not partials or is_number(d, 0):
        return None
    first, *rest = partials
    if isinstance(d, Const) and len(rest) == 1 and same_atom(first, rest[0]):
        return product(b, make.multiply(b, 2.0, d), first)  # constants meet first, and fold
    for p in rest:
        first = total(b, first, p)
    return product(b, d, first)


# ---- rules ---------------------------------------------------------------------------------------

_templates: dict[tuple[object, ...], Block | None] = {}
_MOST_TEMPLATES = 4096


def splice_rule(b: Builder, rule: Rule, atoms: tuple[Atom, ...]) -> Atom:
    """Append the statements of the rule, read once for each combination of types and constants; the value it returns.

    Reading a rule costs a hundred times what copying its statements does, and a program uses few rules, many times.
    """
    first: dict[Var, int] = {}
    for i, a in enumerate(atoms):
        if isinstance(a, Var):
            first.setdefault(a, i)
    places = tuple(first[a] if isinstance(a, Var) else -1 for a in atoms)
    key = (rule, places, tuple(a.aval if isinstance(a, Var) else a.key for a in atoms))
    if key not in _templates:
        if len(_templates) >= _MOST_TEMPLATES:
            _templates.clear()
        with purposed(marks_kinds=False):  # a rule goes by types: it holds for a number of each class that has one
            _templates[key] = _template(rule, atoms, first)
    template = _templates[key]
    if template is None:
        return _value_of(rule, splice(b, rule, atoms))
    mapping: Substitution = dict(zip(template.params, first, strict=True))
    for s in template.statements:
        assert isinstance(s, Apply)
        target = s.targets[0]
        new = Var(target.hint, target.aval)
        b.append(Apply((new,), s.op, tuple(substitute(a, mapping) for a in s.args), s.attrs, b.span))
        mapping[target] = new
    return substitute(template.results[0], mapping)


def _template(rule: Rule, atoms: Sequence[Atom], first: dict[Var, int]) -> Block | None:
    """The rule read over fresh variables; None when it is more than a sequence of operations."""
    fresh = {v: Var(v.hint, v.aval) for v in first}
    b = Builder()
    result = _value_of(rule, splice(b, rule, [fresh[a] if isinstance(a, Var) else a for a in atoms]))
    block = prune(b.block(tuple(fresh.values()), (result,)))
    if any(_may_raise(s) for s in block.statements):
        b = Builder()
        cast = {v: make.astype(b, new, new.aval.dtype) for v, new in fresh.items()}
        result = _value_of(rule, splice(b, rule, [cast[a] if isinstance(a, Var) else a for a in atoms]))
        block = prune(b.block(tuple(fresh.values()), (result,)))
    return block if all(isinstance(s, Apply) for s in block.statements) else None


def _may_raise(s: Statement) -> bool:
    """Whether Python itself would divide two numbers, and raise ZeroDivisionError where NumPy gives inf or nan. What is
    too large is so for the function, too: a rule's powers are lower."""
    if not isinstance(s, Apply) or s.op not in (ops.DIVIDE, ops.POWER) or not s.targets[0].aval.weak:
        return False
    known = s.args[1].value if isinstance(s.args[1], Const) else None
    return known is None or isinstance(known, complex) or not (known > 0 or (known == 0 and s.op is ops.POWER))


def _value_of(rule: Rule, result: object) -> Atom:
    if not isinstance(result, Var | Const):
        raise UnsupportedError(f"the derivative rule {rule.__name__} must return one number or array")
    return result
