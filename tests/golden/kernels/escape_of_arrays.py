# for _ in range(turns)
# a * a + b * b <= 4
# np.where(inside, 2 * a * b + y[:, None], b)
# n += inside
import triton
import triton.language as tl


@triton.jit
def escape_of_arrays_n(x_ptr, t_ptr, turns, n_out_ptr, lanes, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lane < lanes
    # for _ in range(turns)
    t = lane.to(tl.int64) % 700
    x = tl.load(x_ptr + t, mask=mask)
    t_1 = lane.to(tl.int64) // 700
    t_2 = tl.load(t_ptr + t_1, mask=mask)
    a = tl.full([BLOCK], 0.0, tl.float32)
    b = tl.full([BLOCK], 0.0, tl.float32)
    n_1 = tl.full([BLOCK], 0, tl.int32)
    for turn in range(turns):
        # a * a + b * b <= 4
        t_3 = a * a
        t_4 = b * b
        t_5 = t_3 + t_4
        inside_1 = t_5 <= 4.0
        # np.where(inside, 2 * a * b + y[:, None], b)
        t_6 = t_3 - t_4
        t_7 = t_6 + x
        a_1 = tl.where(inside_1, t_7, a)
        t_8 = 2.0 * a
        t_9 = t_8 * b
        t_10 = t_9 + t_2
        b_1 = tl.where(inside_1, t_10, b)
        # n += inside
        n_2 = n_1 + inside_1.to(tl.int32)
        a = a_1
        b = b_1
        n_1 = n_2
    # for _ in range(turns)
    tl.store(n_out_ptr + lane, n_1, mask=mask)
