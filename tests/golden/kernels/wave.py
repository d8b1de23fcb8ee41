# 2 * u - before
# after[1:-1, 1:-1] += 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
# after[0] = after[-1] = 0
import triton
import triton.language as tl


@triton.jit
def wave_after(
    u_ptr, before_1_ptr, after_4_ptr, n_1, edge, edge_1, u_offset, u_offset_1, u_offset_2, u_offset_3, n,
    BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    inside_1 = i_0 == edge
    inside_2 = i_0 == 0
    inside_3 = (i_0 >= 1) & (i_0 < edge) & (i_1 >= 1) & (i_1 < edge_1)
    u = tl.load(u_ptr + i + u_offset, mask=mask & inside_3, other=0)
    u_1 = tl.load(u_ptr + i + u_offset_1, mask=mask & inside_3, other=0)
    t = u + u_1
    u_2 = tl.load(u_ptr + i + u_offset_2, mask=mask & inside_3, other=0)
    t_1 = t + u_2
    u_3 = tl.load(u_ptr + i + u_offset_3, mask=mask & inside_3, other=0)
    t_2 = t_1 + u_3
    u_4 = tl.load(u_ptr + i, mask=mask)
    t_3 = 4.0 * u_4
    t_4 = t_2 - t_3
    t_5 = 0.25 * t_4
    t_6 = 2.0 * u_4
    before_1 = tl.load(before_1_ptr + i, mask=mask)
    after = t_6 - before_1
    after_1 = after + t_5
    after_2 = tl.where(inside_3, after_1, after)
    after_3 = tl.where(inside_2, 0.0, after_2)
    after_4 = tl.where(inside_1, 0.0, after_3)
    tl.store(after_4_ptr + i, after_4, mask=mask)
