/* Ticks and their labels. Every tick is an integer times a power of ten, so its label is exact, and no label depends on
 * the locale. */
#include "plot/ticks.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number q 10^exponent. */
struct decimal {
    int64_t q;
    int exponent;
};

/* A text that is cut rather than overrun. */
struct label {
    char *out;
    size_t used;
};

static void put(struct label *l, const char *s) {
    const size_t n = strlen(s);
    if (l->used + n >= LABEL_SIZE) return;
    memcpy(l->out + l->used, s, n + 1);
    l->used += n;
}

static void put_minus(struct label *l, bool ascii) { put(l, ascii ? "-" : "\u2212"); }

static void put_power(struct label *l, int exponent, bool ascii) {
    static const char *const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    char digits[16];
    snprintf(digits, sizeof digits, "%d", exponent);
    if (ascii) {
        put(l, "e");
        put(l, digits);
        return;
    }
    put(l, "10");
    for (const char *c = digits; *c; c++) put(l, *c == '-' ? "\u207b" : raised[*c - '0']);
}

/* q / 10^decimals as digits with a point, and with commas between thousands if asked for. */
static void put_digits(struct label *l, int64_t q, int decimals, bool commas, bool ascii) {
    char digits[LABEL_SIZE], text[2 * LABEL_SIZE];
    const uint64_t size = q < 0 ? -(uint64_t)q : (uint64_t)q;
    const int n = snprintf(digits, sizeof digits, "%0*llu", decimals + 1, (unsigned long long)size);
    const int whole = n - decimals;
    int used = 0;
    for (int i = 0; i < n; i++) {
        if (i == whole) text[used++] = '.';
        if (i > 0 && i < whole && commas && (whole - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    if (q < 0) put_minus(l, ascii);
    put(l, text);
}

static int64_t power_of_ten(int n) {
    int64_t p = 1;
    while (n-- > 0 && p <= INT64_MAX / 10) p *= 10;
    return p;
}

static double decimal_value(struct decimal d) {
    /* Division by a power of ten is exact to half a unit where multiplying by 0.1, 0.01, ... is not. */
    return d.exponent < 0 ? (double)d.q / pow(10, -d.exponent) : (double)d.q * pow(10, d.exponent);
}

/* How all labels of an axis are written: as digits, in units of thousands (SI), or as digits times a power of ten. */
struct form {
    int shift;        /* the unit is 10^shift */
    int decimals;     /* after the point, in that unit */
    const char *unit; /* "M", or NULL for a power of ten */
    bool commas;      /* between thousands: all labels have them when one has five digits */
};

/* For the largest of labels that are all multiples of 10^exponent. */
static struct form form_of(struct decimal largest) {
    static const char *const units[] = {"M", "G", "T"};
    const int digits = largest.q ? (int)floor(log10(fabs((double)largest.q))) : 0;
    const int magnitude = digits + largest.exponent; /* largest lies in [1, 10) 10^magnitude */
    const int decimals = largest.exponent < 0 ? -largest.exponent : 0;
    if (magnitude < -3 || magnitude >= 15 || decimals > 12)
        return (struct form){magnitude, magnitude > largest.exponent ? magnitude - largest.exponent : 0, NULL, false};
    if (magnitude < 6) return (struct form){0, decimals, "", magnitude >= 4};
    const int shift = magnitude / 3 * 3;
    return (struct form){shift, shift > largest.exponent ? shift - largest.exponent : 0, units[shift / 3 - 2], false};
}

static void write_label(char *out, struct decimal d, struct form f, bool ascii) {
    struct label l = {out, 0};
    out[0] = '\0';
    if (d.q == 0) {
        put_digits(&l, 0, f.shift == 0 ? f.decimals : 0, false, ascii);
        return;
    }
    /* Digits of d at 10^(shift - decimals); more zeros when the number is coarser than that. */
    const int coarser = d.exponent - (f.shift - f.decimals);
    put_digits(&l, coarser > 0 ? d.q * power_of_ten(coarser) : d.q, f.decimals, f.commas, ascii);
    if (f.unit)
        put(&l, f.unit);
    else {
        if (!ascii) put(&l, "\u00d7");
        put_power(&l, f.shift, ascii);
    }
}

/* ---- linear ---- */

static double multiples(double low, double high, double step) {
    const double slack = 1e-9;
    return floor(high / step + slack) - ceil(low / step - slack) + 1;
}

/* The smallest good step with at most `most` multiples in the range. */
static struct decimal good_step(double low, double high, int most, bool whole) {
    static const struct decimal steps[] = {{1, 0}, {2, 0}, {25, -1}, {5, 0}};
    int power = (int)floor(log10((high - low) / most)) - 1;
    if (whole && power < 0) power = 0;
    for (;; power++)
        for (int i = 0; i < 4; i++) {
            const struct decimal step = {steps[i].q, steps[i].exponent + power};
            if (whole && step.exponent < 0) continue;
            if (multiples(low, high, decimal_value(step)) <= most) return step;
        }
}

void ticks_linear(struct ticks *t, double low, double high, int most, bool whole, bool ascii) {
    t->n = t->minors = 0;
    if (!(low < high) || !isfinite(high - low)) return;
    if (high - low < 1e-12 * fmax(fabs(low), fabs(high))) return; /* no digits tell such ticks apart */
    most = most < 2 ? 2 : most > MAX_TICKS ? MAX_TICKS : most;
    const struct decimal step = good_step(low, high, most, whole);
    const double size = decimal_value(step);
    const int64_t first = (int64_t)ceil(low / size - 1e-9), last = (int64_t)floor(high / size + 1e-9);
    struct decimal each[MAX_TICKS], largest = step;
    for (int64_t k = first; k <= last && t->n < most; k++) {
        const struct decimal d = {k * step.q, step.exponent};
        if (llabs(d.q) > llabs(largest.q)) largest = d;
        each[t->n] = d;
        t->at[t->n++] = decimal_value(d);
    }
    const struct form form = form_of(largest);
    for (int i = 0; i < t->n; i++) write_label(t->label[i], each[i], form, ascii);
}

/* ---- logarithmic ---- */

static bool within(double v, double low, double high) { return v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9); }

static void add_tick(struct ticks *t, struct decimal d, bool plain, bool commas, bool ascii) {
    if (t->n == MAX_TICKS) return;
    char *out = t->label[t->n];
    if (plain) {
        const struct form f = {0, d.exponent < 0 ? -d.exponent : 0, "", commas};
        write_label(out, d, f, ascii);
    } else if (d.q == 1 && !ascii) {
        struct label l = {out, 0};
        put_power(&l, d.exponent, ascii);
    } else {
        write_label(out, d, (struct form){d.exponent, 0, NULL, false}, ascii);
    }
    t->at[t->n++] = decimal_value(d);
}

static void add_minors(struct ticks *t, double low, double high, int from, int to) {
    for (int power = from; power <= to; power++)
        for (int m = 2; m <= 9; m++) {
            const double v = decimal_value((struct decimal){m, power});
            if (t->minors < MAX_MINORS && within(v, low, high)) t->minor[t->minors++] = v;
        }
}

/* 1, 2 and 5 times powers of ten. */
static void add_between(struct ticks *t, double low, double high, int from, int to, bool plain, bool ascii) {
    for (int power = from; power <= to; power++)
        for (int i = 0; i < 3; i++) {
            const struct decimal d = {(int[]){1, 2, 5}[i], power};
            if (within(decimal_value(d), low, high)) add_tick(t, d, plain, high >= 9999.5, ascii);
        }
}

static void add_powers(struct ticks *t, int first, int last, int stride, bool plain, bool ascii) {
    for (int power = first; power <= last; power += stride)
        add_tick(t, (struct decimal){1, power}, plain, last >= 4, ascii);
}

void ticks_log(struct ticks *t, double low, double high, int most, bool ascii) {
    t->n = t->minors = 0;
    if (!(low > 0) || !(low < high) || !isfinite(high)) return;
    most = most < 2 ? 2 : most > MAX_TICKS ? MAX_TICKS : most;
    const int first = (int)ceil(log10(low) - 1e-9), last = (int)floor(log10(high) + 1e-9);
    const bool plain = first >= -3 && last <= 5;
    if (last - first <= 1) { /* two powers of ten say too little */
        add_between(t, low, high, first - 1, last + 1, plain, ascii);
        add_minors(t, low, high, first - 1, last + 1);
        if (t->n >= 2 && t->n <= most) return;
        t->n = 0;
    }
    if (last <= first) {
        ticks_linear(t, low, high, most, false, ascii);
        return;
    }
    const int stride = (last - first + most) / most;
    const int aligned = first + (((-first) % stride) + stride) % stride; /* a multiple, so that 1 is a tick */
    add_powers(t, aligned + stride <= last ? aligned : first, last, stride, plain, ascii);
    if (stride == 1 && t->minors == 0 && last - first < 10) add_minors(t, low, high, first - 1, last);
}

/* ---- numbers and ranges ---- */

int number_decimals(double largest) {
    const double size = fabs(largest);
    return !(size > 0) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : size >= 0.00995 ? 3 : 4;
}

int values_decimals(const float *values, int64_t n) {
    double largest = 0;
    bool whole = true;
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)values[i];
        if (!isfinite(v)) continue;
        largest = fmax(largest, fabs(v));
        whole &= v == floor(v);
    }
    return whole ? 0 : number_decimals(largest);
}

void number_label(char out[static LABEL_SIZE], double value, int decimals, bool ascii) {
    if (!isfinite(value)) {
        struct label l = {out, 0};
        out[0] = '\0';
        if (value < 0) put_minus(&l, ascii);
        put(&l, isnan(value) ? "nan" : ascii ? "inf" : "\u221e");
        return;
    }
    const double size = fabs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-4)) { /* three digits: q 10^(power - 2) */
        int power = (int)floor(log10(size));
        int64_t q = llround(value / pow(10, power) * 100);
        if (llabs(q) == 1000) {
            q /= 10;
            power++;
        }
        const struct decimal d = {q, power - 2};
        write_label(out, d, form_of(d), ascii);
        return;
    }
    decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    const struct decimal d = {llround(value * (double)power_of_ten(decimals)), -decimals};
    write_label(out, d, (struct form){0, decimals, "", size >= 9999.5}, ascii);
}

struct cells cells_of(const float *values, int64_t n, bool weights) {
    const int decimals = weights ? 2 : values_decimals(values, n);
    const double least = 0.5 / (double)power_of_ten(decimals);
    bool shown = false;
    for (int64_t i = 0; i < n; i++) shown = shown || fabs((double)values[i]) >= least;
    return (struct cells){decimals, shown ? least : 0, weights};
}

void cell_label(char out[static LABEL_SIZE], double value, struct cells cells, bool ascii) {
    const bool small = fabs(value) < cells.least;
    number_label(out, small ? 0 : value, cells.decimals, ascii);
    if (!cells.weights || isnan(value)) return;
    if (small || cells.least == 0)
        out[0] = '\0';
    else if (strncmp(out, "0.", 2) == 0)
        memmove(out, out + 1, strlen(out));
    else if (strcmp(out, "1.00") == 0)
        out[1] = '\0';
}

void range_add(struct range *r, double value, bool log) {
    if (!isfinite(value) || (log && !(value > 0))) return;
    if (value < r->low) r->low = value;
    if (value > r->high) r->high = value;
}

struct range range_axis(struct range r, double margin, bool log) {
    if (range_empty(r)) return log ? (struct range){1, 10} : (struct range){0, 1};
    if (log) {
        const double low = log10(r.low), high = log10(r.high);
        const double more = high - low > 1e-9 ? (high - low) * margin : 0.5;
        return (struct range){pow(10, low - more), pow(10, high + more)};
    }
    const double size = fmax(fabs(r.low), fabs(r.high));
    /* Doubles cannot tell apart what lies closer than this. */
    if (!(r.high - r.low > 1e-9 * size)) {
        const double half = size > 0 ? 0.1 * size : 1;
        return (struct range){r.low - half, r.high + half};
    }
    const double more = (r.high - r.low) * margin;
    return (struct range){r.low - more, r.high + more};
}
