/* Optimizers, clipping, accumulation, averages and schedules against torch.optim over 100 steps. */
#include "io/io_test.h"
#include "train/trainer.h"

enum { PARAMS = 5 };

static heed_safetensors *golden;
static heed_json list;

static const float *numbers(heed_ctx *cx, const char *name, int64_t *n) {
    const int64_t i = heed_safetensors_find(cx, golden, name);
    if (i < 0) fail_msg("the golden file has no '%s'", name);
    const heed_array *a = heed_safetensors_get(cx, golden, i);
    assert_non_null(a);
    if (n) *n = heed_array_count(a);
    return a->data;
}

static int choice(heed_ctx *cx, heed_json at, const char *key, const char *const *names) {
    const char *text = heed_json_text(cx, at, key);
    int i = 0;
    while (names[i] && strcmp(text, names[i]) != 0) i++;
    assert_non_null(names[i]);
    return i;
}

static heed_trainer_opts opts_of(heed_ctx *cx, heed_json at) {
    static const char *const optimizers[] = {"sgd", "adam", "adamw", "adafactor", NULL};
    static const char *const schedules[] = {"constant", "step", "linear", "cosine", "inverse-root", NULL};
    heed_trainer_opts o = {
        .optimizer = {.kind = (heed_optimizer_kind)choice(cx, at, "kind", optimizers),
                      .momentum = heed_json_number_or(cx, at, "momentum", 0),
                      .nesterov = heed_json_bool_or(cx, at, "nesterov", false),
                      .beta1 = heed_json_number_or(cx, at, "beta1", 0),
                      .beta2 = heed_json_number_or(cx, at, "beta2", 0),
                      .eps = heed_json_number_or(cx, at, "eps", 0),
                      .weight_decay = heed_json_number(cx, at, "decay")},
        .schedule = {.kind = (heed_schedule_kind)choice(cx, at, "schedule", schedules),
                     .lr = heed_json_number(cx, at, "lr"),
                     .warmup = heed_json_int_or(cx, at, "warmup", 0),
                     .steps = heed_json_int_or(cx, at, "steps", 100),
                     .every = heed_json_int_or(cx, at, "every", 0),
                     .factor = heed_json_number_or(cx, at, "factor", 1),
                     .floor = heed_json_number_or(cx, at, "floor", 0)},
        .clip = heed_json_number(cx, at, "clip"),
        .accumulate = heed_json_int(cx, at, "accumulate"),
        .average = heed_json_number(cx, at, "average"),
    };
    assert_false(heed_failed(cx));
    return o;
}

/* The parameters of the oracle: matrices, which decay, and vectors, which do not. */
static heed_params *start(heed_ctx *cx) {
    heed_params *set = heed_params_new(cx);
    for (int i = 0; i < PARAMS; i++) {
        char name[32];
        snprintf(name, sizeof name, "start.%d", i);
        const heed_array *a = heed_safetensors_info(cx, golden, heed_safetensors_find(cx, golden, name));
        heed_param_add(cx, set, "p", name, a->rank, a->shape, (heed_init){.kind = HEED_INIT_ZEROS});
    }
    assert_true(heed_params_allocate(cx, set));
    for (int i = 0; i < PARAMS; i++) {
        const heed_param *p = heed_params_at(set, i);
        memcpy(p->value, numbers(cx, p->name + strlen("p."), NULL), (size_t)p->count * sizeof(float));
    }
    return set;
}

static void compare(heed_ctx *cx, const char *name, const char *when, const heed_params *set, const float *block) {
    for (int i = 0; i < PARAMS; i++) {
        const heed_param *p = heed_params_at(set, i);
        const float *got = block + (p->value - heed_params_block(set));
        char full[64];
        int64_t n;
        snprintf(full, sizeof full, "%s.%s.%d", name, when, i);
        const float *want = numbers(cx, full, &n);
        assert_int_equal(n, p->count);
        for (int64_t k = 0; k < n; k++)
            if (!(fabsf(got[k] - want[k]) <= 2e-6f + 2e-5f * fabsf(want[k])))
                fail_msg("%s[%lld]: %.9g, not %.9g", full, (long long)k, (double)got[k], (double)want[k]);
    }
}

/* What a backward pass would do: the first stores, the next ones add. */
static void give_gradients(heed_ctx *cx, heed_trainer *t, int64_t pass) {
    for (int i = 0; i < PARAMS; i++) {
        char name[32];
        heed_grad *g = &t->grads[i];
        const int64_t n = heed_params_at(t->params, i)->count;
        snprintf(name, sizeof name, "grad.%d", i);
        const float *from = numbers(cx, name, NULL) + pass * n;
        for (int64_t k = 0; k < n; k++) g->data[k] = g->filled ? g->data[k] + from[k] : from[k];
        g->filled = true;
    }
}

static void run_case(heed_ctx *cx, heed_json at) {
    const char *name = heed_json_text(cx, at, "name");
    const heed_trainer_opts opts = opts_of(cx, at);
    const heed_json looks = heed_json_array(cx, at, "looks");
    char when[32];
    snprintf(when, sizeof when, "%s.lr", name);
    const float *lr = numbers(cx, when, NULL);
    heed_params *set = start(cx);
    heed_trainer *t = heed_trainer_new(cx, set, &opts);
    assert_non_null(t);
    int64_t look = 0;
    for (int64_t pass = 0; pass < 100 / opts.accumulate * opts.accumulate; pass++) {
        bool updated;
        const double rate = heed_trainer_lr(t);
        give_gradients(cx, t, pass);
        assert_true(heed_trainer_step(cx, t, &updated));
        assert_true(updated == ((pass + 1) % opts.accumulate == 0));
        if (!updated) continue;
        const int64_t step = heed_trainer_steps(t);
        if (!(fabs(rate - (double)lr[step - 1]) <= 1e-6 * opts.schedule.lr))
            fail_msg("%s: the rate of step %lld is %.9g, not %.9g", name, (long long)step, rate, (double)lr[step - 1]);
        if (look < heed_json_count(looks) && step == heed_json_int(cx, heed_json_item(cx, looks, look), NULL)) {
            snprintf(when, sizeof when, "%lld", (long long)step);
            compare(cx, name, when, set, heed_params_block(set));
            look++;
        }
    }
    assert_int_equal(look, heed_json_count(looks));
    if (opts.average > 0) compare(cx, name, "average", set, t->average);
    heed_trainer_free(cx, t);
    heed_params_free(cx, set);
}

static void test_against_torch(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char path[1024];
    const char *folder_of = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/train/optim.safetensors", folder_of ? folder_of : HEED_SOURCE_DIR "/tests/golden");
    golden = heed_safetensors_open(cx, path);
    assert_non_null(golden);
    const char *text = heed_safetensors_metadata(cx, golden, "list");
    list = heed_json_parse(cx, "list", text, strlen(text));
    int n = 0;
    for (heed_json v = heed_json_first(heed_json_array(cx, list, "cases")); heed_json_kind_of(v) != HEED_JSON_NONE;
         v = heed_json_next(v), n++)
        run_case(cx, v);
    assert_true(n >= 23);
    heed_json_free(list);
    heed_safetensors_close(golden);
    close_context(cx);
}

/* Beyond what torch has: the ends and the corners of the formulas. */
static void test_schedule_corners(void **state) {
    (void)state;
    const heed_schedule cosine = {HEED_COSINE, 1, 4, 12, 0, 0, 0.2};
    assert_true(heed_schedule_at(&cosine, 0) == 0.25 && heed_schedule_at(&cosine, 3) == 1);
    assert_true(heed_schedule_at(&cosine, 4) == 1);
    assert_true(fabs(heed_schedule_at(&cosine, 8) - 0.6) < 1e-12); /* half way between 1 and 0.2 */
    assert_true(fabs(heed_schedule_at(&cosine, 12) - 0.2) < 1e-12);
    assert_true(fabs(heed_schedule_at(&cosine, 1000) - 0.2) < 1e-12);
    const heed_schedule linear = {HEED_LINEAR, 2, 0, 10, 0, 0, 0};
    assert_true(heed_schedule_at(&linear, 0) == 2 && heed_schedule_at(&linear, 5) == 1);
    assert_true(heed_schedule_at(&linear, 10) == 0 && heed_schedule_at(&linear, 99) == 0);
    const heed_schedule root = {HEED_INVERSE_ROOT, 1, 100, 0, 0, 0, 0};
    assert_true(heed_schedule_at(&root, 99) == 1 && fabs(heed_schedule_at(&root, 399) - 0.5) < 1e-12);
    const heed_schedule step = {HEED_STEP, 1, 0, 0, 10, 0.5, 0};
    assert_true(heed_schedule_at(&step, 9) == 1 && heed_schedule_at(&step, 10) == 0.5);
    assert_true(heed_schedule_at(&step, 29) == 0.25);
    assert_true(heed_schedule_at(NULL, 3) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_torch),
        cmocka_unit_test(test_schedule_corners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
