# places[:, None] - places
# np.sum(d * d, axis=2) + 1e-3
# np.sum(d * (masses / (square * np.sqrt(square)))[..., None], axis=1)
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
def forces_t(
    places_ptr, masses_ptr, t_10_ptr, t_12_ptr, t_14_ptr, places_stride, places_stride_1, places_offset,
    places_offset_1, t_10_stride, t_12_stride, t_14_stride, rows, columns, ROWS: tl.constexpr,
    BLOCK: tl.constexpr
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < rows
    column = tl.arange(0, BLOCK)[None, :]
    column_mask = column < columns
    mask = row_mask & column_mask
    places = tl.load(places_ptr + row * places_stride, mask=row_mask)
    places_1 = tl.load(places_ptr + column * places_stride_1, mask=column_mask)
    d = places - places_1
    masses = tl.load(masses_ptr + column, mask=column_mask)
    t = d * d
    places_2 = tl.load(places_ptr + row * places_stride + places_offset, mask=row_mask)
    places_3 = tl.load(places_ptr + column * places_stride_1 + places_offset, mask=column_mask)
    d_1 = places_2 - places_3
    t_1 = d_1 * d_1
    t_2 = t + t_1
    places_4 = tl.load(places_ptr + row * places_stride + places_offset_1, mask=row_mask)
    places_5 = tl.load(places_ptr + column * places_stride_1 + places_offset_1, mask=column_mask)
    d_2 = places_4 - places_5
    t_3 = d_2 * d_2
    t_4 = t_2 + t_3
    t_5 = t_4 + 0.0
    square = t_5 + 0.001
    t_6 = exact_sqrt(square)
    t_7 = square * t_6
    t_8 = tl.div_rn(masses, t_7)
    t_9 = d * t_8
    t_10 = tl.sum(tl.where(mask, t_9, 0.0), axis=1, keep_dims=True)
    t_11 = d_1 * t_8
    t_12 = tl.sum(tl.where(mask, t_11, 0.0), axis=1, keep_dims=True)
    t_13 = d_2 * t_8
    t_14 = tl.sum(tl.where(mask, t_13, 0.0), axis=1, keep_dims=True)
    tl.store(t_10_ptr + row * t_10_stride, t_10, mask=row_mask)
    tl.store(t_12_ptr + row * t_12_stride, t_12, mask=row_mask)
    tl.store(t_14_ptr + row * t_14_stride, t_14, mask=row_mask)
