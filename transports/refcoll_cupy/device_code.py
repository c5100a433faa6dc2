"""What all kernels have in common, as CUDA C: complex numbers, 16-bit floats, and the loops.

It needs no header, and a host's compiler takes it too: see ``kernels``.
"""

from __future__ import annotations

PRELUDE = r"""
template <typename R> struct Complex { R real, imag; };

union Word { float f; unsigned u; };
__device__ static unsigned bits_of(float f) { Word w; w.f = f; return w.u; }
__device__ static float float_of(unsigned u) { Word w; w.u = u; return w.f; }

__device__ static float from_bfloat(unsigned short b) { return float_of((unsigned)b << 16); }
__device__ static unsigned short to_bfloat(float f) {
    unsigned u = bits_of(f);
    if (f != f) return (unsigned short)(u >> 16 | 0x40);
    return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);  // to nearest, ties to even
}

#ifdef __CUDA_ARCH__
__device__ static float from_half(unsigned short h) {
    float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f;
}
__device__ static unsigned short to_half(float f) {
    unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h;
}
#else
__device__ static float from_half(unsigned short h) {
    unsigned sign = (h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00) return float_of(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    if (rest >= 0x0400) return float_of(sign | ((rest << 13) + 0x38000000u));
    float f = (float)rest * 5.9604644775390625e-08f;  // subnormal: rest * 2^-24, exact
    return sign ? -f : f;
}
__device__ static unsigned short to_half(float f) {
    unsigned u = bits_of(f), sign = u >> 16 & 0x8000u, rest = u & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (rest >= 0x47800000u) return (unsigned short)(sign | 0x7c00u);  // 2^16 and above
    if (rest < 0x38800000u) {  // below 2^-14: adding 0.5 rounds to multiples of 2^-24
        float shifted = float_of(rest) + 0.5f;
        return (unsigned short)(sign | (bits_of(shifted) - bits_of(0.5f)));
    }
    rest += 0xfff + (rest >> 13 & 1);
    return (unsigned short)(sign | (rest - 0x38000000u) >> 13);
}
#endif

// double to a narrow float in one rounding: to odd first, which loses nothing that matters.
__device__ static float to_odd(double d) {
    float f = (float)d;
    if (d != d || (double)f == d) return f;
    unsigned u = bits_of(f);
    if ((f < 0 ? -(double)f : (double)f) > (d < 0 ? -d : d)) u -= 1;
    return float_of(u | 1);
}

template <typename T> struct alignas(16) Pack { T part[16 / sizeof(T)]; };
__device__ static bool packed(const void* a, const void* b, const void* c) {
    return ((unsigned long long)a | (unsigned long long)b | (unsigned long long)c) % 16 == 0;
}
"""

KERNEL = r"""
extern "C" __global__ void {name}({arguments}, long long n) {{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
         i += (long long)gridDim.x * blockDim.x) {{
        {body}
    }}
}}
"""

# Sixteen bytes at a time, where all three addresses allow it: of short elements, one for each
# thread is little to have under way.  Not measured.
MERGE = r"""
extern "C" __global__ void merge(const {type}* left, const {type}* right, {type}* out,
                                 long long n) {{
    const int each = 16 / sizeof({type});
    const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long stride = (long long)gridDim.x * blockDim.x;
    const long long packs = packed(left, right, out) ? n / each : 0;
    for (long long i = first; i < packs; i += stride) {{
        Pack<{type}> l = ((const Pack<{type}>*)left)[i], r = ((const Pack<{type}>*)right)[i];
        #pragma unroll
        for (int j = 0; j < each; j++) {{
            {of_pack}
        }}
        ((Pack<{type}>*)out)[i] = l;
    }}
    for (long long i = packs * each + first; i < n; i += stride) {{
        {single}
    }}
}}
"""
