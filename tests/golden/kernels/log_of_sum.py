# np.max(x)
# m + np.log(np.sum(np.exp(x - m)))
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def exp_against(x, top):
    return tl.where(x == top, 1.0, libdevice.exp(x - top))  # also where both are infinite


@triton.jit
def log_of_sum_t_parts(
    x_ptr, m_part_ptr, x_top_ptr, x_total_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    m_sofar = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    # The largest of some numbers, and the sum of exponentials against it.
    x_top_sofar = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    x_total_sofar = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        x = tl.load(x_ptr + column, mask=column_mask)
        m_sofar = tl.where(mask, tl.maximum(m_sofar, x, propagate_nan=tl.PropagateNan.ALL), m_sofar)
        higher = tl.where(mask, larger_of(x_top_sofar, x), x_top_sofar)
        x_total_sofar = x_total_sofar * exp_against(x_top_sofar, higher)
        x_total_sofar += tl.where(mask, exp_against(x, higher), 0.0)
        x_top_sofar = higher
    tl.store(
        m_part_ptr + row * chunks + chunk, tl.reduce(m_sofar, 1, larger_of, keep_dims=True),
        mask=row_mask
    )
    whole = tl.reduce(x_top_sofar, 1, larger_of, keep_dims=True)
    tl.store(x_top_ptr + row * chunks + chunk, whole, mask=row_mask)
    against_top = tl.sum(x_total_sofar * exp_against(x_top_sofar, whole), axis=1, keep_dims=True)
    tl.store(x_total_ptr + row * chunks + chunk, against_top, mask=row_mask)

# np.max(x)
# m + np.log(np.sum(np.exp(x - m)))
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def log_of_sum_t_finish(
    m_part_ptr, x_total_ptr, x_top_ptr, t_5_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    m_part = tl.load(m_part_ptr + column, mask=column_mask)
    m = tl.reduce(tl.where(mask, m_part, float("-inf")), 1, larger_of, keep_dims=True)
    x_total = tl.load(x_total_ptr + column, mask=column_mask)
    x_top = tl.load(x_top_ptr + column, mask=column_mask)
    t = x_top - m
    t_1 = libdevice.exp(t)
    t_2 = x_total * t_1
    t_3 = tl.sum(tl.where(mask, t_2, 0.0), axis=1, keep_dims=True)
    t_4 = libdevice.log(t_3)
    t_5 = m + t_4
    tl.store(t_5_ptr + row, t_5, mask=row_mask)
