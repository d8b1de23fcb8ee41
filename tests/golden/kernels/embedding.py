# table[words] * 8.0 + places
import triton
import triton.language as tl


@triton.jit
def embedding_t(
    words_ptr, t_ptr, outside_ptr, places_ptr, t_2_ptr, n_1, t_size, t_stride, n, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    words = tl.load(words_ptr + i_0, mask=mask)
    t_at = tl.where(mask, words, 0)
    t_at = tl.where(t_at < 0, t_at + t_size, t_at)
    t_inside = (t_at >= 0) & (t_at < t_size)
    tl.store(outside_ptr + tl.zeros_like(t_inside).to(tl.int32), 1, mask=mask & (t_inside == 0))
    t = tl.load(t_ptr + i_1 + t_at * t_stride, mask=mask & t_inside, other=0)
    t_1 = t * 8.0
    places = tl.load(places_ptr + i, mask=mask)
    t_2 = t_1 + places
    tl.store(t_2_ptr + i, t_2, mask=mask)
