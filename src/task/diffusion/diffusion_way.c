/* Diffusion: from pictures to a pipeline that makes new ones of noise. */
#include "base/text.h"
#include "heed/pipeline.h"
#include "kernel/ints.h"
#include "model/core/directory.h"
#include "task/diffusion/diffusion_sizes.h"
#include "task/diffusion/diffusion_training.h"
#include "task/run.h"
#include "task/vision/ahead.h"
#include "task/vision/picture_data.h"
#include <stdio.h>
#include <string.h>

#define KEEP          ((size_t)1 << 30) /* bytes of pictures that are kept decoded, without a budget */
#define LARGEST       64                /* pixels of a side; larger pictures are resized unless --size says otherwise */
#define CLASS_DROPOUT 0.1               /* of U-Nets; DiT has its own */

enum part { TRAIN, VALID, TEST, PARTS };

struct diffusing {
    heed_picture_set *set[PARTS];
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_picture_input input;
    heed_denoiser denoiser;
    heed_scheduler *scheduler;
    struct diffusion_sizes sizes; /* of a fresh network */
    char network[PATH_ROOM];      /* where it is saved */
    struct diffusion_training *training;
};

static struct diffusing *diffusing_of(const heed_run *r) { return r->user; }
static int64_t pictures_in(const heed_picture_set *set) { return set ? heed_picture_set_data(set)->n : 0; }
static bool is_unet(const heed_run *r) { return run_takes_key(r, "num_class_embeds"); }

/* ---- the data ---- */

static bool load_sets(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    const char *const test = run_text(r, "test");
    heed_picture_set_opts opts = {.loose = !run_flag(r, "classes")};
    d->set[TRAIN] = picture_data_load(r->cx, r->path, "train", &opts);
    if (!d->set[TRAIN]) return false;
    opts.beside = d->set[TRAIN];
    if (run_flag(r, "classes")) opts.like = heed_picture_set_data(d->set[TRAIN]);
    opts.optional = true;
    if (!run_given(r, "valid")) d->set[VALID] = picture_data_load(r->cx, r->path, "val", &opts);
    opts.optional = !test;
    if (!heed_failed(r->cx)) d->set[TEST] = picture_data_load(r->cx, test ? test : r->path, "test", &opts);
    return !heed_failed(r->cx);
}

static bool split(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    const double fraction = d->set[VALID] ? 0 : run_held_out(r, pictures_in(d->set[TRAIN]));
    d->n_train = pictures_in(d->set[TRAIN]);
    d->n_valid = pictures_in(d->set[VALID]);
    return fraction == 0 || heed_rows_split(r->cx, d->n_train, fraction, heed_seed(r->cx), &d->train_rows, &d->n_train,
                                            &d->valid_rows, &d->n_valid);
}

static int64_t classes_of(const heed_run *r) {
    return run_flag(r, "classes") ? heed_picture_set_data(diffusing_of(r)->set[TRAIN])->classes : 0;
}

/* Of U-Nets there is a row for no class behind those of the classes; DiT adds it itself. */
static int64_t labels_for(const heed_run *r, int64_t classes) {
    return is_unet(r) && classes > 0 ? classes + 1 : classes;
}

/* Grey pictures stay grey; large ones become small, and sides what halving them or cutting them into patches asks for.
 */
static bool read_size(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    const int64_t asked = run_given(r, "size") ? run_int(r, "size") : 0, classes = classes_of(r);
    int64_t width, height;
    int channels;
    if (!heed_picture_set_info(r->cx, d->set[TRAIN], 0, &width, &height, &channels)) return false;
    if (classes == 1)
        return heed_fail(r->cx, HEED_ERR_USAGE, "train: --classes: the pictures of %s are all of one class", r->path);
    const bool large = width > LARGEST || height > LARGEST;
    if (asked > 0 || large) width = height = asked > 0 ? asked : LARGEST;
    const int64_t multiple = diffusion_sizes_multiple(r, width < height ? width : height);
    if (asked % multiple != 0)
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         "train: --size: %lld is no multiple of %lld, which %s of this size asks for", (long long)asked,
                         (long long)multiple, r->family->name);
    width = round_up(width, multiple), height = round_up(height, multiple);
    if (diffusion_sizes_square(r)) width = height = width > height ? width : height;
    return run_init(r) || diffusion_sizes_of(r, channels < 3 ? 1 : 3, height, width, labels_for(r, classes), &d->sizes);
}

/* ---- the scheduler ---- */

/* That of the pipeline to start from, unless options say otherwise. What is learnt is the same for all classes but flow
 * matching; DDIM has no noise levels of its own. */
static heed_scheduler *scheduler_of_init(const heed_run *r) {
    const char *const init = run_text(r, "init");
    if (!init || !directory_is_pipeline(init) || run_given(r, "prediction") || run_given(r, "beta-schedule"))
        return NULL;
    heed_scheduler *const s = heed_scheduler_open(r->cx, init, NULL);
    if (!s || strcmp(heed_scheduler_prediction(s), "flow_prediction") == 0) return s;
    heed_scheduler_free(r->cx, s);
    return heed_scheduler_open(r->cx, init, "DDIMScheduler");
}

/* A network that learns the velocity knows what to do at the last timestep, which is noise alone: runs begin there. */
static heed_scheduler *new_scheduler(const heed_run *r) {
    static const char *const names[][2] = {
        {"linear", "linear"}, {"cosine", "squaredcos_cap_v2"}, {"scaled-linear", "scaled_linear"}};
    const char *const prediction = run_text(r, "prediction"), *const betas = run_text(r, "beta-schedule");
    char kind[64], schedule[64] = "";
    snprintf(kind, sizeof kind, "prediction_type=%s", prediction);
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i][0], betas) == 0) snprintf(schedule, sizeof schedule, "beta_schedule=%s", names[i][1]);
    const char *const settings[] = {
        kind, schedule, strcmp(prediction, "epsilon") == 0 ? "timestep_spacing=leading" : "timestep_spacing=trailing"};
    return heed_scheduler_new(r->cx, "DDIMScheduler", settings, 3);
}

static bool make_scheduler(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    d->scheduler = scheduler_of_init(r);
    if (!d->scheduler && !heed_failed(r->cx)) d->scheduler = new_scheduler(r);
    return d->scheduler;
}

/* ---- the model ---- */

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct diffusing *const d = diffusing_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    for (int i = 0; i < d->sizes.n; i++) fresh.text[fresh.n++] = d->sizes.text[i];
    return run_make_model(r, cx, &fresh, &kept);
}

/* Pictures from -1 to 1. */
static void fit_input(const heed_denoiser *s, heed_picture_input *input) {
    const float half[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    *input = (heed_picture_input){.channels = s->channels, .height = s->height, .width = s->width};
    input->processor = heed_picture_processor_for(input, half, half);
}

static bool look_at_model(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    const int64_t classes = classes_of(r);
    heed_model *const model = run_draft(r);
    if (!model) return false;
    if (!heed_denoiser_of(r->dry, model, &d->denoiser)) return run_drafted(r);
    const heed_denoiser *const s = &d->denoiser;
    if (s->output_channels != s->channels)
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         "train: a network of %d channels that makes %d of them: learning the variance is not "
                         "supported",
                         s->channels, s->output_channels);
    if (run_init(r) && run_given(r, "size") && (run_int(r, "size") != s->height || run_int(r, "size") != s->width))
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         "train: --size: the model of --init is for pictures of %lld x %lld, not %lld",
                         (long long)s->width, (long long)s->height, (long long)run_int(r, "size"));
    const int64_t wanted = labels_for(r, classes), plain = is_unet(r) ? 0 : 1;
    if (s->labels != (classes > 0 ? wanted : plain))
        return heed_fail(r->cx, HEED_ERR_USAGE,
                         classes > 0 ? "train: --classes: the network has a table of %lld classes, and %lld are needed"
                                     : "train: the network has a table of %lld classes: it needs --classes",
                         (long long)s->labels, (long long)wanted);
    fit_input(s, &d->input);
    return true;
}

static bool keep(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    const size_t limit = r->budget > 0 ? r->budget / 3 : KEEP;
    bool kept;
    d->input.kept_sized = true;
    for (int i = 0; i < PARTS; i++)
        if (d->set[i] && !heed_picture_set_keep(r->cx, d->set[i], d->input.channels, &d->input.processor, limit, &kept))
            return false;
    return true;
}

/* ---- the run ---- */

static bool load(heed_run *r) {
    struct diffusing *const d = heed_mem_new(r->cx, sizeof *d);
    if (!d) return false;
    *d = (struct diffusing){.n_train = 0};
    r->user = d;
    return load_sets(r) && split(r) && read_size(r) && make_scheduler(r) && look_at_model(r) && keep(r);
}

static int64_t good_batch(const struct diffusing *d) {
    int64_t batch = 64;
    while (batch > 8 && batch * 20 > d->n_train) batch /= 2;
    return batch;
}

static bool plan(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    struct run_batch b;
    if (!run_batch(r, good_batch(d), d->n_train, "picture", "pictures", &b)) return false;
    const bool drops = classes_of(r) > 0 && is_unet(r);
    const struct diffusion_opts opts = {.train = d->set[TRAIN],
                                        .valid = d->n_valid == 0 ? NULL
                                                 : d->set[VALID] ? d->set[VALID]
                                                                 : d->set[TRAIN],
                                        .test = d->set[TEST],
                                        .train_rows = d->train_rows,
                                        .valid_rows = d->valid_rows,
                                        .n_train = d->n_train,
                                        .n_valid = d->n_valid,
                                        .input = &d->input,
                                        .scheduler = d->scheduler,
                                        .denoiser = d->denoiser,
                                        .classes = classes_of(r) > 0,
                                        .no_class = drops ? classes_of(r) : -1,
                                        .dropout = drops ? CLASS_DROPOUT : 0,
                                        .flip = run_number(r, "flip"),
                                        .batch = b.batch,
                                        .micro_batch = b.micro_batch,
                                        .seed = heed_seed(r->cx),
                                        .workers = ahead_workers(r->cx, r->budget)};
    d->training = diffusion_training_new(r->cx, &opts);
    r->loop.source = diffusion_training_source(d->training);
    if (!r->loop.best_by) r->loop.best_by = "loss";
    r->loop.dir = d->network;
    return r->loop.source && directory_path(r->cx, r->dir, is_unet(r) ? UNET_PART : TRANSFORMER_PART, d->network);
}

/* What a model before has left would be taken for this one. */
static bool clear(heed_run *r) {
    char other[PATH_ROOM];
    if (!directory_path(r->cx, r->dir, is_unet(r) ? TRANSFORMER_PART : UNET_PART, other) ||
        !directory_clear(r->cx, r->dir))
        return false;
    if (directory_has(other, "") && directory_clear(r->cx, other)) directory_drop(other);
    return run_flag(r, "resume") || directory_clear(r->cx, diffusing_of(r)->network);
}

static bool begin(heed_run *r) {
    const struct diffusing *const d = diffusing_of(r);
    char count[48], examples[128];
    if (!clear(r) || !heed_pipeline_describe(r->cx, r->dir, r->model, d->scheduler,
                                             heed_picture_set_data(d->set[TRAIN])->class_names, classes_of(r)))
        return false;
    snprintf(examples, sizeof examples, "%s of %d x %lld x %lld", text_count(d->n_train, "picture", "pictures", count),
             d->input.channels, (long long)d->input.height, (long long)d->input.width);
    run_say_sets(r, examples, d->n_valid, pictures_in(d->set[TEST]), "");
    return true;
}

static void free_diffusing(heed_run *r) {
    struct diffusing *const d = diffusing_of(r);
    diffusion_training_free(r->cx, d->training);
    heed_scheduler_free(r->cx, d->scheduler);
    for (int i = PARTS - 1; i >= 0; i--) heed_picture_set_free(r->cx, d->set[i]);
    heed_mem_free(r->cx, d->train_rows);
    heed_mem_free(r->cx, d->valid_rows);
    heed_mem_free(r->cx, d);
}

/* ---- measuring ---- */

static bool measure(heed_run *r, const heed_pipeline *p, const char *part, heed_evaluation *to) {
    heed_ctx *const cx = r->cx;
    heed_picture_input input;
    const bool classes = p->classes > 0;
    if (p->denoiser.output_channels != p->denoiser.channels)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the loss of a network that has learnt the variance is not measured",
                         r->dir);
    fit_input(&p->denoiser, &input);
    heed_picture_set *const set = picture_data_load(cx, r->path, part, &(heed_picture_set_opts){.loose = !classes});
    if (!set) return false;
    const struct diffusion_opts opts = {.input = &input,
                                        .scheduler = p->scheduler,
                                        .denoiser = p->denoiser,
                                        .classes = classes,
                                        .no_class = -1,
                                        .workers = ahead_workers(cx, r->budget)};
    const struct diffusion_measure how = {.set = set,
                                          .batch = run_given(r, "batch") ? run_int(r, "batch") : 0,
                                          .seed = heed_seed(cx),
                                          .stream = strcmp(part, "test") == 0  ? DIFFUSION_STREAM_TEST
                                                    : strcmp(part, "val") == 0 ? DIFFUSION_STREAM_VALID
                                                                               : DIFFUSION_STREAM_TRAIN};
    to->n = pictures_in(set);
    to->one = "picture";
    to->many = "pictures";
    const bool known = !classes || heed_picture_set_data(set)->classes <= p->classes ||
                       heed_fail(cx, HEED_ERR_RANGE, "%s: pictures of %lld classes, and the model has %lld", r->path,
                                 (long long)heed_picture_set_data(set)->classes, (long long)p->classes);
    const bool ok = known && heed_metrics_find(cx, DIFFUSION_METRICS, &to->metrics) &&
                    diffusion_measure(cx, &opts, p->model, &how, &to->score);
    heed_picture_set_free(cx, set);
    return ok;
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    heed_pipeline *const p = heed_pipeline_open(r->cx, r->dir, NULL);
    const bool ok = p && measure(r, p, part, to);
    heed_pipeline_free(r->cx, p);
    return ok;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field diffusion_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .standard = "digits", .value = "PATH",
     .help = "pictures: a folder (also of folders, or with train and test in it), a .tar or .tar.gz, a directory of MNIST's "
             "files, x.npy of bytes, or the word digits or same-shapes (pictures that are drawn)"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "test data, measured once at the end; by default a directory's own test part"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pictures held out for validation where no part holds them; by default 0.1"},
    {.name = "size", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1024,
     .help = "resize pictures to N x N pixels; by default they keep their size, up to 64 x 64"},
    {.name = "flip", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 1,
     .help = "probability of a horizontal flip"},
    {.name = "classes", .help = "tell the network the class of each picture, and of one in ten that it has none, for guidance"},
    {.name = "noise", .kind = HEED_FIELD_GROUP},
    {.name = "prediction", .kind = HEED_FIELD_CHOICE, .standard = "v_prediction", .value = "KIND",
     .choices = "v_prediction epsilon sample",
     .help = "what the network learns to tell: the velocity, the noise or the picture; with --init by default what that one "
             "has learnt, one of"},
    {.name = "beta-schedule", .kind = HEED_FIELD_CHOICE, .standard = "cosine", .value = "NAME",
     .choices = "cosine linear scaled-linear", .help = "how noise grows over the 1,000 timesteps, one of"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("unet2d", "model family: unet2d or dit"),
    {.name = "average", .kind = HEED_FIELD_NUMBER, .standard = "0.999", .value = "X", .high = 0.9999999,
     .help = "decay of an exponential moving average of the weights, which is the model that is kept; runs of less than some "
             "thousand updates want a smaller one, such as 0.99; 0: no average"},
    EPOCHS_FIELD("100", NULL, ""),
    BATCH_FIELD(NULL, "pictures per update; by default 64, or fewer where there are few pictures"),
    LR_FIELD(ADAM_LR, NULL, "peak learning rate"),
    {.name = "clip", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .high = 1e12,
     .help = "maximum gradient norm; 0: no clipping"},
    {.name = NULL},
};
/* clang-format on */

static const struct task_way way_diffusing = {.what = "pictures",
                                              .input = "sample",
                                              .load = load,
                                              .plan = plan,
                                              .model_of = new_model,
                                              .begin = begin,
                                              .evaluate = evaluate,
                                              .free = free_diffusing};
static const struct task_way *const diffusion_ways[] = {&way_diffusing, NULL};

const heed_task task_of_diffusion = {
    .name = "diffusion",
    .summary = "new pictures from noise",
    .about =
        "Trains a diffusion model (Ho et al. 2020): noise is added to pictures, more or less of it at each of 1,000 "
        "timesteps, and a network learns to tell what was added. 'heed sample' then begins with noise alone and takes "
        "it away step by step. The network is a U-Net (unet2d) of 32, 64 and 128 channels with attention on its two "
        "smallest maps, or a diffusion Transformer (dit, Peebles & Xie 2023) of 6 layers; --set changes their sizes. "
        "Pictures need no classes; with --classes the network is told them, and new pictures can be asked for by "
        "class. Those of more than 64 pixels a side are resized to 64 x 64 unless --size says otherwise.\n\n"
        "The loss is the mean squared error of what the network tells. Validation has the same noise and timesteps "
        "each time. The noise MSE beside it is the error of the noise that follows from the network's output, so that "
        "models with different --prediction can be compared.\n\n"
        "DIR becomes a pipeline in the layout of diffusers: model_index.json, scheduler/, and the network in unet/ or "
        "transformer/, where the checkpoint is, too.",
    .examples = "heed train diffusion --out digits-diffusion\n"
                "heed train diffusion --data photos --size 32 --flip 0.5 --epochs 300 --out photos-diffusion\n"
                "heed train diffusion --data mnist --classes --out mnist-by-class\n"
                "heed train diffusion --data mnist --model dit --classes --out mnist-dit\n"
                "heed sample digits-diffusion --png new.png\n",
    .fields = diffusion_fields,
    .next = "sample",
    .next_how = " --png FILE.png",
    .ways = diffusion_ways,
};
