# even * sines + odd * cosines
import triton
import triton.language as tl


@triton.jit
def rotated_t(
    x_ptr, cosines_ptr, sines_ptr, t_2_ptr, t_5_ptr, x_stride, x_offset, t_2_stride, t_5_stride, n,
    BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i * x_stride, mask=mask)
    cosines = tl.load(cosines_ptr + i, mask=mask)
    t = x * cosines
    x_1 = tl.load(x_ptr + i * x_stride + x_offset, mask=mask)
    sines = tl.load(sines_ptr + i, mask=mask)
    t_1 = x_1 * sines
    t_2 = t - t_1
    t_3 = x * sines
    t_4 = x_1 * cosines
    t_5 = t_3 + t_4
    tl.store(t_2_ptr + i * t_2_stride, t_2, mask=mask)
    tl.store(t_5_ptr + i * t_5_stride, t_5, mask=mask)
