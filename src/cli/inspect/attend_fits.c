/* Whether what is given to heed attend belongs together, and is for what the model takes. */
#include "cli/inspect/attend.h"
#include "cli/use/use_pictures.h"
#include "io/text.h"
#include "task/nodes/graph_fields.h"
#include <string.h>

bool attend_graph_given(const struct options *o) {
    return option_given(o, "data") || option_given(o, "nodes") || option_given(o, "edges") || option_given(o, "graphs");
}

/* Whether standard input is one of the texts at most; false after saying that it is not. */
bool attend_reads_once(const struct options *o) {
    const char *const read[] = {options_word(o, 1), option_text(o, "pair"), option_text(o, "target")};
    int standard = 0;
    for (int i = 0; i < 3; i++) standard += read[i] && strcmp(read[i], "-") == 0;
    if (standard > 1) cli_error(EXIT_USAGE, "attend: standard input can be the text or the target, not both");
    return standard <= 1;
}

/* Whether there is one input, a word or a graph; false after saying that it is not so. */
bool attend_one_input(const struct options *o) {
    const bool graph = attend_graph_given(o), word = options_words(o) > 1;
    char why[FIELD_WHY];
    if (graph && word)
        cli_error(EXIT_USAGE, "attend: '%s' is one word too many beside a graph", escaped(options_word(o, 1)).s);
    if (!graph && !word) cli_error(EXIT_USAGE, "attend: expected: %s; 'heed attend --help' explains", ATTEND_WORDS);
    if (graph == word) return false;
    if (graph && !graph_fields_fit(options_values(o), why)) {
        cli_error(EXIT_USAGE, "attend: %s", why);
        return false;
    }
    return true;
}

/* Whether the options, and TEXT, are for what the model takes; false after saying which is not. */
bool attend_suits(const struct options *o, const heed_model *model) {
    enum { TEXT = 1, PICTURE = 2, GRAPH = 4 };
    static const struct {
        const char *option, *what;
        int of;
    } rules[] = {{"rollout", "pictures", PICTURE},
                 {"patch", "pictures", PICTURE},
                 {"latent", "pictures", PICTURE},
                 {"smooth", "pictures", PICTURE},
                 {"threshold", "pictures", PICTURE},
                 {"target", "text", TEXT},
                 {"pair", "text", TEXT},
                 {"words", "text", TEXT},
                 {"data", "graphs", GRAPH},
                 {"nodes", "graphs", GRAPH},
                 {"edges", "graphs", GRAPH},
                 {"graphs", "graphs", GRAPH},
                 {"node", "graphs", GRAPH},
                 {"hops", "graphs", GRAPH},
                 {"top", "graphs", GRAPH}};
    const struct escaped dir = escaped(options_word(o, 0));
    const int kind = heed_model_takes(model, "pixel_values") ? PICTURE
                     : heed_model_takes(model, "edge_index") ? GRAPH
                                                             : TEXT;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].of != kind && option_given(o, rules[i].option)) {
            cli_error(EXIT_USAGE, "attend: --%s is for models of %s, which %s is not", rules[i].option, rules[i].what,
                      dir.s);
            return false;
        }
    if (kind == GRAPH && !attend_graph_given(o)) {
        cli_error(EXIT_USAGE, "attend: %s is a model of graphs: one is given by --nodes and --edges, or by --data",
                  dir.s);
        return false;
    }
    return kind == PICTURE || !pictures_given(o);
}
