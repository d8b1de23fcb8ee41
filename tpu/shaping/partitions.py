"""When XLA had better not divide kernels between its threads.

    np.exp(x) * x + np.sin(x) * 2       442,224 numbers, two threads: 1.5 ms of their time; 442,225 numbers: 4.7
    np.searchsorted(t, x)               3.5 ms and 27; NumPy 15

A kernel over one axis is divided along it. Where its length is no multiple of the number of parts, XLA's emitter asks
for each element whether it is inside the last part. Stores behind such a question can be masked, but what calls
functions or gathers is no longer computed in vectors. Between few threads nothing is gained that makes up for it.
"""

from __future__ import annotations

import math
import os
from typing import Any

from ...translator.patterns import pattern

MOST_PARTS = 4  # vectors compute such elements three to eight times as fast
LARGE = 1 << 15  # elements: XLA divides no kernels over fewer

_LAST_AXIS = pattern(r"tensor<(?:\d+x)*?(\d+)x[a-z]\w*>")
_HOSTILE = pattern(r"\b(?:exponential|exponential-minus-one|log|log-plus-one|power|tanh|logistic|cbrt|gather)\(")
_HOSTILE_BEFORE = pattern(r"stablehlo\.\"?(?:exponential|log|power|tanh|logistic|cbrt|gather)|\.gather\"")
_DIVIDED = pattern(
    r" = \(?\w+\[([\d,]*)\].* fusion\(.*calls=(%[\w.\-]+).*\"outer_dimension_partitions\":\[([\d\",]+)\]"
)


def loses_vectors(text: str, loaded: Any) -> bool:
    """Whether the compiled program (`text` is its StableHLO) mostly is kernels that division leaves without vectors."""
    if not (_has_uneven_axis(text) and _HOSTILE_BEFORE.search(text)):
        return False
    hlo: str = loaded.hlo_modules()[0].to_string()
    bodies = {c.partition(" ")[0]: c for c in hlo.split("\n\n")}
    lost = even = 0
    for sizes, body, parts in _DIVIDED.findall(hlo):
        axes, divisors = [n for n in _numbers(sizes) if n > 1], _numbers(parts.replace('"', ""))
        if len(divisors) < len(axes) or axes[-1] % divisors[-1] == 0:
            even += math.prod(axes)
        elif _HOSTILE.search(bodies.get(body, "")) and math.prod(divisors) <= MOST_PARTS:
            lost += math.prod(axes)
    return lost > even


def _has_uneven_axis(text: str) -> bool:
    threads = os.cpu_count() or 1
    return any(int(n) >= LARGE and int(n) % threads for n in set(_LAST_AXIS.findall(text)))


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n]
