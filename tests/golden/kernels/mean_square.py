# x - y
# np.mean(error * error)
import triton
import triton.language as tl


@triton.jit
def mean_square_t_parts(
    x_ptr, y_ptr, t_1_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    t_1_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + column, mask=column_mask)
        y = tl.load(y_ptr + column, mask=column_mask)
        error = x - y
        t = error * error
        t_1_sofar = tl.where(mask, t_1_sofar + t, t_1_sofar)
    tl.store(t_1_part_ptr + row * chunks + chunk, tl.sum(t_1_sofar, axis=1, keep_dims=True), mask=row_mask)

# x - y
# np.mean(error * error)
import triton
import triton.language as tl


@triton.jit
def mean_square_t_finish(t_part_ptr, t_1_ptr, count, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    t_part = tl.load(t_part_ptr + column, mask=column_mask)
    t = tl.sum(tl.where(mask, t_part, 0.0), axis=1, keep_dims=True)
    t_1 = tl.div_rn(t, count)
    tl.store(t_1_ptr + row, t_1, mask=row_mask)
