# np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
import triton
import triton.language as tl


@triton.jit
def histogram_counts(x_ptr, outside_ptr, counts_ptr, count, counts_size, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    x = tl.load(x_ptr + position, mask=mask)
    t = x * count
    t_1 = t.to(tl.int64)
    t_2 = t_1 // 256
    t_3 = t_2 * 256
    t_4 = t_1 - t_3
    t_5 = t_4 != 0
    t_6 = t_4 < 0
    t_7 = tl.full((), False, tl.int1) != t_6
    t_8 = t_5 & t_7
    t_9 = t_4 + 256
    t_10 = tl.where(t_8, t_9, t_4)
    counts_at = tl.where(mask, t_10, 0)
    counts_at = tl.where(counts_at < 0, counts_at + counts_size, counts_at)
    inside = (counts_at >= 0) & (counts_at < counts_size)
    tl.store(outside_ptr + tl.zeros_like(inside).to(tl.int32), 1, mask=mask & (inside == 0))
    tl.atomic_add(counts_ptr + counts_at, 1, mask=mask & inside, sem="relaxed")
