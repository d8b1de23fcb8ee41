# x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * gain
import triton
import triton.language as tl


@triton.jit
def rms_norm_t(x_ptr, gain_ptr, t_6_ptr, count, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    x = tl.load(x_ptr + row * columns + column, mask=mask)
    t = x * x
    t_1 = tl.sum(tl.where(mask, t, 0.0), axis=1, keep_dims=True)
    t_2 = tl.div_rn(t_1, count)
    t_3 = t_2 + 1e-06
    t_4 = tl.sqrt_rn(t_3)
    t_5 = tl.div_rn(x, t_4)
    gain = tl.load(gain_ptr + column, mask=column_mask)
    t_6 = t_5 * gain
    tl.store(t_6_ptr + row * columns + column, t_6, mask=mask)
