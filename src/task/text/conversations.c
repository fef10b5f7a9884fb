/* Conversations of JSON lines: who said what. */
#include "io/text.h"
#include "task/text/lm.h"
#include <string.h>

void conversations_free(heed_ctx *cx, struct conversations *c) {
    heed_ids_free(cx, &c->role);
    heed_ids_free(cx, &c->first);
}

bool conversations_named(const char *path) {
    static const char *const endings[] = {".jsonl", ".json", ".jsonl.gz", ".json.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends(path, strlen(path), endings[i])) return true;
    return false;
}

/* The first of two names that an object has a text for. */
static const char *text_of(heed_ctx *cx, heed_json at, const char *name, const char *older) {
    const char *const key = heed_json_kind_of(heed_json_find(cx, at, name)) == HEED_JSON_NONE ? older : name;
    if (heed_json_kind_of(heed_json_find(cx, at, key)) == HEED_JSON_TEXT) return heed_json_text(cx, at, key);
    heed_fail(cx, HEED_ERR_FORMAT, "a message without \"%s\"", name);
    return NULL;
}

static bool read_message(heed_ctx *cx, heed_json at, struct documents *texts, struct conversations *to) {
    heed_chat_role role;
    const char *const who = text_of(cx, at, "role", "from"), *const said =
                                                                 who ? text_of(cx, at, "content", "value") : NULL;
    if (!said) return false;
    if (!heed_chat_role_find(who, &role))
        return heed_fail(cx, HEED_ERR_FORMAT, "the role '%s' is none of system, user and assistant", escaped(who).s);
    return documents_put(cx, texts, said, strlen(said)) && heed_ids_put(cx, &to->role, (int32_t)role);
}

/* User and assistant take turns, after the system if it says something; and there is an answer to learn. */
static bool check(heed_ctx *cx, const int32_t *role, int64_t n) {
    const int64_t first = n > 0 && role[0] == HEED_CHAT_SYSTEM;
    for (int64_t i = first; i < n; i++)
        if (role[i] != ((i - first) % 2 ? HEED_CHAT_ASSISTANT : HEED_CHAT_USER))
            return heed_fail(cx, HEED_ERR_FORMAT, "message %lld: user and assistant do not alternate",
                             (long long)i + 1);
    return n - first >= 2 || heed_fail(cx, HEED_ERR_FORMAT, "a conversation without an answer of the assistant");
}

static bool read_line(heed_ctx *cx, const char *text, size_t size, struct documents *texts, struct conversations *to) {
    const heed_json line = heed_json_parse(cx, "JSON", text, size);
    heed_json list = heed_json_find(cx, line, "messages");
    if (heed_json_kind_of(list) != HEED_JSON_ARRAY) list = heed_json_find(cx, line, "conversations");
    if (!heed_failed(cx) && heed_json_kind_of(list) != HEED_JSON_ARRAY)
        heed_fail(cx, HEED_ERR_FORMAT, "there is no list of \"messages\"");
    const int64_t first = to->role.count;
    bool ok = !heed_failed(cx) && heed_ids_put(cx, &to->first, (int32_t)first);
    for (heed_json m = heed_json_first(list); ok && heed_json_kind_of(m) != HEED_JSON_NONE; m = heed_json_next(m))
        ok = read_message(cx, m, texts, to);
    heed_json_free(line);
    return ok && check(cx, to->role.id ? to->role.id + first : NULL, to->role.count - first);
}

bool conversations_read(heed_ctx *cx, const char *path, const char *name, struct documents *texts,
                        struct conversations *to) {
    heed_lines lines = {0};
    bool ok = heed_lines_read(cx, path, &lines);
    for (int64_t i = 0; ok && i < lines.count; i++) {
        const char *const text = heed_line_text(&lines, i);
        if (!text[strspn(text, " \t\r")]) continue;
        ok = read_line(cx, text, heed_line_size(&lines, i), texts, to) ||
             heed_fail_in(cx, "%s: line %lld", name, (long long)i + 1);
    }
    heed_lines_free(cx, &lines);
    if (ok && to->first.count == 0) ok = heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no conversations", name);
    return ok && heed_ids_put(cx, &to->first, (int32_t)to->role.count);
}

bool conversations_encode(heed_ctx *cx, const struct conversations *c, const heed_lines *texts, int64_t i,
                          const heed_chat_format *format, const heed_tokenizer *tokens, heed_ids *ids,
                          heed_ids *answer) {
    const int64_t first = c->first.id[i], n = c->first.id[i + 1] - first;
    heed_chat_text text = {0};
    heed_chat_message *const messages = heed_mem_new(cx, (size_t)n * sizeof *messages);
    for (int64_t k = 0; messages && k < n; k++)
        messages[k] = (heed_chat_message){(heed_chat_role)c->role.id[first + k], heed_line_text(texts, first + k),
                                          heed_line_size(texts, first + k)};
    const bool ok = messages && heed_chat_render(cx, format, messages, n, false, &text) &&
                    heed_chat_encode(cx, tokens, &text, ids, answer);
    heed_chat_text_free(cx, &text);
    heed_mem_free(cx, messages);
    return ok;
}
