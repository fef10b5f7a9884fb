/* heed/chat.h: conversations as the text that a model was taught them in.
 *
 * A directory says how by its chat_template, a Jinja program in tokenizer_config.json or chat_template.jinja. heed runs
 * none: it knows the common formats, and recognises a template by what is in it.
 *
 *     heed_chat_format f;
 *     heed_chat_find(cx, dir, &f) && heed_chat_render(cx, &f, messages, n, true, &text);
 *
 * gives what transformers' apply_chat_template does. */
#ifndef HEED_CHAT_H
#define HEED_CHAT_H

#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heed_chat_role { HEED_CHAT_SYSTEM, HEED_CHAT_USER, HEED_CHAT_ASSISTANT } heed_chat_role;
typedef struct heed_chat_message {
    heed_chat_role role;
    const char *text; /* UTF-8 */
    size_t size;
} heed_chat_message;
/* "system", "user", "assistant"; also "human" and "gpt" of older data. False: it is none. */
HEED_API bool heed_chat_role_find(const char *name, heed_chat_role *role);

/* How a model is taught conversations: a kind, and what its template says otherwise. */
typedef struct heed_chat_format {
    const struct chat_kind *kind; /* NULL: none */
    char begin[64];               /* what the text begins with; "": nothing */
    char system[512];             /* what a conversation without a system message begins with; "": nothing */
    bool spaced[4];    /* of Mistral: a space before [/INST], before an answer, behind its end, and before [INST] */
    bool tight;        /* of Mistral no space behind [INST], of Phi no newlines */
    bool late;         /* of Mistral: the system message goes before the last message of the user, not the first */
    bool trims[2];     /* white space around texts, and around answers alone */
    bool dated, today; /* of LLaMA 3.1 and later: dates stand before the system message; today's, not July 2024 */
    bool closes;       /* of Phi: a token ends the text where the assistant is not to go on */
    bool folds;        /* of Phi: there is no system message */
    bool thinks, shows_thoughts, opens_thoughts; /* of ChatML: <think> blocks are left out of former answers, stand
                                                  * in the last one, and begin the next one */
} heed_chat_format;
/* "chatml", "llama2", "llama3", "mistral", "gemma", "phi3", "phi4". False: there is none of that name. */
HEED_API bool heed_chat_format_named(const char *name, heed_chat_format *f);
HEED_API const char *heed_chat_format_name(const heed_chat_format *f);
/* Of a model's directory; false with a sentence when it has no chat_template, or one that heed does not know. */
HEED_API bool heed_chat_find(heed_ctx *cx, const char *dir, heed_chat_format *f);
/* The same of the text of a template; name: for the sentence. */
HEED_API bool heed_chat_recognise(heed_ctx *cx, const char *name, const char *text, heed_chat_format *f);
HEED_API extern const char *const heed_chat_chatml; /* a chat_template, for directories of one's own */
/* The same of any format that was found by its name: chatml, llama3, gemma and phi4. NULL: there is none of it. */
HEED_API const char *heed_chat_template(const heed_chat_format *f);
/* The special tokens that such a template has, which end with NULL; NULL: it has no template. */
HEED_API const char *const *heed_chat_tokens(const heed_chat_format *f);

/* A piece of the text of a conversation. */
typedef struct heed_chat_piece {
    size_t start, size; /* bytes of the text */
    bool special;       /* special tokens are in it; else it is what somebody said, and plain text */
    bool answer;        /* the assistant says it: its text, and the token that ends it */
} heed_chat_piece;
typedef struct heed_chat_text { /* {0} is empty */
    heed_string text;
    heed_chat_piece *piece;
    int64_t count, room;
} heed_chat_text;
/* Fills `to`. open: the text ends where the assistant is to go on. Messages alternate between user and assistant, after
 * a system message if there is one; Gemma and Mistral have no system messages of their own: theirs goes before the
 * first of the user, or as the template says. */
HEED_API bool heed_chat_render(heed_ctx *cx, const heed_chat_format *f, const heed_chat_message *messages, int64_t n,
                               bool open, heed_chat_text *to);
HEED_API void heed_chat_text_free(heed_ctx *cx, heed_chat_text *text);
/* The tokens of a rendered text; answer (may be NULL, else one more list): 1 where a token belongs to an answer. */
HEED_API bool heed_chat_encode(heed_ctx *cx, const heed_tokenizer *t, const heed_chat_text *text, heed_ids *ids,
                               heed_ids *answer);
/* The token that ends an answer; -1: the tokenizer has none of that name. */
HEED_API int32_t heed_chat_end(const heed_chat_format *f, const heed_tokenizer *t);

#ifdef __cplusplus
}
#endif
#endif
