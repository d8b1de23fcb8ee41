"""Functions that generated kernels call: put in front of a kernel that names them."""

from __future__ import annotations

from . import cipher
from .host import ARITHMETIC, FUNCTION

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
    "exp_against": """@triton.jit
def exp_against(x, top):
    return tl.where(x == top, 1.0, libdevice.exp(x - top))  # also where both are infinite""",
    **cipher.TRITON,
}


def _on_device(source: str) -> str:
    return source.replace("static inline", "__device__ inline")


CUDA_HELPERS: dict[str, str] = {name: _on_device(text) for name, text in FUNCTION.items()}
CUDA_HELPERS |= {
    "add_outgrows": """__device__ inline bool add_outgrows(long long x, long long y) {
    const long long z = (long long)((unsigned long long)x + (unsigned long long)y);
    return ((x ^ z) & (y ^ z)) < 0;
}""",
    "subtract_outgrows": """__device__ inline bool subtract_outgrows(long long x, long long y) {
    const long long z = (long long)((unsigned long long)x - (unsigned long long)y);
    return ((x ^ y) & (x ^ z)) < 0;
}""",
    "multiply_outgrows": """__device__ inline bool multiply_outgrows(long long x, long long y) {
    return __mul64hi(x, y) != (long long)((unsigned long long)x * (unsigned long long)y) >> 63;
}""",
}
CUDA_HELPERS["exp_against"] = """// Also where both are infinite.
__device__ inline float exp_against(float x, float top) { return x == top ? 1.0f : expf(x - top); }
__device__ inline double exp_against(double x, double top) { return x == top ? 1.0 : exp(x - top); }"""
CUDA_HELPERS["add_at"] = """template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}"""
_EXCHANGED = """// The word of 32 bits that the element lies in is exchanged until nobody was faster.
template <class T> __device__ inline void {name}(T* x, T y) {{
    const unsigned int shift = 8 * ((unsigned long long)x & 3), ones = sizeof(T) == 1 ? 0xff : 0xffff;
    unsigned int* const word = (unsigned int*)((unsigned long long)x & ~3ULL);
    unsigned int seen = *word, expected;
    do {{
        expected = seen;
        const unsigned int bits = expected >> shift & ones;
        T old;
        memcpy(&old, &bits, sizeof(T));
        const T sum = {sum};
        unsigned int made = 0;
        memcpy(&made, &sum, sizeof(T));
        seen = atomicCAS(word, expected, (expected & ~(ones << shift)) | made << shift);
    }} while (seen != expected);
}}"""
CUDA_HELPERS["add_narrow_at"] = _EXCHANGED.format(name="add_narrow_at", sum="(T)(old + y)")
CUDA_HELPERS["add_half_at"] = _EXCHANGED.format(name="add_half_at", sum="T::from(widen(old) + widen(y))")
CUDA_HELPERS["complex_t"] = _on_device(ARITHMETIC)

HELPERS = {"triton": TRITON_HELPERS, "cuda": CUDA_HELPERS}
