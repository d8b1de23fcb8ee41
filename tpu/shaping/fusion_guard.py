"""Guarding against YNNPACK's graph fusion, which may put several products into one kernel.

The kernel walks over tiles of rows and reads all weights for each of them. With many rows and small weights it is the
faster one (by 10 to 20 per cent), with few rows or weights beyond the caches the slower (2 to 8 times, measured on two
cores for three products and a softmax, 8 to 4096 rows, 64 kB to 12 MB of weights).
"""

from __future__ import annotations

from typing import Any

from ...translator.patterns import pattern

FEWEST_ROWS = 256
MOST_WEIGHTS = 2_500_000  # bytes

_SHAPE = pattern(r"\b([a-z]+)(\d+)\[([\d,]*)\]")
_DOT = pattern(r" = [a-z]+\d+\[([\d,]*)\]\S* dot\(")


def swallows_products(text: str, loaded: Any) -> bool:
    """Whether the compiled program (`text` is its StableHLO) has a fusion with several products that is slow."""
    if text.count("stablehlo.dot_general") < 2 or "stablehlo.reduce(" not in text:
        return False
    return any(_is_slow(c) for c in loaded.hlo_modules()[0].to_string().split("\n\n") if c.count(" dot(") > 1)


def _is_slow(computation: str) -> bool:
    """`computation` is one fused computation in HLO text; its parameters stand in its first line."""
    if not computation.startswith("%fused"):
        return False
    dots = [_sizes(d) for d in _DOT.findall(computation)]
    rows = min((d[0] for d in dots if d), default=0)
    parameters = _SHAPE.findall(computation.partition(") -> ")[0])
    sizes = [(_sizes(dims), int(bits) // 8) for _, bits, dims in parameters]
    total = sum(_bytes(s, width) for s, width in sizes)
    activations = max((_bytes(s, width) for s, width in sizes if s and s[0] == rows), default=0)
    return rows < FEWEST_ROWS or total - activations > MOST_WEIGHTS


def _sizes(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n]


def _bytes(sizes: list[int], width: int) -> int:
    total = width
    for n in sizes:
        total *= n
    return total
