"""Threefry in the kernel languages, matching the NumPy source in `ops/random.py` line by line.

A kernel, or a native loop, that draws random numbers calls them with a key and the number's index.
"""

from __future__ import annotations

from ...translator.ops.random import PARITY, ROTATIONS


def _cuda(name: str, result: str, last: str) -> str:
    lines = [
        f"static inline {result} {name}(unsigned long long key, unsigned long long count) {{",
        "    const unsigned int k0 = (unsigned int)(key >> 32), k1 = (unsigned int)key;",
        f"    const unsigned int k2 = k0 ^ k1 ^ {PARITY:#x}u;",
        "    unsigned int x0 = (unsigned int)(count >> 32) + k0, x1 = (unsigned int)count + k1;",
    ]
    for group in range(1, 6):
        lines += [
            f"    x0 += x1; x1 = (x1 << {r} | x1 >> {32 - r}) ^ x0;" for r in ROTATIONS[(group - 1) % 2]
        ]
        lines.append(f"    x0 += k{group % 3}; x1 += k{(group + 1) % 3} + {group}u;")
    return "\n".join([*lines, f"    return {last};", "}"])


def _triton(name: str, last: str) -> str:
    lines = [
        "@triton.jit",
        f"def {name}(key, count):",
        "    k0 = (key >> 32).to(tl.uint32)",
        "    k1 = key.to(tl.uint32)",
        f"    k2 = k0 ^ k1 ^ {PARITY:#x}",
        "    x0 = (count >> 32).to(tl.uint32) + k0",
        "    x1 = count.to(tl.uint32) + k1",
    ]
    for group in range(1, 6):
        for r in ROTATIONS[(group - 1) % 2]:
            lines += ["    x0 += x1", f"    x1 = ((x1 << {r}) | (x1 >> {32 - r})) ^ x0"]
        lines += [f"    x0 += k{group % 3}", f"    x1 += k{(group + 1) % 3} + {group}"]
    return "\n".join([*lines, f"    return {last}"])


CUDA = {
    "threefry2x32": _cuda("threefry2x32", "unsigned long long", "(unsigned long long)x0 << 32 | x1"),
    "threefry_bits32": _cuda("threefry_bits32", "unsigned int", "x0 ^ x1"),
}
TRITON = {
    "threefry2x32": _triton("threefry2x32", "(x0.to(tl.uint64) << 32) | x1.to(tl.uint64)"),
    "threefry_bits32": _triton("threefry_bits32", "x0 ^ x1"),
}
