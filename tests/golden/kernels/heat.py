# u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
# 0.5 * u[1:-1, 1:-1] + 0.125 * around
import triton
import triton.language as tl


@triton.jit
def heat_t(
    u_ptr, t_4_ptr, n_1, u_stride, u_offset, u_offset_1, u_offset_2, u_offset_3, u_offset_4, n,
    BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    u = tl.load(u_ptr + i_0 * u_stride + i_1 + u_offset, mask=mask)
    t = 0.5 * u
    u_1 = tl.load(u_ptr + i_0 * u_stride + i_1 + u_offset_1, mask=mask)
    u_2 = tl.load(u_ptr + i_0 * u_stride + i_1 + u_offset_2, mask=mask)
    t_1 = u_1 + u_2
    u_3 = tl.load(u_ptr + i_0 * u_stride + i_1 + u_offset_3, mask=mask)
    t_2 = t_1 + u_3
    u_4 = tl.load(u_ptr + i_0 * u_stride + i_1 + u_offset_4, mask=mask)
    around = t_2 + u_4
    t_3 = 0.125 * around
    t_4 = t + t_3
    tl.store(t_4_ptr + i, t_4, mask=mask)
