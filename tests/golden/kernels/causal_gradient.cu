// e / e.sum(axis=-1, keepdims=True) @ v
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

__device__ inline int wrapping_add(int x, int y) { return (int)((unsigned int)x + (unsigned int)y); }
__device__ inline long long wrapping_add(long long x, long long y) {
    return (long long)((unsigned long long)x + (unsigned long long)y);
}

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void causal_loss_grad_reach_parts(
    const half_t* __restrict__ v_ptr, int* __restrict__ reach_part_ptr, index_t columns_1, index_t rows,
    index_t columns, index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const index_t column_0 = column / columns_1;
            const half_t v = v_ptr[row * columns + column];
            const half_t t = half_t::from((widen(v) - widen(v)));
            const bool t_1 = widen(t) != 0.0f;
            const int t_2 = column_0;
            const int t_3 = wrapping_add(t_2, 1);
            const int t_4 = t_1 ? t_3 : 0;
            reach_sofar = Largest()(reach_sofar, t_4);
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}

// e / e.sum(axis=-1, keepdims=True) @ v
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const int reach_part = reach_part_ptr[row * columns + column];
            reach_sofar = Largest()(reach_sofar, reach_part);
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish_by4(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto reach_part_pack = *reinterpret_cast<const Pack<int>*>(reach_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int reach_part = reach_part_pack.at[lane];
                reach_sofar = Largest()(reach_sofar, reach_part);
            }
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}

// q @ k.transpose(0, 2, 1) * 0.25
// np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
// np.exp(s - s.max(axis=-1, keepdims=True))
// e / e.sum(axis=-1, keepdims=True) @ v
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

extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_t(
    int* __restrict__ reach_ptr, const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr,
    const half_t* __restrict__ v_ptr, half_t* __restrict__ t_ptr, index_t k_1_stride, index_t rows,
    index_t columns, index_t depth, index_t channels
) {
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks_i, block = (index_t)blockIdx.x % blocks_i;
    // The last rows first, which see most columns.
    const index_t top = (blocks_i - 1 - block) * BLOCK_I;
    // What a row does not see has the weight 0, which leaves out all but a value that is no finite number.
    index_t seen = top + BLOCK_I;
    if (seen < reach_ptr[batch]) seen = reach_ptr[batch];
    if (seen > columns) seen = columns;
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
                    const half_t q = q_ptr[batch * rows * depth + i * depth + k];
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
    for (index_t start = 0; start < seen; start += BLOCK_J) {
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
                    const half_t k_1 = k_1_ptr[batch * depth * columns + k + j * k_1_stride];
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
                    const half_t v = v_ptr[batch * columns * channels + j * channels + channel];
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
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                levels[each] = widen(s_1);
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
                const half_t s_2 = half_t::from(level);
                const half_t t_4 = half_t::from(shift);
                const half_t t_5 = half_t::from((widen(s_2) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
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
                    const half_t t_6 = half_t::from(accumulator);
                    t_ptr[batch * rows * channels + i * channels + channel] = t_6;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_t_by4(
    int* __restrict__ reach_ptr, const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr,
    const half_t* __restrict__ v_ptr, half_t* __restrict__ t_ptr, index_t k_1_stride, index_t rows,
    index_t columns, index_t depth, index_t channels
) {
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks_i, block = (index_t)blockIdx.x % blocks_i;
    // The last rows first, which see most columns.
    const index_t top = (blocks_i - 1 - block) * BLOCK_I;
    // What a row does not see has the weight 0, which leaves out all but a value that is no finite number.
    index_t seen = top + BLOCK_I;
    if (seen < reach_ptr[batch]) seen = reach_ptr[batch];
    if (seen > columns) seen = columns;
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
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + batch * rows * depth + i * depth + first);
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
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
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
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + batch * columns * channels + j * channels + first);
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
    for (index_t start = 0; start < seen; start += BLOCK_J) {
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
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
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
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + batch * columns * channels + j * channels + first);
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
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                levels[each] = widen(s_1);
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
                const half_t s_2 = half_t::from(level);
                const half_t t_4 = half_t::from(shift);
                const half_t t_5 = half_t::from((widen(s_2) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
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
        if (AHEAD && start + BLOCK_J < seen) fetch_keys(start + BLOCK_J);
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
                    const half_t t_6 = half_t::from(accumulator);
                    t_out_pack.at[lane] = t_6;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(t_ptr + batch * rows * channels + i * channels + first) = t_out_pack;
            }
        }
    }
}

// products.causal(q, k, v) ** 2
// e / e.sum(axis=-1, keepdims=True) @ v + 1
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

extern "C" __global__ void causal_loss_grad_d_t(
    const half_t* __restrict__ t_ptr, half_t* __restrict__ d_t_ptr, index_t n
) {
    const index_t step = (index_t)gridDim.x * blockDim.x;
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const half_t t = t_ptr[i];
        const half_t t_1 = half_t::from((widen(t) + 1.0f));
        const half_t d_t = half_t::from((2.0f * widen(t_1)));
        d_t_ptr[i] = d_t;
    }
}

// The same for eight neighbours at a time: rows are multiples of 8 long and begin at such.
template <class T> struct alignas(8 * sizeof(T)) Pack { T at[8]; };

extern "C" __global__ void causal_loss_grad_d_t_by8(
    const half_t* __restrict__ t_ptr, half_t* __restrict__ d_t_ptr, index_t n
) {
    const index_t step = 8 * (index_t)gridDim.x * blockDim.x;
    for (index_t i = 8 * ((index_t)blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step) {
        const auto t_pack = *reinterpret_cast<const Pack<half_t>*>(t_ptr + i);
        Pack<half_t> d_t_out_pack;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const half_t t = t_pack.at[k];
            const half_t t_1 = half_t::from((widen(t) + 1.0f));
            const half_t d_t = half_t::from((2.0f * widen(t_1)));
            d_t_out_pack.at[k] = d_t;
        }
        *reinterpret_cast<Pack<half_t>*>(d_t_ptr + i) = d_t_out_pack;
    }
}

// q @ k.transpose(0, 2, 1)
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

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16) Pack { T at[8]; };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void causal_loss_grad_reach_parts(
    const half_t* __restrict__ q_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const half_t q = q_ptr[row * columns + column];
            const half_t t = half_t::from(fabsf(widen(q)));
            const bool t_1 = widen(t) <= 22.625f;
            const bool t_2 = !t_1;
            const int t_3 = t_2 ? 4096 : 0;
            reach_sofar = Largest()(reach_sofar, t_3);
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}


// The same for eight neighbours at a time: rows are multiples of 8 long and begin at such.
extern "C" __global__ void causal_loss_grad_reach_parts_by8(
    const half_t* __restrict__ q_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 8 * (index_t)threadIdx.x; first < end; first += 8 * (index_t)blockDim.x) {
            const auto q_pack = *reinterpret_cast<const Pack<half_t>*>(q_ptr + row * columns + first);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                const index_t column = first + k;
                const half_t q = q_pack.at[k];
                const half_t t = half_t::from(fabsf(widen(q)));
                const bool t_1 = widen(t) <= 22.625f;
                const bool t_2 = !t_1;
                const int t_3 = t_2 ? 4096 : 0;
                reach_sofar = Largest()(reach_sofar, t_3);
            }
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}

// q @ k.transpose(0, 2, 1)
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const int reach_part = reach_part_ptr[row * columns + column];
            reach_sofar = Largest()(reach_sofar, reach_part);
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish_by4(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto reach_part_pack = *reinterpret_cast<const Pack<int>*>(reach_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int reach_part = reach_part_pack.at[lane];
                reach_sofar = Largest()(reach_sofar, reach_part);
            }
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}

// q @ k.transpose(0, 2, 1)
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

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16) Pack { T at[8]; };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void causal_loss_grad_reach_parts(
    const half_t* __restrict__ k_1_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const half_t k_1 = k_1_ptr[row * columns + column];
            const half_t t = half_t::from(fabsf(widen(k_1)));
            const bool t_1 = widen(t) <= 22.625f;
            const bool t_2 = !t_1;
            const int t_3 = t_2 ? 4096 : 0;
            reach_sofar = Largest()(reach_sofar, t_3);
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}


// The same for eight neighbours at a time: rows are multiples of 8 long and begin at such.
extern "C" __global__ void causal_loss_grad_reach_parts_by8(
    const half_t* __restrict__ k_1_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 8 * (index_t)threadIdx.x; first < end; first += 8 * (index_t)blockDim.x) {
            const auto k_1_pack = *reinterpret_cast<const Pack<half_t>*>(k_1_ptr + row * columns + first);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                const index_t column = first + k;
                const half_t k_1 = k_1_pack.at[k];
                const half_t t = half_t::from(fabsf(widen(k_1)));
                const bool t_1 = widen(t) <= 22.625f;
                const bool t_2 = !t_1;
                const int t_3 = t_2 ? 4096 : 0;
                reach_sofar = Largest()(reach_sofar, t_3);
            }
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}

// q @ k.transpose(0, 2, 1)
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const int reach_part = reach_part_ptr[row * columns + column];
            reach_sofar = Largest()(reach_sofar, reach_part);
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish_by4(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto reach_part_pack = *reinterpret_cast<const Pack<int>*>(reach_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int reach_part = reach_part_pack.at[lane];
                reach_sofar = Largest()(reach_sofar, reach_part);
            }
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}

// q @ k.transpose(0, 2, 1)
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

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16) Pack { T at[8]; };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void causal_loss_grad_reach_parts(
    const half_t* __restrict__ d_t_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const half_t d_t = d_t_ptr[row * columns + column];
            const half_t t = half_t::from(fabsf(widen(d_t)));
            const bool t_1 = widen(t) <= 22.625f;
            const bool t_2 = !t_1;
            const int t_3 = t_2 ? 4096 : 0;
            reach_sofar = Largest()(reach_sofar, t_3);
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}


// The same for eight neighbours at a time: rows are multiples of 8 long and begin at such.
extern "C" __global__ void causal_loss_grad_reach_parts_by8(
    const half_t* __restrict__ d_t_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 8 * (index_t)threadIdx.x; first < end; first += 8 * (index_t)blockDim.x) {
            const auto d_t_pack = *reinterpret_cast<const Pack<half_t>*>(d_t_ptr + row * columns + first);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                const index_t column = first + k;
                const half_t d_t = d_t_pack.at[k];
                const half_t t = half_t::from(fabsf(widen(d_t)));
                const bool t_1 = widen(t) <= 22.625f;
                const bool t_2 = !t_1;
                const int t_3 = t_2 ? 4096 : 0;
                reach_sofar = Largest()(reach_sofar, t_3);
            }
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}

// q @ k.transpose(0, 2, 1)
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const int reach_part = reach_part_ptr[row * columns + column];
            reach_sofar = Largest()(reach_sofar, reach_part);
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish_by4(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto reach_part_pack = *reinterpret_cast<const Pack<int>*>(reach_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int reach_part = reach_part_pack.at[lane];
                reach_sofar = Largest()(reach_sofar, reach_part);
            }
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}

// q @ k.transpose(0, 2, 1)
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

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(8 * sizeof(T) < 16 ? 8 * sizeof(T) : 16) Pack { T at[8]; };

// Thread k of the first `row_threads` gets the fold of the values of all threads that work on its row.
template <class Fold, class T> __device__ T tile_fold(T value, int row_threads) {
    const Fold fold;
    __shared__ T partial[256];
    __syncthreads();
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= row_threads; half >>= 1) {
        if ((int)threadIdx.x < half) partial[threadIdx.x] = fold(partial[threadIdx.x], partial[threadIdx.x + half]);
        __syncthreads();
    }
    return partial[threadIdx.x];
}

extern "C" __global__ void causal_loss_grad_reach_parts(
    const half_t* __restrict__ v_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t column = begin + threadIdx.x / row_threads; column < end; column += blockDim.x / row_threads) {
            const half_t v = v_ptr[row * columns + column];
            const half_t t = half_t::from(fabsf(widen(v)));
            const bool t_1 = widen(t) <= 22.625f;
            const bool t_2 = !t_1;
            const int t_3 = t_2 ? 4096 : 0;
            reach_sofar = Largest()(reach_sofar, t_3);
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}


// The same for eight neighbours at a time: rows are multiples of 8 long and begin at such.
extern "C" __global__ void causal_loss_grad_reach_parts_by8(
    const half_t* __restrict__ v_ptr, int* __restrict__ reach_part_ptr, index_t rows, index_t columns,
    index_t chunks, index_t chunk_length, index_t row_threads
) {
    const index_t row = (index_t)blockIdx.x * row_threads + threadIdx.x % row_threads;
    const index_t chunk = blockIdx.y;
    const index_t begin = chunk * chunk_length;
    const index_t end = begin + chunk_length < columns ? begin + chunk_length : columns;
    int reach_sofar = (-2147483647 - 1);
    if (row < rows) {
#pragma unroll 4
        for (index_t first = begin + 8 * (index_t)threadIdx.x; first < end; first += 8 * (index_t)blockDim.x) {
            const auto v_pack = *reinterpret_cast<const Pack<half_t>*>(v_ptr + row * columns + first);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                const index_t column = first + k;
                const half_t v = v_pack.at[k];
                const half_t t = half_t::from(fabsf(widen(v)));
                const bool t_1 = widen(t) <= 22.625f;
                const bool t_2 = !t_1;
                const int t_3 = t_2 ? 4096 : 0;
                reach_sofar = Largest()(reach_sofar, t_3);
            }
        }
    }
    reach_sofar = tile_fold<Largest>(reach_sofar, row_threads);
    if ((int)threadIdx.x < row_threads && row < rows) reach_part_ptr[row * chunks + chunk] = reach_sofar;
}

// q @ k.transpose(0, 2, 1)
typedef int index_t;

struct Largest { template <class T> __device__ T operator()(T a, T b) const { return a > b || a != a ? a : b; } };

template <class T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Pack { T at[4]; };

// All threads of a row get the fold of their values: within warps by shuffles, between them through shared memory.
// Several short rows share a warp, and may leave it one after the other.
template <class Fold, class T> __device__ T row_fold(T value, T identity) {
    const Fold fold;
    const unsigned others = threadIdx.x % 32 / THREADS * THREADS;  // lanes with rows before this one
    const unsigned lanes = THREADS < 32 ? ((1u << THREADS % 32) - 1) << others : 0xffffffffu;
    for (int offset = (THREADS < 32 ? THREADS : 32) / 2; offset > 0; offset >>= 1)
        value = fold(value, __shfl_xor_sync(lanes, value, offset));
    if (THREADS <= 32) return value;
    __shared__ T partial[(THREADS + 31) / 32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = lane < THREADS / 32 ? partial[lane] : identity;
    for (int offset = 16; offset > 0; offset >>= 1) value = fold(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const index_t column = thread + k * THREADS;
            if (column >= columns) continue;
            const int reach_part = reach_part_ptr[row * columns + column];
            reach_sofar = Largest()(reach_sofar, reach_part);
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}


// The same for four neighbours at a time: rows are multiples of 4 long and begin at such.
extern "C" __global__ void __launch_bounds__(BLOCK) causal_loss_grad_reach_finish_by4(
    const int* __restrict__ reach_part_ptr, int* __restrict__ reach_ptr, index_t rows, index_t columns
) {
    const int thread = threadIdx.x % THREADS, together = blockDim.x / THREADS;
    const index_t step = (index_t)gridDim.x * together;
    for (index_t row = (index_t)blockIdx.x * together + threadIdx.x / THREADS; row < rows; row += step) {
        int reach_sofar = (-2147483647 - 1);
#pragma unroll
        for (int piece = 0; piece < EACH / 4; piece++) {
            const index_t first = 4 * (thread + piece * THREADS);
            if (first >= columns) continue;
            const auto reach_part_pack = *reinterpret_cast<const Pack<int>*>(reach_part_ptr + row * columns + first);
#pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const int reach_part = reach_part_pack.at[lane];
                reach_sofar = Largest()(reach_sofar, reach_part);
            }
        }
        const int reach = row_fold<Largest, int>(reach_sofar, (-2147483647 - 1));
        if (thread == 0) {
            reach_ptr[row] = reach;
        }
    }
}

// q @ k.transpose(0, 2, 1)
// np.tril(np.ones(s.shape[1:], bool))
// np.exp(s - s.max(axis=-1, keepdims=True))
// e / e.sum(axis=-1, keepdims=True) @ v
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

extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_softmax(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, float* __restrict__ largest_ptr,
    float* __restrict__ total_ptr, int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr,
    int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t rows,
    index_t columns, index_t depth
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
        };
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
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
                    const half_t q = q_ptr[batch * rows * depth + i * depth + k];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
    }
    float largest[scores_t::ROWS], total[scores_t::ROWS];
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
        largest[held] = __int_as_float(0xff800000);
        total[held] = 0;
    }
    for (index_t start = 0; start < end; start += BLOCK_J) {
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
                    const half_t k_1 = k_1_ptr[batch * depth * columns + k + j * k_1_stride];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
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
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                levels[each] = widen(s_1);
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
                const half_t s_2 = half_t::from(level);
                const half_t t_4 = half_t::from(shift);
                const half_t t_5 = half_t::from((widen(s_2) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
                weight = widen(e);
            }
            total[scores.row_of(each)] += weight;
        }
    }
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
#pragma unroll
        for (int offset = scores_t::FELLOWS / 2; offset > 0; offset >>= 1) {
            total[held] += __shfl_xor_sync(0xffffffffu, total[held], offset);
        }
        const index_t i = top + scores_t::row(scores_t::first_of(held));
        if (i < rows && threadIdx.x % scores_t::FELLOWS == 0) {
            largest_ptr[batch * rows + i] = largest[held];
            total_ptr[batch * rows + i] = total[held];
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_softmax_by4(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, float* __restrict__ largest_ptr,
    float* __restrict__ total_ptr, int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr,
    int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t rows,
    index_t columns, index_t depth
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
        };
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + batch * rows * depth + i * depth + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t q = q_pack.at[lane];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
    }
    float largest[scores_t::ROWS], total[scores_t::ROWS];
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
        largest[held] = __int_as_float(0xff800000);
        total[held] = 0;
    }
    for (index_t start = 0; start < end; start += BLOCK_J) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
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
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                levels[each] = widen(s_1);
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
                const half_t s_2 = half_t::from(level);
                const half_t t_4 = half_t::from(shift);
                const half_t t_5 = half_t::from((widen(s_2) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
                weight = widen(e);
            }
            total[scores.row_of(each)] += weight;
        }
    }
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
#pragma unroll
        for (int offset = scores_t::FELLOWS / 2; offset > 0; offset >>= 1) {
            total[held] += __shfl_xor_sync(0xffffffffu, total[held], offset);
        }
        const index_t i = top + scores_t::row(scores_t::first_of(held));
        if (i < rows && threadIdx.x % scores_t::FELLOWS == 0) {
            largest_ptr[batch * rows + i] = largest[held];
            total_ptr[batch * rows + i] = total[held];
        }
    }
}

// q @ k.transpose(0, 2, 1)
// np.tril(np.ones(s.shape[1:], bool))
// np.exp(s - s.max(axis=-1, keepdims=True))
// e / e.sum(axis=-1, keepdims=True) @ v
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

extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_sums(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr,
    int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t v_stride,
    index_t rows, index_t columns, index_t depth, index_t channels
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
        };
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
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
                    const half_t q = q_ptr[batch * rows * depth + i * depth + k];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t d_t = d_t_ptr[batch * rows * channels + i * channels + channel];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    float sum[scores_t::ROWS] = {};
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = top + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
        }
    for (index_t start = 0; start < end; start += BLOCK_J) {
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
                    const half_t k_1 = k_1_ptr[batch * depth * columns + k + j * k_1_stride];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t v = v_ptr[batch * channels * columns + channel + j * v_stride];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = top + scores_t::row(each), j = start + scores_t::column(each);
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const half_t t = half_t::from(slope);
                const bool t_3 = i >= j;
                const half_t t_4 = half_t::from(score);
                const half_t s = half_t::from((widen(t_4) * 0.25f));
                const half_t s_1 = half_t::from((t_3 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_5 = half_t::from(largest);
                const half_t t_6 = half_t::from((widen(s_1) - widen(t_5)));
                const half_t e = half_t::from(quick_exp(widen(t_6)));
                const half_t t_7 = half_t::from(total);
                const half_t t_8 = half_t::from((widen(e) / widen(t_7)));
                const half_t t_9 = half_t::from((widen(t) * widen(t_8)));
                sum[scores_t::row_of(each)] += widen(t_9);
            }
        }
    }
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
#pragma unroll
        for (int offset = scores_t::FELLOWS / 2; offset > 0; offset >>= 1) {
            sum[held] += __shfl_xor_sync(0xffffffffu, sum[held], offset);
        }
        const index_t i = top + scores_t::row(scores_t::first_of(held));
        if (i < rows && threadIdx.x % scores_t::FELLOWS == 0) {
            sum_ptr[batch * rows + i] = sum[held];
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_sums_by4(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr,
    int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t v_stride,
    index_t rows, index_t columns, index_t depth, index_t channels
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
        };
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + batch * rows * depth + i * depth + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t q = q_pack.at[lane];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto d_t_pack = *reinterpret_cast<const Pack<half_t, 8>*>(d_t_ptr + batch * rows * channels + i * channels + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t d_t = d_t_pack.at[lane];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    float sum[scores_t::ROWS] = {};
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = top + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
        }
    for (index_t start = 0; start < end; start += BLOCK_J) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + batch * channels * columns + first + j * v_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t v = v_pack.at[lane];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = top + scores_t::row(each), j = start + scores_t::column(each);
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const half_t t = half_t::from(slope);
                const bool t_3 = i >= j;
                const half_t t_4 = half_t::from(score);
                const half_t s = half_t::from((widen(t_4) * 0.25f));
                const half_t s_1 = half_t::from((t_3 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_5 = half_t::from(largest);
                const half_t t_6 = half_t::from((widen(s_1) - widen(t_5)));
                const half_t e = half_t::from(quick_exp(widen(t_6)));
                const half_t t_7 = half_t::from(total);
                const half_t t_8 = half_t::from((widen(e) / widen(t_7)));
                const half_t t_9 = half_t::from((widen(t) * widen(t_8)));
                sum[scores_t::row_of(each)] += widen(t_9);
            }
        }
    }
#pragma unroll
    for (int held = 0; held < scores_t::ROWS; held++) {
#pragma unroll
        for (int offset = scores_t::FELLOWS / 2; offset > 0; offset >>= 1) {
            sum[held] += __shfl_xor_sync(0xffffffffu, sum[held], offset);
        }
        const index_t i = top + scores_t::row(scores_t::first_of(held));
        if (i < rows && threadIdx.x % scores_t::FELLOWS == 0) {
            sum_ptr[batch * rows + i] = sum[held];
        }
    }
}

// q @ k.transpose(0, 2, 1)
// np.tril(np.ones(s.shape[1:], bool))
// np.exp(s - s.max(axis=-1, keepdims=True))
// e / e.sum(axis=-1, keepdims=True) @ v
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

// An operand as one of the other side: what lies along its rows is summed, and the other way round.
template <class T, int EXTENT, int DEPTH, bool ALONG>
__device__ const Operand<T, DEPTH, EXTENT, !ALONG>& turned(const Operand<T, EXTENT, DEPTH, ALONG>& x) {
    static_assert(sizeof(Operand<T, DEPTH, EXTENT, !ALONG>) == sizeof x, "");
    return reinterpret_cast<const Operand<T, DEPTH, EXTENT, !ALONG>&>(x);
}

extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_rows(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, half_t* __restrict__ d_q_ptr, int* __restrict__ reach_0_ptr,
    int* __restrict__ reach_1_ptr, int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr,
    index_t k_1_stride, index_t v_stride, index_t rows, index_t columns, index_t depth, index_t channels
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
            Operand<half_t, BLOCK_I, BLOCK_J, true> factor;
        };
        float stripe[STRIPE][WIDEST + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
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
                    const half_t q = q_ptr[batch * rows * depth + i * depth + k];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t d_t = d_t_ptr[batch * rows * channels + i * channels + channel];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    Sums<BLOCK_I, BLOCK_K, 16, BLOCK_K> products_1 = {};
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
        float row_sum[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = top + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
            row_sum[held] = i < rows ? sum_ptr[batch * rows + i] : 0;
        }
    for (index_t start = 0; start < end; start += BLOCK_J) {
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
                    const half_t k_1 = k_1_ptr[batch * depth * columns + k + j * k_1_stride];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t v = v_ptr[batch * channels * columns + channel + j * v_stride];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = top + scores_t::row(each), j = start + scores_t::column(each);
            half_t factor = {};
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const float sum = row_sum[scores_t::row_of(each)];
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(slope);
                const half_t t_4 = half_t::from(total);
                const half_t d_e = half_t::from((widen(t_3) / widen(t_4)));
                const half_t t_5 = half_t::from(sum);
                const half_t t_6 = half_t::from((widen(t_5) / widen(t_4)));
                const half_t d_e_1 = half_t::from((widen(d_e) - widen(t_6)));
                const half_t t_7 = half_t::from(score);
                const half_t s = half_t::from((widen(t_7) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_8 = half_t::from(largest);
                const half_t t_9 = half_t::from((widen(s_1) - widen(t_8)));
                const half_t e = half_t::from(quick_exp(widen(t_9)));
                const half_t d_s = half_t::from((widen(d_e_1) * widen(e)));
                const half_t t_10 = half_t::from((widen(d_s) * 0.25f));
                const half_t d_t_1 = half_t::from((t_2 ? widen(t_10) : 0.0f));
                factor = d_t_1;
            }
            shared.factor.set(scores_t::row(each), scores_t::column(each), factor);
        }
        __syncthreads();
        products_1.add(shared.factor, turned(shared.score_right));
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_1.COUNT; each++) {
            const int row = products_1.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_1.column(each)] = products_1.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_K / 8); slot += THREADS) {
            const int row = slot / (BLOCK_K / 8), column = slot % (BLOCK_K / 8) * 8;
            const index_t i = top + stripe + row, first = 0 + column;
            if (i < rows && first < depth) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_q = half_t::from(accumulator);
                    d_q_ptr[batch * rows * depth + i * depth + k] = d_q;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS) causal_loss_grad_d_v_rows_by4(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, half_t* __restrict__ d_q_ptr, int* __restrict__ reach_0_ptr,
    int* __restrict__ reach_1_ptr, int* __restrict__ reach_2_ptr, int* __restrict__ reach_3_ptr,
    index_t k_1_stride, index_t v_stride, index_t rows, index_t columns, index_t depth, index_t channels
) {
    const index_t blocks = (rows + BLOCK_I - 1) / BLOCK_I;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    // The last rows first, which see most columns.
    const index_t top = (blocks - 1 - block) * BLOCK_I;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t end = top + BLOCK_I;
    if (end < odd) end = odd;
    if (end > columns) end = columns;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
            Operand<half_t, BLOCK_I, BLOCK_J, true> factor;
        };
        float stripe[STRIPE][WIDEST + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, BLOCK_J> scores_t;
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + batch * rows * depth + i * depth + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t q = q_pack.at[lane];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = top + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto d_t_pack = *reinterpret_cast<const Pack<half_t, 8>*>(d_t_ptr + batch * rows * channels + i * channels + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t d_t = d_t_pack.at[lane];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    Sums<BLOCK_I, BLOCK_K, 16, BLOCK_K> products_1 = {};
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
        float row_sum[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = top + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
            row_sum[held] = i < rows ? sum_ptr[batch * rows + i] : 0;
        }
    for (index_t start = 0; start < end; start += BLOCK_J) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + batch * channels * columns + first + j * v_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t v = v_pack.at[lane];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = top + scores_t::row(each), j = start + scores_t::column(each);
            half_t factor = {};
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const float sum = row_sum[scores_t::row_of(each)];
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(slope);
                const half_t t_4 = half_t::from(total);
                const half_t d_e = half_t::from((widen(t_3) / widen(t_4)));
                const half_t t_5 = half_t::from(sum);
                const half_t t_6 = half_t::from((widen(t_5) / widen(t_4)));
                const half_t d_e_1 = half_t::from((widen(d_e) - widen(t_6)));
                const half_t t_7 = half_t::from(score);
                const half_t s = half_t::from((widen(t_7) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_8 = half_t::from(largest);
                const half_t t_9 = half_t::from((widen(s_1) - widen(t_8)));
                const half_t e = half_t::from(quick_exp(widen(t_9)));
                const half_t d_s = half_t::from((widen(d_e_1) * widen(e)));
                const half_t t_10 = half_t::from((widen(d_s) * 0.25f));
                const half_t d_t_1 = half_t::from((t_2 ? widen(t_10) : 0.0f));
                factor = d_t_1;
            }
            shared.factor.set(scores_t::row(each), scores_t::column(each), factor);
        }
        __syncthreads();
        products_1.add(shared.factor, turned(shared.score_right));
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_1.COUNT; each++) {
            const int row = products_1.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_1.column(each)] = products_1.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_K / 8); slot += THREADS) {
            const int row = slot / (BLOCK_K / 8), column = slot % (BLOCK_K / 8) * 8;
            const index_t i = top + stripe + row, first = 0 + column;
            if (i < rows && first < depth) {
                Pack<half_t, 8> d_q_out_pack;
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_q = half_t::from(accumulator);
                    d_q_out_pack.at[lane] = d_q;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(d_q_ptr + batch * rows * depth + i * depth + first) = d_q_out_pack;
            }
        }
    }
}

// q @ k.transpose(0, 2, 1)
// np.tril(np.ones(s.shape[1:], bool))
// np.exp(s - s.max(axis=-1, keepdims=True))
// e / e.sum(axis=-1, keepdims=True) @ v
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

// An operand as one of the other side: what lies along its rows is summed, and the other way round.
template <class T, int EXTENT, int DEPTH, bool ALONG>
__device__ const Operand<T, DEPTH, EXTENT, !ALONG>& turned(const Operand<T, EXTENT, DEPTH, ALONG>& x) {
    static_assert(sizeof(Operand<T, DEPTH, EXTENT, !ALONG>) == sizeof x, "");
    return reinterpret_cast<const Operand<T, DEPTH, EXTENT, !ALONG>&>(x);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) causal_loss_grad_d_v_columns(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, half_t* __restrict__ d_v_ptr, half_t* __restrict__ d_k_ptr,
    int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr, int* __restrict__ reach_2_ptr,
    int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t v_stride, index_t rows, index_t columns,
    index_t depth, index_t channels
) {
    const index_t blocks = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    const index_t edge = block * BLOCK_J;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t begin = edge;
    begin = odd > 0 || begin < 0 ? 0 : begin / BLOCK_I * BLOCK_I;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
            Operand<half_t, BLOCK_J, BLOCK_I, false> factor;
            Operand<half_t, BLOCK_J, BLOCK_I, false> factor_1;
        };
        float stripe[STRIPE][WIDEST + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, 16 * BLOCK_I * BLOCK_J / THREADS / 8> scores_t;
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = edge + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const half_t k_1 = k_1_ptr[batch * depth * columns + k + j * k_1_stride];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = edge + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t v = v_ptr[batch * channels * columns + channel + j * v_stride];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    Sums<BLOCK_J, BLOCK_C, 16, 16 * BLOCK_J * BLOCK_C / THREADS / 8> products_1 = {};
    Sums<BLOCK_J, BLOCK_K, 16, 16 * BLOCK_J * BLOCK_K / THREADS / 8> products_2 = {};
    for (index_t start = begin; start < rows; start += BLOCK_I) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const half_t q = q_ptr[batch * rows * depth + i * depth + k];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const half_t d_t = d_t_ptr[batch * rows * channels + i * channels + channel];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
        float row_sum[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = start + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
            row_sum[held] = i < rows ? sum_ptr[batch * rows + i] : 0;
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = start + scores_t::row(each), j = edge + scores_t::column(each);
            half_t factor = {};
            half_t factor_1 = {};
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const float sum = row_sum[scores_t::row_of(each)];
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_4 = half_t::from(largest);
                const half_t t_5 = half_t::from((widen(s_1) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
                const half_t t_6 = half_t::from(total);
                const half_t t_7 = half_t::from((widen(e) / widen(t_6)));
                const half_t t_8 = half_t::from(slope);
                const half_t d_e = half_t::from((widen(t_8) / widen(t_6)));
                const half_t t_9 = half_t::from(sum);
                const half_t t_10 = half_t::from((widen(t_9) / widen(t_6)));
                const half_t d_e_1 = half_t::from((widen(d_e) - widen(t_10)));
                const half_t d_s = half_t::from((widen(d_e_1) * widen(e)));
                const half_t t_11 = half_t::from((widen(d_s) * 0.25f));
                const half_t d_t_1 = half_t::from((t_2 ? widen(t_11) : 0.0f));
                factor = t_7;
                factor_1 = d_t_1;
            }
            shared.factor.set(scores_t::column(each), scores_t::row(each), factor);
            shared.factor_1.set(scores_t::column(each), scores_t::row(each), factor_1);
        }
        __syncthreads();
        products_1.add(shared.factor, turned(shared.slope_left));
        products_2.add(shared.factor_1, turned(shared.score_left));
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_J; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_1.COUNT; each++) {
            const int row = products_1.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_1.column(each)] = products_1.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_C / 8); slot += THREADS) {
            const int row = slot / (BLOCK_C / 8), column = slot % (BLOCK_C / 8) * 8;
            const index_t j = edge + stripe + row, first = 0 + column;
            if (j < columns && first < channels) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    if (channel >= channels) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_v = half_t::from(accumulator);
                    d_v_ptr[batch * columns * channels + j * channels + channel] = d_v;
                }
            }
        }
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_J; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_2.COUNT; each++) {
            const int row = products_2.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_2.column(each)] = products_2.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_K / 8); slot += THREADS) {
            const int row = slot / (BLOCK_K / 8), column = slot % (BLOCK_K / 8) * 8;
            const index_t j = edge + stripe + row, first = 0 + column;
            if (j < columns && first < depth) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_k = half_t::from(accumulator);
                    d_k_ptr[batch * columns * depth + j * depth + k] = d_k;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS, 2) causal_loss_grad_d_v_columns_by4(
    const half_t* __restrict__ q_ptr, const half_t* __restrict__ k_1_ptr, const half_t* __restrict__ d_t_ptr,
    const half_t* __restrict__ v_ptr, float* __restrict__ largest_ptr, float* __restrict__ total_ptr,
    float* __restrict__ sum_ptr, half_t* __restrict__ d_v_ptr, half_t* __restrict__ d_k_ptr,
    int* __restrict__ reach_0_ptr, int* __restrict__ reach_1_ptr, int* __restrict__ reach_2_ptr,
    int* __restrict__ reach_3_ptr, index_t k_1_stride, index_t v_stride, index_t rows, index_t columns,
    index_t depth, index_t channels
) {
    const index_t blocks = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t batch = (index_t)blockIdx.x / blocks, block = (index_t)blockIdx.x % blocks;
    const index_t edge = block * BLOCK_J;
    // Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    index_t odd = reach_0_ptr[batch];
    if (odd < reach_1_ptr[batch]) odd = reach_1_ptr[batch];
    if (odd < reach_2_ptr[batch]) odd = reach_2_ptr[batch];
    if (odd < reach_3_ptr[batch]) odd = reach_3_ptr[batch];
    index_t begin = edge;
    begin = odd > 0 || begin < 0 ? 0 : begin / BLOCK_I * BLOCK_I;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> score_left;
            Operand<half_t, BLOCK_J, BLOCK_K, true> score_right;
            Operand<half_t, BLOCK_I, BLOCK_C, true> slope_left;
            Operand<half_t, BLOCK_J, BLOCK_C, true> slope_right;
            Operand<half_t, BLOCK_J, BLOCK_I, false> factor;
            Operand<half_t, BLOCK_J, BLOCK_I, false> factor_1;
        };
        float stripe[STRIPE][WIDEST + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    typedef Sums<BLOCK_I, BLOCK_J, 16, 16 * BLOCK_I * BLOCK_J / THREADS / 8> scores_t;
    {
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_K / 8; slot += THREADS) {
            const index_t j = edge + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = j < columns && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto k_1_pack = *reinterpret_cast<const Pack<half_t, 8>*>(k_1_ptr + batch * depth * columns + first + j * k_1_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t k_1 = k_1_pack.at[lane];
                    made.at[lane] = k_1;
                }
            }
            shared.score_right.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_J * BLOCK_C / 8; slot += THREADS) {
            const index_t j = edge + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = j < columns && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto v_pack = *reinterpret_cast<const Pack<half_t, 8>*>(v_ptr + batch * channels * columns + first + j * v_stride);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t v = v_pack.at[lane];
                    made.at[lane] = v;
                }
            }
            shared.slope_right.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
    }
    Sums<BLOCK_J, BLOCK_C, 16, 16 * BLOCK_J * BLOCK_C / THREADS / 8> products_1 = {};
    Sums<BLOCK_J, BLOCK_K, 16, 16 * BLOCK_J * BLOCK_K / THREADS / 8> products_2 = {};
    for (index_t start = begin; start < rows; start += BLOCK_I) {
        __syncthreads();
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_K / 8; slot += THREADS) {
            const index_t i = start + slot / (BLOCK_K / 8), first = 0 + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto q_pack = *reinterpret_cast<const Pack<half_t, 8>*>(q_ptr + batch * rows * depth + i * depth + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const half_t q = q_pack.at[lane];
                    made.at[lane] = q;
                }
            }
            shared.score_left.put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, made);
        }
#pragma unroll 2
        for (int slot = threadIdx.x; slot < BLOCK_I * BLOCK_C / 8; slot += THREADS) {
            const index_t i = start + slot / (BLOCK_C / 8), first = 0 + slot % (BLOCK_C / 8) * 8;
            const bool inside = i < rows && first < channels;
            Pack<half_t, 8> made = {};
            if (inside) {
                const auto d_t_pack = *reinterpret_cast<const Pack<half_t, 8>*>(d_t_ptr + batch * rows * channels + i * channels + first);
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const half_t d_t = d_t_pack.at[lane];
                    made.at[lane] = d_t;
                }
            }
            shared.slope_left.put(slot / (BLOCK_C / 8), slot % (BLOCK_C / 8) * 8, made);
        }
        float row_largest[scores_t::ROWS];
        float row_total[scores_t::ROWS];
        float row_sum[scores_t::ROWS];
#pragma unroll
        for (int held = 0; held < scores_t::ROWS; held++) {
            const index_t i = start + scores_t::row(scores_t::first_of(held));
            row_largest[held] = i < rows ? largest_ptr[batch * rows + i] : 0;
            row_total[held] = i < rows ? total_ptr[batch * rows + i] : 0;
            row_sum[held] = i < rows ? sum_ptr[batch * rows + i] : 0;
        }
        __syncthreads();
        scores_t scores = {};
        scores.add(shared.score_left, shared.score_right);
        scores_t slopes = {};
        slopes.add(shared.slope_left, shared.slope_right);
#pragma unroll
        for (int each = 0; each < scores_t::COUNT; each++) {
            const index_t i = start + scores_t::row(each), j = edge + scores_t::column(each);
            half_t factor = {};
            half_t factor_1 = {};
            if (i < rows && j < columns) {
                const float score = scores.sum(each);
                const float slope = slopes.sum(each);
                const float largest = row_largest[scores_t::row_of(each)];
                const float total = row_total[scores_t::row_of(each)];
                const float sum = row_sum[scores_t::row_of(each)];
                const bool t_2 = i >= j;
                const half_t t_3 = half_t::from(score);
                const half_t s = half_t::from((widen(t_3) * 0.25f));
                const half_t s_1 = half_t::from((t_2 ? widen(s) : __int_as_float(0xff800000)));
                const half_t t_4 = half_t::from(largest);
                const half_t t_5 = half_t::from((widen(s_1) - widen(t_4)));
                const half_t e = half_t::from(quick_exp(widen(t_5)));
                const half_t t_6 = half_t::from(total);
                const half_t t_7 = half_t::from((widen(e) / widen(t_6)));
                const half_t t_8 = half_t::from(slope);
                const half_t d_e = half_t::from((widen(t_8) / widen(t_6)));
                const half_t t_9 = half_t::from(sum);
                const half_t t_10 = half_t::from((widen(t_9) / widen(t_6)));
                const half_t d_e_1 = half_t::from((widen(d_e) - widen(t_10)));
                const half_t d_s = half_t::from((widen(d_e_1) * widen(e)));
                const half_t t_11 = half_t::from((widen(d_s) * 0.25f));
                const half_t d_t_1 = half_t::from((t_2 ? widen(t_11) : 0.0f));
                factor = t_7;
                factor_1 = d_t_1;
            }
            shared.factor.set(scores_t::column(each), scores_t::row(each), factor);
            shared.factor_1.set(scores_t::column(each), scores_t::row(each), factor_1);
        }
        __syncthreads();
        products_1.add(shared.factor, turned(shared.slope_left));
        products_2.add(shared.factor_1, turned(shared.score_left));
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_J; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_1.COUNT; each++) {
            const int row = products_1.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_1.column(each)] = products_1.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_C / 8); slot += THREADS) {
            const int row = slot / (BLOCK_C / 8), column = slot % (BLOCK_C / 8) * 8;
            const index_t j = edge + stripe + row, first = 0 + column;
            if (j < columns && first < channels) {
                Pack<half_t, 8> d_v_out_pack;
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t channel = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_v = half_t::from(accumulator);
                    d_v_out_pack.at[lane] = d_v;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(d_v_ptr + batch * columns * channels + j * channels + first) = d_v_out_pack;
            }
        }
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_J; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products_2.COUNT; each++) {
            const int row = products_2.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products_2.column(each)] = products_2.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_K / 8); slot += THREADS) {
            const int row = slot / (BLOCK_K / 8), column = slot % (BLOCK_K / 8) * 8;
            const index_t j = edge + stripe + row, first = 0 + column;
            if (j < columns && first < depth) {
                Pack<half_t, 8> d_k_out_pack;
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t d_k = half_t::from(accumulator);
                    d_k_out_pack.at[lane] = d_k;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(d_k_ptr + batch * columns * depth + j * depth + first) = d_k_out_pack;
            }
        }
    }
}
