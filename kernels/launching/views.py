"""Views in the host source, and their strides: neither kernel, library call nor memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...translator.bounds import Status
from ...translator.checked import Checked
from ...translator.ir import Apply
from ...translator.ops.core import At, AxesAttrs, Dyn, Gather, Index, IndexAttrs, Reshape, Run, ShapeAttrs
from .forms import Form, Number, Strided, in_order


class Namer(Protocol):
    backend: Any
    checked: Checked

    def name_for(self, wanted: str, thing: Any, key: Any) -> str: ...


def view_of(s: Apply, forms: Sequence[Form], texts: Sequence[str], namer: Namer) -> tuple[str, Form] | None:
    """The expression and the strides of a view; None where it is none, or the operand's strides are not known."""
    if not isinstance(s.op, Reshape | Index) or not forms or not isinstance(forms[0], Strided):
        return None
    x, shape = texts[0], s.args[0].aval.shape
    small = _stand_in(shape, forms[0])
    out = s.targets[0].aval.shape
    match s.attrs:
        case IndexAttrs():
            key = subscript_of(s, forms, texts, namer.checked)
            if key is None:
                return None
            made = small[(*map(_nominal, s.attrs.dims, shape), ...)]
            return f"{x}[{key}{', ...' if not out else ''}]", _form(made)  # not a NumPy scalar
        case ShapeAttrs() if s.op.name == "reshape":
            return (f"{x}.reshape({out!r})", in_order(out)) if forms[0] == in_order(shape) else None
        case ShapeAttrs():
            name = namer.name_for("broadcast_to", namer.backend.xp.broadcast_to, "broadcast_to")
            return f"{name}({x}, {out!r})", _form(np.broadcast_to(small, out))
        case AxesAttrs(axes=axes):
            called = getattr(namer.backend.xp, s.op.name)
            name = namer.name_for(s.op.name, called, s.op.name)
            return f"{name}({x}, {axes!r})", _form(getattr(np, s.op.name)(small, axes))
    return None


def subscript_of(s: Apply, forms: Sequence[Form], texts: Sequence[str], checked: Checked) -> str | None:
    """The text in the brackets of a read or a store; None where an array, or a number of the device, is an index, and
    where a slice may reach outside, which would shrink it.
    """
    assert isinstance(s.attrs, IndexAttrs)
    parts = []
    for d, n in zip(s.attrs.dims, s.args[0].aval.shape, strict=True):
        start = d.index if isinstance(d, At) else d.start if isinstance(d, Run) else None
        if isinstance(d, Gather) or (isinstance(start, Dyn) and not isinstance(forms[start.arg], Number)):
            return None
        if isinstance(d, Run) and checked.status(s, d, n) is not Status.IN_RANGE:
            return None
        match d:
            case At(index=Dyn(arg=a)):
                parts.append(texts[a])
            case At(index=i):
                parts.append(str(i))
            case Run(start=Dyn(arg=a), size=size, step=1) if size:
                parts.append(f"{texts[a]}:{texts[a]} + {size}")
            case Run(start=int(first), size=size, step=step) if size:
                stop = first + size * step
                parts.append(f"{first}:{stop if stop >= 0 else ''}" + (f":{step}" if step != 1 else ""))
            case Run(size=0):
                parts.append("0:0")
            case _:
                return None
    return ", ".join(parts) or "..."


def _nominal(d: Any, extent: int) -> int | slice:
    """An index inside the axis that gives the same strides."""
    if isinstance(d, At):
        return 0
    assert isinstance(d, Run)
    if d.step > 0 or not d.size:
        return slice(0, d.size * d.step, d.step)
    stop = extent - 1 + d.size * d.step
    return slice(extent - 1, stop if stop >= 0 else None, d.step)


def _stand_in(shape: tuple[int, ...], form: Strided) -> np.ndarray[Any, Any]:
    """An array of this shape and these strides, whose elements are never looked at."""
    one = np.empty((), np.int8)
    return np.lib.stride_tricks.as_strided(one, shape, form.strides, subok=False)


def _form(made: np.ndarray[Any, Any]) -> Strided:
    return in_order(made.shape) if made.flags.c_contiguous else Strided(made.strides)
