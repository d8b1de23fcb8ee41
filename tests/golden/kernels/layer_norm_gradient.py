# np.mean(x, axis=-1, keepdims=True)
# np.var(x, axis=-1, keepdims=True)
# np.sqrt(variance + 1e-5)
import triton
import triton.language as tl


@triton.jit
def quotient(x, y):
    # x / y of many x by one y: the product with 1 / y, and what that lacks of the quotient, where neither 1 / y nor
    # that is subnormal: of quotients below `least`, which may be infinite, it may be. Four at a time, one branch for
    # all leads to what zeros need, and another one to division.
    if x.numel < 1024:
        z = tl.div_rn(x, y)
    else:
        inverse = tl.div_rn(tl.full(y.shape, 1.0, tl.float32), y)
        size = tl.abs(inverse)
        least = tl.where(size >= 1.17549435e-38, tl.maximum(size * 7.888609e-31, 2.3509887e-38), float("inf"))
        z = tl.inline_asm_elementwise('''{
        .reg .pred plain, zero;
        .reg .f32 p, e;
        mul.rn.f32 p, $4, $12; neg.f32 e, $4; fma.rn.f32 e, p, $8, e; neg.f32 e, e;
        fma.rn.f32 $0, e, $12, p; abs.f32 e, $0; setp.ge.f32 plain, e, $16;
        mul.rn.f32 p, $5, $13; neg.f32 e, $5; fma.rn.f32 e, p, $9, e; neg.f32 e, e;
        fma.rn.f32 $1, e, $13, p; abs.f32 e, $1; setp.ge.and.f32 plain, e, $17, plain;
        mul.rn.f32 p, $6, $14; neg.f32 e, $6; fma.rn.f32 e, p, $10, e; neg.f32 e, e;
        fma.rn.f32 $2, e, $14, p; abs.f32 e, $2; setp.ge.and.f32 plain, e, $18, plain;
        mul.rn.f32 p, $7, $15; neg.f32 e, $7; fma.rn.f32 e, p, $11, e; neg.f32 e, e;
        fma.rn.f32 $3, e, $15, p; abs.f32 e, $3; setp.ge.and.f32 plain, e, $19, plain;
        @plain bra done;
        mul.rn.f32 p, $4, $12; setp.eq.f32 zero, $4, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $0, p; abs.f32 e, $0; setp.ge.or.f32 zero, e, $16, zero; mov.pred plain, zero;
        mul.rn.f32 p, $5, $13; setp.eq.f32 zero, $5, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $1, p; abs.f32 e, $1; setp.ge.or.f32 zero, e, $17, zero; and.pred plain, plain, zero;
        mul.rn.f32 p, $6, $14; setp.eq.f32 zero, $6, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $2, p; abs.f32 e, $2; setp.ge.or.f32 zero, e, $18, zero; and.pred plain, plain, zero;
        mul.rn.f32 p, $7, $15; setp.eq.f32 zero, $7, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $3, p; abs.f32 e, $3; setp.ge.or.f32 zero, e, $19, zero; and.pred plain, plain, zero;
        @plain bra done;
        div.rn.f32 $0, $4, $8; div.rn.f32 $1, $5, $9; div.rn.f32 $2, $6, $10; div.rn.f32 $3, $7, $11;
        done:
        }''', "=&f,=&f,=&f,=&f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f", [x, y, inverse, least],
        dtype=tl.float32, is_pure=True, pack=4)
    return z


@triton.jit
def normalised_grad_d_x(
    d_y_ptr, gain_ptr, x_ptr, d_x_ptr, t_1_ptr, t_4_ptr, count, rows, columns, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    d_y = tl.load(d_y_ptr + row * columns + column, mask=mask)
    gain = tl.load(gain_ptr + column, mask=column_mask)
    t = d_y * gain
    x = tl.load(x_ptr + row * columns + column, mask=mask)
    t_1 = tl.sum(tl.where(mask, x, 0.0), axis=1, keep_dims=True)
    mean = tl.div_rn(t_1, count)
    t_2 = x - mean
    t_3 = t_2 * t_2
    t_4 = tl.sum(tl.where(mask, t_3, 0.0), axis=1, keep_dims=True)
    variance = tl.div_rn(t_4, count)
    t_5 = variance + 1e-05
    t_6 = tl.sqrt_rn(t_5)
    t_7 = quotient(t, t_6)
    t_8 = quotient(t_2, t_6)
    t_9 = t * t_8
    t_10 = tl.sum(tl.where(mask, t_9, 0.0), axis=1, keep_dims=True)
    t_11 = tl.div_rn(t_10, t_6)
    t_12 = tl.div_rn(0.5, t_6)
    t_13 = t_11 * t_12
    t_14 = tl.div_rn(t_13, count)
    t_15 = 2.0 * t_2
    t_16 = t_14 * t_15
    t_17 = t_7 - t_16
    t_18 = tl.sum(tl.where(mask, t_17, 0.0), axis=1, keep_dims=True)
    t_19 = tl.div_rn(t_18, count)
    d_x = t_17 - t_19
    tl.store(d_x_ptr + row * columns + column, d_x, mask=mask)
    tl.store(t_1_ptr + row, t_1, mask=row_mask)
    tl.store(t_4_ptr + row, t_4, mask=row_mask)

# np.mean(x, axis=-1, keepdims=True)
# np.var(x, axis=-1, keepdims=True)
# (x - mean) / np.sqrt(variance + 1e-5) * gain
import triton
import triton.language as tl


@triton.jit
def exact_sqrt(x):
    # The float32 nearest to the root: an approximation, corrected once, which is right where the root is above 2^-50.
    # Four at a time, one branch for all leads to what takes more steps: some are 0, infinite, no numbers or tiny.
    if x.numel < 1024:
        root = tl.sqrt_rn(x)
    else:
        root = tl.inline_asm_elementwise('''{
        .reg .pred plain;
        .reg .f32 h, r, e;
        rsqrt.approx.ftz.f32 h, $4; mul.rn.f32 r, $4, h; mul.rn.f32 h, h, 0.5; neg.f32 e, r; fma.rn.f32 e, e, r, $4;
        fma.rn.f32 $0, e, h, r; setp.gt.f32 plain, $0, 0f26800000;
        rsqrt.approx.ftz.f32 h, $5; mul.rn.f32 r, $5, h; mul.rn.f32 h, h, 0.5; neg.f32 e, r; fma.rn.f32 e, e, r, $5;
        fma.rn.f32 $1, e, h, r; setp.gt.and.f32 plain, $1, 0f26800000, plain;
        rsqrt.approx.ftz.f32 h, $6; mul.rn.f32 r, $6, h; mul.rn.f32 h, h, 0.5; neg.f32 e, r; fma.rn.f32 e, e, r, $6;
        fma.rn.f32 $2, e, h, r; setp.gt.and.f32 plain, $2, 0f26800000, plain;
        rsqrt.approx.ftz.f32 h, $7; mul.rn.f32 r, $7, h; mul.rn.f32 h, h, 0.5; neg.f32 e, r; fma.rn.f32 e, e, r, $7;
        fma.rn.f32 $3, e, h, r; setp.gt.and.f32 plain, $3, 0f26800000, plain;
        @plain bra done;
        sqrt.rn.f32 $0, $4; sqrt.rn.f32 $1, $5; sqrt.rn.f32 $2, $6; sqrt.rn.f32 $3, $7;
        done:
        }''', "=&f,=&f,=&f,=&f,f,f,f,f", [x], dtype=tl.float32, is_pure=True, pack=4)
    return root


@triton.jit
def quotient(x, y):
    # x / y of many x by one y: the product with 1 / y, and what that lacks of the quotient, where neither 1 / y nor
    # that is subnormal: of quotients below `least`, which may be infinite, it may be. Four at a time, one branch for
    # all leads to what zeros need, and another one to division.
    if x.numel < 1024:
        z = tl.div_rn(x, y)
    else:
        inverse = tl.div_rn(tl.full(y.shape, 1.0, tl.float32), y)
        size = tl.abs(inverse)
        least = tl.where(size >= 1.17549435e-38, tl.maximum(size * 7.888609e-31, 2.3509887e-38), float("inf"))
        z = tl.inline_asm_elementwise('''{
        .reg .pred plain, zero;
        .reg .f32 p, e;
        mul.rn.f32 p, $4, $12; neg.f32 e, $4; fma.rn.f32 e, p, $8, e; neg.f32 e, e;
        fma.rn.f32 $0, e, $12, p; abs.f32 e, $0; setp.ge.f32 plain, e, $16;
        mul.rn.f32 p, $5, $13; neg.f32 e, $5; fma.rn.f32 e, p, $9, e; neg.f32 e, e;
        fma.rn.f32 $1, e, $13, p; abs.f32 e, $1; setp.ge.and.f32 plain, e, $17, plain;
        mul.rn.f32 p, $6, $14; neg.f32 e, $6; fma.rn.f32 e, p, $10, e; neg.f32 e, e;
        fma.rn.f32 $2, e, $14, p; abs.f32 e, $2; setp.ge.and.f32 plain, e, $18, plain;
        mul.rn.f32 p, $7, $15; neg.f32 e, $7; fma.rn.f32 e, p, $11, e; neg.f32 e, e;
        fma.rn.f32 $3, e, $15, p; abs.f32 e, $3; setp.ge.and.f32 plain, e, $19, plain;
        @plain bra done;
        mul.rn.f32 p, $4, $12; setp.eq.f32 zero, $4, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $0, p; abs.f32 e, $0; setp.ge.or.f32 zero, e, $16, zero; mov.pred plain, zero;
        mul.rn.f32 p, $5, $13; setp.eq.f32 zero, $5, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $1, p; abs.f32 e, $1; setp.ge.or.f32 zero, e, $17, zero; and.pred plain, plain, zero;
        mul.rn.f32 p, $6, $14; setp.eq.f32 zero, $6, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $2, p; abs.f32 e, $2; setp.ge.or.f32 zero, e, $18, zero; and.pred plain, plain, zero;
        mul.rn.f32 p, $7, $15; setp.eq.f32 zero, $7, 0f00000000; setp.eq.and.f32 zero, p, 0f00000000, zero;
        @zero mov.f32 $3, p; abs.f32 e, $3; setp.ge.or.f32 zero, e, $19, zero; and.pred plain, plain, zero;
        @plain bra done;
        div.rn.f32 $0, $4, $8; div.rn.f32 $1, $5, $9; div.rn.f32 $2, $6, $10; div.rn.f32 $3, $7, $11;
        done:
        }''', "=&f,=&f,=&f,=&f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f,f", [x, y, inverse, least],
        dtype=tl.float32, is_pure=True, pack=4)
    return z


@triton.jit
def normalised_grad_d_bias_parts(
    d_y_ptr, x_ptr, t_ptr, t_2_ptr, d_bias_part_ptr, d_gain_part_ptr, count, d_y_stride, x_stride, rows,
    columns, chunks, chunk_length, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    chunk = tl.program_id(1)
    begin = chunk * chunk_length
    end = tl.minimum(begin + chunk_length, columns)
    d_bias_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    d_gain_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    for start in range(begin, end, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < end
        mask = row_mask & column_mask
        d_y = tl.load(d_y_ptr + row + column * d_y_stride, mask=mask)
        x = tl.load(x_ptr + row + column * x_stride, mask=mask)
        t = tl.load(t_ptr + column, mask=column_mask)
        mean = quotient(t, count)
        t_1 = x - mean
        t_2 = tl.load(t_2_ptr + column, mask=column_mask)
        variance = quotient(t_2, count)
        t_3 = variance + 1e-05
        t_4 = exact_sqrt(t_3)
        t_5 = tl.div_rn(t_1, t_4)
        t_6 = d_y * t_5
        d_bias_sofar = tl.where(mask, d_bias_sofar + d_y, d_bias_sofar)
        d_gain_sofar = tl.where(mask, d_gain_sofar + t_6, d_gain_sofar)
    tl.store(
        d_bias_part_ptr + row * chunks + chunk, tl.sum(d_bias_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )
    tl.store(
        d_gain_part_ptr + row * chunks + chunk, tl.sum(d_gain_sofar, axis=1, keep_dims=True),
        mask=row_mask
    )

# np.mean(x, axis=-1, keepdims=True)
# np.var(x, axis=-1, keepdims=True)
# (x - mean) / np.sqrt(variance + 1e-5) * gain
import triton
import triton.language as tl


@triton.jit
def normalised_grad_d_bias_finish(
    d_bias_part_ptr, d_gain_part_ptr, d_bias_ptr, d_gain_ptr, rows, columns, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    d_bias_part = tl.load(d_bias_part_ptr + row * columns + column, mask=mask)
    d_bias = tl.sum(tl.where(mask, d_bias_part, 0.0), axis=1, keep_dims=True)
    d_gain_part = tl.load(d_gain_part_ptr + row * columns + column, mask=mask)
    d_gain = tl.sum(tl.where(mask, d_gain_part, 0.0), axis=1, keep_dims=True)
    tl.store(d_bias_ptr + row, d_bias, mask=row_mask)
    tl.store(d_gain_ptr + row, d_gain, mask=row_mask)
