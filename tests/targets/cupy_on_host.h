// CuPy's own kernels on the host: what their headers ask of NVRTC, and one signature for all of them.
#pragma once
#include <stddef.h>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include "host_prelude.h"

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
#define __syncwarp()
#define __host__

struct half;  // CuPy's, which keeps its bits where no compiler of CUDA's is
half __ushort_as_half(unsigned short bits);
unsigned short __half_as_ushort(const half &h);
inline unsigned short __float2half_rn(float x) { return host::bits<unsigned short>((_Float16)x); }
inline float __half2float(unsigned short bits) { return (float)host::bits<_Float16>(bits); }
#define HALVES                                                                                                     \
    half __ushort_as_half(unsigned short bits) { half h; memcpy((void *)&h, &bits, sizeof bits); return h; }       \
    unsigned short __half_as_ushort(const half &h) { unsigned short bits; memcpy(&bits, (const void *)&h, 2); return bits; }

#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>

template <class... A> int sizes_in(void (*)(A...), size_t *sizes) {
    const size_t found[] = {sizeof(A)...};
    memcpy(sizes, found, sizeof found);
    return sizeof...(A);
}
#define CUPY_KERNEL(name)                                                 \
    HOST_KERNEL(0, name)                                                  \
    VISIBLE int parameters(size_t *sizes) { return sizes_in(name, sizes); }
