# out[places] = np.sqrt(y)
import triton
import triton.language as tl


@triton.jit
def scattered_out_claims(places_ptr, outside_ptr, last_ptr, out_size, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    places = tl.load(places_ptr + position, mask=mask)
    out_at = tl.where(mask, places, 0)
    out_at = tl.where(out_at < 0, out_at + out_size, out_at)
    inside = (out_at >= 0) & (out_at < out_size)
    tl.store(outside_ptr + tl.zeros_like(inside).to(tl.int32), 1, mask=mask & (inside == 0))
    tl.atomic_max(last_ptr + out_at, (position + 1).to(tl.int32), mask=mask & inside, sem="relaxed")

# out[places] = np.sqrt(y)
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
def scattered_out(places_ptr, last_ptr, y_ptr, out_ptr, out_size, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    places = tl.load(places_ptr + position, mask=mask)
    out_at = tl.where(mask, places, 0)
    out_at = tl.where(out_at < 0, out_at + out_size, out_at)
    inside = (out_at >= 0) & (out_at < out_size)
    holds = tl.load(last_ptr + out_at, mask=mask & inside, other=0) == position + 1
    y = tl.load(y_ptr + position, mask=mask)
    t = exact_sqrt(y)
    tl.store(out_ptr + out_at, t, mask=mask & inside & holds)
