"""Complex numbers in CUDA C++: a pair of parts, its arithmetic, and functions with C99's and NumPy's infinities.

Triton has no complex numbers: kernels of such are CUDA on both targets.
"""

from __future__ import annotations

FORMS = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "negative": "(-{0})",
    "equal": "({0} == {1})",
    "not_equal": "(!({0} == {1}))",
    "where": "({0} ? {1} : {2})",
    "absolute": "modulus({0})",
    "real": "{0}.re",
    "imag": "{0}.im",
    "conjugate": "conjugate({0})",
    "exp": "complex_exp({0})",
    "log": "complex_log({0})",
    "sqrt": "complex_sqrt({0})",
    "sin": "complex_sin({0})",
    "cos": "complex_cos({0})",
    "tanh": "complex_tanh({0})",
}
"""What both the host and devices have."""
DEVICE_FORMS = FORMS | {
    "tan": "complex_tan({0})",
    "sinh": "complex_sinh({0})",
    "cosh": "complex_cosh({0})",
    "exp2": "complex_exp(complex_scaled({0}, 0.6931471805599453))",
    "expm1": "complex_expm1({0})",
    "log2": "complex_scaled(complex_log({0}), 1.4426950408889634)",
    "log10": "complex_scaled(complex_log({0}), 0.4342944819032518)",
    "log1p": "complex_log1p({0})",
    "power": "complex_power({0}, {1})",
    "reciprocal": "complex_reciprocal({0})",
    "sign": "complex_sign({0})",
    "rint": "complex_rint({0})",
}

ARITHMETIC = """template <class T> struct complex_t { T re, im; };
#define PAIR template <class T> static inline complex_t<T>
PAIR operator+(complex_t<T> x, complex_t<T> y) { return {x.re + y.re, x.im + y.im}; }
PAIR operator-(complex_t<T> x, complex_t<T> y) { return {x.re - y.re, x.im - y.im}; }
PAIR operator-(complex_t<T> x) { return {-x.re, -x.im}; }
PAIR operator*(complex_t<T> x, complex_t<T> y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }
PAIR conjugate(complex_t<T> x) { return {x.re, -x.im}; }
static inline double absolute(double x) { return fabs(x); }
static inline float absolute(float x) { return fabsf(x); }
PAIR operator/(complex_t<T> x, complex_t<T> y) {
    if (absolute(y.re) >= absolute(y.im)) {
        if (y.re == 0 && y.im == 0) return {x.re / absolute(y.re), x.im / absolute(y.re)};
        T ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);
        return {(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
    }
    T ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);
    return {(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
}
template <class T> static inline bool operator==(complex_t<T> x, complex_t<T> y) {
    return x.re == y.re && x.im == y.im;
}
#undef PAIR
template <class U, class T> static inline complex_t<U> convert(complex_t<T> x) { return {(U)x.re, (U)x.im}; }
static inline double modulus(complex_t<double> x) { return hypot(x.re, x.im); }
static inline float modulus(complex_t<float> x) { return hypotf(x.re, x.im); }
static inline complex_t<double> of_parts(double re, double im) { return {re, im}; }
static inline complex_t<float> of_parts(float re, float im) { return {re, im}; }"""
"""The quotient: R. L. Smith, Communications of the ACM 5 (1962), as NumPy divides."""
PRODUCT = "{x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}"
FUSED_PRODUCT = "{fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re)}"
"""As NumPy's loops over arrays multiply, where the processor has such an instruction. A device's lanes are elements of
arrays, so there all products are fused."""

HELPERS = {
    "complex_t": ARITHMETIC.replace(PRODUCT, FUSED_PRODUCT),
    "fused": "template <class T> static inline complex_t<T> fused(complex_t<T> x, complex_t<T> y) { return x * y; }",
    "is_finite": "template <class T> static inline bool is_finite(T x) { return x - x == 0; }",
    "complex_scaled": """template <class T> static inline complex_t<T> complex_scaled(complex_t<T> z, double by) {
    return {z.re * (T)by, z.im * (T)by};
}""",
    "complex_turned": """// i z, and -i z.
template <class T> static inline complex_t<T> complex_turned(complex_t<T> z) { return {-z.im, z.re}; }
template <class T> static inline complex_t<T> complex_turned_back(complex_t<T> z) { return {z.im, -z.re}; }""",
    "complex_exp": """// Where the size is 0 or infinite, infinite angles do not count. What overflows comes in two.
template <class T> static inline complex_t<T> complex_exp(complex_t<T> z) {
    if (z.im == 0) return {exp(z.re), z.im};
    if (!is_finite(z.im) && z.re == z.re && !is_finite(z.re))
        return z.re < 0 ? complex_t<T>{0, copysign(T(0), z.im)} : complex_t<T>{z.re, z.im - z.im};
    const T size = exp(z.re);
    if (is_finite(size)) return {size * cos(z.im), size * sin(z.im)};
    const T root = exp(z.re * T(0.5));
    return {root * cos(z.im) * root, root * sin(z.im) * root};
}""",
    "complex_log": """// Near the unit circle by the exact excess of the square of the size over 1.
template <class T> static inline complex_t<T> complex_log(complex_t<T> z) {
    const T large = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im)), angle = atan2(z.im, z.re);
    const T size = hypot(z.re, z.im);
    if (size > T(0.5) && size < T(2)) {
        const T p = large * large, q = small * small;
        const T excess = ((p - 1) + q) + (fma(large, large, -p) + fma(small, small, -q));
        return {T(0.5) * log1p(excess), angle};
    }
    if (size > T(1e-30) && is_finite(size)) return {log(size), angle};
    const T by = large > 1 ? T(0.25) : T(1.2676506002282294e30);  // out of what overflows, and of subnormal numbers
    return {log(hypot(z.re * by, z.im * by)) - log(by), angle};
}""",
    "complex_sqrt": """// W. Kahan, Branch cuts for complex elementary functions (1987).
template <class T> static inline complex_t<T> complex_sqrt(complex_t<T> z) {
    const T wide = fabs(z.re), tall = fabs(z.im);
    if (z.re == 0 && z.im == 0) return {0, z.im};
    if (tall == tall && !is_finite(tall)) return {tall, z.im};
    if (wide == wide && !is_finite(wide)) {
        const T other = z.im == z.im ? T(0) : z.im;
        return z.re > 0 ? complex_t<T>{z.re, copysign(other, z.im)} : complex_t<T>{other, copysign(wide, z.im)};
    }
    const T large = fmax(wide, tall), by = large > 1 ? T(0.25) : T(1.2676506002282294e30);
    const T root = large > 1 ? T(2) : T(8.881784197001252e-16);  // of what it was scaled by
    const T half = sqrt((wide * by + hypot(wide * by, tall * by)) * T(0.5));
    const T other = tall * by / (2 * half) * root, own = half * root;
    return z.re >= 0 ? complex_t<T>{own, copysign(other, z.im)} : complex_t<T>{other, copysign(own, z.im)};
}""",
    "complex_sinh": """template <class T> static inline complex_t<T> complex_sinh(complex_t<T> z) {
    if (z.im == 0) return {sinh(z.re), z.im};
    if (!is_finite(z.im) && (z.re == 0 || (z.re == z.re && !is_finite(z.re)))) return {z.re, z.im - z.im};
    const T size = sinh(z.re);
    if (is_finite(size)) return {size * cos(z.im), cosh(z.re) * sin(z.im)};
    const T root = exp(fabs(z.re) * T(0.5)), half = T(0.5) * root;
    return {copysign(half, z.re) * cos(z.im) * root, half * sin(z.im) * root};
}""",
    "complex_cosh": """template <class T> static inline complex_t<T> complex_cosh(complex_t<T> z) {
    if (z.im == 0) return {cosh(z.re), copysign(T(1), z.re) * z.im};
    if (!is_finite(z.im) && z.re == 0) return {z.im - z.im, z.re};
    if (!is_finite(z.im) && z.re == z.re && !is_finite(z.re)) return {fabs(z.re), z.im - z.im};
    const T size = sinh(z.re);
    if (is_finite(size)) return {cosh(z.re) * cos(z.im), size * sin(z.im)};
    const T root = exp(fabs(z.re) * T(0.5)), half = T(0.5) * root;
    return {half * cos(z.im) * root, copysign(half, z.re) * sin(z.im) * root};
}""",
    "complex_tanh": """// W. Kahan, Branch cuts for complex elementary functions (1987).
template <class T> static inline complex_t<T> complex_tanh(complex_t<T> z) {
    if (z.im == 0) return {tanh(z.re), z.im};
    const T far = sizeof(T) == 8 ? T(22) : T(11);  // from here on the real part is 1
    if (fabs(z.re) > far && (is_finite(z.im) || !is_finite(z.re))) {
        const T angle = is_finite(z.im) ? sin(z.im) * cos(z.im) : copysign(T(0), z.im);
        const T shrunk = exp(-fabs(z.re));
        return {copysign(T(1), z.re), 4 * angle * shrunk * shrunk};
    }
    const T t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, below = 1 + beta * s * s;
    if (z.re == 0 && !is_finite(t)) return {z.re, t};
    return {beta * sqrt(1 + s * s) * s / below, t / below};
}""",
    "complex_sin": """template <class T> static inline complex_t<T> complex_sin(complex_t<T> z) {
    return complex_turned_back(complex_sinh(complex_turned(z)));
}""",
    "complex_cos": """template <class T> static inline complex_t<T> complex_cos(complex_t<T> z) {
    return complex_cosh(complex_turned(z));
}""",
    "complex_tan": """template <class T> static inline complex_t<T> complex_tan(complex_t<T> z) {
    return complex_turned_back(complex_tanh(complex_turned(z)));
}""",
    "complex_expm1": """template <class T> static inline complex_t<T> complex_expm1(complex_t<T> z) {
    const T half = sin(z.im * T(0.5));
    return {expm1(z.re) * cos(z.im) - 2 * half * half, exp(z.re) * sin(z.im)};
}""",
    "complex_log1p": """template <class T> static inline complex_t<T> complex_log1p(complex_t<T> z) {
    return {log(hypot(z.re + 1, z.im)), atan2(z.im, z.re + 1)};
}""",
    "complex_power": """// Small whole powers are products, as NumPy's.
template <class T> static inline complex_t<T> complex_power(complex_t<T> x, complex_t<T> y) {
    if (y.re == 0 && y.im == 0) return {1, 0};
    if (x.re == 0 && x.im == 0) {
        const T none = y.re > 0 ? T(0) : (y.re - y.re) / (x.re * x.re);  // 0, or NaN
        return {none, none};
    }
    if (y.im == 0 && y.re == rint(y.re) && fabs(y.re) < 100) {
        complex_t<T> z = {1, 0};
        for (int n = (int)fabs(y.re); n; n >>= 1, x = x * x)
            if (n & 1) z = z * x;
        return y.re < 0 ? complex_t<T>{1, 0} / z : z;
    }
    return complex_exp(y * complex_log(x));
}""",
    "complex_reciprocal": """template <class T> static inline complex_t<T> complex_reciprocal(complex_t<T> z) {
    if (fabs(z.re) >= fabs(z.im)) {
        const T ratio = z.im / z.re, size = z.re + z.im * ratio;
        return {1 / size, -ratio / size};
    }
    const T ratio = z.re / z.im, size = z.im + z.re * ratio;
    return {ratio / size, -1 / size};
}""",
    "complex_sign": """// Of one infinite part its sign alone, of two NaN.
template <class T> static inline complex_t<T> complex_sign(complex_t<T> z) {
    const T size = hypot(z.re, z.im);
    if (size == 0) return {0, 0};
    if (size != size || is_finite(size)) return {z.re / size, z.im / size};
    const bool wide = fabs(z.re) == size, tall = fabs(z.im) == size;
    if (wide && tall) return {size - size, size - size};
    return {wide ? copysign(T(1), z.re) : 0, tall ? copysign(T(1), z.im) : 0};
}""",
    "complex_rint": """template <class T> static inline complex_t<T> complex_rint(complex_t<T> z) {
    return {rint(z.re), rint(z.im)};
}""",
}

WORDS = frozenset(("absolute", "conjugate", "convert", "modulus", "of_parts", *HELPERS))
"""What is called in kernels."""
