/* Numbers from one type to another. Arrays are read with memcpy: their data need not be aligned. */
#include "io/array.h"
#include "io/text.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#    error "heed keeps arrays little-endian and uses them as they lie in the file: the machine must be so, too"
#endif

static float f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* binary16: 1 sign, 5 exponent (bias 15), 10 fraction. */
float heed_f16_to_f32(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
    if (exponent == 0x1F) return f32_of(sign | 0x7F800000 | fraction << 13);
    if (exponent != 0) return f32_of(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = (float)fraction * 0x1p-24f; /* subnormal, exact in f32 */
    return f32_of(sign | bits_of(magnitude));
}

uint16_t heed_f32_to_f16(float value) {
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) {
        const uint32_t payload = magnitude >> 13 & 0x3FF;
        return (uint16_t)(sign | 0x7C00 | (payload ? payload : 0x200));
    }
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7C00); /* 2^16 and more, infinity */
    if (magnitude < 0x38800000) {
        /* Below 2^-14. Adding 1/2 puts the units of the last place at 2^-24: the addition does the rounding, as the
         * mode of the processor is to nearest even. */
        return (uint16_t)(sign | (bits_of(f32_of(magnitude) + 0.5f) - 0x3F000000));
    }
    /* Half of the last place less one, plus the last bit that stays: ties go to even. A carry moves the exponent up,
     * past 65519.99 to infinity. */
    const uint32_t rounded = magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1);
    return (uint16_t)(sign | rounded >> 13);
}

/* bfloat16 is the upper half of an f32. */
float heed_bf16_to_f32(uint16_t bits) { return f32_of((uint32_t)bits << 16); }

uint16_t heed_f32_to_bf16(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | (bits & 0x7F0000 ? 0 : 0x40));
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/* What both conversions of an array ask of their arguments. */
static bool convertible(heed_ctx *cx, const char *op, const heed_array *a, const void *out, int64_t n) {
    if (heed_failed(cx)) return false;
    if (!a) return heed_fail(cx, HEED_ERR_USAGE, "%s: the array is NULL", op);
    size_t bytes;
    if (!array_check(cx, op, a, &bytes)) return false;
    const int64_t count = heed_array_count(a);
    if (n != count)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: '%s' %s has %lld elements, not %lld", op, escaped(a->name).s,
                         shape_text(a->rank, a->shape).text, (long long)count, (long long)n);
    return out || n == 0 || heed_fail(cx, HEED_ERR_USAGE, "%s: out is NULL", op);
}

/* A loop over the elements of one type, each in `v`. */
#define EACH(ctype, ...)                                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        ctype v;                                                                                                       \
        memcpy(&v, (const char *)a->data + (size_t)i * sizeof v, sizeof v);                                            \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    break

bool heed_array_to_f32(heed_ctx *cx, const heed_array *a, float *out, int64_t n) {
    if (!convertible(cx, "array_to_f32", a, out, n)) return false;
    switch (a->dtype) {
    case HEED_F32:
        EACH(float, out[i] = v);
    case HEED_F64:
        EACH(double, out[i] = (float)v);
    case HEED_F16:
        EACH(uint16_t, out[i] = heed_f16_to_f32(v));
    case HEED_BF16:
        EACH(uint16_t, out[i] = heed_bf16_to_f32(v));
    case HEED_BOOL:
        EACH(uint8_t, out[i] = v ? 1.0f : 0.0f);
    case HEED_U8:
        EACH(uint8_t, out[i] = (float)v);
    case HEED_I8:
        EACH(int8_t, out[i] = (float)v);
    case HEED_U16:
        EACH(uint16_t, out[i] = (float)v);
    case HEED_I16:
        EACH(int16_t, out[i] = (float)v);
    case HEED_U32:
        EACH(uint32_t, out[i] = (float)v);
    case HEED_I32:
        EACH(int32_t, out[i] = (float)v);
    case HEED_U64:
        EACH(uint64_t, out[i] = (float)v);
    case HEED_I64:
        EACH(int64_t, out[i] = (float)v);
    default:
        return heed_fail(cx, HEED_ERR_TYPE, "array_to_f32: '%s' is %s, not real numbers", escaped(a->name).s,
                         heed_dtype_name(a->dtype));
    }
    return true;
}

/* The element when it fits, else a failed context; `shows` is how a value too large is written. */
#define FITTING(ctype, high, shows)                                                                                    \
    EACH(                                                                                                              \
        ctype, if (!(high)) {                                                                                          \
            return heed_fail(cx, HEED_ERR_RANGE,                                                                       \
                             "array_to_i32: '%s': " shows " at position %lld does not fit 32 bits",                    \
                             escaped(a->name).s, v, (long long)i);                                                     \
        } out[i] = (int32_t)v)

bool heed_array_to_i32(heed_ctx *cx, const heed_array *a, int32_t *out, int64_t n) {
    if (!convertible(cx, "array_to_i32", a, out, n)) return false;
    switch (a->dtype) {
    case HEED_I32:
        EACH(int32_t, out[i] = v);
    case HEED_BOOL:
        EACH(uint8_t, out[i] = v != 0);
    case HEED_U8:
        EACH(uint8_t, out[i] = v);
    case HEED_I8:
        EACH(int8_t, out[i] = v);
    case HEED_U16:
        EACH(uint16_t, out[i] = v);
    case HEED_I16:
        EACH(int16_t, out[i] = v);
    case HEED_U32:
        FITTING(unsigned, v <= INT32_MAX, "%u");
    case HEED_U64:
        FITTING(unsigned long long, v <= INT32_MAX, "%llu");
    case HEED_I64:
        FITTING(long long, v >= INT32_MIN && v <= INT32_MAX, "%lld");
    default:
        return heed_fail(cx, HEED_ERR_TYPE, "array_to_i32: '%s' is %s, not integers", escaped(a->name).s,
                         heed_dtype_name(a->dtype));
    }
    return true;
}
