// q @ k.T / q.shape[1] ** 0.5
// np.exp(s - np.max(s, axis=1, keepdims=True))
// e / np.sum(e, axis=1, keepdims=True) @ v
typedef int index_t;

#ifndef UNTRACED_HOST
struct half_t {
    unsigned short bits;
    static __device__ half_t from(float x) {
        half_t h;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
        return h;
    }
    static __device__ half_t from(double x) {
        half_t h;
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h.bits) : "d"(x));
        return h;
    }
    template <class T> static __device__ half_t from(T x) { return from((float)x); }
};
__device__ __forceinline__ float widen(half_t h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits));
    return x;
}
#endif

// For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
__device__ __forceinline__ float quick_exp(float x) {
#ifdef UNTRACED_HOST
    return approximately(expf(x), 1 + fabsf(x));
#else
    float z;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(z) : "f"(x * 1.44269504f));
    return z;
#endif
}

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

// Neighbours that are read and written together.
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack { T at[N]; };

#ifndef UNTRACED_HOST
// sums += left * right for 16 by 8 by 16 elements that the threads of a warp have between them.
template <class T>
__device__ void multiply_pieces(float (&sums)[4], const unsigned int* left, const unsigned int* right);
template <> __device__ __forceinline__
void multiply_pieces<half_t>(float (&sums)[4], const unsigned int* left, const unsigned int* right) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{ %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, { %0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
// Four pieces of 8 by 8 elements, whose rows begin where the 32 threads say; TURNED: each of them transposed.
template <bool TURNED> __device__ __forceinline__ void load_pieces(unsigned int (&piece)[4], const void* row) {
    const unsigned int place = (unsigned int)__cvta_generic_to_shared(row);
    if (TURNED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 { %0, %1, %2, %3}, [%4];"
            : "=r"(piece[0]), "=r"(piece[1]), "=r"(piece[2]), "=r"(piece[3]) : "r"(place) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 { %0, %1, %2, %3}, [%4];"
            : "=r"(piece[0]), "=r"(piece[1]), "=r"(piece[2]), "=r"(piece[3]) : "r"(place) : "memory");
}
#endif

// An operand in shared memory, as it lies in memory: ALONG what is summed or across it. What its rows are longer by
// keeps the threads of a warp in different banks.
template <class T, int EXTENT, int DEPTH, bool ALONG> struct Operand {
    static const int DEEP = DEPTH, PITCH = ALONG ? DEPTH + 8 : EXTENT + 8;
    alignas(16) T at[(ALONG ? EXTENT : DEPTH) * PITCH];
    __device__ T* place(int n, int k) { return at + (ALONG ? n * PITCH + k : k * PITCH + n); }
    __device__ const T* place(int n, int k) const { return at + (ALONG ? n * PITCH + k : k * PITCH + n); }
    template <int N> __device__ void put(int n, int k, const Pack<T, N>& pack) {
        *reinterpret_cast<Pack<T, N>*>(place(n, k)) = pack;
    }
    __device__ void set(int n, int k, T value) { *place(n, k) = value; }
    // 16 by 16 elements from (n, k) on, as a left operand's pieces, or as those of two right operands.
    template <bool LEFT> __device__ __forceinline__ void pieces(unsigned int (&piece)[4], int n, int k) const {
        const int lane = threadIdx.x & 31;
        const int p = lane / 8, far_n = LEFT ? p % 2 : p / 2, far_k = LEFT ? p / 2 : p % 2;
        const int down = ALONG ? lane % 8 : 0, across = ALONG ? 0 : lane % 8;
        load_pieces<!ALONG>(piece, place(n + 8 * far_n + down, k + 8 * far_k + across));
    }
};

// The sums of a block of HIGH by BROAD: each warp has WARP_HIGH by WARP_BROAD of them, in pieces of 16 by 8.
template <int HIGH, int BROAD, int WARP_HIGH, int WARP_BROAD> struct Sums {
    static const int HIGHER = WARP_HIGH / 16, BROADER = WARP_BROAD / 8, COUNT = 4 * HIGHER * BROADER;
    float at[HIGHER][BROADER][4];
    __device__ float& sum(int e) { return at[e / 4 / BROADER][e / 4 % BROADER][e % 4]; }
    static __device__ int warp_row() { return threadIdx.x / 32 / (BROAD / WARP_BROAD) * WARP_HIGH; }
    static __device__ int warp_column() { return threadIdx.x / 32 % (BROAD / WARP_BROAD) * WARP_BROAD; }
    static __device__ int row(int e) {
        return warp_row() + e / 4 / BROADER * 16 + (threadIdx.x & 31) / 4 + e % 4 / 2 * 8;
    }
    static __device__ int column(int e) { return warp_column() + e / 4 % BROADER * 8 + (threadIdx.x & 3) * 2 + e % 2; }
    // Rows of a thread, the one of sum e, the first sum of a row, and how many neighbouring threads have them, where a
    // warp has whole rows.
    static const int ROWS = 2 * HIGHER, FELLOWS = 4;
    static __device__ int row_of(int e) { return e / 4 / BROADER * 2 + e % 4 / 2; }
    static __device__ int first_of(int row) { return row / 2 * 4 * BROADER + row % 2 * 2; }
    template <class Left, class Right> __device__ __forceinline__ void add(const Left& left, const Right& right) {
#pragma unroll
        for (int k = 0; k < Left::DEEP; k += 16) {
            unsigned int x[HIGHER][4], y[BROADER / 2][4];
#pragma unroll
            for (int a = 0; a < HIGHER; a++) left.template pieces<true>(x[a], warp_row() + 16 * a, k);
#pragma unroll
            for (int b = 0; b < BROADER / 2; b++) right.template pieces<false>(y[b], warp_column() + 16 * b, k);
#pragma unroll
            for (int a = 0; a < HIGHER; a++)
#pragma unroll
                for (int b = 0; b < BROADER; b++)
                    multiply_pieces<half_t>(at[a][b], x[a], y[b / 2] + b % 2 * 2);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) attention_t(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ v_ptr,
    half_t* __restrict__ t_ptr, index_t k_1_stride, index_t rows, index_t columns, index_t depth,
    index_t channels
) {
    const index_t block = blockIdx.x;
    const index_t top = block * BLOCK_I;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> query;
            Operand<half_t, BLOCK_J, BLOCK_K, true> key;
            Operand<half_t, BLOCK_C, BLOCK_J, false> value;
            Operand<half_t, BLOCK_I, BLOCK_J, true> weight;
        };
        float stripe[STRIPE][BLOCK_C + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const half_t q = q_ptr[i * depth + k];
                    made.at[lane] = q;
                }
            }
            shared.query.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
    }
    Sums<BLOCK_I, BLOCK_C, 16, BLOCK_C> products = {};
    float largest[products.ROWS], total[products.ROWS];
#pragma unroll
    for (int held = 0; held < products.ROWS; held++) {
        largest[held] = __int_as_float(0xff800000);
        total[held] = 0;
    }
    for (index_t start = 0; start < columns; start += BLOCK_J) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const half_t k_1 = k_1_ptr[k + j * k_1_stride];
                    made.at[lane] = k_1;
                }
            }
            shared.key.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_C * BLOCK_J / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t v = v_ptr[j * channels + channel];
                    made.at[lane] = v;
                }
            }
            shared.value.put(slot % (BLOCK_C / 8) * 8, slot / (BLOCK_C / 8), made);
        }
        __syncthreads();
        Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores = {};
        scores.add(shared.query, shared.key);
        // The softmax of the columns so far: what was summed against a smaller maximum is scaled down.
        float levels[scores.COUNT];
        float shifts[scores.ROWS], rescale[scores.ROWS];
#pragma unroll
        for (int held = 0; held < scores.ROWS; held++) shifts[held] = largest[held];
#pragma unroll
        for (int each = 0; each < scores.COUNT; each++) {
            const index_t i = top + scores.row(each), j = start + scores.column(each);
            levels[each] = __int_as_float(0xff800000);
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const half_t t = half_t::from(score);
                const half_t s = half_t::from((widen(t) * 0.125f));
                levels[each] = widen(s);
            }
            shifts[scores.row_of(each)] = Largest()(shifts[scores.row_of(each)], (float)levels[each]);
        }
#pragma unroll
        for (int held = 0; held < scores.ROWS; held++) {
#pragma unroll
            for (int offset = scores.FELLOWS / 2; offset > 0; offset >>= 1)
                shifts[held] = Largest()(shifts[held], __shfl_xor_sync(0xffffffffu, shifts[held], offset));
            const float higher = shifts[held];
            if (higher == __int_as_float(0xff800000)) shifts[held] = 0;
            rescale[held] = exp(largest[held] - shifts[held]);
            largest[held] = higher;
            total[held] *= rescale[held];
        }
#pragma unroll
        for (int each = 0; each < scores.COUNT; each++) {
            const index_t i = top + scores.row(each), j = start + scores.column(each);
            float weight = 0;
            if (i < rows && j < columns) {
                const float level = levels[each];
                const float shift = shifts[scores.row_of(each)];
                const half_t s_1 = half_t::from(level);
                const half_t t_1 = half_t::from(shift);
                const half_t t_2 = half_t::from((widen(s_1) - widen(t_1)));
                const half_t e = half_t::from(quick_exp(widen(t_2)));
                weight = widen(e);
            }
            total[scores.row_of(each)] += weight;
            shared.weight.set(scores.row(each), scores.column(each), half_t::from(weight));
        }
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) products.sum(each) *= rescale[products.row_of(each)];
        __syncthreads();
        products.add(shared.weight, shared.value);
    }
#pragma unroll
    for (int held = 0; held < products.ROWS; held++)
#pragma unroll
        for (int offset = products.FELLOWS / 2; offset > 0; offset >>= 1)
            total[held] += __shfl_xor_sync(0xffffffffu, total[held], offset);
#pragma unroll
    for (int each = 0; each < products.COUNT; each++)
        products.sum(each) = products.sum(each) / total[products.row_of(each)];
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) {
            const int row = products.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products.column(each)] = products.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_C / 8); slot += THREADS) {
            const int row = slot / (BLOCK_C / 8), column = slot % (BLOCK_C / 8) * 8;
            const index_t i = top + stripe + row, first = 0 + column;
            if (i < rows && first < channels) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t t_3 = half_t::from(accumulator);
                    t_ptr[i * channels + channel] = t_3;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS) attention_t_by4(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ v_ptr,
    half_t* __restrict__ t_ptr, index_t k_1_stride, index_t rows, index_t columns, index_t depth,
    index_t channels
) {
    const index_t block = blockIdx.x;
    const index_t top = block * BLOCK_I;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> query;
            Operand<half_t, BLOCK_J, BLOCK_K, true> key;
            Operand<half_t, BLOCK_C, BLOCK_J, false> value;
            Operand<half_t, BLOCK_I, BLOCK_J, true> weight;
        };
        float stripe[STRIPE][BLOCK_C + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + i * depth + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t q = q_pack.at[lane];
                    made.at[lane] = q;
                }
            }
            shared.query.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
    }
    const int KEYS_EACH = (BLOCK_J * BLOCK_K / 8 + THREADS - 1) / THREADS;
    Pack<half_t, 8> keys_next[KEYS_EACH];
    const int VALUES_EACH = (BLOCK_C * BLOCK_J / 8 + THREADS - 1) / THREADS;
    Pack<half_t, 8> values_next[VALUES_EACH];
    const auto fetch_keys = [&](index_t start) {
#pragma unroll
        for (int n = 0; n < KEYS_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 8) break;
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            keys_next[n] = made;
        }
    };
    const auto fetch_values = [&](index_t start) {
#pragma unroll
        for (int n = 0; n < VALUES_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_C * BLOCK_J / 8) break;
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + j * channels + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t v = v_pack.at[lane];
                    made.at[lane] = v;
                }
            }
            values_next[n] = made;
        }
    };
    if (AHEAD) fetch_keys(0);
    Sums<BLOCK_I, BLOCK_C, 16, BLOCK_C> products = {};
    float largest[products.ROWS], total[products.ROWS];
#pragma unroll
    for (int held = 0; held < products.ROWS; held++) {
        largest[held] = __int_as_float(0xff800000);
        total[held] = 0;
    }
    for (index_t start = 0; start < columns; start += BLOCK_J) {
        if (AHEAD) {
#pragma unroll
        for (int n = 0; n < KEYS_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 8) break;
            shared.key.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, keys_next[n]);
        }
        }
        __syncthreads();
        if (AHEAD) {
            fetch_values(start);  // on their way while the threads multiply, as are the next keys below
        } else {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            shared.key.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_C * BLOCK_J / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + j * channels + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t v = v_pack.at[lane];
                    made.at[lane] = v;
                }
            }
            shared.value.put(slot % (BLOCK_C / 8) * 8, slot / (BLOCK_C / 8), made);
        }
        __syncthreads();
        }
        Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores = {};
        scores.add(shared.query, shared.key);
        // The softmax of the columns so far: what was summed against a smaller maximum is scaled down.
        float levels[scores.COUNT];
        float shifts[scores.ROWS], rescale[scores.ROWS];
#pragma unroll
        for (int held = 0; held < scores.ROWS; held++) shifts[held] = largest[held];
#pragma unroll
        for (int each = 0; each < scores.COUNT; each++) {
            const index_t i = top + scores.row(each), j = start + scores.column(each);
            levels[each] = __int_as_float(0xff800000);
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const half_t t = half_t::from(score);
                const half_t s = half_t::from((widen(t) * 0.125f));
                levels[each] = widen(s);
            }
            shifts[scores.row_of(each)] = Largest()(shifts[scores.row_of(each)], (float)levels[each]);
        }
#pragma unroll
        for (int held = 0; held < scores.ROWS; held++) {
#pragma unroll
            for (int offset = scores.FELLOWS / 2; offset > 0; offset >>= 1)
                shifts[held] = Largest()(shifts[held], __shfl_xor_sync(0xffffffffu, shifts[held], offset));
            const float higher = shifts[held];
            if (higher == __int_as_float(0xff800000)) shifts[held] = 0;
            rescale[held] = exp(largest[held] - shifts[held]);
            largest[held] = higher;
            total[held] *= rescale[held];
        }
#pragma unroll
        for (int each = 0; each < scores.COUNT; each++) {
            const index_t i = top + scores.row(each), j = start + scores.column(each);
            float weight = 0;
            if (i < rows && j < columns) {
                const float level = levels[each];
                const float shift = shifts[scores.row_of(each)];
                const half_t s_1 = half_t::from(level);
                const half_t t_1 = half_t::from(shift);
                const half_t t_2 = half_t::from((widen(s_1) - widen(t_1)));
                const half_t e = half_t::from(quick_exp(widen(t_2)));
                weight = widen(e);
            }
            total[scores.row_of(each)] += weight;
            shared.weight.set(scores.row(each), scores.column(each), half_t::from(weight));
        }
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) products.sum(each) *= rescale[products.row_of(each)];
        if (AHEAD) {
#pragma unroll
        for (int n = 0; n < VALUES_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_C * BLOCK_J / 8) break;
            shared.value.put(slot % (BLOCK_C / 8) * 8, slot / (BLOCK_C / 8), values_next[n]);
        }
        }
        __syncthreads();
        if (AHEAD && start + BLOCK_J < columns) fetch_keys(start + BLOCK_J);
        products.add(shared.weight, shared.value);
    }
#pragma unroll
    for (int held = 0; held < products.ROWS; held++)
#pragma unroll
        for (int offset = products.FELLOWS / 2; offset > 0; offset >>= 1)
            total[held] += __shfl_xor_sync(0xffffffffu, total[held], offset);
#pragma unroll
    for (int each = 0; each < products.COUNT; each++)
        products.sum(each) = products.sum(each) / total[products.row_of(each)];
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) {
            const int row = products.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products.column(each)] = products.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_C / 8); slot += THREADS) {
            const int row = slot / (BLOCK_C / 8), column = slot % (BLOCK_C / 8) * 8;
            const index_t i = top + stripe + row, first = 0 + column;
            if (i < rows && first < channels) {
                Pack<half_t, 8> t_out_pack;
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t t_3 = half_t::from(accumulator);
                    t_out_pack.at[lane] = t_3;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(t_ptr + i * channels + first) = t_out_pack;
            }
        }
    }
}
