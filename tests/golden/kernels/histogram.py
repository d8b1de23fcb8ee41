# np.add.at(counts, (x * 256).astype(np.int64) % 256, 1)
import triton
import triton.language as tl


@triton.jit
def histogram_counts(x_ptr, counts_ptr, count, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    x = tl.load(x_ptr + position, mask=mask)
    t = x * count
    t_1 = t.to(tl.int64)
    t_2 = t_1 & 255
    tl.atomic_add(counts_ptr + t_2, 1, mask=mask, sem="relaxed")
