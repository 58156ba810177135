/* The conversion functions of cuda_fp4.h, cuda_fp6.h and cuda_fp8.h as C functions over arrays in host memory.
 *
 * nvcc: each element in a thread of the device, where the compiler chooses instructions. A host compiler: the headers' own host path.
 * int SOURCE_to_FORMAT(const SOURCE_BITS *x, size_t n, uint8_t *codes): 0, or the CUDA error. Saturation, nearest even;
 * _to_e8m0_ru and _to_e8m0_rz round up and toward zero. Not here: what must come out (spec/policy/nvidia.yaml).
 */
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define EMU_BOTH __device__
#else
#define EMU_BOTH
#endif

EMU_BOTH static float fp32_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

EMU_BOTH static __nv_bfloat16_raw bf16_of(uint16_t bits)
{
    __nv_bfloat16_raw value;
    value.x = bits;
    return value;
}

EMU_BOTH static __half_raw fp16_of(uint16_t bits)
{
    __half_raw value;
    value.x = bits;
    return value;
}

#ifdef __CUDACC__
#define EMU_CONVERT(name, type, code)                                                                \
    static __global__ void name##_kernel(const type *x, size_t n, uint8_t *codes)                    \
    {                                                                                                \
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (size_t)blockDim.x) \
            codes[i] = (uint8_t)(code);                                                              \
    }                                                                                                \
    extern "C" int name(const type *x, size_t n, uint8_t *codes)                                     \
    {                                                                                                \
        type *given = NULL;                                                                          \
        uint8_t *found = NULL;                                                                       \
        cudaError_t status = cudaMalloc((void **)&given, n * sizeof *x);                             \
        if (status == cudaSuccess) status = cudaMalloc((void **)&found, n);                          \
        if (status == cudaSuccess) status = cudaMemcpy(given, x, n * sizeof *x, cudaMemcpyHostToDevice); \
        if (status == cudaSuccess) {                                                                 \
            name##_kernel<<<1024, 256>>>(given, n, found);                                           \
            status = cudaGetLastError();                                                             \
        }                                                                                            \
        if (status == cudaSuccess) status = cudaMemcpy(codes, found, n, cudaMemcpyDeviceToHost);     \
        cudaFree(given);                                                                             \
        cudaFree(found);                                                                             \
        return (int)status;                                                                          \
    }
#else
#define EMU_CONVERT(name, type, code)                                                                \
    extern "C" int name(const type *x, size_t n, uint8_t *codes)                                     \
    {                                                                                                \
        for (size_t i = 0; i < n; i++) codes[i] = (uint8_t)(code);                                   \
        return 0;                                                                                    \
    }
#endif

EMU_CONVERT(fp32_to_e2m1, uint32_t, __nv_cvt_float_to_fp4(fp32_of(x[i]), __NV_E2M1, cudaRoundNearest))
EMU_CONVERT(fp32_to_e2m3, uint32_t, __nv_cvt_float_to_fp6(fp32_of(x[i]), __NV_E2M3, cudaRoundNearest))
EMU_CONVERT(fp32_to_e3m2, uint32_t, __nv_cvt_float_to_fp6(fp32_of(x[i]), __NV_E3M2, cudaRoundNearest))
EMU_CONVERT(fp32_to_e4m3, uint32_t, __nv_cvt_float_to_fp8(fp32_of(x[i]), __NV_SATFINITE, __NV_E4M3))
EMU_CONVERT(fp32_to_e5m2, uint32_t, __nv_cvt_float_to_fp8(fp32_of(x[i]), __NV_SATFINITE, __NV_E5M2))
EMU_CONVERT(fp32_to_e8m0_ru, uint32_t, __nv_cvt_float_to_e8m0(fp32_of(x[i]), __NV_SATFINITE, cudaRoundPosInf))
EMU_CONVERT(fp32_to_e8m0_rz, uint32_t, __nv_cvt_float_to_e8m0(fp32_of(x[i]), __NV_SATFINITE, cudaRoundZero))
EMU_CONVERT(bf16_to_e2m1, uint16_t, __nv_cvt_bfloat16raw_to_fp4(bf16_of(x[i]), __NV_E2M1, cudaRoundNearest))
EMU_CONVERT(bf16_to_e4m3, uint16_t, __nv_cvt_bfloat16raw_to_fp8(bf16_of(x[i]), __NV_SATFINITE, __NV_E4M3))
EMU_CONVERT(bf16_to_e5m2, uint16_t, __nv_cvt_bfloat16raw_to_fp8(bf16_of(x[i]), __NV_SATFINITE, __NV_E5M2))
EMU_CONVERT(fp16_to_e2m1, uint16_t, __nv_cvt_halfraw_to_fp4(fp16_of(x[i]), __NV_E2M1, cudaRoundNearest))
EMU_CONVERT(fp16_to_e4m3, uint16_t, __nv_cvt_halfraw_to_fp8(fp16_of(x[i]), __NV_SATFINITE, __NV_E4M3))
EMU_CONVERT(fp16_to_e5m2, uint16_t, __nv_cvt_halfraw_to_fp8(fp16_of(x[i]), __NV_SATFINITE, __NV_E5M2))
