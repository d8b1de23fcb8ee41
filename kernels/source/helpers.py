"""Device functions that generated kernels call, included where a kernel names them."""

from __future__ import annotations

from ..loops.host import FUNCTION
from . import cipher, complex_numbers

_ROOT = """\
        rsqrt.approx.ftz.f32 h, {x}; mul.rn.f32 r, {x}, h; mul.rn.f32 h, h, 0.5; neg.f32 e, r; fma.rn.f32 e, e, r, {x};
        fma.rn.f32 {root}, e, h, r; setp.gt{both}.f32 plain, {root}, 0f26800000{before};
"""
_EXACT_SQRT = (
    """@triton.jit
def exact_sqrt(x):
    # The float32 nearest to the root: an approximation, corrected once, which is right where the root is above 2^-50.
    # Four at a time, one branch for all leads to what takes more steps: some are 0, infinite, no numbers or tiny.
    if x.numel < 1024:
        root = tl.sqrt_rn(x)
    else:
        root = tl.inline_asm_elementwise('''{
        .reg .pred plain;
        .reg .f32 h, r, e;
"""
    + "".join(
        _ROOT.format(x=f"${k + 4}", root=f"${k}", both=".and" * (k > 0), before=", plain" * (k > 0)) for k in range(4)
    )
    + """\
        @plain bra done;
        sqrt.rn.f32 $0, $4; sqrt.rn.f32 $1, $5; sqrt.rn.f32 $2, $6; sqrt.rn.f32 $3, $7;
        done:
        }''', "=&f,=&f,=&f,=&f,f,f,f,f", [x], dtype=tl.float32, is_pure=True, pack=4)
    return root"""
)

_SHARE = """\
        mul.rn.f32 p, {x}, {inverse}; neg.f32 e, {x}; fma.rn.f32 e, p, {y}, e; neg.f32 e, e;
        fma.rn.f32 {z}, e, {inverse}, p; abs.f32 e, {z}; setp.ge{both}.f32 plain, e, {least}{before};
"""
_NOTHING = """\
        mul.rn.f32 p, {x}, {inverse}; setp.eq.f32 zero, {x}, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 {z}, p; abs.f32 e, {z}; setp.ge.or.f32 zero, e, {least}, zero; {all};
"""


def _of_each(line: str) -> str:
    """The line for each of four quotients."""
    return "".join(
        line.format(
            x=f"${4 + k}",
            y=f"${8 + k}",
            inverse=f"${12 + k}",
            least=f"${16 + k}",
            z=f"${k}",
            both=".and" * (k > 0),
            before=", plain" * (k > 0),
            all="and.pred plain, plain, zero" if k else "mov.pred plain, zero",
        )
        for k in range(4)
    )


_QUOTIENT = (
    """@triton.jit
def quotient(x, y):
    # x / y of many x by one y: the product with 1 / y, and what that lacks of the quotient, where neither 1 / y nor
    # that is subnormal: of quotients below `least`, which may be infinite, it may be. Four at a time, one branch for
    # all leads to what zeros need, and another one to division.
    if x.numel < 1024:
        z = tl.div_rn(x, y)
    else:
        inverse = tl.div_rn(tl.full(y.shape, 1.0, tl.float32), y)
        size = tl.abs(inverse)
        least = tl.where(size >= 1.17549435e-38, tl.maximum(size * 7.888609e-31, 2.3509887e-38), float("inf"))
        z = tl.inline_asm_elementwise('''{
        .reg .pred plain, zero;
        .reg .f32 p, e;
"""
    + _of_each(_SHARE)
    + "        @plain bra done;\n"
    + _of_each(_NOTHING)
    + """\
        @plain bra done;
        div.rn.f32 $0, $4, $8; div.rn.f32 $1, $5, $9; div.rn.f32 $2, $6, $10; div.rn.f32 $3, $7, $11;
        done:
        }''', "=&f,=&f,=&f,=&f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f", [x, y, inverse, least],
        dtype=tl.float32, is_pure=True, pack=4)
    return z"""
)

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
    "to_bfloat16": """@triton.jit
def to_bfloat16(x):
    # Two at once: one alone would take the unit for conversions, which is four times as slow.
    if x.numel == 1:
        rounded = x.to(tl.bfloat16)
    else:
        rounded = tl.inline_asm_elementwise(
            "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,r,r", [x], dtype=tl.bfloat16, is_pure=True, pack=2
        )
    return rounded""",
    "quick_exp": """@triton.jit
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )""",
    "single_tanh": """@triton.jit
def single_tanh(x):
    # Off by at most 4 units in the last place: 1 - 2 / (exp(2 |x|) + 1), and a polynomial where that would cancel.
    u = x * x
    p = tl.fma(tl.fma(tl.fma(u, 0.015612628, -0.052211802), u, 0.13313116), u, -0.33332598)
    small = tl.fma(x, tl.fma(u, p, 0.0), x)  # 0.0 + -0.0 is 0.0, so that -0.0 stays -0.0
    power = tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [tl.abs(x) * 2.88539008], dtype=tl.float32, is_pure=True, pack=1
    )
    share = tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [power + 1.0], dtype=tl.float32, is_pure=True, pack=1
    )
    return tl.where(tl.abs(x) < 0.6, small, libdevice.copysign(tl.fma(share, -2.0, 1.0), x))""",
    "exact_sqrt": _EXACT_SQRT,
    "quotient": _QUOTIENT,
    "quick_tanh": """@triton.jit
def quick_tanh(x):
    # For what is rounded to half precision: a ratio of polynomials, off by at most 2^-20 of itself. Its numerator
    # outgrows the denominator from 9.2 on, where the result is 1.
    x = tl.clamp(x, -10.5, 10.5, propagate_nan=tl.PropagateNan.ALL)
    u = x * x
    p = tl.fma(tl.fma(tl.fma(tl.fma(u, 1.3319080e-08, 2.0583485e-05), u, 3.4940348e-03), u, 0.13379718), u, 1.0)
    q = tl.fma(tl.fma(tl.fma(tl.fma(u, 7.7620223e-07, 3.2830934e-04), u, 2.5871073e-02), u, 0.46713033), u, 1.0)
    inverse = tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [q], dtype=tl.float32, is_pure=True, pack=1
    )
    return tl.clamp(x * p * inverse, -1.0, 1.0, propagate_nan=tl.PropagateNan.ALL)""",
    "normal_sqrt": """@triton.jit
def normal_sqrt(x):
    # Off by a unit in the last place, of what is not below the normal numbers.
    return tl.inline_asm_elementwise(
        "sqrt.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )""",
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
CUDA_HELPERS |= {
    f"wrapping_{name}": f"""__device__ inline int wrapping_{name}({of_int}) {{ return (int)({unsigned}); }}
__device__ inline long long wrapping_{name}({of_int.replace("int", "long long")}) {{
    return (long long)({unsigned.replace("int", "long long")});
}}"""
    for name, of_int, unsigned in (
        ("add", "int x, int y", "(unsigned int)x + (unsigned int)y"),
        ("subtract", "int x, int y", "(unsigned int)x - (unsigned int)y"),
        ("multiply", "int x, int y", "(unsigned int)x * (unsigned int)y"),
        ("negative", "int x", "0 - (unsigned int)x"),
    )
}  # an overflow of signed integers is undefined, and NVRTC makes use of that
CUDA_HELPERS |= {
    name: f"""// {told}
__device__ __forceinline__ float {name}({parameters}) {{
#ifdef UNTRACED_HOST
    return {host};
#else
    float z;
    asm("{instruction} %0, {operands};" : "=f"(z) : {given});
    return z;
#endif
}}"""
    for name, told, parameters, host, instruction, operands, given in (
        ("quick_quotient", "Off by 2 units in the last place of float32, which rounding to bfloat16 takes away.",
         "float x, float y", "approximately(x / y, 2)", "div.full.f32", "%1, %2", '"f"(x), "f"(y)'),
        ("quick_sqrt", "Off by a unit in the last place of float32, which rounding to bfloat16 takes away.",
         "float x", "approximately(sqrtf(x), 1)", "sqrt.approx.f32", "%1", '"f"(x)'),
        ("normal_sqrt", "Off by a unit in the last place, of what is not below the normal numbers.",
         "float x", "approximately(sqrtf(x), 1)", "sqrt.approx.ftz.f32", "%1", '"f"(x)'),
        ("quick_exp", "For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.",
         "float x", "approximately(expf(x), 1 + fabsf(x))", "ex2.approx.ftz.f32", "%1", '"f"(x * 1.44269504f)'),
        ("quick_inverse", "Off by a unit in the last place, of what is not near to the ends of the range.",
         "float x", "approximately(1 / x, 1)", "rcp.approx.ftz.f32", "%1", '"f"(x)'),
    )
}  # fmt: skip
CUDA_HELPERS["within"] = """// x, or the limit with the sign of x where that is nearer to 0.
__device__ __forceinline__ float within(float x, float limit) {
#if __CUDA_ARCH__ >= 860
    float y;
    asm("min.NaN.xorsign.abs.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(limit));
    return y;
#else
    return fabsf(x) > limit ? copysignf(limit, x) : x;
#endif
}"""
CUDA_HELPERS["quick_tanh"] = """// For what is rounded to half precision: a ratio of polynomials, off by at most 2^-20
// of itself. Its numerator outgrows the denominator from 9.2 on, where the result is 1.
__device__ __forceinline__ float quick_tanh(float x) {
    x = within(x, 10.5f);
    const float u = x * x;
    const float p =
        fmaf(fmaf(fmaf(fmaf(u, 1.3319080e-08f, 2.0583485e-05f), u, 3.4940348e-03f), u, 0.13379718f), u, 1.0f);
    const float q =
        fmaf(fmaf(fmaf(fmaf(u, 7.7620223e-07f, 3.2830934e-04f), u, 2.5871073e-02f), u, 0.46713033f), u, 1.0f);
    return within(x * p * quick_inverse(q), 1.0f);
}"""
CUDA_HELPERS["integer_power"] = """template <class T> __device__ inline T integer_power(T x, T y) {
    unsigned long long z = 1, square = (unsigned long long)x;
    for (; y > 0; y >>= 1, square *= square)
        if (y & 1) z *= square;
    return (T)z;
}"""
CUDA_HELPERS["exp_against"] = """// Also where both are infinite.
__device__ inline float exp_against(float x, float top) { return x == top ? 1.0f : expf(x - top); }
__device__ inline double exp_against(double x, double top) { return x == top ? 1.0 : exp(x - top); }"""
CUDA_HELPERS["add_at"] = """template <class T> __device__ inline void add_at(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_at(long long* x, long long y) {
    atomicAdd((unsigned long long*)x, (unsigned long long)y);
}"""
CUDA_HELPERS["add_in_block"] = """// Shared memory adds words of 32 bits: of a longer integer's lower half
// the carry goes to the upper one.
template <class T> __device__ inline void add_in_block(T* x, T y) { atomicAdd(x, y); }
__device__ inline void add_in_block(unsigned long long* x, unsigned long long y) {
    unsigned int* const half = (unsigned int*)x;
    const unsigned int low = (unsigned int)y, sum = atomicAdd(half, low) + low;
    const unsigned int high = (unsigned int)(y >> 32) + (sum < low);
    if (high != 0) atomicAdd(half + 1, high);
}
__device__ inline void add_in_block(long long* x, long long y) {
    add_in_block((unsigned long long*)x, (unsigned long long)y);
}"""
CUDA_HELPERS["add_narrow_at"] = """// The word of 32 bits that the element lies in is exchanged until nobody was
// faster. What else lies in that word is exchanged for itself, so no store to it is lost; memory ends where words do.
template <class T> __device__ inline void add_narrow_at(T* x, T y) {
    const unsigned int shift = 8 * ((unsigned long long)x & 3), ones = sizeof(T) == 1 ? 0xff : 0xffff;
    unsigned int* const word = (unsigned int*)((unsigned long long)x & ~3ULL);
    unsigned int seen = *(volatile unsigned int*)word, expected;
    do {
        expected = seen;
        const unsigned int sum = (expected >> shift) + (unsigned int)y & ones;
        seen = atomicCAS(word, expected, (expected & ~(ones << shift)) | sum << shift);
    } while (seen != expected);
}"""
CUDA_HELPERS["add_halves"] = """#ifndef UNTRACED_HOST
__device__ inline void add_halves(unsigned int* word, unsigned int pair, half_t) {
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "r"(pair) : "memory");
}
__device__ inline void add_halves(unsigned int* word, unsigned int pair, bfloat_t) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(__cvta_generic_to_global(word)), "r"(pair) : "memory");
#else
    unsigned int seen = *(volatile unsigned int*)word, expected;
    do {
        expected = seen;
        unsigned int made = 0;
#pragma unroll
        for (int shift = 0; shift < 32; shift += 16) {
            const bfloat_t old = {(unsigned short)(expected >> shift)}, more = {(unsigned short)(pair >> shift)};
            made |= (unsigned int)bfloat_t::from(widen(old) + widen(more)).bits << shift;
        }
        seen = atomicCAS(word, expected, made);
    } while (seen != expected);
#endif
}
#endif"""
CUDA_HELPERS["add_half_at"] = """// Devices add to both halves of a word at once: -0.0 leaves the other one as it is.
template <class T> __device__ inline void add_half_at(T* x, T y) {
    const bool high = (unsigned long long)x & 2;
    const unsigned int pair = high ? (unsigned int)y.bits << 16 | 0x8000u : 0x80000000u | y.bits;
    add_halves((unsigned int*)((unsigned long long)x & ~3ULL), pair, y);
}"""
CUDA_HELPERS["quotient"] = """// x / y of many x: the product with 1 / y, and what that lacks of the quotient,
// where neither 1 / y nor that is subnormal: of quotients below `least`, which may be infinite, it may be.
struct Divisor { float y, inverse, least; };
__device__ inline Divisor divisor(float y) {
    const float inverse = 1 / y, size = fabsf(inverse), infinite = __int_as_float(0x7f800000);
    return {y, inverse, size >= 1.17549435e-38f ? fmaxf(size * 7.888609e-31f, 2.3509887e-38f) : infinite};
}
__device__ __attribute__((noinline)) float divided(float x, float y) { return x / y; }
__device__ inline float quotient(float x, Divisor by) {
    const float product = x * by.inverse;
    const float z = fmaf(-fmaf(product, by.y, -x), by.inverse, product);
    if (fabsf(z) >= by.least) return z;
    return x == 0 && product == 0 ? product : divided(x, by.y);
}"""
CUDA_HELPERS["whole_quotient"] = """// i / n of 0 <= i < 2^31, by a multiplier and a shift that the host makes of n.
__device__ inline int whole_quotient(int i, unsigned int multiplier, int shift) {
    return (int)((__umulhi((unsigned int)i, multiplier) + (unsigned int)i) >> shift);
}"""
CUDA_HELPERS |= {name: _on_device(text) for name, text in complex_numbers.HELPERS.items()}
CUDA_HELPERS["add_parts_at"] = """template <class T>
__device__ inline void add_parts_at(complex_t<T>* x, complex_t<T> y) {
    atomicAdd(&x->re, y.re);
    atomicAdd(&x->im, y.im);
}"""

HELPERS = {"triton": TRITON_HELPERS, "cuda": CUDA_HELPERS}
