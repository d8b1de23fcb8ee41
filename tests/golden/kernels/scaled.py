# (np.exp(x) * s[:, None]) @ np.maximum(w, 0).T * 0.5
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def scaled_t(
    x_ptr, s_ptr, w_ptr, t_ptr, w_stride, rows, columns, depth, BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr,
    BLOCK_K: tl.constexpr
):
    # Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    blocks_i = tl.cdiv(rows, BLOCK_I)
    blocks_j = tl.cdiv(columns, BLOCK_J)
    block = tl.program_id(0)
    group = block // (8 * blocks_j)
    height = tl.minimum(blocks_i - 8 * group, 8)
    top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I
    i = top + tl.arange(0, BLOCK_I)[:, None]
    j = (block % (8 * blocks_j) // height) * BLOCK_J + tl.arange(0, BLOCK_J)[None, :]
    accumulator = tl.zeros([BLOCK_I, BLOCK_J], tl.float32)
    for start in range(0, depth, BLOCK_K):
        k_across = start + tl.arange(0, BLOCK_K)[None, :]
        k_down = start + tl.arange(0, BLOCK_K)[:, None]
        x = tl.load(x_ptr + i * depth + k_across, mask=(i < rows) & (k_across < depth), other=0)
        t = libdevice.exp(x)
        s = tl.load(s_ptr + i, mask=i < rows, other=0)
        t_1 = t * s
        w = tl.load(w_ptr + k_down + j * w_stride, mask=(k_down < depth) & (j < columns), other=0)
        t_2 = tl.maximum(w, 0.0, propagate_nan=tl.PropagateNan.ALL)
        accumulator = tl.dot(
            tl.where(k_across < depth, t_1, 0.0), tl.where(k_down < depth, t_2, 0.0), accumulator,
            input_precision="ieee", out_dtype=tl.float32
        )
    t_4 = accumulator * 0.5
    tl.store(t_ptr + i * columns + j, t_4, mask=(i < rows) & (j < columns))
