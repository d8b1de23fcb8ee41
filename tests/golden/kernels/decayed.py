# np.cumsum(x * y) - x
import triton
import triton.language as tl


@triton.jit
def decayed_t_parts(
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
        t = x * y
        t_1_sofar = tl.where(mask, t_1_sofar + t, t_1_sofar)
    tl.store(t_1_part_ptr + row * chunks + chunk, tl.sum(t_1_sofar, axis=1, keep_dims=True), mask=row_mask)

# np.cumsum(x * y) - x
import triton
import triton.language as tl


@triton.jit
def decayed_t(
    x_ptr, y_ptr, t_2_ptr, t_1_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    t_1_sofar = tl.full([ROWS, 1], (-0.0), tl.float32)
    # The last chunks first: of what the kernel before this one read, caches may still hold the end.
    chunk = tl.num_programs(1) - 1 - tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    before = tl.full([ROWS, BLOCK], (-0.0), tl.float32)
    for start in range(0, chunk, BLOCK):
        earlier = start + tl.arange(0, BLOCK)[None, :]
        known = row_mask & (earlier < chunk)
        before = tl.where(known, (before + tl.load(t_1_part_ptr + row * chunks + earlier, mask=known)), before)
    t_1_sofar = tl.sum(before, axis=1, keep_dims=True)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + column, mask=column_mask)
        y = tl.load(y_ptr + column, mask=column_mask)
        t = x * y
        t_1_block = tl.where(mask, t, (-0.0))
        t_1 = t_1_sofar + tl.cumsum(t_1_block, axis=1)
        t_1_sofar = t_1_sofar + tl.sum(t_1_block, axis=1, keep_dims=True)
        t_2 = t_1 - x
        tl.store(t_2_ptr + column, t_2, mask=mask)
