"""Scatters of single elements as calls of NumPy: np.add.at at places that may repeat, and some stores.

    %sum:3 = custom_call @untraced_host(%x, %places, %terms) {call = "add_at"}        the array, in the memory of %x;
                                                                                      whether a place is outside; which
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator.bounds import Status
from ...translator.ir import Apply
from ...translator.ops.core import Gather, IndexAttrs, indexed_shape
from ..client import host_calls
from .checks import out_of_bounds
from .index import Normalise, NormaliseGather, fit, points_of
from .writer import I64, Value

if TYPE_CHECKING:
    from .program import Emitter


def scattered(
    e: Emitter, s: Apply, constant: Any, normalise: Normalise, normalise_gather: NormaliseGather
) -> Value | None:
    """None where XLA does it better. `constant`: the one number that is stored everywhere, where it is known."""
    attrs, w = s.attrs, e.writer
    assert isinstance(attrs, IndexAttrs)
    indexed = indexed_shape(attrs, [a.aval for a in s.args])
    if not (w.host and host_calls.scatters(s.args[0].aval, attrs.dims, math.prod(indexed))):
        return None
    name = "add_at" if s.op.name == "put_add" else "put_at"
    if name == "put_at" and not any(e.value(a).name in w.shifted for a in s.args):
        return None  # XLA takes as long, but it would copy such arguments first
    x, count, first = e.value(s.args[0]), math.prod(indexed), attrs.dims[0]
    alone = len(attrs.dims) == 1
    if alone and isinstance(first, Gather):
        places = w.convert(e.value(s.args[first.arg]), I64)
    else:
        points = points_of(w, x.shape, attrs.dims, normalise, normalise_gather)
        strides = np.array([math.prod(x.shape[k + 1 :]) for k in range(len(x.shape))])
        spread = w.broadcast(w.constant(strides, strides.shape, I64), points.starts.shape)
        places = w.reduce(w.multiply(points.starts, spread), w.integer(0), "add", (len(points.shape),))
    if constant is None:
        terms = w.reshape(fit(w, w.convert(e.value(s.args[1]), x.dtype), indexed), (count,))
    else:
        terms = w.constant(constant, (), x.dtype)
    flat = w.reshape(x, (math.prod(x.shape),))
    args, types = [flat, w.reshape(places, (count,)), terms], [(flat.shape, x.dtype), ((), I64), ((), I64)]
    total, outside, worst = host_calls.calls(w, name, args, types, in_place=True)
    if alone and e.checked.enabled and e.checked.status(s, first, x.shape[0]) is Status.UNKNOWN:
        bad = w.compare("NE", outside, w.integer(0))
        e.fail_where(bad, worst, IndexError, out_of_bounds(0, x.shape[0]), s)
    return w.reshape(total, x.shape)
