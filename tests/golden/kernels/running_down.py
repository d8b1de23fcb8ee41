# np.cumsum(x * y, axis=0) * 2 + y
import triton
import triton.language as tl


@triton.jit
def down_t(
    y_ptr, x_ptr, t_3_ptr, x_stride, t_3_stride, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    y = tl.load(y_ptr + row, mask=row_mask)
    t_1_sofar = tl.full([ROWS, 1], (-0.0), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row + column * x_stride, mask=mask)
        t = x * y
        t_1_block = tl.where(mask, t, (-0.0))
        t_1 = t_1_sofar + tl.cumsum(t_1_block, axis=1)
        t_1_sofar = t_1_sofar + tl.sum(t_1_block, axis=1, keep_dims=True)
        t_2 = t_1 * 2.0
        t_3 = t_2 + y
        tl.store(t_3_ptr + row + column * t_3_stride, t_3, mask=mask)
