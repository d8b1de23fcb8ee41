# np.max(logits, axis=1, keepdims=True)
# np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
# total - np.sum(logits * targets, axis=1)
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def cross_entropy_t(logits_ptr, targets_ptr, t_6_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    logits = tl.load(logits_ptr + row * columns + column, mask=mask)
    top = tl.reduce(tl.where(mask, logits, float("-inf")), 1, larger_of, keep_dims=True)
    t = logits - top
    t_1 = libdevice.exp(t)
    t_2 = tl.sum(tl.where(mask, t_1, 0.0), axis=1, keep_dims=True)
    t_3 = libdevice.log(t_2)
    total = t_3 + top
    targets = tl.load(targets_ptr + row * columns + column, mask=mask)
    t_4 = logits * targets
    t_5 = tl.sum(tl.where(mask, t_4, 0.0), axis=1, keep_dims=True)
    t_6 = total - t_5
    tl.store(t_6_ptr + row, t_6, mask=row_mask)
