/* Coefficients of linear models. A model that standardises computes d (W (x - m) / s + b) + c, deviations d and s,
 * means c and m: the coefficients of x itself are d W / s, and the intercept is d (b - W m / s) + c. */
#include "cli/eval/coefficients.h"
#include "base/text.h"
#include "cli/core/cli.h"
#include "plot/terminal.h"
#include "task/run.h"
#include <string.h>

struct coefficients {
    heed_data *data;            /* what the inputs and outputs are called */
    int64_t inputs, outputs;    /* outputs of classes: their logits */
    double *weight, *intercept; /* (outputs, inputs), (outputs) */
};

static double param_at(const heed_params *params, const char *name, int64_t i, double otherwise) {
    const heed_param *p = heed_params_find(params, name);
    return p ? (double)p->value[i] : otherwise;
}

static void compute(const heed_params *params, struct coefficients *c) {
    const float *w = heed_params_find(params, "linear.weight")->value;
    for (int64_t k = 0; k < c->outputs; k++) {
        const double d = param_at(params, "output_deviation", k, 1);
        double sum = param_at(params, "linear.bias", k, 0);
        for (int64_t j = 0; j < c->inputs; j++) {
            const double slope = (double)w[k * c->inputs + j] / param_at(params, "input_deviation", j, 1);
            sum -= slope * param_at(params, "input_mean", j, 0);
            c->weight[k * c->inputs + j] = d * slope;
        }
        c->intercept[k] = d * sum + param_at(params, "output_mean", k, 0);
    }
}

static void close_coefficients(heed_ctx *cx, struct coefficients *c) {
    heed_data_free(cx, c->data);
    heed_mem_free(cx, c->weight);
    heed_mem_free(cx, c->intercept);
}

/* False, and not failed, when the model has none. */
static bool open_coefficients(heed_ctx *cx, const heed_model *model, struct coefficients *c) {
    *c = (struct coefficients){0};
    heed_params *params = heed_model_params(model);
    const heed_param *w = heed_params_find(params, "linear.weight");
    if (heed_failed(cx) || !run_has_key(heed_model_family(model), "input_size") || !w || w->rank != 2) return false;
    c->data = heed_model_data(cx, model);
    c->outputs = w->shape[0];
    c->inputs = w->shape[1];
    if (c->data && c->data->image_height == 0 && heed_params_own(cx, params)) {
        c->weight = heed_mem_new(cx, (size_t)w->count * sizeof *c->weight);
        c->intercept = heed_mem_new(cx, (size_t)c->outputs * sizeof *c->intercept);
    }
    if (c->intercept) {
        compute(params, c);
        return true;
    }
    close_coefficients(cx, c);
    return false;
}

/* ---- names ---- */

enum { NAME_ROOM = 256 };

static void input_name(const struct coefficients *c, int64_t j, char out[NAME_ROOM]) {
    heed_data_input_name(c->data, j, out, NAME_ROOM);
}

/* A single logit is that of class 1 against class 0. */
static void output_name(const struct coefficients *c, int64_t k, char out[NAME_ROOM]) {
    const int64_t class = k + (c->data->classes > 0 && c->outputs == 1);
    char **names = c->data->classes ? c->data->class_names : c->data->y_names;
    if (names)
        snprintf(out, NAME_ROOM, "%s", names[c->data->classes ? class : k]);
    else
        snprintf(out, NAME_ROOM, "%lld", (long long)(c->data->classes ? class : k + 1));
}

/* ---- text ---- */

enum { MAX_INPUTS = 50, COLUMN = 14, NAME_WIDEST = 32, WIDTH = 80 };

static void print_name(FILE *to, const char *name, int columns) {
    char shown[NAME_ROOM];
    text_printable(shown, sizeof shown, name, strlen(name));
    cli_print_cell(to, shown, columns);
}

/* Outputs from number `from` on, n of them, side by side. */
static void print_block(const struct coefficients *c, FILE *to, int wide, int64_t from, int64_t n) {
    const int64_t shown = c->inputs < MAX_INPUTS ? c->inputs : MAX_INPUTS;
    char name[NAME_ROOM];
    print_name(to, "", wide);
    for (int64_t k = from; k < from + n; k++) {
        output_name(c, k, name);
        fputs("  ", to);
        print_name(to, name, -(COLUMN - 2));
    }
    fputc('\n', to);
    for (int64_t j = 0; j <= shown; j++) {
        input_name(c, j, name);
        print_name(to, j < shown ? name : "intercept", wide);
        for (int64_t k = from; k < from + n; k++)
            fprintf(to, "%*.6g", COLUMN, j < shown ? c->weight[k * c->inputs + j] : c->intercept[k]);
        fputc('\n', to);
    }
}

bool coefficients_print(heed_ctx *cx, const heed_model *model, FILE *to) {
    struct coefficients c;
    if (!open_coefficients(cx, model, &c)) return false;
    int wide = (int)strlen("intercept");
    for (int64_t j = 0; j < c.inputs && j < MAX_INPUTS; j++) {
        char name[NAME_ROOM];
        input_name(&c, j, name);
        const int has = text_columns(name);
        if (has > wide) wide = has < NAME_WIDEST ? has : NAME_WIDEST;
    }
    const int64_t across = (WIDTH - wide) / COLUMN;
    fprintf(to, "\ncoefficients%s, in the units of the data:\n\n", c.data->classes ? " of the logits" : "");
    for (int64_t k = 0; k < c.outputs; k += across) {
        if (k > 0) fputc('\n', to);
        print_block(&c, to, wide, k, c.outputs - k < across ? c.outputs - k : across);
    }
    if (c.inputs > MAX_INPUTS)
        fprintf(to, "\nThe first %d of %lld inputs; --json has all.\n", MAX_INPUTS, (long long)c.inputs);
    close_coefficients(cx, &c);
    return true;
}

/* ---- JSON ---- */

void coefficients_put(heed_ctx *cx, const heed_model *model, heed_json at) {
    struct coefficients c;
    if (!open_coefficients(cx, model, &c)) return;
    const heed_json list = heed_json_put_array(cx, at, "coefficients");
    for (int64_t k = 0; k < c.outputs && !heed_failed(cx); k++) {
        char name[NAME_ROOM];
        const heed_json one = heed_json_put_object(cx, list, NULL);
        output_name(&c, k, name);
        heed_json_put_text(cx, one, "output", name);
        heed_json_put_number(cx, one, "intercept", c.intercept[k]);
        const heed_json inputs = heed_json_put_array(cx, one, "inputs");
        for (int64_t j = 0; j < c.inputs && !heed_failed(cx); j++) {
            const heed_json input = heed_json_put_object(cx, inputs, NULL);
            input_name(&c, j, name);
            heed_json_put_text(cx, input, "name", name);
            heed_json_put_number(cx, input, "coefficient", c.weight[k * c.inputs + j]);
        }
    }
    close_coefficients(cx, &c);
}
