/* A SentencePiece model (sentencepiece_model.proto), read without a protobuf library: what a tokenizer needs of it. */
#ifndef TEXT_TOKENIZER_SPM_H
#define TEXT_TOKENIZER_SPM_H

#include "heed/text.h"

enum spm_type { SPM_NORMAL = 1, SPM_UNKNOWN, SPM_CONTROL, SPM_USER_DEFINED, SPM_UNUSED, SPM_BYTE };
struct spm_piece {
    const char *text; /* not ended by 0 */
    uint32_t size;
    float score;
    int type;
};
struct spm {
    struct spm_piece *pieces;
    int64_t count, room;
    int64_t model_type; /* 1: unigram, 2: bpe, 3: word, 4: char */
    int64_t unk_id, bos_id, eos_id, pad_id;
    const char *unk_piece;
    uint32_t unk_piece_size;
    bool byte_fallback, add_dummy_prefix, remove_extra_whitespaces;
    const char *charsmap;
    size_t charsmap_size;
};
/* `bytes` must stay. False and a sentence that begins with `name` when it is not such a model. */
bool spm_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size, struct spm *to);
void spm_free(heed_ctx *cx, struct spm *s);

#endif
