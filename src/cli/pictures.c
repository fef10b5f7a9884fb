#include "cli/pictures.h"
#include <string.h>

const struct option picture_options[] = {
    {.name = "png", .kind = OPTION_FILE, .value = "FILE", .help = "a picture in this file"},
    {.name = "svg", .kind = OPTION_FILE, .value = "FILE", .help = "the same picture"},
    {.name = "pdf", .kind = OPTION_FILE, .value = "FILE", .help = "the same picture"},
    {.name = NULL},
};

static const char *const formats[] = {"png", "svg", "pdf"};
enum { FORMATS = sizeof formats / sizeof formats[0] };

bool pictures_asked(const struct options *o) {
    bool asked = false;
    for (int i = 0; i < FORMATS; i++) asked = asked || option_text(o, formats[i]);
    return asked;
}

bool pictures_fit(const struct options *o) {
    for (int i = 0; i < FORMATS; i++) {
        const char *path = option_text(o, formats[i]), *end = path ? strrchr(path, '.') : NULL;
        if (!path || (end && strcmp(end + 1, formats[i]) == 0)) continue;
        cli_error(EXIT_USAGE, "%s: --%s %s: the name must end in .%s", options_command(o), formats[i], path,
                  formats[i]);
        return false;
    }
    return true;
}

bool pictures_report(const struct options *o, const char *path, const char *what) {
    if (!option_flag(o, "quiet")) fprintf(stderr, "%s: %s\n", path, what);
    return true;
}

bool pictures_write(const struct options *o, heed_figure *f, const char *what) {
    bool ok = true;
    for (int i = 0; ok && i < FORMATS; i++) {
        const char *path = option_text(o, formats[i]);
        ok = !path || (heed_figure_write(f, path) && pictures_report(o, path, what));
    }
    return ok;
}
