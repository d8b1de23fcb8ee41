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
    x_mean = tl.zeros([ROWS, BLOCK], tl.float32)
    x_squares = tl.zeros([ROWS, BLOCK], tl.float32)
    t_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        x_count = tl.zeros([1, 1], tl.float32) + (start // BLOCK + 1)
        x_off = x - x_mean
        x_mean = tl.where(mask, x_mean + x_off * (1.0 / x_count), x_mean)
        x_squares = tl.where(mask, x_squares + x_off * (x - x_mean), x_squares)
        t_sofar = tl.where(mask, t_sofar + x, t_sofar)
    t = tl.sum(t_sofar, axis=1, keep_dims=True)
    x_count = tl.zeros([1, BLOCK], tl.float32) + (columns + BLOCK - 1 - tl.arange(0, BLOCK)[None, :]) // BLOCK
    x_middle = tl.sum(x_count * x_mean, axis=1, keep_dims=True) / columns
    x_off = x_mean - x_middle
    x_around = tl.sum(x_squares + x_count * x_off * x_off, axis=1, keep_dims=True)
    mean = tl.div_rn(t, count)
    t_3 = x_around + columns * (x_middle - mean) * (x_middle - mean)
    variance = tl.div_rn(t_3, count)
    t_4 = variance + 1e-05
    t_5 = tl.sqrt_rn(t_4)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        t_1 = x - mean
        t_6 = tl.div_rn(t_1, t_5)
        gain = tl.load(gain_ptr + column, mask=column_mask)
        t_7 = t_6 * gain
        bias = tl.load(bias_ptr + column, mask=column_mask)
        t_8 = t_7 + bias
        tl.store(t_8_ptr + row * columns + column, t_8, mask=mask)
