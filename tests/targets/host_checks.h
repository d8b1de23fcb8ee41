// Looks at every access of a kernel that `host_prelude.h` runs: the compiler calls the functions below for each of them
// (-fsanitize=thread, whose own library is not needed), and for what is undefined in C++ (-fsanitize=undefined).
//
// Told are accesses outside of the kernel's arrays, stores into its arguments, reads of shared memory that no thread of the block has
// written, and races: two threads access one byte, one of them writes, not both by atomic operations, and no barrier of their block
// is between them. Threads of two blocks have none between them. Stores of one value by several threads are no race, nor is what is
// volatile beside atomic operations.
#pragma once

extern "C" char __bss_start __attribute__((visibility("hidden"))), _end __attribute__((visibility("hidden")));
extern "C" char __ehdr_start __attribute__((visibility("hidden")));

namespace host {

// Who has accessed an element last. `MANY`: several.
const unsigned MANY = 0xffffffffu;
struct Seen {
    unsigned write_block, write_thread, write_meeting, read_block, read_thread, read_meeting;
    bool atomic;
};

// An array of the kernel: where it lies, what its elements are long, whether it is written; what `seen` of each.
struct Array { char *start; size_t bytes, element; int written; Seen *seen; };
static Array *arrays;
static unsigned array_count;
static Seen *shared_seen;
static const void *wrong_site;

// The kernel ends there.
UNWATCHED inline void tell_access(const char *what, const void *site) {
    wrong = what;
    wrong_site = (const void *)((const char *)site - &__ehdr_start);
    change(&threads[current].context, &scheduler);
}

// A store that meets another one: of the same value?
static struct { const char *at; unsigned size; char held[16]; const void *site; } second;

UNWATCHED void compare_second() {
    if (!second.at) return;
    const bool same = memcmp(second.at, second.held, second.size) == 0;
    second.at = nullptr;
    if (!same) tell_access("a race: two threads write", second.site);
}

UNWATCHED inline void touch_element(Seen &s, const char *at, unsigned size, Access access, const void *site) {
    const unsigned here = blockIdx.y * gridDim.x + blockIdx.x + 1, meeting = block.meeting;
    const auto other = [&](unsigned in_block, unsigned thread, unsigned at) UNWATCHED {
        return in_block && (in_block != here || (at == meeting && thread != current));
    };
    const bool met = other(s.write_block, s.write_thread, s.write_meeting);
    if (met && !s.atomic && access == WRITE) {
        second = {at, size, {}, site};
        memcpy(second.held, at, size);
    } else if (met && !(access >= VOLATILE && s.atomic)) {
        tell_access(access % 2 == READ ? "a race: reads what another thread writes" : "a race: two threads write", site);
    }
    if (access == WRITE && other(s.read_block, s.read_thread, s.read_meeting))
        tell_access("a race: writes what another thread reads", site);
    if (access == READ) {
        const bool again = s.read_block == here && s.read_meeting == meeting;
        s.read_thread = again && s.read_thread != current ? MANY : current;
        s.read_block = s.read_block && s.read_block != here ? MANY : here;
        s.read_meeting = meeting;
    } else if (access != VOLATILE) {
        s.write_block = here, s.write_thread = current, s.write_meeting = meeting, s.atomic = access == ATOMIC;
    }
}

UNWATCHED void touch(const void *p, unsigned size, Access access, const void *site) {
    char *const at = (char *)p, *const frame = (char *)__builtin_frame_address(0);
    compare_second();
    if (at >= (char *)places && at < (char *)(places + 4)) return;
    if (at >= frame && at < stacks + (size_t)(current + 1) * STACK) return;
    if (at >= &__bss_start && at < &_end) {
        if (!shared_seen) shared_seen = (Seen *)calloc(&_end - &__bss_start, sizeof(Seen));
        const unsigned here = blockIdx.y * gridDim.x + blockIdx.x + 1;
        for (unsigned k = 0; k < size; k++) {
            Seen &s = shared_seen[at + k - &__bss_start];
            if (s.write_block != here) s.write_block = 0;
            if (s.read_block != here) s.read_block = 0;
            if (access != WRITE && !s.write_block) tell_access("reads shared memory that nobody has written", site);
            touch_element(s, at + k, 1, access, site);
        }
        return;
    }
    for (unsigned n = 0; n < array_count; n++) {
        Array &a = arrays[n];
        const size_t spare = access >= VOLATILE ? 3 : 0;  // atomic operations are on whole words
        if (at < a.start - spare || at + size > a.start + a.bytes + spare) continue;
        if (access % 2 != READ && !a.written) continue;
        const char *const first = at < a.start ? a.start : at;
        for (const char *q = first; q < at + size && q < a.start + a.bytes; q += a.element)
            touch_element(a.seen[(q - a.start) / a.element], q, a.element < size ? a.element : size, access, site);
        return;
    }
    if (access == READ && at >= &__ehdr_start && at < &__bss_start) return;  // a table of the kernel's
    tell_access(access == READ ? "reads outside of all arrays" : "writes outside of what it may write", site);
}

}  // namespace host

// Before each launch: its arrays. The number of the instruction that was wrong is a place in this library.
VISIBLE UNWATCHED void watch(unsigned count, host::Array *arrays) {
    host::arrays = arrays;
    host::array_count = count;
    host::wrong_site = nullptr;
    host::second.at = nullptr;
    if (host::shared_seen) memset(host::shared_seen, 0, (&_end - &__bss_start) * sizeof(host::Seen));
}
VISIBLE UNWATCHED const void *wrong_site() { return host::wrong_site; }

#define SEEN_BY_SIZE(size)                                                                                               \
    extern "C" UNWATCHED void __tsan_read##size(void *p) { TOUCH(p, size, host::READ); }                                 \
    extern "C" UNWATCHED void __tsan_write##size(void *p) { TOUCH(p, size, host::WRITE); }                               \
    extern "C" UNWATCHED void __tsan_volatile_read##size(void *p) { TOUCH(p, size, host::VOLATILE); }                    \
    extern "C" UNWATCHED void __tsan_volatile_write##size(void *p) { TOUCH(p, size, host::ATOMIC); }                     \
    extern "C" UNWATCHED void __tsan_unaligned_read##size(void *p) { TOUCH(p, size, host::READ); }                       \
    extern "C" UNWATCHED void __tsan_unaligned_write##size(void *p) { TOUCH(p, size, host::WRITE); }
SEEN_BY_SIZE(1)
SEEN_BY_SIZE(2)
SEEN_BY_SIZE(4)
SEEN_BY_SIZE(8)
SEEN_BY_SIZE(16)
extern "C" UNWATCHED void __tsan_read_range(void *p, size_t size) { TOUCH(p, size, host::READ); }
extern "C" UNWATCHED void __tsan_write_range(void *p, size_t size) { TOUCH(p, size, host::WRITE); }
extern "C" void __tsan_init() {}

#define UNDEFINED(name, what, ...)                                                                                       \
    extern "C" UNWATCHED void __ubsan_handle_##name(void *, ##__VA_ARGS__) { host::tell_access(what, __builtin_return_address(0)); }
UNDEFINED(type_mismatch_v1, "an address that is not aligned to what lies there", size_t)
UNDEFINED(out_of_bounds, "an index outside of an array in registers or shared memory", size_t)
UNDEFINED(add_overflow, "a sum of signed integers overflows", size_t, size_t)
UNDEFINED(sub_overflow, "a difference of signed integers overflows", size_t, size_t)
UNDEFINED(mul_overflow, "a product of signed integers overflows", size_t, size_t)
UNDEFINED(negate_overflow, "a negated signed integer overflows", size_t)
UNDEFINED(divrem_overflow, "an integer division by zero, or by -1 that overflows", size_t, size_t)
UNDEFINED(shift_out_of_bounds, "a shift by as many bits as there are, or more", size_t, size_t)
