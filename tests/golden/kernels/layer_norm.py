# np.mean(x, axis=-1, keepdims=True)
# np.var(x, axis=-1, keepdims=True)
# (x - mean) / np.sqrt(variance + 1e-5) * gain + bias
import triton
import triton.language as tl


@triton.jit
def layer_norm_t(
    x_ptr, gain_ptr, bias_ptr, t_8_ptr, count, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    x = tl.load(x_ptr + row * columns + column, mask=mask)
    t = tl.sum(tl.where(mask, x, 0.0), axis=1, keep_dims=True)
    mean = tl.div_rn(t, count)
    t_1 = x - mean
    t_2 = t_1 * t_1
    t_3 = tl.sum(tl.where(mask, t_2, 0.0), axis=1, keep_dims=True)
    variance = tl.div_rn(t_3, count)
    t_4 = variance + 1e-05
    t_5 = tl.sqrt_rn(t_4)
    t_6 = tl.div_rn(t_1, t_5)
    gain = tl.load(gain_ptr + column, mask=column_mask)
    t_7 = t_6 * gain
    bias = tl.load(bias_ptr + column, mask=column_mask)
    t_8 = t_7 + bias
    tl.store(t_8_ptr + row * columns + column, t_8, mask=mask)
