"""Which bools are Python's own, which the program's types do not tell: `a < b` of Python numbers, `not x`, flags.

    def f(a, b):                    f(a: float, b: float) ->
        return a < b                    t = less(a, b)
                                        return bool(t)          # and not NumPy's bool_
"""

from __future__ import annotations

from ... import make, ops
from ...ir import Apply, Atom, Block, Const, For, If, Statement, Var, While, walk
from ...ops.core import CastAttrs
from ..core.context import Context
from ..core.values import Value

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def is_bool(v: Value) -> bool:
    return type(v) is Var and not v.aval.shape and v.aval.dtype.kind == "b"


def python_bool(ctx: Context, v: Value) -> Value:
    """A value of its own that is Python's bool of `v`."""
    if is_bool(v):
        v = make.emit(ctx.b, ops.ASTYPE, v, attrs=CastAttrs(v.aval.dtype))
    return marked(ctx, v)


def marked(ctx: Context, v: Value) -> Value:
    """Note that a bool is Python's."""
    if type(v) is Var:
        ctx.numbers.python_bools.add(v)
    return v


def is_python_bool(ctx: Context, v: Value) -> bool:
    return type(v) is bool or (is_bool(v) and _Walker(ctx).visit(v))


def may_be_python_bool(ctx: Context, v: Value) -> bool:
    """Whether a bool that is not Python's for certain may come from one: from a branch, a loop or another bool."""
    if not is_bool(v) or is_python_bool(ctx, v):
        return False
    made = ctx.definition(v)
    return made is None or made.op in _CHOICES or made.op in _CONNECTIVES


def returned(ctx: Context, v: Value) -> Atom:
    """A result as an atom: Python's bool is given back as such."""
    atom = ctx.atom(v)
    return make.number(ctx.b, atom, bool) if is_python_bool(ctx, v) else atom


class _Walker:
    """`visit`: whether a bool comes from Python's operations alone; through loops by assuming it of what they carry."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.assumed: set[Var] = set()
        self.inner: dict[Var, Statement] = {}

    def visit(self, atom: Atom) -> bool:
        if isinstance(atom, Const):
            return atom.aval.dtype.kind == "b" and atom not in self.ctx.numbers.numpy_bools
        if atom in self.assumed or atom in self.ctx.numbers.python_bools:
            return True
        self.assumed.add(atom)
        made: Statement | None = self.ctx.definition(atom) or self.inner.get(atom)
        if made is None and atom in self.ctx.numbers.compound:
            made = self.ctx.numbers.compound[atom][0]
        match made:
            case Apply(op=op, args=args):
                if getattr(op, "operator", "") in _COMPARISONS:
                    return all(a.aval.weak or self.visit(a) for a in args) and not any(map(self._is_jaxs, args))
                return op in _CONNECTIVES and all(map(self.visit, args))
            case If(then=then, orelse=orelse, targets=targets):
                return self._through(targets.index(atom), then, orelse)
            case For(targets=targets, inits=inits, body=body) | While(targets=targets, inits=inits, body=body):
                place = targets.index(atom)
                self.assumed.add(body.params[place + len(body.params) - len(targets)])
                return self.visit(inits[place]) and self._through(place, body)
        return False

    def _is_jaxs(self, atom: Atom) -> bool:
        """Whether JAX has an array for a number, or for one that it was computed from."""
        if atom in self.ctx.numbers.jaxs:
            return True
        made = self.ctx.definition(atom) if self.ctx.numbers.jaxs and isinstance(atom, Var) and atom.aval.weak else None
        return isinstance(made, Apply) and any(map(self._is_jaxs, made.args))

    def _through(self, place: int, *blocks: Block) -> bool:
        for block in blocks:
            for s in walk(block):
                self.inner.update((t, s) for t in s.targets)
        return all(self.visit(block.results[place]) for block in blocks)


_CHOICES = frozenset({ops.WHERE})
_CONNECTIVES = frozenset(
    {ops.LOGICAL_AND, ops.LOGICAL_OR, ops.LOGICAL_NOT, ops.BITWISE_AND, ops.BITWISE_OR, ops.BITWISE_XOR}
)
