/* Matching: plain text, GPT-2's pattern by hand, and everything else by PCRE2.
 *
 * PCRE2 is bounded three times: by its own limits on backtracking; by a callout at every place where a match is tried,
 * which looks at the clock, as a text is given a fixed time and some more for each of its bytes; and over all texts, of
 * which few may take so long. */
#define _GNU_SOURCE           /* memmem */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/tokenizer/regex.h"
#include "base/clock.h"
#include "io/text.h"
#include "text/unicode/unicode.h"

#include <pcre2.h>
#include <string.h>
#include <time.h>

enum regex_kind { LITERAL, GPT2, PCRE };
struct regex {
    enum regex_kind kind;
    heed_string text; /* the pattern as given */
    pcre2_code *code;
    struct regex_time *time; /* NULL: not added up */
};

#define MATCH_LIMIT   10000000
#define HEAP_LIMIT    (256 << 10) /* KiB */
#define SECONDS       0.5
#define PER_BYTE      1e-6
#define PER_TEXT      1e-4 /* what is due to a text, with PER_BYTE */
#define CANCEL_STARTS 4096 /* so often cancellation is looked at */

static struct regex *regex_new(heed_ctx *cx, enum regex_kind kind, const char *text, size_t size) {
    struct regex *r = heed_mem_new(cx, sizeof *r);
    if (!r) return NULL;
    *r = (struct regex){.kind = kind};
    if (heed_string_put(cx, &r->text, text, size)) return r;
    heed_mem_free(cx, r);
    return NULL;
}

void regex_free(heed_ctx *cx, struct regex *r) {
    if (!r) return;
    pcre2_code_free(r->code);
    heed_string_free(cx, &r->text);
    heed_mem_free(cx, r);
}

void regex_share_time(struct regex *r, struct regex_time *time) { r->time = time; }

struct regex *regex_gpt2(heed_ctx *cx) {
    return regex_new(cx, GPT2, GPT2_PATTERN, strlen(GPT2_PATTERN));
}

static bool compile(heed_ctx *cx, struct regex *r, heed_string *why) {
    heed_string pattern = {0};
    const char *reason = NULL;
    bool ok = heed_string_put(cx, &pattern, "(?C1)(?:", 8) &&
              regex_translate(cx, r->text.s, r->text.size, &pattern, &reason) && heed_string_put(cx, &pattern, ")", 1);
    if (ok) {
        int error;
        PCRE2_SIZE at;
        pcre2_compile_context *context = pcre2_compile_context_create(NULL);
        if (context) pcre2_set_newline(context, PCRE2_NEWLINE_LF);
        r->code =
            pcre2_compile((PCRE2_SPTR)pattern.s, pattern.size,
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &at, context);
        pcre2_compile_context_free(context);
        char text[160] = "";
        if (!r->code) pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof text);
        if (!r->code) heed_string_put(cx, why, text, strlen(text));
        ok = r->code;
    } else if (reason)
        heed_string_put(cx, why, reason, strlen(reason));
    if (ok) pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* without it, matching is only slower */
    heed_string_free(cx, &pattern);
    return ok;
}

struct regex *regex_literal(heed_ctx *cx, const char *text, size_t size) {
    heed_string why = {0};
    struct regex *r = regex_new(cx, size > 0 ? LITERAL : PCRE, text, size);
    if (r && size == 0 && !compile(cx, r, &why)) regex_free(cx, r), r = NULL;
    heed_string_free(cx, &why);
    return r;
}

struct regex *regex_compile(heed_ctx *cx, const char *pattern, size_t size, heed_string *why) {
    if (size == strlen(GPT2_PATTERN) && memcmp(pattern, GPT2_PATTERN, size) == 0) return regex_gpt2(cx);
    struct regex *r = regex_new(cx, PCRE, pattern, size);
    if (r && compile(cx, r, why)) return r;
    regex_free(cx, r);
    return NULL;
}

/* ---- GPT-2 ---- */

enum { CLASS_SPACE, CLASS_LETTER, CLASS_NUMBER, CLASS_OTHER };

static int class_at(const char **s, const char *end) {
    static const char ascii[128] = {
        ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [' '] = 1, ['0'] = 2, ['1'] = 2,
        ['2'] = 2,  ['3'] = 2,  ['4'] = 2,  ['5'] = 2,  ['6'] = 2,  ['7'] = 2, ['8'] = 2, ['9'] = 2,
    };
    const unsigned char byte = (unsigned char)**s;
    if (byte < 0x80) {
        ++*s;
        if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') return CLASS_LETTER;
        return ascii[byte] == 1 ? CLASS_SPACE : ascii[byte] == 2 ? CLASS_NUMBER : CLASS_OTHER;
    }
    const int32_t c = utf8_next(s, end);
    if (unicode_is_space(c)) return CLASS_SPACE;
    return unicode_is_letter(c) ? CLASS_LETTER : unicode_is_number(c) ? CLASS_NUMBER : CLASS_OTHER;
}

/* The end of the piece at s. A run of spaces before a word leaves its last one to the word. */
static const char *gpt2_end(const char *s, const char *end) {
    static const char *const tails[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    for (size_t i = 0; *s == '\'' && i < sizeof tails / sizeof *tails; i++) {
        const size_t n = strlen(tails[i]);
        if ((size_t)(end - s) > n && memcmp(s + 1, tails[i], n) == 0) return s + 1 + n;
    }
    const char *at = s, *last = s;
    int kind = class_at(&at, end);
    if (*s == ' ' && at < end) {
        const char *next = at;
        const int following = class_at(&next, end);
        if (following != CLASS_SPACE) kind = following;
    }
    const bool spaces = kind == CLASS_SPACE;
    if (spaces) at = s;
    while (at < end) {
        const char *next = at;
        if (class_at(&next, end) != kind) break;
        last = at;
        at = next;
    }
    return spaces && at < end && last > s ? last : at;
}

/* ---- matching ---- */

static double cpu_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* At every place where a match is tried. The wall's clock is cheap to ask; only the thread's own time counts. */
static int on_start(pcre2_callout_block *block, void *user) {
    struct matcher *m = user;
    (void)block;
    if (++m->starts % 16 != 0) return 0;
    if (m->starts % CANCEL_STARTS == 0 && heed_cancelled(m->cx)) return -1;
    if (clock_seconds() < m->deadline) return 0;
    const double allowed = SECONDS + PER_BYTE * (double)m->size, now = cpu_seconds();
    if (m->cpu < 0) {
        m->cpu = now; /* it is late: from now on the thread's time is looked at */
        m->deadline += allowed / 2;
        return 0;
    }
    return now - m->cpu > allowed / 4 ? -1 : 0;
}

/* Adds up by how much the text that is done with was late. */
static void settle(struct matcher *m, double now) {
    struct regex_time *time = m->regex->time;
    const double due = PER_TEXT + PER_BYTE * (double)m->size, wall = now - m->began - due;
    if (!time || m->began < 0) return;
    if (wall > 0) atomic_fetch_add_explicit(&time->wall, (int64_t)(1e9 * wall), memory_order_relaxed);
    const double cpu = m->cpu_began < 0 ? 0 : cpu_seconds() - m->cpu_began - due;
    if (cpu > 0) atomic_fetch_add_explicit(&time->cpu, (int64_t)(1e9 * cpu), memory_order_relaxed);
}

static bool too_long(const struct matcher *m, const char *where) {
    return heed_fail(m->cx, HEED_ERR_RANGE, "encode: the regular expression '%s' takes too long on %s",
                     escaped_bytes(m->regex->text.s, m->regex->text.size).s, where);
}

/* The clocks of a text that begins. */
static void begin_time(struct matcher *m, double now) {
    const struct regex_time *time = m->regex->time;
    m->began = now;
    m->deadline = now + SECONDS / 2 + PER_BYTE / 2 * (double)m->size;
    m->cpu = m->cpu_began = -1;
    if (!time || atomic_load_explicit(&time->wall, memory_order_relaxed) < REGEX_LATE) return;
    m->cpu_began = cpu_seconds();
    if (atomic_load_explicit(&time->cpu, memory_order_relaxed) < REGEX_LATE) return;
    too_long(m, "these texts");
    m->size = 0; /* nothing is looked for */
}

void matcher_again(struct matcher *m, const char *text, size_t size) {
    const bool timed = m->regex->kind == PCRE;
    const double now = timed ? clock_seconds() : 0;
    if (timed) settle(m, now);
    m->text = text;
    m->size = size;
    m->at = m->last_end = 0;
    m->matched = false;
    m->starts = 0;
    if (timed) begin_time(m, now);
}

bool matcher_begin(struct matcher *m, heed_ctx *cx, const struct regex *r, const char *text, size_t size) {
    *m = (struct matcher){.cx = cx, .regex = r, .began = -1};
    matcher_again(m, text, size);
    if (r->kind != PCRE) return true;
    if (heed_failed(cx)) return false;
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    m->data = data;
    m->context = context;
    if (!data || !context) return heed_fail(cx, HEED_ERR_MEMORY, "encode: no memory for a regular expression");
    pcre2_set_match_limit(context, MATCH_LIMIT);
    pcre2_set_heap_limit(context, HEAP_LIMIT);
    pcre2_set_callout(context, on_start, m);
    return true;
}

void matcher_end(struct matcher *m) {
    if (m->data) settle(m, clock_seconds());
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    m->data = m->context = NULL;
}

/* The next match from m->at on, which may be empty. */
static bool search(struct matcher *m, size_t *start, size_t *end) {
    uint32_t options = PCRE2_NO_UTF_CHECK;
    int found = pcre2_match(m->regex->code, (PCRE2_SPTR)m->text, m->size, m->at, options, m->data, m->context);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes its memory from the heap */
        found = pcre2_match(m->regex->code, (PCRE2_SPTR)m->text, m->size, m->at, options | PCRE2_NO_JIT, m->data,
                            m->context);
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found < 0) return too_long(m, "this text");
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(m->data);
    *start = place[0];
    *end = place[1];
    return *start <= *end && *start >= m->last_end;
}

static size_t next_character(const struct matcher *m, size_t at) {
    if (at >= m->size) return at + 1;
    const char *s = m->text + at;
    utf8_next(&s, m->text + m->size);
    return (size_t)(s - m->text);
}

bool matcher_next(struct matcher *m, size_t *start, size_t *end) {
    const struct regex *r = m->regex;
    if (m->size == 0) return false;
    if (r->kind == GPT2) {
        if (m->at >= m->size) return false;
        *start = m->at;
        *end = m->at = (size_t)(gpt2_end(m->text + m->at, m->text + m->size) - m->text);
        return true;
    }
    if (r->kind == LITERAL) {
        const char *found = m->at < m->size ? memmem(m->text + m->at, m->size - m->at, r->text.s, r->text.size) : NULL;
        if (!found) return false;
        *start = (size_t)(found - m->text);
        *end = m->at = *start + r->text.size;
        return true;
    }
    while (m->at <= m->size && search(m, start, end)) {
        if (*start == *end && m->matched && m->last_end == *end) { /* not again where the last one ended */
            m->at = next_character(m, m->at);
            continue;
        }
        m->at = m->last_end = *end;
        m->matched = true;
        return true;
    }
    return false;
}
