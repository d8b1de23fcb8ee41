// x @ w + b
// 0.5 * h * (1 + np.tanh(0.8 * (h + 0.045 * h * h * h)))
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

// Neighbours that are read and written together.
template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack { T at[N]; };

#ifndef UNTRACED_HOST
// BYTES on their way from memory to shared memory, past the registers; zeros where they are not inside.
template <int BYTES> __device__ __forceinline__ void send(void* to, const void* from, bool inside) {
#if __CUDA_ARCH__ >= 800
    const unsigned int place = (unsigned int)__cvta_generic_to_shared(to);
    const int read = inside ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(read) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(place), "l"(from), "r"(read), "n"(BYTES) : "memory");
#else
    for (int k = 0; k < BYTES; k += 4) static_cast<int*>(to)[k / 4] = inside ? static_cast<const int*>(from)[k / 4] : 0;
#endif
}
// What was sent since is a group; wait until at most LEFT groups are on their way.
__device__ __forceinline__ void close_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int LEFT> __device__ __forceinline__ void wait_for_groups() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}
#endif

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
    template <int N> __device__ void copy(int n, int k, const T* from, bool inside) {
        send<N * sizeof(T)>(place(n, k), from, inside);
    }
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

extern "C" __global__ void __launch_bounds__(THREADS) gelu_layer_t(
    const half_t* __restrict__ x_ptr, const half_t* __restrict__ w_ptr, const half_t* __restrict__ b_ptr,
    half_t* __restrict__ t_ptr, index_t rows, index_t columns, index_t depth
) {
    // Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I, blocks_j = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t block = blockIdx.x;
    const index_t group = block / (8 * blocks_j), tall = blocks_i - 8 * group, height = tall < 8 ? tall : 8;
    const index_t top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I;
    const index_t edge = block % (8 * blocks_j) / height * BLOCK_J;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> left[STAGES];
            Operand<half_t, BLOCK_J, BLOCK_K, false> right[STAGES];
        };
        float stripe[STRIPE][BLOCK_J + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int LEFT_EACH = (BLOCK_I * BLOCK_K / 8 + THREADS - 1) / THREADS;
    const int RIGHT_EACH = (BLOCK_J * BLOCK_K / 8 + THREADS - 1) / THREADS;
    Pack<half_t, 8> left_next[LEFT_EACH];
    Pack<half_t, 8> right_next[RIGHT_EACH];
    const auto fetch = [&](index_t start) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 8) break;
            const index_t i = top + slot / (BLOCK_K / 8), first = start + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const half_t x = x_ptr[i * depth + k];
                    made.at[lane] = x;
                }
            }
            left_next[n] = made;
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 8) break;
            const index_t k = start + slot / (BLOCK_J / 8), first = edge + slot % (BLOCK_J / 8) * 8;
            const bool inside = k < depth && first < columns;
            Pack<half_t, 8> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t j = first + lane;
                    if (j >= columns) break;
                    const half_t w = w_ptr[k * columns + j];
                    made.at[lane] = w;
                }
            }
            right_next[n] = made;
        }
    };
    Sums<BLOCK_I, BLOCK_J, TALL, 32> products = {};
    fetch(0);
    int turn = 0;
    for (index_t start = 0; start < depth; start += BLOCK_K) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 8) break;
            shared.left[turn].put(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, left_next[n]);
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 8) break;
            shared.right[turn].put(slot % (BLOCK_J / 8) * 8, slot / (BLOCK_J / 8), right_next[n]);
        }
        __syncthreads();
        if (start + BLOCK_K < depth) fetch(start + BLOCK_K);  // on its way while the threads multiply
        products.add(shared.left[turn], shared.right[turn]);
        turn ^= 1;
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) {
            const int row = products.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products.column(each)] = products.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_J / 8); slot += THREADS) {
            const int row = slot / (BLOCK_J / 8), column = slot % (BLOCK_J / 8) * 8;
            const index_t i = top + stripe + row, first = edge + column;
            if (i < rows && first < columns) {
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t j = first + lane;
                    if (j >= columns) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t t = half_t::from(accumulator);
                    const half_t b = b_ptr[j];
                    const half_t h = half_t::from((widen(t) + widen(b)));
                    const half_t t_1 = half_t::from((0.5f * widen(h)));
                    const half_t t_2 = half_t::from((0.045013428f * widen(h)));
                    const half_t t_3 = half_t::from((widen(t_2) * widen(h)));
                    const half_t t_4 = half_t::from((widen(t_3) * widen(h)));
                    const half_t t_5 = half_t::from((widen(h) + widen(t_4)));
                    const half_t t_6 = half_t::from((0.7998047f * widen(t_5)));
                    const half_t t_7 = half_t::from(tanhf(widen(t_6)));
                    const half_t t_8 = half_t::from((1.0f + widen(t_7)));
                    const half_t t_9 = half_t::from((widen(t_1) * widen(t_8)));
                    t_ptr[i * columns + j] = t_9;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS, TOGETHER) gelu_layer_t_by4(
    const half_t* __restrict__ x_ptr, const half_t* __restrict__ w_ptr, const half_t* __restrict__ b_ptr,
    half_t* __restrict__ t_ptr, index_t rows, index_t columns, index_t depth
) {
    // Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I, blocks_j = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t block = blockIdx.x;
    const index_t group = block / (8 * blocks_j), tall = blocks_i - 8 * group, height = tall < 8 ? tall : 8;
    const index_t top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I;
    const index_t edge = block % (8 * blocks_j) / height * BLOCK_J;
    union Shared {
        struct {
            Operand<half_t, BLOCK_I, BLOCK_K, true> left[STAGES];
            Operand<half_t, BLOCK_J, BLOCK_K, false> right[STAGES];
        };
        float stripe[STRIPE][BLOCK_J + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int LEFT_EACH = (BLOCK_I * BLOCK_K / 8 + THREADS - 1) / THREADS;
    const int RIGHT_EACH = (BLOCK_J * BLOCK_K / 8 + THREADS - 1) / THREADS;
    const auto send_ahead = [&](index_t start, int stage) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 8) break;
            const index_t i = top + slot / (BLOCK_K / 8), first = start + slot % (BLOCK_K / 8) * 8;
            const bool inside = i < rows && first < depth;
            shared.left[stage].template copy<8>(slot / (BLOCK_K / 8), slot % (BLOCK_K / 8) * 8, x_ptr + i * depth + first, inside);
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 8) break;
            const index_t k = start + slot / (BLOCK_J / 8), first = edge + slot % (BLOCK_J / 8) * 8;
            const bool inside = k < depth && first < columns;
            shared.right[stage].template copy<8>(slot % (BLOCK_J / 8) * 8, slot / (BLOCK_J / 8), w_ptr + k * columns + first, inside);
        }
    };
    Sums<BLOCK_I, BLOCK_J, TALL, 32> products = {};
#pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (stage * BLOCK_K < depth) send_ahead(stage * BLOCK_K, stage);
        close_group();
    }
    int stage = 0;
    for (index_t start = 0; start < depth; start += BLOCK_K) {
        wait_for_groups<STAGES - 2>();
        __syncthreads();
        // On its way while the threads multiply: where they have multiplied in the last turn.
        const index_t later = start + (STAGES - 1) * BLOCK_K;
        if (later < depth) send_ahead(later, (stage + STAGES - 1) % STAGES);
        close_group();
        products.add(shared.left[stage], shared.right[stage]);
        stage = (stage + 1) % STAGES;
    }
    // Through shared memory, so that threads beside each other store, and read, what lies beside each other.
    for (int stripe = 0; stripe < BLOCK_I; stripe += STRIPE) {
        __syncthreads();
#pragma unroll
        for (int each = 0; each < products.COUNT; each++) {
            const int row = products.row(each) - stripe;
            if (row >= 0 && row < STRIPE) shared.stripe[row][products.column(each)] = products.sum(each);
        }
        __syncthreads();
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_J / 8); slot += THREADS) {
            const int row = slot / (BLOCK_J / 8), column = slot % (BLOCK_J / 8) * 8;
            const index_t i = top + stripe + row, first = edge + column;
            if (i < rows && first < columns) {
                const auto b_pack = *reinterpret_cast<const Pack<half_t, 8>*>(b_ptr + first);
                Pack<half_t, 8> t_out_pack;
#pragma unroll
                for (int lane = 0; lane < 8; lane++) {
                    const index_t j = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const half_t t = half_t::from(accumulator);
                    const half_t b = b_pack.at[lane];
                    const half_t h = half_t::from((widen(t) + widen(b)));
                    const half_t t_1 = half_t::from((0.5f * widen(h)));
                    const half_t t_2 = half_t::from((0.045013428f * widen(h)));
                    const half_t t_3 = half_t::from((widen(t_2) * widen(h)));
                    const half_t t_4 = half_t::from((widen(t_3) * widen(h)));
                    const half_t t_5 = half_t::from((widen(h) + widen(t_4)));
                    const half_t t_6 = half_t::from((0.7998047f * widen(t_5)));
                    const half_t t_7 = half_t::from(tanhf(widen(t_6)));
                    const half_t t_8 = half_t::from((1.0f + widen(t_7)));
                    const half_t t_9 = half_t::from((widen(t_1) * widen(t_8)));
                    t_out_pack.at[lane] = t_9;
                }
                *reinterpret_cast<Pack<half_t, 8>*>(t_ptr + i * columns + first) = t_out_pack;
            }
        }
    }
}
