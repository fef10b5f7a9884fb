#include "cli/core/figure_options.h"
#include <string.h>

const heed_field picture_options[] = {
    {.name = "png", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "a picture in this file; - is standard output"},
    {.name = "svg", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "the same picture"},
    {.name = "pdf", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "the same picture"},
    {.name = NULL},
};

static const char *const formats[] = {"png", "svg", "pdf"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

bool pictures_asked(const struct options *o) {
    bool asked = false;
    for (int i = 0; i < FORMATS; i++) asked = asked || option_text(o, formats[i]);
    return asked;
}

static bool is_standard(const char *path) { return path && strcmp(path, "-") == 0; }

/* How many results go to standard output, and the name of the last. */
static int count_standard(const struct options *o, const char **last) {
    static const char *const files[] = {"png", "svg", "pdf", "npy", "html", "csv", "midi", "write"};
    int n = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (option_known(o, files[i]) && is_standard(option_text(o, files[i]))) n++, *last = files[i];
    return n;
}

bool pictures_take_standard(const struct options *o) { return count_standard(o, &(const char *){0}) > 0; }

bool pictures_fit(const struct options *o) {
    const char *last = NULL;
    const int n = count_standard(o, &last);
    if (n + (n > 0 && option_known(o, "json") && option_flag(o, "json")) > 1) {
        cli_error(EXIT_USAGE, "%s: --%s -: standard output can take one result", options_command(o), last);
        return false;
    }
    for (int i = 0; i < FORMATS; i++) {
        const char *path = option_known(o, formats[i]) ? option_text(o, formats[i]) : NULL;
        const char *end = path ? strrchr(path, '.') : NULL;
        if (!path || is_standard(path) || (end && strcmp(end + 1, formats[i]) == 0)) continue;
        cli_error(EXIT_USAGE, "%s: --%s %s: the name must end in .%s", options_command(o), formats[i], path,
                  formats[i]);
        return false;
    }
    return true;
}

bool pictures_report(const struct options *o, const char *path, const char *what) {
    if (!option_flag(o, "quiet")) fprintf(stderr, "%s: %s\n", is_standard(path) ? "standard output" : path, what);
    return true;
}

bool pictures_write(const struct options *o, heed_figure *f, const char *what) {
    bool ok = true;
    for (int i = 0; ok && i < FORMATS; i++) {
        const char *path = option_text(o, formats[i]);
        ok = !path || (heed_figure_write_as(f, path, formats[i]) && pictures_report(o, path, what));
    }
    return ok;
}
