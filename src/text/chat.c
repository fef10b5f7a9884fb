/* Chat formats as tables: what stands before and behind what each role says.
 *
 *     begin,  then of every message  before[role]  text  after[role],  then  open
 *
 * Formats without a system message of their own fold it into the first message of the user. */
#include "heed/chat.h"
#include "io/limits.h"
#include "text/unicode/unicode.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct chat_kind {
    const char *name;
    const char *mark;      /* is in its templates, and in no template of a kind before it */
    const char *begin;     /* of the text */
    const char *before[3]; /* by role: system, user, assistant */
    const char *after[3];
    const char *end;     /* the token that ends an answer, with which after[2] begins, but for spaces */
    const char *open;    /* where the assistant is to go on */
    const char *close;   /* where it is not; NULL: nothing */
    const char *fold[2]; /* around a system message that is folded into the user's; NULL: it is one of its own */
    bool may_fold;       /* where the template says so */
    bool trims;          /* white space around texts */
    const char *source;  /* a template that renders so; NULL: none is written */
    const char *tokens[5];
};

#define OPENS(text) "{% if add_generation_prompt %}{{ '" text "' }}{% endif %}"
#define CHATML                                                                                                         \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "  \
    "'\\n' }}{% endfor %}" OPENS("<|im_start|>assistant\\n")
#define LLAMA3                                                                                                         \
    "{{ '<|begin_of_text|>' }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + "              \
    "'<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}" OPENS(                       \
        "<|start_header_id|>assistant<|end_header_id|>\\n\\n")
#define PHI4                                                                                                           \
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '<|im_sep|>' + message['content'] + "          \
    "'<|im_end|>' }}{% endfor %}" OPENS("<|im_start|>assistant<|im_sep|>")
#define GEMMA                                                                                                          \
    "{{ '<bos>' }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\\n\\n' %}{% set "  \
    "turns = messages[1:] %}{% else %}{% set first = '' %}{% set turns = messages %}{% endif %}{% for message in "     \
    "turns %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\\n' + (first if "      \
    "loop.first else '') + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}" OPENS(                       \
        "<start_of_turn>model\\n")

static const struct chat_kind kinds[] = {
    {.name = "llama3",
     .mark = "<|start_header_id|>",
     .begin = "<|begin_of_text|>",
     .before = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\n",
                "<|start_header_id|>assistant<|end_header_id|>\n\n"},
     .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
     .end = "<|eot_id|>",
     .open = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .trims = true,
     .source = LLAMA3,
     .tokens = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {.name = "phi4",
     .mark = "<|im_sep|>",
     .begin = "",
     .before = {"<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>", "<|im_start|>assistant<|im_sep|>"},
     .after = {"<|im_end|>", "<|im_end|>", "<|im_end|>"},
     .end = "<|im_end|>",
     .open = "<|im_start|>assistant<|im_sep|>",
     .source = PHI4,
     .tokens = {"<|im_start|>", "<|im_sep|>", "<|im_end|>"}},
    {.name = "chatml",
     .mark = "<|im_start|>",
     .begin = "",
     .before = {"<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"},
     .after = {"<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"},
     .end = "<|im_end|>",
     .open = "<|im_start|>assistant\n",
     .source = CHATML,
     .tokens = {"<|im_start|>", "<|im_end|>"}},
    {.name = "gemma",
     .mark = "<start_of_turn>",
     .begin = "<bos>",
     .before = {"", "<start_of_turn>user\n", "<start_of_turn>model\n"},
     .after = {"", "<end_of_turn>\n", "<end_of_turn>\n"},
     .end = "<end_of_turn>",
     .open = "<start_of_turn>model\n",
     .fold = {"", "\n\n"},
     .trims = true,
     .source = GEMMA,
     .tokens = {"<bos>", "<start_of_turn>", "<end_of_turn>"}},
    {.name = "phi3",
     .mark = "<|end|>",
     .begin = "<s>",
     .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
     .after = {"<|end|>\n", "<|end|>\n", "<|end|>\n"},
     .end = "<|end|>",
     .open = "<|assistant|>\n",
     .close = "<|endoftext|>",
     .fold = {"", "\n\n"},
     .may_fold = true},
    {.name = "llama2",
     .mark = "<<SYS>>",
     .begin = "",
     .before = {"", "<s>[INST] ", " "},
     .after = {"", " [/INST]", " </s>"},
     .end = "</s>",
     .open = "",
     .fold = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .trims = true},
    {.name = "mistral",
     .mark = "[INST]",
     .begin = "<s>",
     .before = {"", "[INST] ", ""},
     .after = {"", "[/INST]", "</s>"},
     .end = "</s>",
     .open = "",
     .fold = {"", "\n\n"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *const heed_chat_chatml = CHATML;

bool heed_chat_role_find(const char *name, heed_chat_role *role) {
    static const char *const names[][4] = {
        {"system", "developer", NULL}, {"user", "human", NULL}, {"assistant", "gpt", "model", NULL}};
    for (int i = 0; name && i < 3; i++)
        for (const char *const *one = names[i]; *one; one++)
            if (strcmp(*one, name) == 0) return *role = (heed_chat_role)i, true;
    return false;
}

static heed_chat_format plain(const struct chat_kind *kind) {
    heed_chat_format f = {.kind = kind, .closes = true, .trims = {kind->trims, false}};
    snprintf(f.begin, sizeof f.begin, "%s", kind->begin);
    return f;
}

bool heed_chat_format_named(const char *name, heed_chat_format *f) {
    for (int i = 0; name && i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) return *f = plain(&kinds[i]), true;
    return false;
}

const char *heed_chat_template(const heed_chat_format *f) { return f && f->kind ? f->kind->source : NULL; }

const char *const *heed_chat_tokens(const heed_chat_format *f) {
    return heed_chat_template(f) ? f->kind->tokens : NULL;
}

const char *heed_chat_format_name(const heed_chat_format *f) { return f && f->kind ? f->kind->name : NULL; }

/* ---- recognising a template ---- */

/* Whether one of the texts is in the template; each with either kind of quotes. */
static bool says(const char *text, const char *what) {
    char other[64];
    snprintf(other, sizeof other, "%s", what);
    for (char *s = other; *s; s++)
        if (*s == '\'') *s = '"';
    return strstr(text, what) || strstr(text, other);
}

/* ChatML's: what stands there as a text in quotes, between the tokens of a system message. */
static void find_system(const char *text, char *to, size_t size) {
    static const char *const begins[] = {"<|im_start|>system\n", "<|im_start|>system\\n"};
    for (int i = 0; i < 2; i++)
        for (const char *at = text; (at = strstr(at, begins[i]));) {
            at += strlen(begins[i]);
            const size_t length = strcspn(at, "'\"{<");
            if (length == 0 || length >= size || strncmp(at + length, "<|im_end|>", 10) != 0) continue;
            snprintf(to, size, "%.*s", (int)length, at);
            return;
        }
}

/* The same of what stands there but for spaces. */
static bool does(const char *text, const char *what) {
    for (const char *from = text; *from; from++) {
        const char *at = from, *w = what;
        while (*w && *at)
            if (*at == *w || (*w == '\'' && *at == '"'))
                at++, w++;
            else if (*at == ' ' && at > from)
                at++;
            else
                break;
        if (!*w) return true;
    }
    return false;
}

/* Whether this stands there, with newlines as they are or as \n. */
static bool quotes(const char *text, const char *what) {
    char other[96];
    size_t n = 0;
    for (const char *s = what; *s && n + 2 < sizeof other; s++)
        n += (size_t)snprintf(other + n, sizeof other - n, *s == '\n' ? "\\n" : "%c", *s);
    return strstr(text, what) || strstr(text, other);
}

static void mistral_spaces(const char *text, heed_chat_format *f) {
    f->spaced[0] = says(text, "' [/INST]'");
    f->spaced[1] = says(text, "' ' + message") || says(text, "' ' + content");
    f->spaced[2] = says(text, "eos_token + ' '");
    f->spaced[3] = says(text, "' [INST] ") || says(text, "' [INST]'");
    f->tight = !strstr(text, "[INST] ");
    f->late = does(text, "loop.lastandsystem_messageisdefined");
}

static void phi_variant(const char *text, heed_chat_format *f) {
    f->closes = strstr(text, "eos_token");
    f->folds = !strstr(text, "<|system|>") && !does(text, "'<|'+message");
    static const char *const lines[] = {"'<|assistant|>'+'\\n", "'<|assistant|>'+'\n", "'|>'+'\\n", "'|>'+'\n"};
    f->tight = !quotes(text, "<|assistant|>\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) f->tight &= !does(text, lines[i]);
}

/* False: it treats thoughts in a way of its own. */
static bool thoughts(const char *text, heed_chat_format *f) {
    f->thinks = does(text, "split('</think>')[-1].lstrip('\\n')") || does(text, "split('</think>')[-1].lstrip('\n')");
    f->shows_thoughts = does(text, "loop.lastor(notloop.lastandreasoning_content)");
    f->opens_thoughts = quotes(text, "<|im_start|>assistant\n<think>\n");
    return f->shows_thoughts || !strstr(text, "reasoning_content");
}

bool heed_chat_recognise(heed_ctx *cx, const char *name, const char *text, heed_chat_format *f) {
    /* what templates have that read like a known one and are not */
    static const char *const others[] = {
        "[SYSTEM_PROMPT]",  "Knowledge Cutoff Date", "<|im_middle|>", "<|begin|>", "<|start|>", ">>>",
        "[BEGIN FINAL RESP"};
    static const char *const trimmed[] = {"content']|trim+'<|",     "content|trim+'<|",      "content']|trim+eos_token",
                                          "content|trim+eos_token", "content'].strip()+'<|", "content.strip()+'<|"};
    int i = 0;
    if (heed_failed(cx)) return false;
    if (!text || !f) return heed_fail(cx, HEED_ERR_USAGE, "chat_recognise: the template or the format is NULL");
    while (i < KINDS && !strstr(text, kinds[i].mark)) i++;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strstr(text, others[k])) i = KINDS;
    if (i < KINDS) *f = plain(&kinds[i]);
    const char *const kind = i < KINDS ? kinds[i].name : "";
    const bool mistral = strcmp(kind, "mistral") == 0, chatml = strcmp(kind, "chatml") == 0;
    const bool half_dated = strstr(text, "Cutting Knowledge Date") && !strstr(text, "Today Date");
    if (i == KINDS || half_dated || (chatml && !thoughts(text, f)))
        return heed_fail(cx, HEED_ERR_FORMAT,
                         "%s: a chat_template that heed does not know; it knows ChatML, LLaMA 2 and 3, Mistral, Gemma "
                         "and Phi",
                         name);
    if (chatml) find_system(text, f->system, sizeof f->system);
    if (mistral) mistral_spaces(text, f);
    if (strcmp(kind, "phi3") == 0) phi_variant(text, f);
    for (size_t k = 0; k < sizeof trimmed / sizeof *trimmed; k++)
        if (does(text, trimmed[k])) f->trims[mistral] = true;
    f->dated = strstr(text, "Cutting Knowledge Date");
    f->today = strstr(text, "strftime_now");
    if (!strstr(text, "bos_token") && (!*f->begin || !strstr(text, f->begin))) *f->begin = 0;
    return true;
}

/* A template that begins with the tokenizer's bos_token: what that is. */
static void find_begin(heed_ctx *cx, const char *dir, heed_chat_format *f) {
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer_config.json", dir);
    if (heed_failed(cx) || access(path, F_OK) != 0) return;
    const heed_json config = json_open_within(cx, path, IO_CONFIG_LIMIT), at = heed_json_find(cx, config, "bos_token");
    const heed_json_kind kind = heed_json_kind_of(at);
    const char *const text = kind == HEED_JSON_TEXT     ? heed_json_text(cx, at, NULL)
                             : kind == HEED_JSON_OBJECT ? heed_json_text_or(cx, at, "content", NULL)
                                                        : NULL;
    if (text && strlen(text) < sizeof f->begin) snprintf(f->begin, sizeof f->begin, "%s", text);
    heed_json_free(config);
}

/* Of several templates by name the one called default, else the first. */
static heed_json default_template(heed_ctx *cx, heed_json list) {
    heed_json found = heed_json_first(list);
    for (heed_json v = found; heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *const name = heed_json_text_or(cx, v, "name", "");
        if (name && strcmp(name, "default") == 0) found = v;
    }
    return heed_json_kind_of(found) == HEED_JSON_NONE ? found : heed_json_find(cx, found, "template");
}

/* The template of a directory, to be freed; NULL: there is none, or reading failed. */
static char *read_template(heed_ctx *cx, const char *dir, char path[4096]) {
    heed_string own = {0};
    snprintf(path, 4096, "%s/chat_template.jinja", dir);
    if (access(path, F_OK) == 0) return heed_text_read(cx, path, &own) ? own.s : NULL;
    snprintf(path, 4096, "%s/tokenizer_config.json", dir);
    if (access(path, F_OK) != 0) return NULL;
    const heed_json config = json_open_within(cx, path, IO_CONFIG_LIMIT);
    heed_json at = heed_json_find(cx, config, "chat_template");
    if (heed_json_kind_of(at) == HEED_JSON_ARRAY) at = default_template(cx, at);
    const char *const text = heed_json_kind_of(at) == HEED_JSON_TEXT ? heed_json_text(cx, at, NULL) : NULL;
    if (text) heed_string_put(cx, &own, text, strlen(text));
    heed_json_free(config);
    return own.s;
}

bool heed_chat_find(heed_ctx *cx, const char *dir, heed_chat_format *f) {
    char path[4096];
    if (heed_failed(cx)) return false;
    char *const text = read_template(cx, dir, path);
    if (!text && !heed_failed(cx))
        heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no chat_template: it was not taught conversations", dir);
    const bool ok = text && !heed_failed(cx) && heed_chat_recognise(cx, path, text, f);
    if (ok && strstr(text, "bos_token") && strcmp(f->kind->name, "llama2") != 0) find_begin(cx, dir, f);
    heed_mem_free(cx, text);
    return ok && !heed_failed(cx);
}

/* ---- rendering ---- */

static bool put_piece(heed_ctx *cx, heed_chat_text *to, const char *text, size_t size, bool special, bool answer) {
    if (size == 0) return true;
    if (to->count == to->room) {
        const int64_t room = to->room ? 2 * to->room : 32;
        heed_chat_piece *larger = heed_mem_resize(cx, to->piece, (size_t)room * sizeof *larger);
        if (!larger) return false;
        to->piece = larger;
        to->room = room;
    }
    to->piece[to->count++] = (heed_chat_piece){to->text.size, size, special, answer};
    return heed_string_put(cx, &to->text, text, size);
}

static bool put_format(heed_ctx *cx, heed_chat_text *to, const char *text) {
    return put_piece(cx, to, text, strlen(text), true, false);
}

/* White space as Python's strip has it. */
static void trim(const char **text, size_t *size, bool left, bool right) {
    const char *at = *text, *end = *text + *size;
    while (left && at < end) {
        const char *next = at;
        if (!unicode_is_space(utf8_next(&next, end))) break;
        at = next;
    }
    while (right && end > at) {
        const char *before = end - 1;
        while (before > at && (*before & 0xC0) == 0x80) before--;
        const char *s = before;
        if (!unicode_is_space(utf8_next(&s, end))) break;
        end = before;
    }
    *text = at;
    *size = (size_t)(end - at);
}

/* What the format has there, without newlines where it is tight. */
static bool put_tight(heed_ctx *cx, const heed_chat_format *f, heed_chat_text *to, const char *text) {
    const size_t size = strlen(text), newline = f->tight && size > 0 && text[size - 1] == '\n';
    return put_piece(cx, to, text, size - newline, true, false);
}

/* What stands behind a message: of an answer its end belongs to it. */
static bool put_after(heed_ctx *cx, const heed_chat_format *f, const char *after, heed_chat_role role,
                      heed_chat_text *to) {
    const struct chat_kind *const k = f->kind;
    if (role != HEED_CHAT_ASSISTANT) return put_tight(cx, f, to, after);
    const char *const end = strstr(after, k->end);
    const size_t size = end ? (size_t)(end - after) + strlen(k->end) : 0;
    return put_piece(cx, to, after, size, true, true) && put_tight(cx, f, to, after + size);
}

/* "Cutting Knowledge Date: …" as LLaMA 3's templates have it, with the day as Python's strftime writes it. */
static bool put_dates(heed_ctx *cx, const heed_chat_format *f, heed_chat_text *to) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[128], day[32] = "26 Jul 2024";
    const time_t now = time(NULL);
    struct tm t;
    if (f->today && localtime_r(&now, &t))
        snprintf(day, sizeof day, "%02d %.3s %d", t.tm_mday, months + 3 * t.tm_mon, 1900 + t.tm_year);
    snprintf(text, sizeof text, "Cutting Knowledge Date: December 2023\nToday Date: %s\n\n", day);
    return put_format(cx, to, text);
}

static bool put_system(heed_ctx *cx, const heed_chat_format *f, const char *text, size_t size, heed_chat_text *to) {
    const struct chat_kind *const k = f->kind;
    if (f->trims[0]) trim(&text, &size, true, true);
    return put_tight(cx, f, to, k->before[0]) && (!f->dated || put_dates(cx, f, to)) &&
           put_piece(cx, to, text, size, false, false) && put_tight(cx, f, to, k->after[0]);
}

/* What the last of `what` in text ends at; NULL: it is not there. */
static const char *behind(const char *text, const char *end, const char *what, bool last) {
    const size_t n = strlen(what);
    const char *found = NULL;
    for (const char *s = text; s + n <= end && (last || !found); s++)
        if (memcmp(s, what, n) == 0) found = s + n;
    return found;
}

/* An answer of a model that thinks: `text` becomes what follows the thoughts, which are put before it if `shown`. */
static bool put_thoughts(heed_ctx *cx, const char **text, size_t *size, bool shown, heed_chat_text *to) {
    const char *const end = *text + *size, *from = *text, *until = from;
    const char *const first = behind(*text, end, "</think>", false), *const last = behind(*text, end, "</think>", true);
    if (first) {
        until = first - strlen("</think>");
        const char *const opened = behind(from, until, "<think>", true);
        if (opened) from = opened;
        while (until > from && until[-1] == '\n') until--;
        while (from < until && *from == '\n') from++;
        *text = last;
    }
    while ((first || shown) && *text < end && **text == '\n') ++*text;
    *size = (size_t)(end - *text);
    return !shown || (put_piece(cx, to, "<think>\n", 8, true, true) &&
                      put_piece(cx, to, from, (size_t)(until - from), false, true) &&
                      put_piece(cx, to, "\n</think>\n\n", 11, true, true));
}

/* system: to be folded into the message; NULL: none. last: no message follows */
static bool put_message(heed_ctx *cx, const heed_chat_format *f, const heed_chat_message *m,
                        const heed_chat_message *system, bool last, heed_chat_text *to) {
    const struct chat_kind *const k = f->kind;
    const bool mistral = strcmp(k->name, "mistral") == 0, answer = m->role == HEED_CHAT_ASSISTANT;
    const bool whole = system && strcmp(k->name, "llama2") == 0; /* the two are stripped as one */
    const char *text = m->text, *before = k->before[m->role];
    size_t size = m->size;
    if (f->trims[0] || (f->trims[1] && answer)) trim(&text, &size, !whole, true);
    if (mistral) before = answer ? (f->spaced[1] ? " " : "") : f->tight ? "[INST]" : "[INST] ";
    if (mistral && !answer && f->spaced[3] && !put_format(cx, to, " ")) return false;
    if (!(mistral ? put_format(cx, to, before) : put_tight(cx, f, to, before))) return false;
    if (system && (!put_format(cx, to, k->fold[0]) || !put_piece(cx, to, system->text, system->size, false, false) ||
                   !put_format(cx, to, k->fold[1])))
        return false;
    if (answer && f->thinks && !put_thoughts(cx, &text, &size, last && f->shows_thoughts, to)) return false;
    if (!put_piece(cx, to, text, size, false, answer)) return false;
    if (mistral && !answer && f->spaced[0] && !put_format(cx, to, " ")) return false;
    return put_after(cx, f, k->after[m->role], m->role, to) &&
           (!mistral || !answer || !f->spaced[2] || put_format(cx, to, " "));
}

static bool check_order(heed_ctx *cx, const heed_chat_message *messages, int64_t n) {
    const bool system = n > 0 && messages[0].role == HEED_CHAT_SYSTEM;
    if (n <= system) return heed_fail(cx, HEED_ERR_FORMAT, "a conversation without messages");
    for (int64_t i = system; i < n; i++)
        if (messages[i].role != ((i - system) % 2 == 0 ? HEED_CHAT_USER : HEED_CHAT_ASSISTANT))
            return heed_fail(cx, HEED_ERR_FORMAT, "message %lld: user and assistant do not alternate",
                             (long long)i + 1);
    return true;
}

bool heed_chat_render(heed_ctx *cx, const heed_chat_format *f, const heed_chat_message *messages, int64_t n, bool open,
                      heed_chat_text *to) {
    if (heed_failed(cx)) return false;
    if (!f || !f->kind || (!messages && n > 0) || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "chat: a format, messages and a place for the text are needed");
    const struct chat_kind *const k = f->kind;
    const bool system = n > 0 && messages[0].role == HEED_CHAT_SYSTEM, folds = k->fold[0] && (!k->may_fold || f->folds);
    to->text.size = 0;
    to->count = 0;
    if (!check_order(cx, messages, n) || !heed_string_put(cx, &to->text, "", 0) || !put_format(cx, to, f->begin))
        return false;
    if (!folds && system && !put_system(cx, f, messages[0].text, messages[0].size, to)) return false;
    if (!folds && !system && (f->dated || *f->system) && !put_system(cx, f, f->system, strlen(f->system), to))
        return false;
    const int64_t bearer = f->late ? n - 1 : 1; /* of a system message without a place of its own */
    for (int64_t i = system; i < n; i++) {
        const bool bears = folds && system && i == bearer && messages[i].role == HEED_CHAT_USER;
        if (!put_message(cx, f, &messages[i], bears ? &messages[0] : NULL, i == n - 1, to)) return false;
    }
    if (open && f->opens_thoughts) return put_format(cx, to, k->open) && put_format(cx, to, "<think>\n");
    return put_tight(cx, f, to, open ? k->open : k->close && f->closes ? k->close : "");
}

void heed_chat_text_free(heed_ctx *cx, heed_chat_text *text) {
    if (!text) return;
    heed_string_free(cx, &text->text);
    heed_mem_free(cx, text->piece);
    *text = (heed_chat_text){0};
}

/* ---- tokens ---- */

/* Whether somebody said what reads as a special token. */
static bool says_special(heed_ctx *cx, const heed_tokenizer *t, const heed_chat_text *text) {
    heed_encoding e = {0};
    bool found = false;
    for (int64_t i = 0; i < text->count && !found && !heed_failed(cx); i++) {
        const heed_chat_piece *const p = &text->piece[i];
        if (p->special ||
            !heed_encode_text(cx, t, text->text.s + p->start, p->size, &(heed_encode_opts){.plain = true}, &e))
            continue;
        for (int64_t k = 0; k < e.count; k++)
            found |= heed_tokenizer_is_special(t, e.token[k].id) && e.token[k].id != heed_tokenizer_unknown(t);
    }
    heed_encoding_free(cx, &e);
    return found;
}

/* Tokens of bytes from `from` on; a token belongs to an answer when its last byte does. */
static bool put_tokens(heed_ctx *cx, const heed_chat_text *text, const heed_encoding *e, size_t from, heed_ids *ids,
                       heed_ids *answer) {
    int64_t piece = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const size_t last = from + (e->token[i].end > 0 ? e->token[i].end - 1 : 0);
        while (piece + 1 < text->count && text->piece[piece].start + text->piece[piece].size <= last) piece++;
        if (!heed_ids_put(cx, ids, e->token[i].id) ||
            (answer && !heed_ids_put(cx, answer, text->count > 0 && text->piece[piece].answer)))
            return false;
    }
    return true;
}

/* The whole text at once, as transformers does; piece by piece where what somebody said must not be special. */
bool heed_chat_encode(heed_ctx *cx, const heed_tokenizer *t, const heed_chat_text *text, heed_ids *ids,
                      heed_ids *answer) {
    if (heed_failed(cx)) return false;
    if (!t || !text || !ids) return heed_fail(cx, HEED_ERR_USAGE, "chat: a tokenizer, a text and a list are needed");
    heed_encoding e = {0};
    heed_encode_opts opts = {.plain = true, .bytes = true};
    bool ok = true;
    if (!says_special(cx, t, text)) {
        ok = heed_encode_text(cx, t, text->text.s, text->text.size, &opts, &e) &&
             put_tokens(cx, text, &e, 0, ids, answer);
    } else {
        for (int64_t i = 0; ok && i < text->count; i++) {
            const heed_chat_piece *const p = &text->piece[i];
            opts.as_text = !p->special;
            ok = heed_encode_text(cx, t, text->text.s + p->start, p->size, &opts, &e) &&
                 put_tokens(cx, text, &e, p->start, ids, answer);
        }
    }
    heed_encoding_free(cx, &e);
    return ok && !heed_failed(cx);
}

int32_t heed_chat_end(const heed_chat_format *f, const heed_tokenizer *t) {
    return f && f->kind ? heed_tokenizer_id(t, f->kind->end) : -1;
}
