# (t - np.mean(t, axis=(2, 3), keepdims=True)) / np.sqrt(np.var(t, axis=(2, 3), keepdims=True) + 1e-5)
# t.reshape(x.shape) * gain[:, None] + bias[:, None]
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
def group_norm_t(
    t_ptr, t_10_ptr, t_12_ptr, t_13_ptr, count, rows_1, columns_1, t_10_stride, t_12_stride, rows, columns,
    ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    row_1 = row % rows_1
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    column_0 = column // columns_1
    t = tl.load(t_ptr + row * columns + column, mask=mask)
    t_1 = tl.sum(tl.where(mask, t, 0.0), axis=1, keep_dims=True)
    t_2 = tl.div_rn(t_1, count)
    t_3 = t - t_2
    t_4 = t_3 * t_3
    t_5 = tl.sum(tl.where(mask, t_4, 0.0), axis=1, keep_dims=True)
    t_6 = tl.div_rn(t_5, count)
    t_7 = t_6 + 1e-05
    t_8 = tl.sqrt_rn(t_7)
    t_9 = quotient(t_3, t_8)
    t_10 = tl.load(t_10_ptr + row_1 * t_10_stride + column_0, mask=mask)
    t_11 = t_9 * t_10
    t_12 = tl.load(t_12_ptr + row_1 * t_12_stride + column_0, mask=mask)
    t_13 = t_11 + t_12
    tl.store(t_13_ptr + row * columns + column, t_13, mask=mask)
