"""Functions that generated kernels call: put in front of a kernel that names them."""

from __future__ import annotations

TRITON_HELPERS = {
    "product_of": """@triton.jit
def product_of(a, b):
    return a * b""",
    "larger_of": """@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)""",
    "smaller_of": """@triton.jit
def smaller_of(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)""",
}

CUDA_HELPERS: dict[str, str] = {}

HELPERS = {"triton": TRITON_HELPERS, "cuda": CUDA_HELPERS}
