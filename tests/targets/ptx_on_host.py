"""The instructions of PTX that generated Triton kernels have in assembler, on NumPy arrays: one element a thread."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once: where 64 bits lie between two float32, what they lack says to which side."""
    product, z = x.astype(np.longdouble) * y, np.longdouble(z)  # the product is exact
    total = product + z
    part = total - product
    lacking = (product - (total - part)) + (z - part)
    side = np.nextafter(total, np.where(lacking > 0, np.inf, -np.inf).astype(np.longdouble))
    total = np.where((lacking != 0) & np.isfinite(total) & (total == total.astype(np.float64)), side, total)
    return total.astype(np.float32)


ROUNDED: dict[str, Callable[..., Any]] = {
    "mul.rn.f32": lambda x, y: x * y,
    "div.rn.f32": lambda x, y: x / y,
    "sqrt.rn.f32": np.sqrt,
    "fma.rn.f32": fused,
    "rsqrt.approx.ftz.f32": lambda x: (1 / np.sqrt(np.where(np.abs(x) < 2.0**-126, 0 * x, x))).astype(np.float32),
    "neg.f32": lambda x: -x,
    "abs.f32": np.abs,
    "mov.f32": lambda x: x,
    "mov.pred": lambda p: p,
    "and.pred": np.logical_and,
    "setp.eq.f32": lambda x, y: x == y,
    "setp.ge.f32": lambda x, y: x >= y,
    "setp.gt.f32": lambda x, y: x > y,
}
FOLDED = {"and": np.logical_and, "or": np.logical_or}


def run(text: str, results: int, given: Sequence[Any]) -> list[Any]:
    """`$0` and so on: so many results, and then what is given, arrays of float32 of one length."""
    held: dict[str, Any] = {f"${results + k}": x for k, x in enumerate(given)}
    running = np.ones(given[0].shape, bool)
    with np.errstate(all="ignore"):
        for statement in re.split(r"[;{}]", text):
            words = statement.replace(",", " ").split()
            if not words or words[0] in (".reg", "done:"):
                continue
            chosen = running & held[words.pop(0)[1:]] if words[0].startswith("@") else running
            name, *rest = words
            if name == "bra":
                running = running & ~chosen
                continue
            target, *operands = [_value(held, w) if k else w for k, w in enumerate(rest)]
            made = _made(name, operands)
            assert made.dtype == (bool if name.startswith("setp") or name.endswith("pred") else np.float32), statement
            held[target] = np.where(chosen, made, held.get(target, made))
    return [held[f"${k}"] for k in range(results)]


def _value(held: dict[str, Any], word: str) -> Any:
    if word.startswith("0f"):
        return np.array(int(word[2:], 16), np.uint32).view(np.float32)
    return held[word] if word in held else np.float32(word)


def _made(name: str, operands: list[Any]) -> Any:
    """`setp.ge.and.f32` folds what it compares with a predicate."""
    fold = re.fullmatch(r"(setp\.\w+)\.(and|or)(\.f32)", name)
    if fold:
        return FOLDED[fold[2]](ROUNDED[fold[1] + fold[3]](*operands[:2]), operands[2])
    return ROUNDED[name](*operands)
