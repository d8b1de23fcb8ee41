# np.tanh(x @ w + b[:, None])
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def single_tanh(x):
    # Off by at most 4 units in the last place: 1 - 2 / (exp(2 |x|) + 1), and a polynomial where that would cancel.
    u = x * x
    p = tl.fma(tl.fma(tl.fma(u, 0.015612628, -0.052211802), u, 0.13313116), u, -0.33332598)
    small = tl.fma(x, tl.fma(u, p, 0.0), x)  # 0.0 + -0.0 is 0.0, so that -0.0 stays -0.0
    power = tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [tl.abs(x) * 2.88539008], dtype=tl.float32, is_pure=True, pack=1
    )
    share = tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [power + 1.0], dtype=tl.float32, is_pure=True, pack=1
    )
    return tl.where(tl.abs(x) < 0.6, small, libdevice.copysign(tl.fma(share, -2.0, 1.0), x))


@triton.jit
def many_t(
    x_ptr, w_ptr, b_ptr, t_ptr, b_stride, rows, columns, depth, BLOCK_I: tl.constexpr, BLOCK_J: tl.constexpr,
    BLOCK_K: tl.constexpr
):
    # Blocks of the result go in groups of 8 block rows, whose operands stay in the cache meanwhile.
    blocks_i = tl.cdiv(rows, BLOCK_I)
    blocks_j = tl.cdiv(columns, BLOCK_J)
    block = tl.program_id(0) % (blocks_i * blocks_j)
    batch = tl.program_id(0) // (blocks_i * blocks_j)
    group = block // (8 * blocks_j)
    height = tl.minimum(blocks_i - 8 * group, 8)
    top = (8 * group + block % (8 * blocks_j) % height) * BLOCK_I
    i = top + tl.arange(0, BLOCK_I)[:, None]
    j = (block % (8 * blocks_j) // height) * BLOCK_J + tl.arange(0, BLOCK_J)[None, :]
    accumulator = tl.zeros([BLOCK_I, BLOCK_J], tl.float32)
    for start in range(0, depth, BLOCK_K):
        k_across = start + tl.arange(0, BLOCK_K)[None, :]
        k_down = start + tl.arange(0, BLOCK_K)[:, None]
        x = tl.load(
            x_ptr + batch * rows * depth + i * depth + k_across,
            mask=(i < rows) & (k_across < depth), other=0
        )
        w = tl.load(
            w_ptr + batch * depth * columns + k_down * columns + j,
            mask=(k_down < depth) & (j < columns), other=0
        )
        accumulator = tl.dot(
            x, w, accumulator,
            input_precision="ieee", out_dtype=tl.float32
        )
    b = tl.load(b_ptr + batch * b_stride + j, mask=j < columns, other=0)
    t_1 = accumulator + b
    t_2 = single_tanh(t_1)
    tl.store(t_ptr + batch * rows * columns + i * columns + j, t_2, mask=(i < rows) & (j < columns))
