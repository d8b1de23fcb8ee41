# e / e.sum(axis=-1, keepdims=True) @ v
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_parts(
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

# e / e.sum(axis=-1, keepdims=True) @ v
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_finish(
    reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
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
# e / e.sum(axis=-1, keepdims=True) @ v
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
def causal_loss_grad_t(
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
    tl.store(
        t_ptr + batch * rows * channels + i * channels + channel, t_6,
        mask=(i < rows) & (channel < channels)
    )

# products.causal(q, k, v) ** 2
# e / e.sum(axis=-1, keepdims=True) @ v + 1
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_d_t(t_ptr, d_t_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    t = tl.load(t_ptr + i, mask=mask)
    t_1 = (t.to(tl.float32) + 1.0).to(tl.float16)
    d_t = (2.0 * t_1.to(tl.float32)).to(tl.float16)
    tl.store(d_t_ptr + i, d_t, mask=mask)

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_parts(
    q_ptr, reach_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
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
        q = tl.load(q_ptr + row * columns + column, mask=mask)
        t = (tl.abs(q.to(tl.float32))).to(tl.float16)
        t_1 = t.to(tl.float32) <= 22.625
        t_2 = t_1 == 0
        t_3 = tl.where(t_2, 4096, 0)
        reach_sofar = tl.where(mask, tl.maximum(reach_sofar, t_3), reach_sofar)
    tl.store(
        reach_part_ptr + row * chunks + chunk, tl.max(reach_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_finish(
    reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    reach_part = tl.load(reach_part_ptr + row * columns + column, mask=mask)
    reach = tl.max(tl.where(mask, reach_part, (-2147483648)), axis=1, keep_dims=True)
    tl.store(reach_ptr + row, reach, mask=row_mask)

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_parts(
    k_1_ptr, reach_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
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
        k_1 = tl.load(k_1_ptr + row * columns + column, mask=mask)
        t = (tl.abs(k_1.to(tl.float32))).to(tl.float16)
        t_1 = t.to(tl.float32) <= 22.625
        t_2 = t_1 == 0
        t_3 = tl.where(t_2, 4096, 0)
        reach_sofar = tl.where(mask, tl.maximum(reach_sofar, t_3), reach_sofar)
    tl.store(
        reach_part_ptr + row * chunks + chunk, tl.max(reach_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_finish(
    reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    reach_part = tl.load(reach_part_ptr + row * columns + column, mask=mask)
    reach = tl.max(tl.where(mask, reach_part, (-2147483648)), axis=1, keep_dims=True)
    tl.store(reach_ptr + row, reach, mask=row_mask)

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_parts(
    d_t_ptr, reach_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
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
        d_t = tl.load(d_t_ptr + row * columns + column, mask=mask)
        t = (tl.abs(d_t.to(tl.float32))).to(tl.float16)
        t_1 = t.to(tl.float32) <= 22.625
        t_2 = t_1 == 0
        t_3 = tl.where(t_2, 4096, 0)
        reach_sofar = tl.where(mask, tl.maximum(reach_sofar, t_3), reach_sofar)
    tl.store(
        reach_part_ptr + row * chunks + chunk, tl.max(reach_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_finish(
    reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    reach_part = tl.load(reach_part_ptr + row * columns + column, mask=mask)
    reach = tl.max(tl.where(mask, reach_part, (-2147483648)), axis=1, keep_dims=True)
    tl.store(reach_ptr + row, reach, mask=row_mask)

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_parts(
    v_ptr, reach_part_ptr, rows, columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
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
        v = tl.load(v_ptr + row * columns + column, mask=mask)
        t = (tl.abs(v.to(tl.float32))).to(tl.float16)
        t_1 = t.to(tl.float32) <= 22.625
        t_2 = t_1 == 0
        t_3 = tl.where(t_2, 4096, 0)
        reach_sofar = tl.where(mask, tl.maximum(reach_sofar, t_3), reach_sofar)
    tl.store(
        reach_part_ptr + row * chunks + chunk, tl.max(reach_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# q @ k.transpose(0, 2, 1)
import triton
import triton.language as tl


@triton.jit
def causal_loss_grad_reach_finish(
    reach_part_ptr, reach_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    reach_part = tl.load(reach_part_ptr + row * columns + column, mask=mask)
    reach = tl.max(tl.where(mask, reach_part, (-2147483648)), axis=1, keep_dims=True)
    tl.store(reach_ptr + row, reach, mask=row_mask)

# q @ k.transpose(0, 2, 1)
# np.tril(np.ones(s.shape[1:], bool))
# np.exp(s - s.max(axis=-1, keepdims=True))
# e / e.sum(axis=-1, keepdims=True) @ v
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
def causal_loss_grad_d_v_softmax(
    q_ptr, k_1_ptr, largest_ptr, total_ptr, reach_0_ptr, reach_1_ptr, reach_2_ptr, reach_3_ptr, k_1_stride,
    rows, columns, depth, BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr
):
    blocks = tl.cdiv(rows, BLOCK_I)
    batch = tl.program_id(0) // blocks
    # The last rows first, which see most columns.
    first = (blocks - 1 - tl.program_id(0) % blocks) * BLOCK_I
    k = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    i = first + tl.arange(0, BLOCK_I)[:, None]
    largest = tl.full([BLOCK_I, 1], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_I, 1], tl.float32)
    q = tl.load(q_ptr + batch * rows * depth + i * depth + k, mask=(i < rows) & (k < depth), other=0)
    # Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    odd = tl.load(reach_0_ptr + batch)
    odd = tl.maximum(odd, tl.load(reach_1_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_2_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_3_ptr + batch))
    end = tl.minimum(columns, tl.maximum(first + BLOCK_I, odd))
    for start in range(0, end, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
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
        # What was summed against a smaller maximum is scaled down.
        higher = larger_of(largest, tl.reduce(inside, 1, larger_of, keep_dims=True))
        shift = tl.where(higher == float("-inf"), 0.0, higher)
        total *= libdevice.exp(largest - shift)
        largest = higher
        t_4 = shift.to(tl.float16)
        t_5 = (s_1.to(tl.float32) - t_4.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_5.to(tl.float32))).to(tl.float16)
        total += tl.sum(tl.where(j < columns, e.to(tl.float32), 0.0), axis=1, keep_dims=True)
    tl.store(largest_ptr + batch * rows + i, largest, mask=i < rows)
    tl.store(total_ptr + batch * rows + i, total, mask=i < rows)

# q @ k.transpose(0, 2, 1)
# np.tril(np.ones(s.shape[1:], bool))
# np.exp(s - s.max(axis=-1, keepdims=True))
# e / e.sum(axis=-1, keepdims=True) @ v
import triton
import triton.language as tl


@triton.jit
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def causal_loss_grad_d_v_sums(
    largest_ptr, total_ptr, q_ptr, k_1_ptr, d_t_ptr, v_ptr, sum_ptr, reach_0_ptr, reach_1_ptr, reach_2_ptr,
    reach_3_ptr, k_1_stride, v_stride, rows, columns, depth, channels, BLOCK_I: tl.constexpr,
    BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    blocks = tl.cdiv(rows, BLOCK_I)
    batch = tl.program_id(0) // blocks
    # The last rows first, which see most columns.
    first = (blocks - 1 - tl.program_id(0) % blocks) * BLOCK_I
    k = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    channel = tl.arange(0, BLOCK_C)[None, :]
    channel_down = tl.arange(0, BLOCK_C)[:, None]
    i = first + tl.arange(0, BLOCK_I)[:, None]
    largest = tl.load(largest_ptr + batch * rows + i, mask=i < rows, other=0)
    total = tl.load(total_ptr + batch * rows + i, mask=i < rows, other=0)
    q = tl.load(q_ptr + batch * rows * depth + i * depth + k, mask=(i < rows) & (k < depth), other=0)
    d_t = tl.load(
        d_t_ptr + batch * rows * channels + i * channels + channel,
        mask=(i < rows) & (channel < channels), other=0
    )
    sum = tl.zeros([BLOCK_I, 1], tl.float32)
    # Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    odd = tl.load(reach_0_ptr + batch)
    odd = tl.maximum(odd, tl.load(reach_1_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_2_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_3_ptr + batch))
    end = tl.minimum(columns, tl.maximum(first + BLOCK_I, odd))
    for start in range(0, end, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
        k_1 = tl.load(
            k_1_ptr + batch * depth * columns + k_down + j * k_1_stride,
            mask=(k_down < depth) & (j < columns), other=0
        )
        v = tl.load(
            v_ptr + batch * channels * columns + channel_down + j * v_stride,
            mask=(channel_down < channels) & (j < columns), other=0
        )
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        slope = tl.dot(d_t, v, input_precision="ieee", out_dtype=tl.float32)
        t = slope.to(tl.float16)
        t_3 = i >= j
        t_4 = score.to(tl.float16)
        s = (t_4.to(tl.float32) * 0.25).to(tl.float16)
        s_1 = (tl.where(t_3, s.to(tl.float32), float("-inf"))).to(tl.float16)
        t_5 = largest.to(tl.float16)
        t_6 = (s_1.to(tl.float32) - t_5.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_6.to(tl.float32))).to(tl.float16)
        t_7 = total.to(tl.float16)
        t_8 = (tl.div_rn(e.to(tl.float32), t_7.to(tl.float32))).to(tl.float16)
        t_9 = (t.to(tl.float32) * t_8.to(tl.float32)).to(tl.float16)
        sum += tl.sum(tl.where(j < columns, t_9.to(tl.float32), 0.0), axis=1, keep_dims=True)
    tl.store(sum_ptr + batch * rows + i, sum, mask=i < rows)

# q @ k.transpose(0, 2, 1)
# np.tril(np.ones(s.shape[1:], bool))
# np.exp(s - s.max(axis=-1, keepdims=True))
# e / e.sum(axis=-1, keepdims=True) @ v
import triton
import triton.language as tl


@triton.jit
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def causal_loss_grad_d_v_rows(
    largest_ptr, total_ptr, sum_ptr, q_ptr, k_1_ptr, d_t_ptr, v_ptr, d_q_ptr, reach_0_ptr, reach_1_ptr,
    reach_2_ptr, reach_3_ptr, k_1_stride, v_stride, rows, columns, depth, channels, BLOCK_I: tl.constexpr,
    BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    blocks = tl.cdiv(rows, BLOCK_I)
    batch = tl.program_id(0) // blocks
    # The last rows first, which see most columns.
    first = (blocks - 1 - tl.program_id(0) % blocks) * BLOCK_I
    k = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    channel = tl.arange(0, BLOCK_C)[None, :]
    channel_down = tl.arange(0, BLOCK_C)[:, None]
    i = first + tl.arange(0, BLOCK_I)[:, None]
    largest = tl.load(largest_ptr + batch * rows + i, mask=i < rows, other=0)
    total = tl.load(total_ptr + batch * rows + i, mask=i < rows, other=0)
    sum = tl.load(sum_ptr + batch * rows + i, mask=i < rows, other=0)
    q = tl.load(q_ptr + batch * rows * depth + i * depth + k, mask=(i < rows) & (k < depth), other=0)
    d_t = tl.load(
        d_t_ptr + batch * rows * channels + i * channels + channel,
        mask=(i < rows) & (channel < channels), other=0
    )
    d_q = tl.zeros([BLOCK_I, BLOCK_K], tl.float32)
    # Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    odd = tl.load(reach_0_ptr + batch)
    odd = tl.maximum(odd, tl.load(reach_1_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_2_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_3_ptr + batch))
    end = tl.minimum(columns, tl.maximum(first + BLOCK_I, odd))
    for start in range(0, end, BLOCK_J):
        j = start + tl.arange(0, BLOCK_J)[None, :]
        k_1 = tl.load(
            k_1_ptr + batch * depth * columns + k_down + j * k_1_stride,
            mask=(k_down < depth) & (j < columns), other=0
        )
        v = tl.load(
            v_ptr + batch * channels * columns + channel_down + j * v_stride,
            mask=(channel_down < channels) & (j < columns), other=0
        )
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        slope = tl.dot(d_t, v, input_precision="ieee", out_dtype=tl.float32)
        t_2 = i >= j
        t_3 = slope.to(tl.float16)
        t_4 = total.to(tl.float16)
        d_e = (tl.div_rn(t_3.to(tl.float32), t_4.to(tl.float32))).to(tl.float16)
        t_5 = sum.to(tl.float16)
        t_6 = (tl.div_rn(t_5.to(tl.float32), t_4.to(tl.float32))).to(tl.float16)
        d_e_1 = (d_e.to(tl.float32) - t_6.to(tl.float32)).to(tl.float16)
        t_7 = score.to(tl.float16)
        s = (t_7.to(tl.float32) * 0.25).to(tl.float16)
        s_1 = (tl.where(t_2, s.to(tl.float32), float("-inf"))).to(tl.float16)
        t_8 = largest.to(tl.float16)
        t_9 = (s_1.to(tl.float32) - t_8.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_9.to(tl.float32))).to(tl.float16)
        d_s = (d_e_1.to(tl.float32) * e.to(tl.float32)).to(tl.float16)
        t_10 = (d_s.to(tl.float32) * 0.25).to(tl.float16)
        d_t_1 = (tl.where(t_2, t_10.to(tl.float32), 0.0)).to(tl.float16)
        factor = tl.where((i < rows) & (j < columns), d_t_1, tl.full((), 0.0, tl.float16))
        d_q = tl.dot(factor, tl.trans(k_1), d_q, input_precision="ieee", out_dtype=tl.float32)
    d_q_1 = d_q.to(tl.float16)
    tl.store(d_q_ptr + batch * rows * depth + i * depth + k, d_q_1, mask=(i < rows) & (k < depth))

# q @ k.transpose(0, 2, 1)
# np.tril(np.ones(s.shape[1:], bool))
# np.exp(s - s.max(axis=-1, keepdims=True))
# e / e.sum(axis=-1, keepdims=True) @ v
import triton
import triton.language as tl


@triton.jit
def quick_exp(x):
    # For what is rounded to half precision: off by |x| / 2^23 of itself, and 0 below 2^-126.
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def causal_loss_grad_d_v_columns(
    largest_ptr, total_ptr, sum_ptr, q_ptr, k_1_ptr, d_t_ptr, v_ptr, d_v_ptr, d_k_ptr, reach_0_ptr,
    reach_1_ptr, reach_2_ptr, reach_3_ptr, k_1_stride, v_stride, rows, columns, depth, channels,
    BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_C: tl.constexpr
):
    blocks = tl.cdiv(columns, BLOCK_J)
    batch = tl.program_id(0) // blocks
    first = tl.program_id(0) % blocks * BLOCK_J
    k = tl.arange(0, BLOCK_K)[None, :]
    k_down = tl.arange(0, BLOCK_K)[:, None]
    channel = tl.arange(0, BLOCK_C)[None, :]
    channel_down = tl.arange(0, BLOCK_C)[:, None]
    j = first + tl.arange(0, BLOCK_J)[None, :]
    j_down = first + tl.arange(0, BLOCK_J)[:, None]
    k_1 = tl.load(
        k_1_ptr + batch * depth * columns + k_down + j * k_1_stride,
        mask=(k_down < depth) & (j < columns), other=0
    )
    v = tl.load(
        v_ptr + batch * channels * columns + channel_down + j * v_stride,
        mask=(channel_down < channels) & (j < columns), other=0
    )
    d_v = tl.zeros([BLOCK_J, BLOCK_C], tl.float32)
    d_k = tl.zeros([BLOCK_J, BLOCK_K], tl.float32)
    # Nothing is to be added from behind the diagonal, but for operands with huge numbers.
    odd = tl.load(reach_0_ptr + batch)
    odd = tl.maximum(odd, tl.load(reach_1_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_2_ptr + batch))
    odd = tl.maximum(odd, tl.load(reach_3_ptr + batch))
    begin = tl.where(odd > 0, 0, first // BLOCK_I * BLOCK_I)
    for start in range(begin, rows, BLOCK_I):
        i = start + tl.arange(0, BLOCK_I)[:, None]
        largest = tl.load(largest_ptr + batch * rows + i, mask=i < rows, other=0)
        total = tl.load(total_ptr + batch * rows + i, mask=i < rows, other=0)
        sum = tl.load(sum_ptr + batch * rows + i, mask=i < rows, other=0)
        q = tl.load(q_ptr + batch * rows * depth + i * depth + k, mask=(i < rows) & (k < depth), other=0)
        d_t = tl.load(
            d_t_ptr + batch * rows * channels + i * channels + channel,
            mask=(i < rows) & (channel < channels), other=0
        )
        score = tl.dot(q, k_1, input_precision="ieee", out_dtype=tl.float32)
        slope = tl.dot(d_t, v, input_precision="ieee", out_dtype=tl.float32)
        t_2 = i >= j
        t_3 = score.to(tl.float16)
        s = (t_3.to(tl.float32) * 0.25).to(tl.float16)
        s_1 = (tl.where(t_2, s.to(tl.float32), float("-inf"))).to(tl.float16)
        t_4 = largest.to(tl.float16)
        t_5 = (s_1.to(tl.float32) - t_4.to(tl.float32)).to(tl.float16)
        e = (quick_exp(t_5.to(tl.float32))).to(tl.float16)
        t_6 = total.to(tl.float16)
        t_7 = (tl.div_rn(e.to(tl.float32), t_6.to(tl.float32))).to(tl.float16)
        t_8 = slope.to(tl.float16)
        d_e = (tl.div_rn(t_8.to(tl.float32), t_6.to(tl.float32))).to(tl.float16)
        t_9 = sum.to(tl.float16)
        t_10 = (tl.div_rn(t_9.to(tl.float32), t_6.to(tl.float32))).to(tl.float16)
        d_e_1 = (d_e.to(tl.float32) - t_10.to(tl.float32)).to(tl.float16)
        d_s = (d_e_1.to(tl.float32) * e.to(tl.float32)).to(tl.float16)
        t_11 = (d_s.to(tl.float32) * 0.25).to(tl.float16)
        d_t_1 = (tl.where(t_2, t_11.to(tl.float32), 0.0)).to(tl.float16)
        factor = tl.where((i < rows) & (j < columns), t_7, tl.full((), 0.0, tl.float16))
        d_v = tl.dot(tl.trans(factor), d_t, d_v, input_precision="ieee", out_dtype=tl.float32)
        factor_1 = tl.where((i < rows) & (j < columns), d_t_1, tl.full((), 0.0, tl.float16))
        d_k = tl.dot(tl.trans(factor_1), q, d_k, input_precision="ieee", out_dtype=tl.float32)
    d_v_1 = d_v.to(tl.float16)
    tl.store(
        d_v_ptr + batch * columns * channels + j_down * channels + channel, d_v_1,
        mask=(j_down < columns) & (channel < channels)
    )
    d_k_1 = d_k.to(tl.float16)
    tl.store(
        d_k_ptr + batch * columns * depth + j_down * depth + k, d_k_1,
        mask=(j_down < columns) & (k < depth)
    )
