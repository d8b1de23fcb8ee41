# np.max(np.abs(x), axis=0)
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def columns_t_parts(
    x_ptr, t_1_part_ptr, x_stride, rows, columns, chunks, chunk_length, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    t_1_sofar = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row + column * x_stride, mask=mask)
        t = tl.abs(x)
        t_1_sofar = tl.where(mask, tl.maximum(t_1_sofar, t, propagate_nan=tl.PropagateNan.ALL), t_1_sofar)
    tl.store(
        t_1_part_ptr + row * chunks + chunk, tl.reduce(t_1_sofar, 1, larger_of, keep_dims=True),
        mask=row_mask
    )

# np.max(np.abs(x), axis=0)
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def columns_t_finish(t_part_ptr, t_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    t_part = tl.load(t_part_ptr + row * columns + column, mask=mask)
    t = tl.reduce(tl.where(mask, t_part, float("-inf")), 1, larger_of, keep_dims=True)
    tl.store(t_ptr + row, t, mask=row_mask)
