# np.max(logits, axis=1, keepdims=True)
# np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
# total - logits[np.arange(logits.shape[0]), labels]
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def likelihood_t(
    logits_ptr, labels_ptr, outside_ptr, t_6_ptr, t_5_size, t_5_stride, rows, columns, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
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
    t_4 = row.to(tl.int64)
    labels = tl.load(labels_ptr + row, mask=row_mask)
    t_5_at = tl.where(row_mask, labels, 0)
    t_5_at = tl.where(t_5_at < 0, t_5_at + t_5_size, t_5_at)
    t_5_inside = (t_5_at >= 0) & (t_5_at < t_5_size)
    tl.store(outside_ptr + tl.zeros_like(t_5_inside).to(tl.int32), 1, mask=row_mask & (t_5_inside == 0))
    t_5 = tl.load(logits_ptr + t_4 * t_5_stride + t_5_at, mask=row_mask & t_5_inside, other=0)
    t_6 = total - t_5
    tl.store(t_6_ptr + row, t_6, mask=row_mask)
