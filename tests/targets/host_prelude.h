// Runs generated CUDA kernels on the host, one block after another, each thread of a block as a context of its own.
//
// Threads take turns and give way only at barriers and warp operations, so what is checked is the kernel's arithmetic, its addresses and
// that its barriers match: a barrier that some thread never reaches is reported as an error, not hung on, and so are threads that meet
// at different barriers and lanes that take values from lanes that are not there. With CHECKED, `host_checks.h` looks at every access.
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
static Dim places[4];
static Dim &threadIdx = places[0], &blockIdx = places[1], &blockDim = places[2], &gridDim = places[3];

// What a kernel's accesses are checked by leaves these functions alone.
#define VISIBLE extern "C" __attribute__((visibility("default")))
#define UNWATCHED __attribute__((no_sanitize("thread,undefined")))

namespace host {

const int STACK = 64 << 10;
const int MAX_THREADS = 1024;

// The threads of a block: `meeting` counts how often all of them have met, at `site` for the last time.
struct Block { unsigned alive, arrived, meeting; int site; };

// The lanes of a warp, as bits; what each has brought to where its own lanes meet, and what it takes from there.
struct Warp {
    unsigned alive, arrived, meeting;
    unsigned lanes[32], met[32];
    int site[32], source[32];
    char value[32][8];
};

#ifdef __x86_64__
// A stack, at whose top the registers of one who has given way lie. swapcontext would ask the kernel at every change.
typedef void *Context;
__attribute__((naked, noinline)) static void change(Context *from, Context *to) {
    asm("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov (%rsi), %rsp;"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}
UNWATCHED inline void prepare(Context *c, char *stack, size_t size, void (*entry)()) {
    void **top = (void **)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 2;
    *top = (void *)entry;
    memset(top - 6, 0, 6 * sizeof *top);
    *c = top - 6;
}
#else
typedef ucontext_t Context;
UNWATCHED inline void change(Context *from, Context *to) { swapcontext(from, to); }
UNWATCHED inline void prepare(Context *c, char *stack, size_t size, void (*entry)()) {
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
    unsigned *waits_for, since;
};

static Thread threads[MAX_THREADS];
static Block block;
static Warp warps[MAX_THREADS / 32];
static Context scheduler;
static unsigned current;
static void (*kernel)(void **);
static void **arguments;
static char *stacks;
static const char *wrong;  // what the first error is

UNWATCHED inline void tell(const char *what) { if (!wrong) wrong = what; }

// The kernel's accesses, where they are checked: reads are even.
enum Access { READ, WRITE, VOLATILE, ATOMIC };
#ifdef CHECKED
void touch(const void *p, unsigned size, Access access, const void *site);
template <class T> UNWATCHED inline void escape(T *p) { asm volatile("" : : "r"(p) : "memory"); }
#define TOUCH(p, size, access) host::touch(p, size, access, __builtin_return_address(0))
void compare_second();
#define SETTLE_STORES() compare_second()
#else
#define SETTLE_STORES()
#define TOUCH(p, size, access)
#endif

UNWATCHED inline void wait(unsigned *meeting, unsigned since) {
    Thread &self = threads[current];
    self.waits_for = meeting;
    self.since = since;
    change(&self.context, &scheduler);
    self.waits_for = nullptr;
}

UNWATCHED inline void settle() {
    if (block.alive && block.arrived == block.alive) { block.arrived = 0; block.meeting++; }
}

UNWATCHED inline void meet_block(int site) {
    SETTLE_STORES();
    const unsigned since = block.meeting;
    if (block.arrived && block.site != site) tell("threads meet at different barriers");
    block.site = site;
    block.arrived++;
    settle();
    if (block.meeting == since) wait(&block.meeting, since);
}

// Lanes that wait for each other go on as soon as all of them are there; those that have ended are not waited for.
UNWATCHED inline void settle(Warp &warp, unsigned lane) {
    const unsigned lanes = warp.lanes[lane] & warp.alive;
    if ((warp.arrived & lanes) != lanes) return;
    char taken[32][8];
    for (unsigned other = 0; other < 32; other++) {
        if (!(lanes >> other & 1)) continue;
        if (warp.lanes[other] != warp.lanes[lane] || warp.site[other] != warp.site[lane])
            tell("lanes of a warp meet at different operations, or with different masks");
        const int source = warp.source[other];
        if (!(lanes >> source & 1)) tell("a lane takes a value from one that is not there");
        memcpy(taken[other], warp.value[source], sizeof taken[other]);
    }
    for (unsigned other = 0; other < 32; other++) {
        if (!(lanes >> other & 1)) continue;
        memcpy(warp.value[other], taken[other], sizeof taken[other]);
        warp.met[other]++;
    }
    warp.arrived &= ~lanes;
    warp.meeting++;
}

// The lanes of the mask meet here; `value` is what the one called `source` has brought.
UNWATCHED inline void meet_warp(unsigned lanes, int site, void *value, unsigned size, int source) {
    SETTLE_STORES();
    Warp &warp = warps[current / 32];
    const unsigned lane = current % 32, since = warp.met[lane];
    if (!(lanes >> lane & 1)) tell("a lane that is not in its mask");
    warp.lanes[lane] = lanes;
    warp.site[lane] = site;
    warp.source[lane] = source;
    memcpy(warp.value[lane], value, size);
    warp.arrived |= 1u << lane;
    settle(warp, lane);
    if (warp.met[lane] == since) wait(&warp.met[lane], since);
    memcpy(value, warp.value[lane], size);
}

UNWATCHED inline void run_thread() {
    kernel(arguments);
    SETTLE_STORES();
    threads[current].done = true;
    block.alive--;
    settle();
    Warp &warp = warps[current / 32];
    warp.alive &= ~(1u << current % 32);
    for (unsigned lane = 0; lane < 32; lane++)
        if (warp.arrived >> lane & 1) settle(warp, lane);
    change(&threads[current].context, &scheduler);
}

UNWATCHED inline void start(unsigned i) {
    Thread &t = threads[i];
    t.done = false;
    t.waits_for = nullptr;
    prepare(&t.context, stacks + (size_t)i * STACK, STACK, run_thread);
    warps[i / 32].alive |= 1u << i % 32;
}

UNWATCHED inline void run_block() {
    const unsigned n = blockDim.x;
    memset(warps, 0, sizeof warps);
    block = Block{n, 0, 0, 0};
    if (!stacks) stacks = (char *)malloc((size_t)MAX_THREADS * STACK);
    for (unsigned i = 0; i < n; i++) start(i);
    for (unsigned left = n; left;) {
        bool moved = false;
        left = 0;
        for (current = 0; current < n; current++) {
            Thread &t = threads[current];
            if (t.done) continue;
            left++;
            if (t.waits_for && *t.waits_for == t.since) continue;
            moved = true;
            threadIdx = Dim{current, 0, 0};
            change(&scheduler, &t.context);
            if (wrong) return;
        }
        if (left && !moved) return tell("a barrier that some threads never reach");
    }
}

UNWATCHED inline const char *run_grid(
    void (*function)(void **), const unsigned *grid, unsigned threads_in_block, void **args, int meets
) {
    gridDim = Dim{grid[0], grid[1], 1};
    blockDim = Dim{threads_in_block, 1, 1};
    kernel = function;
    arguments = args;
    wrong = nullptr;
    for (unsigned k = 0; k < grid[0] * grid[1] && !wrong; k++) {
        blockIdx = Dim{k % grid[0], k / grid[0], 0};
        if (meets) {
            run_block();
            continue;
        }
        for (current = 0; current < blockDim.x; current++) {
            threadIdx = Dim{current, 0, 0};
            function(args);
        }
    }
    return wrong;
}

// A kernel behind one signature: argument k stands where args[k] points.
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> { typedef T type; };
template <unsigned... I> struct Indices {};
template <unsigned N, unsigned... I> struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I> struct Count<0, I...> { typedef Indices<I...> type; };
template <class... A, unsigned... I> UNWATCHED inline void call(void (*k)(A...), void **args, Indices<I...>) {
    k(*(typename Plain<A>::type *)args[I]...);
}
template <class... A> UNWATCHED inline void unpack(void (*k)(A...), void **args) { call(k, args, typename Count<sizeof...(A)>::type()); }

template <class T> UNWATCHED inline T exchange(unsigned lanes, T value, int source, int site) {
    meet_warp(lanes, site, &value, sizeof value, source);
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
    UNWATCHED static void unpacked_##number(void **args) { host::unpack(name, args); }                       \
    VISIBLE const char *run_##number(const unsigned *grid, unsigned threads, void **args, int meets) {     \
        return host::run_grid(unpacked_##number, grid, threads, args, meets);                                 \
    }


// The pieces of matrices that the threads of a warp have between them: `multiply_pieces` and `load_pieces` of the kernels, by the
// tables of the PTX ISA for mma.m16n8k16, mma.m16n8k8 and ldmatrix.
namespace host {

struct Pieces { unsigned left[32][4], right[32][2]; };
static Pieces pieces[MAX_THREADS / 32][2];

UNWATCHED inline Pieces &between(const unsigned *left, const unsigned *right) {
    Warp &warp = warps[current / 32];
    Pieces &p = pieces[current / 32][warp.meeting & 1];
    memcpy(p.left[current % 32], left, sizeof p.left[0]);
    memcpy(p.right[current % 32], right, sizeof p.right[0]);
    int nothing = 0;
    meet_warp(0xffffffffu, -1, &nothing, sizeof nothing, current % 32);
    return p;
}

}  // namespace host

inline void __syncthreads(int site = __builtin_LINE()) { host::meet_block(site); }
template <class T> UNWATCHED inline T __shfl_xor_sync(unsigned lanes, T value, int mask, int site = __builtin_LINE()) {
    return host::exchange(lanes, value, (host::current % 32) ^ mask, site);
}
template <class T> UNWATCHED inline T __shfl_up_sync(unsigned lanes, T value, int offset, int site = __builtin_LINE()) {
    int lane = host::current % 32;
    return host::exchange(lanes, value, lane < offset ? lane : lane - offset, site);
}
template <class T> UNWATCHED inline T atomicAdd(T *x, T y) {
    TOUCH(x, sizeof(T), host::ATOMIC);
    T old = *x;
    *x = old + y;
    return old;
}
template <class T> UNWATCHED inline T atomicMax(T *x, T y) {
    TOUCH(x, sizeof(T), host::ATOMIC);
    T old = *x;
    if (y > old) *x = y;
    return old;
}
template <class T> UNWATCHED inline T atomicCAS(T *x, T expected, T y) {
    TOUCH(x, sizeof(T), host::ATOMIC);
    T old = *x;
    if (old == expected) *x = y;
    return old;
}
// As far off as the device's approximations may be, one way or the other, so that nothing leans on more.
inline float approximately(float x, float units) {
    const uint32_t found = host::bits<uint32_t>(x);
    if (!isnormal(x) || !(found & 0x7fffffu)) return x;
    const uint32_t off = (uint32_t)units;
    return host::bits<float>(found & 2u ? found + off : found - off);
}
inline float __expf(float x) { return approximately(expf(x), 2.0f + fabsf(x)); }
inline float __int_as_float(int x) { return host::bits<float>(x); }
inline int __float_as_int(float x) { return host::bits<int>(x); }
inline long long __double_as_longlong(double x) { return host::bits<long long>(x); }
inline float __uint_as_float(unsigned x) { return host::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return host::bits<unsigned>(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
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
template <class T> UNWATCHED inline void add_halves(unsigned *word, unsigned pair, T) {
    TOUCH(word, sizeof *word, host::ATOMIC);
    for (int shift = 0; shift < 32; shift += 16) {
        const T old{(unsigned short)(*word >> shift)}, more{(unsigned short)(pair >> shift)};
        *word = (*word & ~(0xffffu << shift)) | (unsigned)T::from(widen(old) + widen(more)).bits << shift;
    }
}

// Products of half precision are exact in float32; the sums of a piece are taken in float64 and rounded once.
template <class T> UNWATCHED inline void multiply_pieces(float (&sums)[4], const unsigned *left, const unsigned *right) {
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
UNWATCHED inline void multiply_pieces(float (&sums)[4], const unsigned *left, const unsigned *right) {
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
template <bool TURNED> UNWATCHED inline void load_pieces(unsigned (&piece)[4], const void *row) {
    const int lane = host::current % 32;
    const auto row_of = [&](int other) UNWATCHED {
        return (const unsigned short *)host::exchange(0xffffffffu, row, other, -2);
    };
    if ((uintptr_t)row % 16) host::tell("rows of pieces begin at multiples of 16 bytes");
    TOUCH(row, 16, host::READ);
    for (int p = 0; p < 4; p++) {
        const unsigned short *near = row_of(p * 8 + (TURNED ? lane % 4 * 2 : lane / 4)), *next = near;
        if (TURNED) next = row_of(p * 8 + lane % 4 * 2 + 1);
        near += TURNED ? lane / 4 : lane % 4 * 2;
        next += TURNED ? lane / 4 : lane % 4 * 2 + 1;
        piece[p] = *near | (unsigned)*next << 16;
    }
}

// What is sent to shared memory arrives when a thread waits for it, and not before.
namespace host {

struct Sent { char *to; const char *from; int bytes, group; };
struct Sending { int count, group; Sent at[128]; };
static Sending sending[MAX_THREADS];

}  // namespace host

template <int BYTES> UNWATCHED inline void send(void *to, const void *from, bool inside) {
    host::Sending &own = host::sending[host::current];
    if (own.count == 128) host::tell("more is on its way than the host keeps in mind");
    if ((uintptr_t)to % BYTES || (inside && (uintptr_t)from % BYTES)) host::tell("what is sent begins at a multiple of its bytes");
    own.at[own.count++ % 128] = {(char *)to, inside ? (const char *)from : nullptr, BYTES, own.group};
}
UNWATCHED inline void close_group() { host::sending[host::current].group++; }
template <int LEFT> UNWATCHED inline void wait_for_groups() {
    host::Sending &own = host::sending[host::current];
    int kept = 0;
    for (int k = 0; k < own.count; k++) {
        const host::Sent s = own.at[k];
        if (s.group >= own.group - LEFT) {
            own.at[kept++] = s;
            continue;
        }
        TOUCH(s.to, s.bytes, host::WRITE);
        if (s.from) TOUCH(s.from, s.bytes, host::READ);
        if (s.from) memcpy(s.to, s.from, s.bytes);
        else memset(s.to, 0, s.bytes);
    }
    own.count = kept;
}
#ifdef CHECKED
#include "host_checks.h"
#endif
