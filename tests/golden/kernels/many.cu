// np.tanh(x @ w + b[:, None])
typedef int index_t;

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

// An operand in shared memory: DEPTH rows of what is multiplied together.
template <class T, int EXTENT, int DEPTH, bool ALONG> struct Operand {
    static const int DEEP = DEPTH, PITCH = EXTENT + 16 / sizeof(T);
    alignas(16) T at[DEPTH * PITCH];
    template <int N> __device__ void put(int n, int k, const Pack<T, N>& pack) {
        if (ALONG) {
#pragma unroll
            for (int lane = 0; lane < N; lane++) at[(k + lane) * PITCH + n] = pack.at[lane];
        } else {
            *reinterpret_cast<Pack<T, N>*>(at + k * PITCH + n) = pack;
        }
    }
    __device__ void set(int n, int k, T value) { at[k * PITCH + n] = value; }
    template <int N> __device__ void copy(int n, int k, const T* from, bool inside) {
        if (ALONG) {
#pragma unroll
            for (int lane = 0; lane < N; lane++) send<sizeof(T)>(at + (k + lane) * PITCH + n, from + lane, inside);
        } else {
            send<N * sizeof(T)>(at + k * PITCH + n, from, inside);
        }
    }
    // N neighbours from n on, in runs of RUN that 16 such threads have side by side.
    template <int N, int RUN> __device__ __forceinline__ void neighbours(T (&x)[N], int n, int k) const {
#pragma unroll
        for (int a = 0; a < N; a += RUN) {
            const Pack<T, RUN> run = *reinterpret_cast<const Pack<T, RUN>*>(at + k * PITCH + n + 16 * a);
#pragma unroll
            for (int lane = 0; lane < RUN; lane++) x[a + lane] = run.at[lane];
        }
    }
};

// The sums of a block of HIGH by BROAD: each of 16 by 16 threads has some rows and some columns, in runs of neighbours.
template <class T, int HIGH, int BROAD> struct Sums {
    static const int HIGHER = HIGH / 16, BROADER = BROAD / 16, COUNT = HIGHER * BROADER, VECTOR = 16 / sizeof(T);
    static const int RUN_I = HIGHER < VECTOR ? HIGHER : VECTOR, RUN_J = BROADER < VECTOR ? BROADER : VECTOR;
    T at[COUNT];
    __device__ T& sum(int e) { return at[e]; }
    static __device__ int row(int e) {
        return e / BROADER / RUN_I * 16 * RUN_I + threadIdx.x / 16 * RUN_I + e / BROADER % RUN_I;
    }
    static __device__ int column(int e) {
        return e % BROADER / RUN_J * 16 * RUN_J + threadIdx.x % 16 * RUN_J + e % BROADER % RUN_J;
    }
    // Rows of a thread, the one of sum e, the first sum of a row, and how many neighbouring threads have them.
    static const int ROWS = HIGHER, FELLOWS = 16;
    static __device__ int row_of(int e) { return e / BROADER; }
    static __device__ int first_of(int row) { return row * BROADER; }
    template <class Left, class Right> __device__ __forceinline__ void add(const Left& left, const Right& right) {
#pragma unroll 8
        for (int k = 0; k < Left::DEEP; k++) {
            T x[HIGHER], y[BROADER];
            left.template neighbours<HIGHER, RUN_I>(x, row(0), k);
            right.template neighbours<BROADER, RUN_J>(y, column(0), k);
#pragma unroll
            for (int e = 0; e < COUNT; e++) at[e] = fma(x[e / BROADER], y[e % BROADER], at[e]);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS) many_t(
    const float* __restrict__ x_ptr, const float* __restrict__ w_ptr, const float* __restrict__ b_ptr,
    float* __restrict__ t_ptr, index_t b_stride, index_t rows, index_t columns, index_t depth
) {
    // Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I, blocks_j = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t batch = (index_t)blockIdx.x / (blocks_i * blocks_j);
    const index_t block = (index_t)blockIdx.x % (blocks_i * blocks_j);
    const index_t group = block / (8 * blocks_j), tall = blocks_i - 8 * group, height = tall < 8 ? tall : 8;
    const index_t top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I;
    const index_t edge = block % (8 * blocks_j) / height * BLOCK_J;
    union Shared {
        struct {
            Operand<float, BLOCK_I, BLOCK_K, true> left[STAGES];
            Operand<float, BLOCK_J, BLOCK_K, false> right[STAGES];
        };
        float stripe[STRIPE][BLOCK_J + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int LEFT_EACH = (BLOCK_I * BLOCK_K / 4 + THREADS - 1) / THREADS;
    const int RIGHT_EACH = (BLOCK_J * BLOCK_K / 4 + THREADS - 1) / THREADS;
    Pack<float, 4> left_next[LEFT_EACH];
    Pack<float, 4> right_next[RIGHT_EACH];
    const auto fetch = [&](index_t start) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 4) break;
            const index_t i = top + slot / (BLOCK_K / 4), first = start + slot % (BLOCK_K / 4) * 4;
            const bool inside = i < rows && first < depth;
            Pack<float, 4> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const index_t k = first + lane;
                    if (k >= depth) break;
                    const float x = x_ptr[batch * rows * depth + i * depth + k];
                    made.at[lane] = x;
                }
            }
            left_next[n] = made;
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 4) break;
            const index_t k = start + slot / (BLOCK_J / 4), first = edge + slot % (BLOCK_J / 4) * 4;
            const bool inside = k < depth && first < columns;
            Pack<float, 4> made = {};
            if (inside) {
#pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const index_t j = first + lane;
                    if (j >= columns) break;
                    const float w = w_ptr[batch * depth * columns + k * columns + j];
                    made.at[lane] = w;
                }
            }
            right_next[n] = made;
        }
    };
    Sums<float, BLOCK_I, BLOCK_J> products = {};
    fetch(0);
    int turn = 0;
    for (index_t start = 0; start < depth; start += BLOCK_K) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 4) break;
            shared.left[turn].put(slot / (BLOCK_K / 4), slot % (BLOCK_K / 4) * 4, left_next[n]);
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 4) break;
            shared.right[turn].put(slot % (BLOCK_J / 4) * 4, slot / (BLOCK_J / 4), right_next[n]);
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
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_J / 4); slot += THREADS) {
            const int row = slot / (BLOCK_J / 4), column = slot % (BLOCK_J / 4) * 4;
            const index_t i = top + stripe + row, first = edge + column;
            if (i < rows && first < columns) {
#pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const index_t j = first + lane;
                    if (j >= columns) break;
                    const float accumulator = shared.stripe[row][column + lane];
                    const float b = b_ptr[batch * b_stride + j];
                    const float t_1 = accumulator + b;
                    const float t_2 = tanhf(t_1);
                    t_ptr[batch * rows * columns + i * columns + j] = t_2;
                }
            }
        }
    }
}

// The same for neighbours that are read and stored together: extents, strides and pointers are multiples of such packs.
extern "C" __global__ void __launch_bounds__(THREADS, TOGETHER) many_t_by4(
    const float* __restrict__ x_ptr, const float* __restrict__ w_ptr, const float* __restrict__ b_ptr,
    float* __restrict__ t_ptr, index_t b_stride, index_t rows, index_t columns, index_t depth
) {
    // Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    const index_t blocks_i = (rows + BLOCK_I - 1) / BLOCK_I, blocks_j = (columns + BLOCK_J - 1) / BLOCK_J;
    const index_t batch = (index_t)blockIdx.x / (blocks_i * blocks_j);
    const index_t block = (index_t)blockIdx.x % (blocks_i * blocks_j);
    const index_t group = block / (8 * blocks_j), tall = blocks_i - 8 * group, height = tall < 8 ? tall : 8;
    const index_t top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I;
    const index_t edge = block % (8 * blocks_j) / height * BLOCK_J;
    union Shared {
        struct {
            Operand<float, BLOCK_I, BLOCK_K, true> left[STAGES];
            Operand<float, BLOCK_J, BLOCK_K, false> right[STAGES];
        };
        float stripe[STRIPE][BLOCK_J + 4];
    };
    static_assert(sizeof(Shared) <= SHARED, "");
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    const int LEFT_EACH = (BLOCK_I * BLOCK_K / 4 + THREADS - 1) / THREADS;
    const int RIGHT_EACH = (BLOCK_J * BLOCK_K / 4 + THREADS - 1) / THREADS;
    const auto send_ahead = [&](index_t start, int stage) {
#pragma unroll
        for (int n = 0; n < LEFT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_I * BLOCK_K / 4) break;
            const index_t i = top + slot / (BLOCK_K / 4), first = start + slot % (BLOCK_K / 4) * 4;
            const bool inside = i < rows && first < depth;
            shared.left[stage].template copy<4>(slot / (BLOCK_K / 4), slot % (BLOCK_K / 4) * 4, x_ptr + batch * rows * depth + i * depth + first, inside);
        }
#pragma unroll
        for (int n = 0; n < RIGHT_EACH; n++) {
            const int slot = n * THREADS + threadIdx.x;
            if (slot >= BLOCK_J * BLOCK_K / 4) break;
            const index_t k = start + slot / (BLOCK_J / 4), first = edge + slot % (BLOCK_J / 4) * 4;
            const bool inside = k < depth && first < columns;
            shared.right[stage].template copy<4>(slot % (BLOCK_J / 4) * 4, slot / (BLOCK_J / 4), w_ptr + batch * depth * columns + k * columns + first, inside);
        }
    };
    Sums<float, BLOCK_I, BLOCK_J> products = {};
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
        for (int slot = threadIdx.x; slot < STRIPE * (BLOCK_J / 4); slot += THREADS) {
            const int row = slot / (BLOCK_J / 4), column = slot % (BLOCK_J / 4) * 4;
            const index_t i = top + stripe + row, first = edge + column;
            if (i < rows && first < columns) {
                const auto b_pack = *reinterpret_cast<const Pack<float, 4>*>(b_ptr + batch * b_stride + first);
                Pack<float, 4> t_out_pack;
#pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const index_t j = first + lane;
                    const float accumulator = shared.stripe[row][column + lane];
                    const float b = b_pack.at[lane];
                    const float t_1 = accumulator + b;
                    const float t_2 = tanhf(t_1);
                    t_out_pack.at[lane] = t_2;
                }
                *reinterpret_cast<Pack<float, 4>*>(t_ptr + batch * rows * columns + i * columns + first) = t_out_pack;
            }
        }
    }
}
