# np.max(logits, axis=1, keepdims=True)
# np.log(np.sum(np.exp(logits - top), axis=1))
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def likelihood_top(logits_ptr, top_ptr, t_3_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
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
    tl.store(top_ptr + row, top, mask=row_mask)
    tl.store(t_3_ptr + row, t_3, mask=row_mask)

# np.log(np.sum(np.exp(logits - top), axis=1)) + top[:, 0]
# total - logits[np.arange(logits.shape[0]), labels]
import triton
import triton.language as tl


@triton.jit
def likelihood_t(
    t_ptr, top_ptr, labels_ptr, t_2_ptr, outside_ptr, t_3_ptr, t_2_size, t_2_stride, n, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    t = tl.load(t_ptr + i, mask=mask)
    top = tl.load(top_ptr + i, mask=mask)
    total = t + top
    t_1 = i.to(tl.int64)
    labels = tl.load(labels_ptr + i, mask=mask)
    t_2_at = tl.where(mask, labels, 0)
    t_2_at = tl.where(t_2_at < 0, t_2_at + t_2_size, t_2_at)
    t_2_inside = (t_2_at >= 0) & (t_2_at < t_2_size)
    tl.store(outside_ptr + tl.zeros_like(t_2_inside).to(tl.int32), 1, mask=mask & (t_2_inside == 0))
    t_2 = tl.load(t_2_ptr + t_1 * t_2_stride + t_2_at, mask=mask & t_2_inside, other=0)
    t_3 = total - t_2
    tl.store(t_3_ptr + i, t_3, mask=mask)
