/* The chat format of a model directory, and the one in which a model is taught conversations. */
#include "task/text/chat_template.h"
#include "base/file.h"
#include "model/core/directory.h"
#include <string.h>

bool chat_has_template(const char *dir) {
    heed_ctx *const cx = heed_open(&(heed_config){.threads = 1});
    char path[PATH_ROOM];
    heed_json config = {0};
    if (directory_has(dir, "tokenizer_config.json") && directory_path(cx, dir, "tokenizer_config.json", path))
        config = heed_json_open(cx, path);
    const bool found = directory_has(dir, CHAT_TEMPLATE_FILE) ||
                       heed_json_kind_of(heed_json_find(cx, config, "chat_template")) > HEED_JSON_NULL;
    heed_json_free(config);
    heed_close(cx);
    return found;
}

bool chat_choose(heed_ctx *cx, const char *asked, const char *dir, heed_tokenizer **tokens, struct chat_choice *to) {
    *to = (struct chat_choice){.own = asked || !dir || !chat_has_template(dir)};
    if (!to->own) return heed_chat_find(cx, dir, &to->format);
    if (!heed_chat_format_named(asked ? asked : "chatml", &to->format)) return false; /* the table has them all */
    const char *const *const needed = heed_chat_tokens(&to->format);
    int n = 0;
    for (; needed[n]; n++) to->added += heed_tokenizer_id(*tokens, needed[n]) < 0;
    if (to->added == 0) return true;
    heed_tokenizer *const more = heed_tokenizer_add(cx, *tokens, needed, n);
    if (!more) return false;
    heed_tokenizer_free(cx, *tokens);
    *tokens = more;
    return true;
}

bool chat_write_template(heed_ctx *cx, const char *dir, const heed_chat_format *f) {
    char path[PATH_ROOM];
    const char *const text = heed_chat_template(f);
    if (!text)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "train: the format %s of --tokenizer cannot be written; --chat-template chooses another",
                         heed_chat_format_name(f));
    struct file_writer *w = directory_path(cx, dir, CHAT_TEMPLATE_FILE, path) ? file_write_open(cx, path) : NULL;
    if (w) file_write(w, text, strlen(text));
    return w && file_write_commit(w);
}
