# q @ k.T / q.shape[1] ** 0.5
# np.exp(s - np.max(s, axis=1, keepdims=True))
# e / np.sum(e, axis=1, keepdims=True) @ v
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def attention_t(
    q_ptr, k_1_ptr, v_ptr, t_ptr, k_1_stride, rows, columns, depth, channels, BLOCK_I: tl.constexpr,
    BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    block = tl.program_id(0)
    top = block * BLOCK_I
    i = top + tl.arange(0, BLOCK_I)[:, None]
    k_across = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    channel = tl.arange(0, BLOCK_C)[None, :]
    q = tl.load(q_ptr + i * depth + k_across, mask=(i < rows) & (k_across < depth), other=0)
    largest = tl.full([BLOCK_I, 1], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_I, 1], tl.float32)
    accumulator = tl.zeros([BLOCK_I, BLOCK_C], tl.float32)
    for start in range(0, columns, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
        j_down = start + tl.arange(0, BLOCK_J)[:, None]
        k_1 = tl.load(k_1_ptr + k_down + j * k_1_stride, mask=(k_down < depth) & (j < columns), other=0)
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        t = score.to(tl.float16)
        s = (t.to(tl.float32) * 0.125).to(tl.float16)
        inside = tl.where(j < columns, s.to(tl.float32), float("-inf"))
        # The softmax of the columns so far: what was summed against a smaller maximum is scaled down.
        higher = larger_of(largest, tl.reduce(inside, 1, larger_of, keep_dims=True))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        rescale = libdevice.exp(largest - shift)
        largest = higher
        t_1 = shift.to(tl.float16)
        t_2 = (s.to(tl.float32) - t_1.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_2.to(tl.float32))).to(tl.float16)
        weight = tl.where(j < columns, e.to(tl.float32), 0.0)
        total = total * rescale + tl.sum(weight, axis=1, keep_dims=True)
        v = tl.load(
            v_ptr + j_down * channels + channel,
            mask=(j_down < columns) & (channel < channels), other=0
        )
        accumulator = tl.dot(
            weight.to(tl.float16), v, accumulator * rescale,
            input_precision="ieee", out_dtype=tl.float32
        )
    accumulator = tl.div_rn(accumulator, total)
    t_3 = accumulator.to(tl.float16)
    tl.store(t_ptr + i * channels + channel, t_3, mask=(i < rows) & (channel < channels))
