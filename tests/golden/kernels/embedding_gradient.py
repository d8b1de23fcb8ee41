# np.add.at(d_table, words, d_y * 8.0)
import triton
import triton.language as tl


@triton.jit
def embedding_gradient_d_table(
    words_ptr, outside_ptr, d_y_ptr, d_table_ptr, d_table_size, d_table_stride, positions, n,
    BLOCK: tl.constexpr
):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = k < positions * n
    position = k // n
    i = k % n
    words = tl.load(words_ptr + position, mask=mask)
    d_table_at = tl.where(mask, words, 0)
    d_table_at = tl.where(d_table_at < 0, d_table_at + d_table_size, d_table_at)
    inside = (d_table_at >= 0) & (d_table_at < d_table_size)
    tl.store(outside_ptr + tl.zeros_like(inside).to(tl.int32), 1, mask=mask & (inside == 0))
    d_y = tl.load(d_y_ptr + position * n + i, mask=mask)
    t = d_y * 8.0
    tl.atomic_add(d_table_ptr + i + d_table_at * d_table_stride, t, mask=mask & inside, sem="relaxed")
