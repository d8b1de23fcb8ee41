# while a * a + b * b <= 4 and n < 1000
# 2 * a * b + y
# n += 1
import triton
import triton.language as tl


@triton.jit
def escape_batched_batched_n(y_ptr, x_ptr, n_out_ptr, lanes, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lane < lanes
    # while a * a + b * b <= 4 and n < 1000
    outer = lane.to(tl.int64) // 700
    inner = lane.to(tl.int64) % 700
    y = tl.load(y_ptr + outer, mask=mask)
    x = tl.load(x_ptr + inner, mask=mask)
    a = tl.full([BLOCK], 0.0, tl.float32)
    b = tl.full([BLOCK], 0.0, tl.float32)
    n_1 = tl.full([BLOCK], 0, tl.int64)
    running = mask
    while tl.max(running.to(tl.int32), axis=0) > 0:
        t = a * a
        t_1 = b * b
        t_2 = t + t_1
        t_3 = t_2 <= 4.0
        t_4 = n_1 < 1000
        t_5 = t_3 & t_4
        running = running & t_5
        # a * a - b * b + x
        t_6 = a * a
        t_7 = b * b
        t_8 = t_6 - t_7
        a_1 = t_8 + x
        t_9 = 2.0 * a
        t_10 = t_9 * b
        b_1 = t_10 + y
        # n += 1
        n_2 = n_1 + 1
        a = tl.where(running, a_1, a)
        b = tl.where(running, b_1, b)
        n_1 = tl.where(running, n_2, n_1)
    # while a * a + b * b <= 4 and n < 1000
    tl.store(n_out_ptr + lane, n_1, mask=mask)
