# np.exp(x - np.max(x, axis=1, keepdims=True))
# e / np.sum(e, axis=1, keepdims=True)
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def exp_against(x, top):
    return tl.where(x == top, 1.0, libdevice.exp(x - top))  # also where both are infinite


@triton.jit
def softmax_t(x_ptr, t_3_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    t_sofar = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    t_2_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        t_higher = tl.where(mask, larger_of(t_sofar, x), t_sofar)
        t_2_sofar = t_2_sofar * exp_against(t_sofar, t_higher) + tl.where(mask, exp_against(x, t_higher), 0.0)
        t_sofar = t_higher
    t = tl.reduce(t_sofar, 1, larger_of, keep_dims=True)
    t_2 = tl.sum(t_2_sofar * exp_against(t_sofar, t), axis=1, keep_dims=True) + (t - t)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        t_1 = x - t
        e = libdevice.exp(t_1)
        t_3 = tl.div_rn(e, t_2)
        tl.store(t_3_ptr + row * columns + column, t_3, mask=mask)
