# q @ k.transpose(0, 2, 1) * 0.25
# np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
# np.exp(s - s.max(axis=-1, keepdims=True))
# e / e.sum(axis=-1, keepdims=True) @ v + 1
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def causal_t(
    q_ptr, k_1_ptr, v_ptr, t_ptr, count, k_1_stride, rows, columns, depth, channels, BLOCK_I: tl.constexpr,
    BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    blocks_i = tl.cdiv(rows, BLOCK_I)
    batch = tl.program_id(0) // blocks_i
    block = tl.program_id(0) % blocks_i
    top = block * BLOCK_I
    i = top + tl.arange(0, BLOCK_I)[:, None]
    k_across = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    channel = tl.arange(0, BLOCK_C)[None, :]
    q = tl.load(
        q_ptr + batch * rows * depth + i * depth + k_across,
        mask=(i < rows) & (k_across < depth), other=0
    )
    largest = tl.full([BLOCK_I, 1], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_I, 1], tl.float32)
    accumulator = tl.zeros([BLOCK_I, BLOCK_C], tl.float32)
    for start in range(0, columns, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
        j_down = start + tl.arange(0, BLOCK_J)[:, None]
        k_1 = tl.load(
            k_1_ptr + batch * depth * columns + k_down + j * k_1_stride,
            mask=(k_down < depth) & (j < columns), other=0
        )
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        t_2 = i >= j
        s = score * count
        s_1 = tl.where(t_2, s, float("-inf"))
        inside = tl.where(j < columns, s_1, float("-inf"))
        # The softmax of the columns so far: what was summed against a smaller maximum is scaled down.
        higher = larger_of(largest, tl.reduce(inside, 1, larger_of, keep_dims=True))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        rescale = libdevice.exp(largest - shift)
        largest = higher
        t_5 = s_1 - shift
        e = libdevice.exp(t_5)
        weight = tl.where(j < columns, e, 0.0)
        total = total * rescale + tl.sum(weight, axis=1, keep_dims=True)
        v = tl.load(
            v_ptr + batch * columns * channels + j_down * channels + channel,
            mask=(j_down < columns) & (channel < channels), other=0
        )
        accumulator = tl.dot(
            weight, v, accumulator * rescale,
            input_precision="ieee", out_dtype=tl.float32
        )
    accumulator = tl.div_rn(accumulator, total)
    t_7 = accumulator + 1.0
    tl.store(
        t_ptr + batch * rows * channels + i * channels + channel, t_7,
        mask=(i < rows) & (channel < channels)
    )
