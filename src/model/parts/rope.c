/* Rotary positions and their scalings. Speeds are worked out in f32 step by step, as PyTorch has them: far positions
 * multiply what is rounded. */
#include "model/parts/rope.h"
#include "io/text.h"
#include "model/core/families.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

#define TURN 6.283185307179586

/* ---- speeds ---- */

/* theta^(2i / dim) */
static float slowness(double theta, int64_t i, int64_t dim) {
    const float exponent = (float)(2 * i) / (float)dim;
    return (float)pow((double)(float)theta, (double)exponent);
}

static float plain_speed(double theta, int64_t i, int64_t dim) { return 1 / slowness(theta, i, dim); }

/* theta for sequences of `length`, longer than the model was trained on */
static double dynamic_theta(const struct rope *r, int64_t length) {
    const float factor = (float)r->factor;
    const float grown = factor * (float)length / (float)r->positions - (float)(r->factor - 1);
    return (double)((float)r->theta * (float)pow((double)grown, (double)r->dim / (double)(r->dim - 2)));
}

struct ramp {
    double low, high;
};

static float llama3_speed(const struct rope *r, struct ramp frequency, float speed) {
    const float wave = (float)TURN / speed, old = (float)r->original, factor = (float)r->factor;
    if ((double)wave > (double)r->original / frequency.low) return speed / factor;
    if ((double)wave < (double)r->original / frequency.high) return speed;
    const float smooth = (old / wave - (float)frequency.low) / (float)(frequency.high - frequency.low);
    return (1 - smooth) * speed / factor + smooth * speed;
}

/* The channel that turns `times` times within the original length. */
static double channel_of(const struct rope *r, double times) {
    return (double)r->dim * log((double)r->original / (times * TURN)) / (2 * log(r->theta));
}

static struct ramp yarn_ramp(const struct rope *r, double fast, double slow, bool truncate) {
    struct ramp ramp = {channel_of(r, fast), channel_of(r, slow)};
    if (truncate) ramp = (struct ramp){floor(ramp.low), ceil(ramp.high)};
    ramp.low = fmax(ramp.low, 0);
    ramp.high = fmin(ramp.high, (double)(r->dim - 1));
    if (ramp.low == ramp.high) ramp.high += 0.001;
    return ramp;
}

static float yarn_speed(const struct rope *r, struct ramp ramp, int64_t i) {
    const float slow = slowness(r->theta, i, r->dim),
                part = ((float)i - (float)ramp.low) / (float)(ramp.high - ramp.low);
    const float kept = 1 - fminf(fmaxf(part, 0), 1);
    return 1 / ((float)r->factor * slow) * (1 - kept) + 1 / slow * kept;
}

/* ---- the config ---- */

static bool is_there(heed_ctx *cx, heed_json at, const char *key) {
    return heed_json_kind_of(heed_json_find(cx, at, key)) > HEED_JSON_NULL;
}

/* rope_scaling where it says something, else rope_parameters; its kind is NONE where neither is there. */
static heed_json scaling_of(heed_ctx *cx, heed_json config) {
    static const char *const names[] = {"rope_scaling", "rope_parameters"};
    for (int i = 0; i < 2; i++) {
        const heed_json at = heed_json_find(cx, config, names[i]);
        const heed_json_kind kind = heed_json_kind_of(at);
        if (kind > HEED_JSON_NULL && kind != HEED_JSON_OBJECT) heed_json_fail(cx, at, "an object is needed, or null");
        if (kind == HEED_JSON_OBJECT && heed_json_count(at) > 0) return at;
    }
    return (heed_json){0};
}

static enum rope_scaling kind_of(heed_ctx *cx, heed_json at, bool phi) {
    static const char *const names[] = {"default",  "linear", "dynamic",      "yarn",
                                        "longrope", "llama3", "proportional", NULL};
    static const char *const layers[] = {"full_attention", "sliding_attention"};
    if (heed_json_kind_of(at) != HEED_JSON_OBJECT) return ROPE_DEFAULT;
    for (int i = 0; i < 2; i++)
        if (heed_json_kind_of(heed_json_find(cx, at, layers[i])) == HEED_JSON_OBJECT)
            heed_json_fail(cx, heed_json_find(cx, at, layers[i]), "all layers of this family turn alike");
    const char *const key = is_there(cx, at, "rope_type") ? "rope_type" : "type";
    if (!is_there(cx, at, key) || heed_failed(cx)) return ROPE_DEFAULT;
    const char *const name = heed_json_text(cx, at, key);
    if (phi && name && (strcmp(name, "su") == 0 || strcmp(name, "yarn") == 0)) return ROPE_LONG;
    const int kind = config_choice(cx, at, key, names);
    if (phi && kind > ROPE_DEFAULT && kind != ROPE_LONG)
        heed_json_fail(cx, heed_json_find(cx, at, key), "'%s' is neither default nor longrope", escaped(name).s);
    return kind < 0 ? ROPE_DEFAULT : (enum rope_scaling)kind;
}

static double attention_of_yarn(heed_ctx *cx, heed_json at, double factor) {
    const double m = config_number_or(cx, at, "mscale", -1e6, 1e6, 0),
                 all = config_number_or(cx, at, "mscale_all_dim", -1e6, 1e6, 0);
    const double grown = factor <= 1 ? 0 : 0.1 * log(factor);
    return m != 0 && all != 0 ? (grown * m + 1) / (grown * all + 1) : grown + 1;
}

static double attention_of_long(const struct rope *r, double factor) {
    return factor <= 1 ? 1 : sqrt(1 + log(factor) / log((double)r->original));
}

/* A factor for each pair. */
static bool divide_by(heed_ctx *cx, heed_json at, const char *key, const struct rope *r, float *speeds) {
    const heed_json list = heed_json_array(cx, at, key);
    if (heed_failed(cx)) return false;
    if (heed_json_count(list) != r->pairs)
        return heed_json_fail(cx, list, "%lld factors for %lld pairs of channels", (long long)heed_json_count(list),
                              (long long)r->pairs);
    for (int64_t i = 0; i < r->pairs && !heed_failed(cx); i++) {
        const heed_json factor = heed_json_item(cx, list, (int)i);
        const double x = heed_json_number(cx, factor, NULL);
        if (!heed_failed(cx) && !(x > 0)) heed_json_fail(cx, factor, "a factor of %g is not positive", x);
        speeds[i] = 1 / ((float)x * slowness(r->theta, i, r->dim));
    }
    return !heed_failed(cx);
}

static float *room_for(heed_ctx *cx, heed_params *set, const struct rope *r) {
    return heed_params_alloc(cx, set, (size_t)(r->pairs > 0 ? r->pairs : 1), sizeof(float));
}

static bool make_long(heed_ctx *cx, heed_json at, heed_params *set, struct rope *r, float *speeds) {
    float *const others = room_for(cx, set, r);
    const double grown = (double)r->positions / (double)r->original,
                 factor = config_number_or(cx, at, "factor", 1e-9, 1e9, grown);
    r->long_speeds = others;
    r->attention = (float)config_number_or(cx, at, "attention_factor", 0, 1e9, attention_of_long(r, factor));
    return others && divide_by(cx, at, "short_factor", r, speeds) && divide_by(cx, at, "long_factor", r, others);
}

static bool make_yarn(heed_ctx *cx, heed_json at, struct rope *r, float *speeds) {
    const double fast = config_number_or(cx, at, "beta_fast", 0, 1e9, 0),
                 slow = config_number_or(cx, at, "beta_slow", 0, 1e9, 0);
    const heed_json_kind truncated = heed_json_kind_of(heed_json_find(cx, at, "truncate")); /* null: it is not */
    const bool truncate =
        truncated == HEED_JSON_NONE || (truncated > HEED_JSON_NULL && heed_json_bool(cx, at, "truncate"));
    r->factor = config_number_or(cx, at, "factor", 1e-9, 1e9, (double)r->positions / (double)r->original);
    r->attention = (float)config_number_or(cx, at, "attention_factor", 0, 1e9, attention_of_yarn(cx, at, r->factor));
    if (heed_failed(cx)) return false;
    const struct ramp ramp = yarn_ramp(r, fast != 0 ? fast : 32, slow != 0 ? slow : 1, truncate);
    for (int64_t i = 0; i < r->pairs; i++) speeds[i] = yarn_speed(r, ramp, i);
    return true;
}

static bool make_llama3(heed_ctx *cx, heed_json at, struct rope *r, float *speeds) {
    const struct ramp ramp = {config_number(cx, at, "low_freq_factor", 1e-9, 1e9),
                              config_number(cx, at, "high_freq_factor", 1e-9, 1e9)};
    r->factor = config_number(cx, at, "factor", 1e-9, 1e9);
    for (int64_t i = 0; i < r->pairs && !heed_failed(cx); i++)
        speeds[i] = llama3_speed(r, ramp, plain_speed(r->theta, i, r->dim));
    return !heed_failed(cx);
}

static bool make_speeds(heed_ctx *cx, heed_json at, heed_params *set, int64_t size, double part, struct rope *r) {
    float *const speeds = room_for(cx, set, r);
    r->speeds = speeds, r->attention = 1, r->factor = 1;
    if (!speeds) return false;
    if (r->scaling == ROPE_LONG) return make_long(cx, at, set, r, speeds);
    if (r->scaling == ROPE_YARN) return make_yarn(cx, at, r, speeds);
    if (r->scaling == ROPE_LLAMA3) return make_llama3(cx, at, r, speeds);
    if (r->scaling == ROPE_PROPORTIONAL)
        r->factor = config_number_or(cx, at, "factor", 1e-9, 1e9, 1);
    else if (r->scaling != ROPE_DEFAULT)
        r->factor = config_number(cx, at, "factor", 1e-9, 1e9);
    const float divisor = r->scaling == ROPE_DYNAMIC ? 1 : (float)r->factor;
    const int64_t turned = r->scaling == ROPE_PROPORTIONAL ? (int64_t)floor(part * (double)size / 2) : r->pairs;
    for (int64_t i = 0; i < turned; i++) speeds[i] = plain_speed(r->theta, i, r->dim) / divisor;
    return !heed_failed(cx);
}

/* A key that may be null gets what it stands for, so that other programs read the same. */
static double filled_in(heed_ctx *cx, heed_json config, const char *key, double value) {
    if (key && !is_there(cx, config, key)) heed_json_put_number(cx, config, key, value);
    return value;
}

bool rope_read(heed_ctx *cx, heed_json config, heed_params *set, const struct rope_keys *keys, int64_t size,
               struct rope *r) {
    const heed_json at = scaling_of(cx, config);
    const bool apart = heed_json_kind_of(at) == HEED_JSON_OBJECT;
    *r = (struct rope){.scaling = kind_of(cx, at, keys->phi)};
    r->positions = config_int(cx, config, "max_position_embeddings", 1, INT32_MAX);
    r->theta = config_number_or(cx, config, keys->theta, 1e-6, 1e30, 10000);
    if (apart) r->theta = config_number_or(cx, at, "rope_theta", 1e-6, 1e30, r->theta);
    const char *const partial = keys->partial ? keys->partial : "partial_rotary_factor";
    double part = config_number_or(cx, config, partial, 0, 1, keys->part);
    if (apart) part = config_number_or(cx, at, "partial_rotary_factor", 0, 1, part);
    if (heed_failed(cx)) return false;
    filled_in(cx, config, keys->theta, r->theta);
    filled_in(cx, config, keys->partial, part);
    if (!keys->partial && r->scaling == ROPE_DEFAULT) part = 1; /* transformers does not look at it */
    r->dim = r->scaling == ROPE_PROPORTIONAL ? size : (int64_t)((double)size * part);
    r->pairs = (r->dim + 1) / 2;
    r->original = r->positions;
    if (r->scaling == ROPE_LONG || r->scaling == ROPE_YARN || r->scaling == ROPE_LLAMA3) {
        static const char *const name = "original_max_position_embeddings";
        r->original = config_int_or(cx, is_there(cx, config, name) ? config : at, name, 1, INT32_MAX, r->positions);
        if (keys->phi) r->border = r->original;
    }
    if (2 * r->pairs > size)
        return heed_json_fail(cx, heed_json_find(cx, config, "num_attention_heads"),
                              "rotary positions need heads of an even size, not %lld", (long long)size);
    if (!keys->partial && 2 * r->pairs != size)
        return heed_json_fail(cx, at, "this family turns all channels of a head: partial_rotary_factor is 1");
    if (r->scaling == ROPE_DYNAMIC && r->dim == 2)
        return heed_json_fail(cx, at, "dynamic scaling needs more than 2 channels that are turned");
    return make_speeds(cx, at, set, size, part, r);
}

/* ---- running ---- */

bool rope_grows(const struct rope *r) { return r->scaling == ROPE_DYNAMIC || r->scaling == ROPE_LONG; }

int64_t rope_longest(const struct rope *r) {
    if (r->scaling != ROPE_DYNAMIC || r->factor <= 1) return r->positions;
    const double most = r->factor * (double)r->positions;
    return most < INT32_MAX ? (int64_t)most : INT32_MAX;
}

int64_t rope_end(heed_ctx *cx, const heed_tensor *positions) {
    int64_t most = 0;
    if (heed_failed(cx) || cx->config.dry) return positions ? positions->shape[positions->rank - 1] : 0;
    for (int64_t i = 0; i < positions->count; i++)
        if (i32_of(positions)[i] >= most) most = (int64_t)i32_of(positions)[i] + 1;
    return most;
}

heed_tensor *rope_angles(heed_ctx *cx, const struct rope *r, int64_t start, int64_t length, heed_tensor *positions,
                         int64_t end) {
    if (heed_failed(cx) || r->pairs == 0) return NULL;
    const float *speeds = r->scaling == ROPE_LONG && end > r->original ? r->long_speeds : r->speeds;
    if (r->scaling == ROPE_DYNAMIC) { /* always worked out: a plan does not know the positions */
        heed_tensor *const own = heed_zeros(cx, HEED_F32, 1, &r->pairs);
        if (!own) return NULL;
        float *const to = (float *)(void *)own->data;
        const double theta = end > r->positions ? dynamic_theta(r, end) : r->theta;
        for (int64_t i = 0; !cx->config.dry && i < r->pairs; i++) to[i] = plain_speed(theta, i, r->dim);
        if (!cx->config.dry) speeds = to;
    }
    return heed_rotary_angles(cx, speeds, r->pairs, r->attention, start, length, positions);
}
