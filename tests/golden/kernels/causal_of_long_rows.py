# e / e.sum(axis=-1, keepdims=True) @ v + 1
import triton
import triton.language as tl


@triton.jit
def causal_reach_parts(
    v_ptr, reach_part_ptr, columns_1, rows, columns, chunks, chunk_length, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    reach_sofar = tl.full([ROWS, BLOCK], (-2147483648), tl.int32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        column_0 = column // columns_1
        v = tl.load(v_ptr + row * columns + column, mask=mask)
        t = (v.to(tl.float32) - v.to(tl.float32)).to(tl.float16)
        t_1 = t.to(tl.float32) != 0.0
        t_2 = column_0
        t_3 = t_2 + 1
        t_4 = tl.where(t_1, t_3, 0)
        reach_sofar = tl.where(mask, tl.maximum(reach_sofar, t_4), reach_sofar)
    tl.store(
        reach_part_ptr + row * chunks + chunk, tl.max(reach_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# e / e.sum(axis=-1, keepdims=True) @ v + 1
import triton
import triton.language as tl


@triton.jit
def causal_reach_finish(reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    reach_part = tl.load(reach_part_ptr + row * columns + column, mask=mask)
    reach = tl.max(tl.where(mask, reach_part, (-2147483648)), axis=1, keep_dims=True)
    tl.store(reach_ptr + row, reach, mask=row_mask)

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
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def causal_t(
    reach_ptr, q_ptr, k_1_ptr, v_ptr, t_ptr, k_1_stride, rows, columns, depth, channels,
    BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    blocks_i = tl.cdiv(rows, BLOCK_I)
    batch = tl.program_id(0) // blocks_i
    block = tl.program_id(0) % blocks_i
    # The last rows first, which see most columns.
    top = (blocks_i - 1 - block) * BLOCK_I
    # What a row does not see has the weight 0, which leaves out all but a value that is no finite number.
    seen = tl.maximum(top + BLOCK_I, tl.load(reach_ptr + batch))
    seen = tl.minimum(seen, columns)
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
    for start in range(0, seen, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
        j_down = start + tl.arange(0, BLOCK_J)[:, None]
        k_1 = tl.load(
            k_1_ptr + batch * depth * columns + k_down + j * k_1_stride,
            mask=(k_down < depth) & (j < columns), other=0
        )
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        t_2 = i >= j
        t_3 = score.to(tl.float16)
        s = (t_3.to(tl.float32) * 0.25).to(tl.float16)
        s_1 = (tl.where(t_2, s.to(tl.float32), float("-inf"))).to(tl.float16)
        inside = tl.where(j < columns, s_1.to(tl.float32), float("-inf"))
        # The softmax of the columns so far: what was summed against a smaller maximum is scaled down.
        higher = larger_of(largest, tl.reduce(inside, 1, larger_of, keep_dims=True))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        rescale = libdevice.exp(largest - shift)
        largest = higher
        t_4 = shift.to(tl.float16)
        t_5 = (s_1.to(tl.float32) - t_4.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_5.to(tl.float32))).to(tl.float16)
        weight = tl.where(j < columns, e.to(tl.float32), 0.0)
        total = total * rescale + tl.sum(weight, axis=1, keep_dims=True)
        v = tl.load(
            v_ptr + batch * columns * channels + j_down * channels + channel,
            mask=(j_down < columns) & (channel < channels), other=0
        )
        accumulator = tl.dot(
            weight.to(tl.float16), v, accumulator * rescale,
            input_precision="ieee", out_dtype=tl.float32
        )
    accumulator = tl.div_rn(accumulator, total)
    t_6 = accumulator.to(tl.float16)
    t_7 = (t_6.to(tl.float32) + 1.0).to(tl.float16)
    tl.store(
        t_ptr + batch * rows * channels + i * channels + channel, t_7,
        mask=(i < rows) & (channel < channels)
    )
