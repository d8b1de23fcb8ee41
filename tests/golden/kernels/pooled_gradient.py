# np.maximum(x, 0)
# windows.max(axis=(2, 4))
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def pooled_grad_d_x(
    t_ptr, weights_ptr, d_x_ptr, rows_1, columns_1, t_stride, t_stride_1, t_stride_2, d_x_stride,
    d_x_stride_1, d_x_stride_2, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    row_1 = row % rows_1
    row_0 = row // rows_1
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    column_1 = column % columns_1
    column_0 = column // columns_1
    t = tl.load(t_ptr + row_0 * t_stride + row_1 * t_stride_1 + column_0 * t_stride_2 + column_1, mask=mask)
    t_1 = t > 0.0
    weights = tl.load(weights_ptr + row, mask=row_mask)
    windows = tl.maximum(t, 0.0, propagate_nan=tl.PropagateNan.ALL)
    t_2 = tl.reduce(tl.where(mask, windows, float("-inf")), 1, larger_of, keep_dims=True)
    t_3 = windows == t_2
    t_4 = t_3.to(tl.float32)
    t_5 = tl.sum(tl.where(mask, t_4, 0.0), axis=1, keep_dims=True)
    t_6 = tl.div_rn(t_3.to(tl.float32), t_5)
    d_windows = weights * t_6
    t_7 = t == 0.0
    t_8 = 0.5 * d_windows
    t_9 = tl.where(t_7, t_8, 0.0)
    d_x = tl.where(t_1, d_windows, t_9)
    tl.store(
        d_x_ptr + row_0 * d_x_stride + row_1 * d_x_stride_1 + column_0 * d_x_stride_2 + column_1, d_x,
        mask=mask
    )
