// Runs generated CUDA kernels on the host, one block after another, each thread of a block as a context of its own.
//
// Threads take turns and give way only at barriers and warp operations, so what is checked is the kernel's arithmetic, its addresses and
// that its barriers match: a barrier that some thread never reaches is reported as an error, not hung on.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#define UNTRACED_HOST
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
using std::signbit;

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockIdx, blockDim, gridDim;

namespace host {

const int STACK = 64 << 10;
const int MAX_THREADS = 1024;

// A set of threads that meet: a block or a warp. `meeting` counts how often all of them have met.
struct Group { unsigned alive, arrived, meeting; };

#ifdef __x86_64__
// A stack, at whose top the registers of one who has given way lie. swapcontext would ask the kernel at every change.
typedef void *Context;
__attribute__((naked, noinline)) static void change(Context *from, Context *to) {
    asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov (%rsi), %rsp;"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}
inline void prepare(Context *c, char *stack, size_t size, void (*entry)()) {
    void **top = (void **)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 2;
    *top = (void *)entry;
    memset(top - 6, 0, 6 * sizeof *top);
    *c = top - 6;
}
#else
typedef ucontext_t Context;
inline void change(Context *from, Context *to) { swapcontext(from, to); }
inline void prepare(Context *c, char *stack, size_t size, void (*entry)()) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = size;
    c->uc_link = nullptr;
    makecontext(c, entry, 0);
}
#endif

struct Thread {
    Context context;
    bool done;
    Group *waits_for;
    unsigned since;
};

static Thread threads[MAX_THREADS];
static Group block, warps[MAX_THREADS / 32];
static char slots[MAX_THREADS / 32][2][32][8];
static Context scheduler;
static unsigned current;
static void (*kernel)(void **);
static void **arguments;
static char *stacks;

inline void settle(Group &g) {
    if (g.alive && g.arrived == g.alive) { g.arrived = 0; g.meeting++; }
}

inline void meet(Group &g) {
    Thread &self = threads[current];
    unsigned since = g.meeting;
    g.arrived++;
    settle(g);
    if (g.meeting != since) return;
    self.waits_for = &g;
    self.since = since;
    change(&self.context, &scheduler);
    self.waits_for = nullptr;
}

inline void run_thread() {
    kernel(arguments);
    threads[current].done = true;
    block.alive--;
    settle(block);
    warps[current / 32].alive--;
    settle(warps[current / 32]);
    change(&threads[current].context, &scheduler);
}

inline void start(unsigned i) {
    Thread &t = threads[i];
    t.done = false;
    t.waits_for = nullptr;
    prepare(&t.context, stacks + (size_t)i * STACK, STACK, run_thread);
    warps[i / 32].alive++;
}

// 0, or 1 when threads wait for each other for ever.
inline int run_block() {
    unsigned n = blockDim.x;
    memset(warps, 0, sizeof warps);
    block = Group{n, 0, 0};
    if (!stacks) stacks = (char *)malloc((size_t)MAX_THREADS * STACK);
    for (unsigned i = 0; i < n; i++) start(i);
    for (unsigned left = n; left;) {
        bool moved = false;
        left = 0;
        for (current = 0; current < n; current++) {
            Thread &t = threads[current];
            if (t.done) continue;
            left++;
            if (t.waits_for && t.waits_for->meeting == t.since) continue;
            moved = true;
            threadIdx = Dim{current, 0, 0};
            change(&scheduler, &t.context);
        }
        if (left && !moved) return 1;
    }
    return 0;
}

inline int run_grid(void (*function)(void **), const unsigned *grid, unsigned threads_in_block, void **args, int meets) {
    gridDim = Dim{grid[0], grid[1], 1};
    blockDim = Dim{threads_in_block, 1, 1};
    kernel = function;
    arguments = args;
    for (unsigned y = 0; y < grid[1]; y++)
        for (unsigned x = 0; x < grid[0]; x++) {
            blockIdx = Dim{x, y, 0};
            if (meets) {
                if (run_block()) return 1;
                continue;
            }
            for (current = 0; current < blockDim.x; current++) {
                threadIdx = Dim{current, 0, 0};
                function(args);
            }
        }
    return 0;
}

// A kernel behind one signature: argument k stands where args[k] points.
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };
template <unsigned... I> struct Indices {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> { typedef Indices<I...> type; };
template <class... A, unsigned... I> inline void call(void (*k)(A...), void **args, Indices<I...>) {
    k(*(typename Plain<A>::type *)args[I]...);
}
template <class... A> inline void unpack(void (*k)(A...), void **args) { call(k, args, typename Count<sizeof...(A)>::type()); }

template <class T> inline T exchange(T value, int source) {
    Group &warp = warps[current / 32];
    auto &slot = slots[current / 32][warp.meeting & 1];
    memcpy(slot[current % 32], &value, sizeof value);
    meet(warp);
    memcpy(&value, slot[source], sizeof value);
    return value;
}

template <class To, class From> inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

}  // namespace host

#define HOST_KERNEL(number, name)                                                                             \
    static void unpacked_##number(void **args) { host::unpack(name, args); }                                 \
    extern "C" int run_##number(const unsigned *grid, unsigned threads, void **args, int meets) {             \
        return host::run_grid(unpacked_##number, grid, threads, args, meets);                                 \
    }


// The pieces of matrices that the threads of a warp have between them: `multiply_pieces` and `load_pieces` of the kernels, by the
// tables of the PTX ISA for mma.m16n8k16, mma.m16n8k8 and ldmatrix.
namespace host {

struct Pieces { unsigned left[32][4], right[32][2]; };
static Pieces pieces[MAX_THREADS / 32][2];

inline Pieces &between(const unsigned *left, const unsigned *right) {
    Group &warp = warps[current / 32];
    Pieces &p = pieces[current / 32][warp.meeting & 1];
    memcpy(p.left[current % 32], left, sizeof p.left[0]);
    memcpy(p.right[current % 32], right, sizeof p.right[0]);
    meet(warp);
    return p;
}

}  // namespace host

inline void __syncthreads() { host::meet(host::block); }
template <class T> inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return host::exchange(value, (host::current % 32) ^ mask);
}
template <class T> inline T __shfl_up_sync(unsigned, T value, int offset) {
    int lane = host::current % 32;
    return host::exchange(value, lane < offset ? lane : lane - offset);
}
template <class T> inline T atomicAdd(T *x, T y) { T old = *x; *x = old + y; return old; }
template <class T> inline T atomicMax(T *x, T y) { T old = *x; if (y > old) *x = y; return old; }
template <class T> inline T atomicCAS(T *x, T expected, T y) { T old = *x; if (old == expected) *x = y; return old; }
inline float __int_as_float(int x) { return host::bits<float>(x); }
inline int __float_as_int(float x) { return host::bits<int>(x); }
inline long long __double_as_longlong(double x) { return host::bits<long long>(x); }
inline float __uint_as_float(unsigned x) { return host::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return host::bits<unsigned>(x); }
inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
inline double __longlong_as_double(long long x) { return host::bits<double>(x); }

struct half_t {
    unsigned short bits;
    template <class T> static half_t from(T x) { return half_t{host::bits<unsigned short>((_Float16)x)}; }
};
struct bfloat_t {
    unsigned short bits;
    static bfloat_t from(float x) {
        unsigned u = __float_as_uint(x);
        unsigned short b = x != x ? 0x7fc0 | (u >> 16 & 0x8000) : (u + 0x7fff + (u >> 16 & 1)) >> 16;
        return bfloat_t{b};
    }
    template <class T> static bfloat_t from(T x) { return from((float)x); }
};
inline float widen(half_t h) { return (float)host::bits<_Float16>(h.bits); }
inline float widen(bfloat_t b) { return __uint_as_float((unsigned)b.bits << 16); }

// What the device's own addition to two halves at once does.
template <class T> inline void add_halves(unsigned *word, unsigned pair, T) {
    for (int shift = 0; shift < 32; shift += 16) {
        const T old{(unsigned short)(*word >> shift)}, more{(unsigned short)(pair >> shift)};
        *word = (*word & ~(0xffffu << shift)) | (unsigned)T::from(widen(old) + widen(more)).bits << shift;
    }
}

// Products of half precision are exact in float32; the sums of a piece are taken in float64 and rounded once.
template <class T> inline void multiply_pieces(float (&sums)[4], const unsigned *left, const unsigned *right) {
    host::Pieces &p = host::between(left, right);
    const int lane = host::current % 32;
    for (int e = 0; e < 4; e++) {
        const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        double sum = sums[e];
        for (int k = 0; k < 16; k++) {
            const unsigned x = p.left[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2], y = p.right[column * 4 + k % 8 / 2][k / 8];
            const unsigned shift = k % 2 * 16;
            sum += (double)widen(T{(unsigned short)(x >> shift)}) * widen(T{(unsigned short)(y >> shift)});
        }
        sums[e] = (float)sum;
    }
}
inline void multiply_pieces(float (&sums)[4], const unsigned *left, const unsigned *right) {
    host::Pieces &p = host::between(left, right);
    const int lane = host::current % 32;
    for (int e = 0; e < 4; e++) {
        const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
        double sum = sums[e];
        for (int k = 0; k < 8; k++)
            sum += (double)__uint_as_float(p.left[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2]) * __uint_as_float(p.right[column * 4 + k % 4][k / 4]);
        sums[e] = (float)sum;
    }
}
inline unsigned rounded_to_tf32(float x) { return isfinite(x) ? (__float_as_uint(x) + 0x1000) & ~0x1fffu : __float_as_uint(x); }
template <bool TURNED> inline void load_pieces(unsigned (&piece)[4], const void *row) {
    const int lane = host::current % 32;
    for (int p = 0; p < 4; p++) {
        const unsigned short *near = (const unsigned short *)host::exchange(row, p * 8 + (TURNED ? lane % 4 * 2 : lane / 4));
        if (TURNED) {
            const unsigned short *next = (const unsigned short *)host::exchange(row, p * 8 + lane % 4 * 2 + 1);
            piece[p] = near[lane / 4] | (unsigned)next[lane / 4] << 16;
        } else {
            piece[p] = near[lane % 4 * 2] | (unsigned)near[lane % 4 * 2 + 1] << 16;
        }
    }
}
