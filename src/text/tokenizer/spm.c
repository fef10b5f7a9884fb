/* Protocol buffers' wire format: keys (field << 3 | type), each with a number, eight bytes, a length and bytes, or four
 * bytes. Fields that are not wanted are skipped; a length that points outside is an error. */
#include "text/tokenizer/spm.h"
#include "io/text.h"

#include <string.h>

struct wire {
    const unsigned char *s, *end;
};
struct field {
    uint64_t number;
    int type; /* 0: value; 1: eight bytes; 2: bytes; 5: four bytes */
    uint64_t value;
    const char *bytes;
    size_t size;
};

static bool read_varint(struct wire *w, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && w->s < w->end; shift += 7) {
        const unsigned char byte = *w->s++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* The next field; false at the end, and with *bad set where there is none. */
static bool next_field(struct wire *w, struct field *f, bool *bad) {
    uint64_t key;
    if (w->s == w->end) return false;
    *bad = true;
    if (!read_varint(w, &key) || key >> 3 == 0) return false;
    *f = (struct field){.number = key >> 3, .type = (int)(key & 7)};
    if (f->type == 0) return *bad = !read_varint(w, &f->value), !*bad;
    if (f->type == 2 && !read_varint(w, &f->value)) return false;
    const size_t left = (size_t)(w->end - w->s);
    const uint64_t size = f->type == 1 ? 8 : f->type == 5 ? 4 : f->type == 2 ? f->value : UINT64_MAX;
    if (size > left) return false;
    f->bytes = (const char *)w->s;
    f->size = (size_t)size;
    w->s += size;
    *bad = false;
    return true;
}

static struct wire within(const struct field *f) {
    const unsigned char *s = (const unsigned char *)f->bytes;
    return (struct wire){s, s + f->size};
}

static struct spm_piece *add_piece(heed_ctx *cx, struct spm *to) {
    if (to->count == to->room) {
        const int64_t room = to->room ? 2 * to->room : 4096;
        struct spm_piece *larger = heed_mem_resize(cx, to->pieces, (size_t)room * sizeof *larger);
        if (!larger) return NULL;
        to->pieces = larger;
        to->room = room;
    }
    to->pieces[to->count] = (struct spm_piece){.text = "", .type = SPM_NORMAL};
    return &to->pieces[to->count++];
}

static bool read_piece(heed_ctx *cx, struct spm *to, const struct field *at, bool *bad) {
    struct wire w = within(at);
    struct field f;
    struct spm_piece *p = add_piece(cx, to);
    if (!p) return false;
    while (next_field(&w, &f, bad)) {
        if (f.number == 1 && f.type == 2) {
            p->text = f.bytes;
            p->size = (uint32_t)f.size;
            if (f.size > UINT32_MAX || utf8_bad(f.bytes, f.size) != f.size) return *bad = true, false;
        }
        if (f.number == 2 && f.type == 5) memcpy(&p->score, f.bytes, 4);
        if (f.number == 3 && f.type == 0) p->type = (int)(f.value & 0xFF);
    }
    return !*bad;
}

static void read_trainer(struct spm *to, const struct field *at, bool *bad) {
    struct wire w = within(at);
    struct field f;
    while (next_field(&w, &f, bad)) {
        const int64_t value = (int32_t)(uint32_t)f.value;
        if (f.type == 0 && f.number == 3) to->model_type = value;
        if (f.type == 0 && f.number == 35) to->byte_fallback = value != 0;
        if (f.type == 0 && f.number == 40) to->unk_id = value;
        if (f.type == 0 && f.number == 41) to->bos_id = value;
        if (f.type == 0 && f.number == 42) to->eos_id = value;
        if (f.type == 0 && f.number == 43) to->pad_id = value;
        if (f.type == 2 && f.number == 45 && f.size < UINT32_MAX) {
            to->unk_piece = f.bytes;
            to->unk_piece_size = (uint32_t)f.size;
        }
    }
}

static void read_normalizer(struct spm *to, const struct field *at, bool *bad) {
    struct wire w = within(at);
    struct field f;
    while (next_field(&w, &f, bad)) {
        if (f.type == 2 && f.number == 2) {
            to->charsmap = f.bytes;
            to->charsmap_size = f.size;
        }
        if (f.type == 0 && f.number == 3) to->add_dummy_prefix = f.value != 0;
        if (f.type == 0 && f.number == 4) to->remove_extra_whitespaces = f.value != 0;
    }
}

bool spm_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size, struct spm *to) {
    struct wire w = {bytes, (const unsigned char *)bytes + size};
    struct field f;
    bool bad = false;
    *to = (struct spm){.model_type = 1,
                       .bos_id = 1,
                       .eos_id = 2,
                       .pad_id = -1,
                       .unk_piece = "<unk>",
                       .unk_piece_size = 5,
                       .add_dummy_prefix = true,
                       .remove_extra_whitespaces = true};
    if (heed_failed(cx)) return false;
    while (!bad && next_field(&w, &f, &bad)) {
        if (f.type != 2) continue;
        if (f.number == 1 && !read_piece(cx, to, &f, &bad)) break;
        if (f.number == 2) read_trainer(to, &f, &bad);
        if (f.number == 3) read_normalizer(to, &f, &bad);
    }
    const bool out = to->unk_id < 0 || to->unk_id >= to->count;
    if (bad || utf8_bad(to->unk_piece, to->unk_piece_size) != to->unk_piece_size)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: not a SentencePiece model, or cut off: byte %zu", name,
                  (size_t)(w.s - (const unsigned char *)bytes) + 1);
    else if (!heed_failed(cx) && to->count == 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: a SentencePiece model without pieces", name);
    else if (!heed_failed(cx) && out)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: the unknown piece %lld is out of range", name, (long long)to->unk_id);
    if (!heed_failed(cx)) return true;
    spm_free(cx, to);
    return false;
}

void spm_free(heed_ctx *cx, struct spm *s) {
    heed_mem_free(cx, s->pieces);
    *s = (struct spm){0};
}
