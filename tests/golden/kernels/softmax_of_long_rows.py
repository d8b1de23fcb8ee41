# np.exp(x - np.max(x, axis=1, keepdims=True))
# e / np.sum(e, axis=1, keepdims=True)
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def larger_of(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def exp_against(x, top):
    return tl.where(x == top, 1.0, libdevice.exp(x - top))  # also where both are infinite


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
def softmax_t(x_ptr, t_3_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    t_sofar = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    t_2_sofar = tl.full([ROWS, BLOCK], 0.0, tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        t_higher = tl.where(mask, larger_of(t_sofar, x), t_sofar)
        t_2_sofar = t_2_sofar * exp_against(t_sofar, t_higher) + tl.where(mask, exp_against(x, t_higher), 0.0)
        t_sofar = t_higher
    t = tl.reduce(t_sofar, 1, larger_of, keep_dims=True)
    t_2 = tl.sum(t_2_sofar * exp_against(t_sofar, t), axis=1, keep_dims=True) + (t - t)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)[None, :]
        column_mask = column < columns
        mask = row_mask & column_mask
        x = tl.load(x_ptr + row * columns + column, mask=mask)
        t_1 = x - t
        e = libdevice.exp(t_1)
        t_3 = quotient(e, t_2)
        tl.store(t_3_ptr + row * columns + column, t_3, mask=mask)
