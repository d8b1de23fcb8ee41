# np.argmax(scores * weight, axis=1)
import triton
import triton.language as tl


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def best_t(scores_ptr, weight_ptr, t_7_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    scores = tl.load(scores_ptr + row * columns + column, mask=mask)
    weight = tl.load(weight_ptr + column, mask=column_mask)
    t = scores * weight
    t_1 = tl.reduce(tl.where(mask, t, float("-inf")), 1, larger_of, keep_dims=True)
    t_2 = t == t_1
    t_3 = t != t
    t_4 = t_2 | t_3
    t_5 = column
    t_6 = tl.where(t_4, t_5, 2147483647)
    t_7 = (tl.min(tl.where(mask, t_6, 2147483647), axis=1, keep_dims=True)).to(tl.int64)
    tl.store(t_7_ptr + row, t_7, mask=row_mask)
