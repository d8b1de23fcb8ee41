# np.cumsum(x, axis=-1) / np.sum(x, axis=-1, keepdims=True)
import triton
import triton.language as tl


@triton.jit
def shares_t(x_ptr, t_2_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    x = tl.load(x_ptr + row * columns + column, mask=mask)
    t = tl.cumsum(tl.where(mask, x, (-0.0)), axis=1)
    t_1 = tl.sum(tl.where(mask, x, 0.0), axis=1, keep_dims=True)
    t_2 = tl.div_rn(t, t_1)
    tl.store(t_2_ptr + row * columns + column, t_2, mask=mask)
