# u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)
import triton
import triton.language as tl


@triton.jit
def periodic_t(
    u_ptr, t_10_ptr, n_1, u_offset, u_offset_1, edge, u_offset_2, u_offset_3, u_offset_4, edge_1, u_offset_5,
    n, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    u = tl.load(u_ptr + i, mask=mask)
    inside_1 = i_0 >= 1
    u_1 = tl.load(u_ptr + i + u_offset, mask=mask & inside_1, other=0)
    inside_2 = i_0 == 0
    u_2 = tl.load(u_ptr + i_1 + u_offset_1, mask=mask & inside_2, other=0)
    t = tl.where(inside_2, u_2, u_1)
    inside_3 = i_0 == edge
    u_3 = tl.load(u_ptr + i_1, mask=mask & inside_3, other=0)
    inside_4 = i_0 < edge
    u_4 = tl.load(u_ptr + i + u_offset_2, mask=mask & inside_4, other=0)
    t_1 = tl.where(inside_4, u_4, u_3)
    t_2 = t + t_1
    inside_5 = i_1 >= 1
    u_5 = tl.load(u_ptr + i + u_offset_3, mask=mask & inside_5, other=0)
    inside_6 = i_1 == 0
    u_6 = tl.load(u_ptr + i_0 * n_1 + u_offset_4, mask=mask & inside_6, other=0)
    t_3 = tl.where(inside_6, u_6, u_5)
    t_4 = t_2 + t_3
    inside_7 = i_1 == edge_1
    u_7 = tl.load(u_ptr + i_0 * n_1, mask=mask & inside_7, other=0)
    inside_8 = i_1 < edge_1
    u_8 = tl.load(u_ptr + i + u_offset_5, mask=mask & inside_8, other=0)
    t_5 = tl.where(inside_8, u_8, u_7)
    t_6 = t_4 + t_5
    t_7 = 4.0 * u
    t_8 = t_6 - t_7
    t_9 = 0.1 * t_8
    t_10 = u + t_9
    tl.store(t_10_ptr + i, t_10, mask=mask)
