# x.T[::-1] * 2 + y
import triton
import triton.language as tl


@triton.jit
def turned_t(x_ptr, y_ptr, t_1_ptr, x_stride, x_stride_1, x_offset, rows, columns, SIDE: tl.constexpr):
    tile = tl.program_id(0)
    across = tl.cdiv(columns, SIDE)
    column = tile % across * SIDE + tl.arange(0, SIDE)[None, :]
    row = tile // across * SIDE + tl.arange(0, SIDE)[:, None]
    row_mask = row < rows
    column_mask = column < columns
    mask = row_mask & column_mask
    x = tl.load(x_ptr + row * x_stride + column * x_stride_1 + x_offset, mask=mask)
    t = x * 2.0
    y = tl.load(y_ptr + row * columns + column, mask=mask)
    t_1 = t + y
    tl.store(t_1_ptr + row * columns + column, t_1, mask=mask)
