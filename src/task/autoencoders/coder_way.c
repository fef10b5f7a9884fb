/* Autoencode: from pictures to a model that compresses them, and makes new ones. */
#include "base/text.h"
#include "heed/autoencode.h"
#include "task/autoencoders/coder_training.h"
#include "task/run.h"
#include "task/vision/ahead.h"
#include "task/vision/picture_data.h"
#include "task/vision/picture_files.h"
#include <stdio.h>
#include <string.h>

#define KEEP     ((size_t)1 << 30) /* bytes of pictures that are kept decoded, without a budget */
#define LARGEST  64                /* pixels of a side; larger pictures are resized unless image_size is set */
#define SETTINGS 4
#define DRAWN    2000 /* pictures whose codes are drawn */

enum part { TRAIN, VALID, TEST, PARTS };

struct coding {
    heed_picture_set *set[PARTS];
    int64_t *train_rows, *valid_rows, n_train, n_valid;
    heed_picture_input input;
    heed_coder coder;
    heed_corruption corruption;
    char setting[SETTINGS][64]; /* KEY=VALUE of the model, from options */
    int n_settings;
    char size[64], channels[32]; /* the same, from the data */
    heed_coder_training *training;
};

static struct coding *coding_of(const heed_run *r) { return r->user; }
static int64_t pictures_in(const heed_picture_set *set) { return set ? heed_picture_set_data(set)->n : 0; }

/* ---- options ---- */

static bool corrupts(const heed_run *r) { return run_number(r, "noise") > 0 || run_number(r, "mask") > 0; }

static bool check(heed_run *r) {
    const bool binary = run_given(r, "binarize") && strcmp(run_text(r, "binarize"), "none") != 0;
    if (binary && corrupts(r))
        return run_misused(r, "--binarize and --%s: only one of them makes sense",
                           run_number(r, "noise") > 0 ? "noise" : "mask");
    if (run_given(r, "beta") && !run_takes_key(r, "beta"))
        return run_misused(r, "--beta is for variational autoencoders, and %s is a plain one", r->family->name);
    return true;
}

/* Options that are keys of the model. Pixels that are 0 or 1 have a Bernoulli likelihood unless another one is asked
 * for. */
static void read_settings(const heed_run *r, struct coding *c) {
    static const char *const options[][2] = {{"latent", "latent_size"}, {"beta", "beta"}};
    char(*const s)[64] = c->setting;
    if (run_given(r, "latent"))
        snprintf(s[c->n_settings++], sizeof *s, "%s=%lld", options[0][1], (long long)run_int(r, options[0][0]));
    if (run_given(r, "beta"))
        text_format(s[c->n_settings++], sizeof *s, "%s=%.17g", options[1][1], run_number(r, options[1][0]));
    if (run_given(r, "likelihood"))
        snprintf(s[c->n_settings++], sizeof *s, "likelihood=%s", run_text(r, "likelihood"));
    else if (!run_init(r) && run_given(r, "binarize") && strcmp(run_text(r, "binarize"), "none") != 0)
        snprintf(s[c->n_settings++], sizeof *s, "likelihood=bernoulli");
}

/* ---- the data ---- */

static bool load_sets(heed_run *r) {
    struct coding *const c = coding_of(r);
    const char *const test = run_text(r, "test");
    heed_picture_set_opts opts = {.loose = true};
    c->set[TRAIN] = picture_data_load(r->cx, r->path, "train", &opts);
    if (!c->set[TRAIN]) return false;
    opts.beside = c->set[TRAIN];
    opts.optional = true;
    if (!run_given(r, "valid")) c->set[VALID] = picture_data_load(r->cx, r->path, "val", &opts);
    opts.optional = !test;
    if (!heed_failed(r->cx)) c->set[TEST] = picture_data_load(r->cx, test ? test : r->path, "test", &opts);
    return !heed_failed(r->cx);
}

static bool split(heed_run *r) {
    struct coding *const c = coding_of(r);
    const double fraction = c->set[VALID] ? 0 : run_held_out(r, pictures_in(c->set[TRAIN]));
    c->n_train = pictures_in(c->set[TRAIN]);
    c->n_valid = pictures_in(c->set[VALID]);
    return fraction == 0 || heed_rows_split(r->cx, c->n_train, fraction, heed_seed(r->cx), &c->train_rows, &c->n_train,
                                            &c->valid_rows, &c->n_valid);
}

/* Grey pictures stay grey; large ones become small. */
static bool read_size(heed_run *r) {
    struct coding *const c = coding_of(r);
    int64_t width, height;
    int channels;
    if (!heed_picture_set_info(r->cx, c->set[TRAIN], 0, &width, &height, &channels)) return false;
    if (width > LARGEST || height > LARGEST) width = height = LARGEST;
    snprintf(c->size, sizeof c->size, "image_size=[%lld,%lld]", (long long)height, (long long)width);
    snprintf(c->channels, sizeof c->channels, "num_channels=%d", channels < 3 ? 1 : 3);
    return true;
}

/* ---- the model ---- */

static bool note_corruption(const heed_run *r, heed_ctx *cx, heed_model *model) {
    const heed_json config = heed_model_config(model);
    if (run_given(r, "binarize")) heed_json_put_text(cx, config, "binarize", run_text(r, "binarize"));
    if (run_given(r, "noise")) heed_json_put_number(cx, config, "noise", run_number(r, "noise"));
    if (run_given(r, "mask")) heed_json_put_number(cx, config, "mask", run_number(r, "mask"));
    return !heed_failed(cx);
}

static heed_model *new_model(const heed_run *r, heed_ctx *cx) {
    const struct coding *const c = coding_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    fresh.text[fresh.n++] = c->size;
    fresh.text[fresh.n++] = c->channels;
    for (int i = 0; i < c->n_settings; i++) fresh.text[fresh.n++] = kept.text[kept.n++] = c->setting[i];
    heed_model *const model = run_make_model(r, cx, &fresh, &kept);
    if (model && note_corruption(r, cx, model)) return model;
    heed_model_free(cx, model);
    return NULL;
}

static bool look_at_model(heed_run *r) {
    struct coding *const c = coding_of(r);
    const float zero[4] = {0}, one[4] = {1, 1, 1, 1};
    heed_model *const model = run_draft(r);
    if (!model) return false;
    if (!heed_coder_of(r->dry, model, &c->coder) || !heed_corruption_of(r->dry, model, &c->corruption) ||
        !heed_picture_input_of(r->dry, model, &c->input))
        return run_drafted(r);
    if (run_init(r)) return picture_files_fitted(r->cx, model, run_init(r), &c->input);
    c->input.processor = heed_picture_processor_for(&c->input, zero, one);
    c->input.processor.normalize = false;
    return true;
}

static bool keep(heed_run *r) {
    struct coding *const c = coding_of(r);
    const size_t limit = r->budget > 0 ? r->budget / 3 : KEEP;
    bool kept;
    c->input.kept_sized = true;
    for (int i = 0; i < PARTS; i++)
        if (c->set[i] && !heed_picture_set_keep(r->cx, c->set[i], c->input.channels, &c->input.processor, limit, &kept))
            return false;
    return true;
}

/* ---- the run ---- */

static bool load(heed_run *r) {
    struct coding *const c = heed_mem_new(r->cx, sizeof *c);
    if (!c) return false;
    *c = (struct coding){.n_train = 0};
    r->user = c;
    read_settings(r, c);
    return load_sets(r) && split(r) && read_size(r) && look_at_model(r) && keep(r);
}

static int64_t good_batch(const struct coding *c) {
    int64_t batch = 128;
    while (batch > 8 && batch * 20 > c->n_train) batch /= 2;
    return batch;
}

static bool plan(heed_run *r) {
    struct coding *const c = coding_of(r);
    struct run_batch b;
    if (!run_batch(r, good_batch(c), c->n_train, "picture", "pictures", &b)) return false;
    const heed_coder_training_opts opts = {.train = c->set[TRAIN],
                                           .valid = c->n_valid == 0 ? NULL
                                                    : c->set[VALID] ? c->set[VALID]
                                                                    : c->set[TRAIN],
                                           .test = c->set[TEST],
                                           .train_rows = c->train_rows,
                                           .valid_rows = c->valid_rows,
                                           .n_train = c->n_train,
                                           .n_valid = c->n_valid,
                                           .input = &c->input,
                                           .corruption = c->corruption,
                                           .variational = c->coder.variational,
                                           .batch = b.batch,
                                           .micro_batch = b.micro_batch,
                                           .seed = heed_seed(r->cx),
                                           .workers = ahead_workers(r->cx, r->budget)};
    c->training = heed_coder_training_new(r->cx, &opts);
    r->loop.source = heed_coder_training_source(c->training);
    return r->loop.source;
}

static bool begin(heed_run *r) {
    const struct coding *const c = coding_of(r);
    char count[48], examples[128];
    if (!heed_picture_processor_write(r->cx, r->model, r->dir, &c->input.processor)) return false;
    snprintf(examples, sizeof examples, "%s of %d x %lld x %lld", text_count(c->n_train, "picture", "pictures", count),
             c->input.channels, (long long)c->input.height, (long long)c->input.width);
    run_say_sets(r, examples, c->n_valid, pictures_in(c->set[TEST]), "");
    return true;
}

static void free_coding(heed_run *r) {
    struct coding *const c = coding_of(r);
    heed_coder_training_free(r->cx, c->training);
    for (int i = PARTS - 1; i >= 0; i--) heed_picture_set_free(r->cx, c->set[i]);
    heed_mem_free(r->cx, c->train_rows);
    heed_mem_free(r->cx, c->valid_rows);
    heed_mem_free(r->cx, c);
}

/* ---- measuring ---- */

struct measured {
    heed_picture_set *set;
    struct evaluated_codes codes;
    struct heed_evaluated more;
};

static void free_measured(heed_ctx *cx, void *own) {
    struct measured *const m = own;
    heed_mem_free(cx, m->codes.code);
    heed_picture_set_free(cx, m->set);
    heed_mem_free(cx, m);
}

static bool are_drawn(const heed_run *r) {
    static const char *const pictures[] = {"png", "svg", "pdf"};
    bool drawn = false;
    for (int i = 0; i < 3; i++) drawn |= run_knows(r, pictures[i]) && run_given(r, pictures[i]);
    return drawn;
}

/* The codes of the first pictures, to be drawn. */
static bool find_codes(heed_ctx *cx, const heed_model *model, const heed_coder *coder, const heed_picture_input *input,
                       struct measured *m) {
    const heed_data *const d = heed_picture_set_data(m->set);
    struct evaluated_codes *const c = &m->codes;
    *c = (struct evaluated_codes){.n = d->n < DRAWN ? d->n : DRAWN,
                                  .latent = coder->latent,
                                  .label = d->label,
                                  .classes = d->classes,
                                  .names = d->class_names};
    c->code = heed_mem_new(cx, (size_t)(c->n * c->latent) * sizeof *c->code);
    const heed_picture_model as = {.model = (heed_model *)(uintptr_t)model, .processor = input->processor};
    for (int64_t i = 0; c->code && i < c->n && !heed_cancelled(cx); i++) {
        heed_image picture;
        if (!heed_picture_set_read(cx, m->set, i, coder->channels, &picture)) break;
        float *const x = heed_coder_pixels(cx, &as, &picture, 1);
        heed_image_free(cx, &picture);
        const bool ok = x && heed_encode_pixels(cx, model, x, 1, c->code + i * c->latent, NULL);
        heed_mem_free(cx, x);
        if (!ok) break;
    }
    m->more.codes = c;
    return !heed_failed(cx);
}

static bool measure(heed_run *r, const heed_model *model, const char *part, struct measured *m, heed_evaluation *to) {
    heed_ctx *const cx = r->cx;
    heed_picture_input input;
    heed_coder coder;
    heed_coder_score found;
    if (!heed_coder_of(cx, model, &coder) || !heed_picture_input_of(cx, model, &input) ||
        !picture_files_fitted(cx, model, r->dir, &input))
        return false;
    const bool estimates = run_given(r, "samples");
    if (estimates && !coder.variational)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: --samples is for variational autoencoders: a plain one has no p(x)",
                         r->dir);
    m->set = picture_data_load(cx, r->path, part, &(heed_picture_set_opts){.loose = true});
    if (!m->set) return false;
    const heed_coder_measure_opts opts = {.batch = run_given(r, "batch") ? run_int(r, "batch") : 0,
                                          .seed = heed_seed(cx),
                                          .stream = strcmp(part, "test") == 0  ? CODER_STREAM_TEST
                                                    : strcmp(part, "val") == 0 ? CODER_STREAM_VALID
                                                                               : CODER_STREAM_TRAIN,
                                          .samples = estimates ? run_int(r, "samples") : 0,
                                          .workers = ahead_workers(cx, r->budget)};
    if (!heed_metrics_find(cx, coder_metrics(coder.variational, estimates), &to->metrics) ||
        !heed_coder_measure(cx, model, m->set, &input, &opts, &found))
        return false;
    coder_score(&found, coder.variational, &to->score);
    to->n = pictures_in(m->set);
    to->one = "picture";
    to->many = "pictures";
    to->more = &m->more;
    return !are_drawn(r) || find_codes(cx, model, &coder, &input, m);
}

static bool evaluate(heed_run *r, const char *part, heed_evaluation *to) {
    struct measured *const m = evaluation_room(r->cx, to, sizeof *m, free_measured);
    heed_model *const model = m ? heed_directory_model(r->cx, r->measured, &(heed_load_opts){.map = true}) : NULL;
    const bool ok = model && measure(r, model, part, m, to);
    heed_model_free(r->cx, model);
    return ok;
}

/* ---- the task ---- */

/* clang-format off */
static const heed_field autoencode_fields[] = {
    {.name = "data", .kind = HEED_FIELD_GROUP},
    {.name = "data", .letter = 'd', .kind = HEED_FIELD_FILE, .standard = "digits", .value = "PATH",
     .help = "pictures: a folder (also of folders, or with train and test in it), a .tar or .tar.gz, a directory of MNIST's "
             "files, x.npy of bytes, or the word digits or same-shapes (pictures that are drawn)"},
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",
     .help = "test data, measured once at the end; by default a directory's own test part"},
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,
     .help = "fraction of the pictures held out for validation where no part holds them; by default 0.1"},
    {.name = "binarize", .kind = HEED_FIELD_CHOICE, .standard = "none", .value = "KIND", .choices = "none static dynamic",
     .help = "pixels become 0 or 1 at random, 1 with the probability that they say, drawn once (static) or anew in each epoch "
             "(dynamic); the likelihood is then bernoulli"},
    {.name = "noise", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "X", .high = 100,
     .help = "denoising: add normal noise of this deviation, and learn to give the clean picture"},
    {.name = "mask", .kind = HEED_FIELD_NUMBER, .standard = "0", .value = "P", .high = 0.999,
     .help = "denoising: set this fraction of the pixels to 0, and learn to give the clean picture"},
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},
    MODEL_FIELD("vae", "model family: autoencoder or vae"),
    {.name = "latent", .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,
     .help = "numbers in a code (the key latent_size); by default 3"},
    {.name = "beta", .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e12,
     .help = "what the KL term is multiplied by in the loss of a vae; by default 1"},
    {.name = "likelihood", .kind = HEED_FIELD_CHOICE, .value = "KIND", .choices = "gaussian bernoulli",
     .help = "gaussian: squared error; bernoulli: binary cross entropy; by default gaussian"},
    EPOCHS_FIELD("20", NULL, ""),
    BATCH_FIELD(NULL, "pictures per update; by default 128, or fewer where there are few pictures"),
    LR_FIELD(ADAM_LR, NULL, "peak learning rate"),
    {.name = NULL},
};
/* clang-format on */

static const struct task_way way_coding = {.what = "pictures",
                                           .input = "pixel_values",
                                           .check = check,
                                           .load = load,
                                           .plan = plan,
                                           .model_of = new_model,
                                           .begin = begin,
                                           .evaluate = evaluate,
                                           .free = free_coding};
static const struct task_way *const autoencode_ways[] = {&way_coding, NULL};

const heed_task task_of_autoencode = {
    .name = "autoencode",
    .summary = "pictures through a narrow code and back",
    .about =
        "Trains an autoencoder: a network that turns a picture into a code of a few numbers, and another that turns "
        "the "
        "code back into the picture. A plain one (--model autoencoder) learns to compress, with --noise or --mask to "
        "remove noise. A variational one (--model vae, Kingma & Welling 2014) turns a picture into a normal "
        "distribution of codes, which is kept near N(0, 1), so that codes drawn from N(0, 1) become new pictures. "
        "Pictures need no classes. Those of more than 64 pixels a side are resized to 64 x 64 unless --set image_size "
        "says otherwise.\n\n"
        "The loss is reconstruction_weight * sum (x - x')^2 + beta * sum (mu^2 + sigma^2 - log sigma^2 - 1), the mean "
        "over pictures; with --set half_kl=true, or a Bernoulli likelihood, half of the second sum, which makes it the "
        "negative evidence lower bound (ELBO). Reported are the ELBO in nats a picture, with the variance that the "
        "loss implies where the likelihood is Gaussian, the reconstruction error and the KL divergence.\n\n"
        "Without --set the networks have two hidden layers of 200; --set conv_channels=32,64 puts convolutions of "
        "stride 2 before them.",
    .examples = "heed train autoencode --out digits-vae\n"
                "heed train autoencode --data mnist --binarize dynamic --latent 50 --out mnist-vae\n"
                "heed train autoencode --data photos --set conv_channels=32,64,128 --latent 64 --out photos-vae\n"
                "heed train autoencode --data mnist --model autoencoder --noise 0.5 --latent 32 --out clean\n"
                "heed sample digits-vae --png new.png\n",
    .fields = autoencode_fields,
    .next = "sample",
    .next_how = " --png FILE.png",
    .ways = autoencode_ways,
};
