# np.arange(x.shape[0])
# np.where(i >= j, x, 0)
import triton
import triton.language as tl


@triton.jit
def positions_t(x_ptr, t_3_ptr, n_1, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    t_2 = i_0 >= i_1
    x = tl.load(x_ptr + i, mask=mask)
    t_3 = tl.where(t_2, x, 0.0)
    tl.store(t_3_ptr + i, t_3, mask=mask)
