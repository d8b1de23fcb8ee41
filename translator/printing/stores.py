"""What changes its operand: stores into arrays (`x[i] = v`, `x[i] *= v`, `np.add.at(x, i, v)`), tapes, generators."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .. import ops
from ..ir import Apply, Const, Var
from ..ops.core import Elementwise, Index, IndexAttrs, Reshape, Run
from .pieces import call, method, name, one_or_tuple, slice_call, subscript
from .sourcetext import text_of

if TYPE_CHECKING:
    from .writer import Writer


def store(w: Writer, s: Apply) -> None:
    """`x[i] = v`, in a copy of `x` where that is still needed, or a statement that says the same shorter."""
    x, (t,) = s.args[0], s.targets
    target = w.names[t]
    if isinstance(x, Const):
        w.line(f"{target} = {text_of(w.value(x))}")
    elif id(s) in w.plan.ownership.copied:
        w.line(f"{target} = {text_of(method(w.value(x), 'copy'))}")
    elif text_of(w.value(x)) != target:
        w.line(f"{target} = {text_of(w.value(x))}")
    assert isinstance(s.attrs, IndexAttrs)
    value = w.value(s.args[1])
    place = subscript(name(target), w.expressions.index(s))
    change = _change(w, s)
    if change is not None:
        assert isinstance(change.op, Elementwise)
        text = f"{text_of(place)} {change.op.operator}= {text_of(w.value(change.args[1]))}"
    elif s.op is ops.PUT:
        if _overlaps(w, s):
            value = method(value, "copy")
        text = f"{text_of(place)} = {text_of(value)}"
    elif s.attrs.gathers:
        index = one_or_tuple([slice_call(e) for e in w.expressions.entries(s)])
        text = text_of(call("np.add.at", name(target), index, value))
    else:
        text = f"{text_of(place)} += {text_of(value)}"
    w.line_of(s, text, *s.args, comment=True)


def _overlaps(w: Writer, s: Apply) -> bool:
    """Whether a store, `x[::2] = x[:3]`, reads what it writes with another stride: NumPy copies nothing there."""
    (x, stored, *_), ownership = s.args, w.plan.ownership
    if not isinstance(x, Var) or not isinstance(stored, Var) or stored.aval.ndim != 1:
        return False
    part = ownership.definition(stored)
    if part is None or stored in ownership.copied_views or not isinstance(part.op, Index | Reshape):
        return False
    if part.op is not ops.INDEX or part.args[0] is not x:
        return bool(ownership.of(stored) & ownership.of(x))
    steps = []
    for attrs in (s.attrs, part.attrs):
        assert isinstance(attrs, IndexAttrs)
        steps.append([(i, d.step) for i, d in enumerate(attrs.dims) if isinstance(d, Run)])
    return steps[0] != steps[1]


def _change(w: Writer, s: Apply) -> Apply | None:
    """The operation behind `x[i] *= v`, where what is stored at `x[i]` is `x[i] * v` of the same type."""
    folded = w.plan.folding.definitions
    value = s.args[1]
    made = folded.get(value) if isinstance(value, Var) else None
    if s.op is not ops.PUT or made is None or made.op not in (ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE):
        return None
    part = folded.get(made.args[0]) if isinstance(made.args[0], Var) else None
    if part is None or part.op is not ops.INDEX or part.args[0] is not s.args[0]:
        return None
    same_place = text_of(w.expressions.index(part)) == text_of(w.expressions.index(s))
    return made if same_place and part.targets[0].aval == made.targets[0].aval else None


def keep(w: Writer, s: Apply) -> None:
    """Append to a tape, or change an entry. An array that is stored into later is copied first."""
    x, added, *place = s.args
    target, value = w.names[s.targets[0]], w.value(added)
    if id(s) in w.plan.ownership.copied or text_of(w.value(x)) != target:
        w.line(f"{target} = list({text_of(w.value(x))})")
    if isinstance(added, Var) and added.aval.shape and w.plan.ownership.is_written(added):
        value = method(value, "copy")
    if s.op is ops.APPEND:
        w.line_of(s, f"{target}.append({text_of(value)})", *s.args)
        return
    entry = subscript(name(target), w.value(place[0]))
    sign = "=" if s.op is ops.SET_ITEM else "+="
    w.line_of(s, f"{text_of(entry)} {sign} {text_of(value)}", *s.args, comment=True)


def draw(w: Writer, s: Apply) -> None:
    """What is drawn changes the words of its generator; a state that is read again is copied."""
    words, *numbers = s.args
    target = w.names[s.targets[0]]
    if id(s) in w.plan.ownership.copied or text_of(w.value(words)) != target:
        w.line(f"{target} = {text_of(w.value(words))}.copy()")
    called = call(f"untraced.streams.{s.op.name}", name(target), *map(w.value, numbers))
    w.line_of(s, text_of(called), *s.args, comment=True)


def final_stores(w: Writer) -> None:
    """Parameters whose final value was computed elsewhere receive it now; what reads their old value is copied."""
    ownership, f = w.plan.ownership, w.function
    if not ownership.assigned:
        return
    finals = dict(zip((f.body.params[i] for i in f.mutated), f.body.results[f.out.leaf_count :], strict=True))
    returned = f.body.results[: f.out.leaf_count]
    values = [finals[p] for p in ownership.assigned]
    for k, a in enumerate((*values, *returned)):
        overwritten = {p for j, p in enumerate(ownership.assigned) if j != k}
        touched = {v for leaf in w.plan.folding.leaves(a) for v in ownership.roots.get(leaf, ())}
        if isinstance(a, Var) and a not in w.copies and touched & overwritten:
            w.copies[a] = w.fresh_name(f"old_{w.names.get(a, 'value')}")
            owned = not ownership.roots.get(a, frozenset()) & overwritten
            number = not a.aval.shape and a not in f.body.params
            copy = w.value(a) if owned or number else method(w.value(a), "copy")
            w.line(f"{w.copies[a]} = {text_of(copy)}")
    for p, a in zip(ownership.assigned, values, strict=True):
        value = name(w.copies[a]) if isinstance(a, Var) and a in w.copies else w.value(a)
        w.line(f"{text_of(subscript(name(w.names[p]), ast.Constant(...)))} = {text_of(value)}")
