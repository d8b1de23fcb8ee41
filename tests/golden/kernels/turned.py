# x.T[::-1] * 2 + y
import triton
import triton.language as tl


@triton.jit
def turned_t(x_ptr, y_ptr, t_1_ptr, n_1, x_stride, x_stride_1, x_offset, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    x = tl.load(x_ptr + i_0 * x_stride + i_1 * x_stride_1 + x_offset, mask=mask)
    t = x * 2.0
    y = tl.load(y_ptr + i, mask=mask)
    t_1 = t + y
    tl.store(t_1_ptr + i, t_1, mask=mask)
