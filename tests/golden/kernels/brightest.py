# np.argmax(np.abs(x), axis=0)
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def brightest_t_parts(
    x_ptr, t_best_ptr, t_place_ptr, x_stride, rows, columns, chunks, chunk_length, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    # The extreme of some numbers, and where it first stands; -1: of none. A NaN is extreme.
    t_best_sofar = tl.zeros([ROWS, BLOCK], tl.float32)
    t_place_sofar = tl.full([ROWS, BLOCK], -1, tl.int64)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row + column * x_stride, mask=mask)
        t = tl.abs(x)
        t_2 = column.to(tl.int64)
        nearer = (t > t_best_sofar) | ((t != t) & (t_best_sofar == t_best_sofar))
        nearer = mask & (nearer | (t_place_sofar < 0))
        t_best_sofar = tl.where(nearer, t, t_best_sofar)
        t_place_sofar = tl.where(nearer, t_2, t_place_sofar)
    known = t_place_sofar >= 0
    extreme_one = tl.reduce(tl.where(known, t_best_sofar, float("-inf")), 1, larger_of, keep_dims=True)
    extremes = known & ((t_best_sofar == extreme_one) | (t_best_sofar != t_best_sofar))
    tl.store(t_best_ptr + row * chunks + chunk, extreme_one, mask=row_mask)
    first = tl.min(tl.where(extremes, t_place_sofar, 9223372036854775807), axis=1, keep_dims=True)
    tl.store(t_place_ptr + row * chunks + chunk, first, mask=row_mask)

# np.argmax(np.abs(x), axis=0)
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def brightest_t_finish(
    t_best_ptr, t_place_ptr, t_5_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    t_best = tl.load(t_best_ptr + row * columns + column, mask=mask)
    t = tl.reduce(tl.where(mask, t_best, float("-inf")), 1, larger_of, keep_dims=True)
    t_1 = t_best == t
    t_2 = t_best != t_best
    t_3 = t_1 | t_2
    t_place = tl.load(t_place_ptr + row * columns + column, mask=mask)
    t_4 = tl.where(t_3, t_place, tl.full((), 9223372036854775807, tl.int64))
    t_5 = tl.min(tl.where(mask, t_4, tl.full((), 9223372036854775807, tl.int64)), axis=1, keep_dims=True)
    tl.store(t_5_ptr + row, t_5, mask=row_mask)
