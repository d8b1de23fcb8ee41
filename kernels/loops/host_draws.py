"""Random numbers in native loops: bit generators over the words of `library/streams`, and distributions over those.

PCG64 is M. E. O'Neill's PCG XSL-RR 128/64 (pcg-random.org), MT19937 M. Matsumoto and T. Nishimura's Mersenne Twister;
both as in NumPy. The distributions of `Generator` are those of the library that NumPy brings for extensions in C
(`npyrandom`), the very code that NumPy itself runs. Those of `RandomState` are frozen since 1.17, and written out here,
as are Python's.
"""

from __future__ import annotations

from ...translator.randomness import SIZES

STREAMS = {SIZES["PCG64"]: "Pcg64", SIZES["MT19937"]: "Twister"}
"""The source of bits, by the number of words."""

DRAWING = """
// draws from NumPy's library npyrandom
typedef unsigned long long word;
struct bitgen {
    void *state;
    word (*next_uint64)(void *);
    unsigned (*next_uint32)(void *);
    double (*next_double)(void *);
    word (*next_raw)(void *);
};
extern "C" {
    double random_standard_normal(bitgen *), random_standard_exponential(bitgen *), random_standard_cauchy(bitgen *);
    double random_normal(bitgen *, double, double), random_uniform(bitgen *, double, double);
    double random_exponential(bitgen *, double), random_rayleigh(bitgen *, double);
    double random_lognormal(bitgen *, double, double), random_laplace(bitgen *, double, double);
    double random_logistic(bitgen *, double, double), random_gumbel(bitgen *, double, double);
    double random_standard_gamma(bitgen *, double), random_gamma(bitgen *, double, double);
    double random_beta(bitgen *, double, double), random_chisquare(bitgen *, double);
    double random_standard_t(bitgen *, double), random_weibull(bitgen *, double), random_pareto(bitgen *, double);
    long random_poisson(bitgen *, double), random_geometric(bitgen *, double);
    void random_bounded_uint64_fill(bitgen *, unsigned long, unsigned long, long, bool, unsigned long *);
}

template <class T> static inline T number_of(const word *words) {
    T number;
    __builtin_memcpy(&number, words, sizeof number);
    return number;
}
static inline void keep(word *words, double number) { __builtin_memcpy(words, &number, sizeof number); }
static inline void keep(word *words, long long number) { words[0] = (word)number; }
static inline void keep(word *words, long number) { words[0] = (word)number; }

struct Pcg64 {
    static word next_uint64(void *state) {
        word *const w = (word *)state;
        const unsigned __int128 by = (unsigned __int128)2549297995355413924ull << 64 | 4865540595714422341ull;
        const unsigned __int128 next =
            ((unsigned __int128)w[2] << 64 | w[1]) * by + ((unsigned __int128)w[4] << 64 | w[3]);
        w[1] = (word)next;
        w[2] = (word)(next >> 64);
        const word mixed = w[2] ^ w[1];
        const unsigned turn = (unsigned)(w[2] >> 58);
        return mixed >> turn | mixed << (-turn & 63);
    }
    static unsigned next_uint32(void *state) {
        word *const w = (word *)state;
        if (w[5]) {
            w[5] = 0;
            return (unsigned)w[6];
        }
        const word next = next_uint64(state);
        w[5] = 1;
        w[6] = next >> 32;
        return (unsigned)next;
    }
    static double next_double(void *state) { return (double)(next_uint64(state) >> 11) * (1.0 / 9007199254740992.0); }
    static word next_raw(void *state) { return next_uint64(state); }
};

struct Twister {
    static void generate(unsigned *key) {
        for (int k = 0; k < 624; k++) {
            const unsigned y = (key[k] & 0x80000000u) | (key[k == 623 ? 0 : k + 1] & 0x7fffffffu);
            key[k] = key[k < 227 ? k + 397 : k - 227] ^ (y >> 1) ^ (-(y & 1u) & 0x9908b0dfu);
        }
    }
    static unsigned next_uint32(void *state) {
        word *const w = (word *)state;
        unsigned *const key = (unsigned *)(w + 4);
        if (w[1] >= 624) {
            generate(key);
            w[1] = 0;
        }
        unsigned y = key[w[1]++];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        return y ^ y >> 18;
    }
    static word next_uint64(void *state) {
        const word high = next_uint32(state);
        return high << 32 | next_uint32(state);
    }
    static double next_double(void *state) {
        const unsigned a = next_uint32(state) >> 5, b = next_uint32(state) >> 6;
        return (a * 67108864.0 + b) / 9007199254740992.0;
    }
    static word next_raw(void *state) { return next_uint32(state); }
};

template <class Source> static inline bitgen source_of(word *words) {
    return {words, Source::next_uint64, Source::next_uint32, Source::next_double, Source::next_raw};
}

// low <= number < high
static inline long long bounded(bitgen *source, long long low, long long high, bool masked) {
    unsigned long number;
    random_bounded_uint64_fill(source, (unsigned long)low, (unsigned long)high - 1ul - (unsigned long)low, 1, masked,
                               &number);
    return (long long)number;
}

// RandomState's normal numbers: Marsaglia's polar method, which gives two at a time
static double polar(word *words) {
    if (words[2]) {
        const double kept = number_of<double>(words + 3);
        words[2] = words[3] = 0;
        return kept;
    }
    double x, y, square;
    do {
        x = 2.0 * Twister::next_double(words) - 1.0;
        y = 2.0 * Twister::next_double(words) - 1.0;
        square = x * x + y * y;
    } while (square >= 1.0 || square == 0.0);
    const double f = sqrt(-2.0 * log(square) / square);
    keep(words + 3, f * x);
    words[2] = 1;
    return f * y;
}
static inline double inverted(word *words) { return -log(1.0 - Twister::next_double(words)); }

// Python's normal numbers, of which Box and Muller's method gives two at a time, and its integers
static double around(word *words) {
    if (words[2]) {
        const double kept = number_of<double>(words + 3);
        words[2] = words[3] = 0;
        return kept;
    }
    const double angle = Twister::next_double(words) * 6.283185307179586;
    const double length = sqrt(-2.0 * log(1.0 - Twister::next_double(words)));
    keep(words + 3, sin(angle) * length);
    words[2] = 1;
    return cos(angle) * length;
}
static long long below(word *words, long long low, long long high) {
    const word count = (word)high - (word)low;
    const int bits = 64 - __builtin_clzll(count);
    for (;;) {
        word found;
        if (bits <= 32) {
            found = Twister::next_uint32(words) >> (32 - bits);
        } else {
            found = Twister::next_uint32(words);
            found |= (word)(Twister::next_uint32(words) >> (64 - bits)) << 32;
        }
        if (found < count) return low + (long long)found;
    }
}
"""
