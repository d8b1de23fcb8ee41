"""When XLA had better not divide kernels between its threads.

    np.exp(x) * x + np.sin(x) * 2       442,224 numbers, two threads: 1.5 ms of their time; 442,225 numbers: 4.7
    np.searchsorted(t, x)               3.5 ms and 27; NumPy 15

A kernel over one axis is divided along it. Where its length is no multiple of the number of parts, XLA's emitter asks
for each element whether it is inside the last part. Stores behind such a question can be masked, but what calls
functions or gathers is no longer computed in vectors. Between few threads nothing is gained that makes up for it.

    for j in range(1, n): c[j:] = (c[j:] - c[j - 1 : -1]) / (x[j:] - x[:-j])        n = 12,000: 75 ms; 13,000: 180

XLA begins to divide where a kernel takes ten microseconds, which is what it takes to wake a thread and wait for it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

from ...translator.patterns import pattern
from ...translator.records import dataclass
from .copy_guard import LONG

MOST_PARTS = 4  # vectors compute such elements three to eight times as fast
LARGE = 1 << 15  # elements: kernels over fewer take no longer than two threads need to find together
MOST_ONCE = 8  # times as many: what is gained by dividing a kernel that stands in no loop
SMALLEST = 1 << 12  # elements: XLA divides no cheap kernels over fewer

_SIZES = pattern(r"tensor<((?:\d+x)+)[a-z]\w*>")
_HOSTILE = pattern(r"\b(?:exponential|exponential-minus-one|log|log-plus-one|power|tanh|logistic|cbrt|gather)\(")
_HOSTILE_BEFORE = pattern(r"stablehlo\.\"?(?:exponential|log|power|tanh|logistic|cbrt|gather)|\.gather\"")
_DIVIDED = pattern(
    r" = \(?\w+\[([\d,]*)\].* fusion\(.*calls=(%[\w.\-]+).*\"outer_dimension_partitions\":\[([\d\",]+)\]"
)


def plainly_in_vain(text: str) -> bool:
    """Whether a program (its StableHLO) had better be compiled for one thread, as far as its text tells."""
    sizes = [[n for n in s if n > 1] for s in _shapes(text)]
    large, threads = [s for s in sizes if math.prod(s) > LARGE], os.cpu_count() or 1
    if not _HOSTILE_BEFORE.search(text):
        return "stablehlo.while" in text and not large
    return 1 < threads <= MOST_PARTS and bool(large) and all(len(s) == 1 and s[0] % threads for s in large)


def divides_in_vain(text: str, loaded: Any) -> bool:
    """Whether the compiled program (`text` is its StableHLO) is better off on one thread, and soon compiled again."""
    if len(text) > LONG:
        return False
    sizes = _shapes(text)
    if not _HOSTILE_BEFORE.search(text):
        return "stablehlo.while" in text and any(math.prod(s) >= SMALLEST for s in sizes) and _divides_few(loaded)
    threads = os.cpu_count() or 1
    return any(s[-1] > LARGE and s[-1] % threads for s in sizes) and _loses_vectors(loaded)


def _shapes(text: str) -> list[list[int]]:
    return [_numbers(s.replace("x", ",")) for s in {"1x", *_SIZES.findall(text)}]


def _divides_few(loaded: Any) -> bool:
    """Whether the divided kernels of loops are over few elements, and those around them over not many more."""
    once, turns = 0, 0
    for kernel in _divided(loaded):
        elements = math.prod(kernel.axes)
        once, turns = (max(once, elements), turns) if kernel.once else (once, max(turns, elements))
    return 0 < turns <= LARGE and once <= MOST_ONCE * LARGE


def _loses_vectors(loaded: Any) -> bool:
    """Whether it mostly is kernels that division leaves without vectors."""
    lost = even = 0
    for kernel in _divided(loaded):
        axes, parts = kernel.axes, kernel.parts
        if len(parts) < len(axes) or axes[-1] % parts[-1] == 0:
            even += math.prod(axes)
        elif _HOSTILE.search(kernel.body) and math.prod(parts) <= MOST_PARTS:
            lost += math.prod(axes)
    return lost > even


@dataclass(frozen=True, slots=True)
class _Kernel:
    """`body` is its HLO; `once` says that it stands in no loop."""

    axes: list[int]
    body: str
    parts: list[int]
    once: bool


def _divided(loaded: Any) -> Iterator[_Kernel]:
    computations: list[str] = loaded.hlo_modules()[0].to_string().split("\n\n")
    bodies = {c.partition(" ")[0]: c for c in computations}
    for computation in computations:
        once = computation.startswith("ENTRY")
        for sizes, body, parts in _DIVIDED.findall(computation):
            axes = [n for n in _numbers(sizes) if n > 1]
            yield _Kernel(axes, bodies.get(body, ""), _numbers(parts.replace('"', "")), once)


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n]
