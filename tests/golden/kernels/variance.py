# np.var(x, axis=0)
import triton
import triton.language as tl


@triton.jit
def variance_t_parts(
    x_ptr, t_part_ptr, x_count_ptr, x_mean_ptr, x_squares_ptr, x_stride, rows, columns, chunks, chunk_length,
    ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    t_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    # The mean of some numbers, and the sum of their squared distances from it, by Welford's recurrence.
    x_mean_sofar = tl.zeros([ROWS, BLOCK], tl.float32)
    x_squares_sofar = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row + column * x_stride, mask=mask)
        t_sofar = tl.where(mask, t_sofar + x, t_sofar)
        x_count_sofar = tl.zeros([1, 1], tl.float32) + ((start - begin) // BLOCK + 1)
        off = x - x_mean_sofar
        x_mean_sofar = tl.where(mask, x_mean_sofar + off * (1.0 / x_count_sofar), x_mean_sofar)
        x_squares_sofar = tl.where(mask, x_squares_sofar + off * (x - x_mean_sofar), x_squares_sofar)
    tl.store(t_part_ptr + row * chunks + chunk, tl.sum(t_sofar, axis=1, keep_dims=True), mask=row_mask)
    inside = end - begin + BLOCK - 1 - tl.arange(0, BLOCK)[None, :]
    x_count_sofar = tl.zeros([ROWS, BLOCK], tl.float32) + inside // BLOCK
    whole = tl.sum(x_count_sofar, axis=1, keep_dims=True)
    middle = tl.sum(x_count_sofar * x_mean_sofar, axis=1, keep_dims=True) / whole
    off = x_mean_sofar - middle
    distances = tl.sum(x_squares_sofar + x_count_sofar * off * off, axis=1, keep_dims=True)
    tl.store(x_count_ptr + row * chunks + chunk, whole, mask=row_mask)
    tl.store(x_mean_ptr + row * chunks + chunk, middle, mask=row_mask)
    tl.store(x_squares_ptr + row * chunks + chunk, distances, mask=row_mask)

# np.var(x, axis=0)
import triton
import triton.language as tl


@triton.jit
def variance_t_finish(
    x_squares_ptr, x_count_ptr, x_mean_ptr, t_part_ptr, t_7_ptr, count, rows, columns, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    x_squares = tl.load(x_squares_ptr + row * columns + column, mask=mask)
    x_count = tl.load(x_count_ptr + row * columns + column, mask=mask)
    x_mean = tl.load(x_mean_ptr + row * columns + column, mask=mask)
    t_part = tl.load(t_part_ptr + row * columns + column, mask=mask)
    t = tl.sum(tl.where(mask, t_part, 0.0), axis=1, keep_dims=True)
    t_1 = tl.div_rn(t, count)
    t_2 = x_mean - t_1
    t_3 = t_2 * t_2
    t_4 = x_count * t_3
    t_5 = x_squares + t_4
    t_6 = tl.sum(tl.where(mask, t_5, 0.0), axis=1, keep_dims=True)
    t_7 = tl.div_rn(t_6, count)
    tl.store(t_7_ptr + row, t_7, mask=row_mask)
