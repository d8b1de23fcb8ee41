# np.exp(x - np.max(x, axis=1, keepdims=True))
# e / np.sum(e, axis=1, keepdims=True)
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def softmax_of_columns_t(
    x_ptr, t_3_ptr, rows_1, x_stride, t_3_stride, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    row_1 = row % rows_1
    row_0 = row // rows_1
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    x = tl.load(x_ptr + row_0 * rows_1 * columns + row_1 + column * x_stride, mask=mask)
    t = tl.reduce(tl.where(mask, x, float("-inf")), 1, larger_of, keep_dims=True)
    t_1 = x - t
    e = libdevice.exp(t_1)
    t_2 = tl.sum(tl.where(mask, e, 0.0), axis=1, keep_dims=True)
    t_3 = tl.div_rn(e, t_2)
    tl.store(t_3_ptr + row_0 * rows_1 * columns + row_1 + column * t_3_stride, t_3, mask=mask)
