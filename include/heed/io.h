/* heed/io.h: files to arrays and back: safetensors, npy, idx, MIDI, JSON, csv and tsv.
 *
 * Every file is hostile until checked: magic, counts, overflow-checked sizes, offsets within the file, depth limits,
 * exact lengths. A file that is not what it should be fails the context with one sentence that names the file and the
 * place; nothing crashes, leaks or is half-written. Writers write beside the target and rename.
 *
 * Whose memory: a handle (heed_safetensors, heed_table, a JSON document) belongs to the context that opened it, is used
 * with that context and closed before it; strings and data it gives out live until then. An array that a reader returns
 * is one block: heed_mem_free gives back all of it. Closing NULL is allowed, and closing works on a failed context.
 *
 * Each reader has two entries: ..._open or ..._read takes a path, ..._parse takes bytes in memory and a name for the
 * sentences. Names of files are used as given; whatever a file holds is cut short and stripped of control characters
 * before it enters a sentence. */
#ifndef HEED_IO_H
#define HEED_IO_H

#include "heed/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---- */

typedef enum heed_dtype {
    HEED_F32,
    HEED_I32,
    HEED_U8,
    HEED_BF16,
    HEED_F16,
    HEED_I8,
    HEED_BOOL, /* one byte; anything but 0 is true */
    HEED_I64,
    HEED_F64,
    HEED_I16,
    HEED_U16,
    HEED_U32,
    HEED_U64,
    HEED_C64, /* complex: two f32. Files may hold it; nothing converts it */
} heed_dtype;

#define HEED_MAX_RANK 8

HEED_API size_t heed_dtype_size(heed_dtype dtype);      /* bytes of one element; 0 when there is no such type */
HEED_API const char *heed_dtype_name(heed_dtype dtype); /* "f32", "bf16", "bool", ...; "?" when there is no such type */

/* Numbers in memory: little-endian, row-major. rank 0 is one number; sizes may be 0. */
typedef struct heed_array {
    const char *name;
    heed_dtype dtype;
    int rank;
    int64_t shape[HEED_MAX_RANK];
    const void *data;
} heed_array;

/* How many elements; -1 when rank, type or sizes make no sense or the bytes cannot be counted. */
HEED_API int64_t heed_array_count(const heed_array *a);

/* Every element as f32 (rounded to nearest even from f64 and wide integers), or as i32 (from integers and bool only;
 * one that does not fit fails with its position). n must be the number of elements. After a failure out is undefined.
 */
HEED_API bool heed_array_to_f32(heed_ctx *cx, const heed_array *a, float *out, int64_t n);
HEED_API bool heed_array_to_i32(heed_ctx *cx, const heed_array *a, int32_t *out, int64_t n);

/* Round to nearest even, subnormals and infinities included; NaN stays NaN, with its sign and as much of its payload as
 * fits. Widening and narrowing again gives the same bits. */
HEED_API float heed_f16_to_f32(uint16_t bits);
HEED_API uint16_t heed_f32_to_f16(float value);
HEED_API float heed_bf16_to_f32(uint16_t bits);
HEED_API uint16_t heed_f32_to_bf16(float value);

/* ---- safetensors ---- */

typedef struct heed_safetensors heed_safetensors;

/* Opens, as one handle: a .safetensors file; an index of shards (a path that ends in .json, such as
 * model.safetensors.index.json); or a directory that holds model.safetensors or else model.safetensors.index.json, or
 * one of them by the name that diffusers gives it, diffusion_pytorch_model.safetensors.
 * Files are mapped, not read: whoever shortens one meanwhile takes the process down with SIGBUS, for which the library
 * installs no handler, so replace files by renaming, as heed's own writers do. */
HEED_API heed_safetensors *heed_safetensors_open(heed_ctx *cx, const char *path);
/* A file in memory, which must stay as it is until the handle is closed. */
HEED_API heed_safetensors *heed_safetensors_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size);
HEED_API void heed_safetensors_close(heed_safetensors *st);

/* Tensors are numbered in the order of their data; those of an index in the order of the index. find gives -1, and no
 * failure, when there is no such name. info gives name, type and shape, and costs nothing: its data may be NULL. get
 * gives the data too: straight from the map when aligned to its element, else copied once, on demand, into the handle.
 */
HEED_API int64_t heed_safetensors_count(const heed_safetensors *st);
HEED_API int64_t heed_safetensors_find(heed_ctx *cx, const heed_safetensors *st, const char *name);
HEED_API const heed_array *heed_safetensors_info(heed_ctx *cx, const heed_safetensors *st, int64_t i);
HEED_API const heed_array *heed_safetensors_get(heed_ctx *cx, heed_safetensors *st, int64_t i);

typedef struct heed_pair {
    const char *key, *value;
} heed_pair;

/* The strings of "__metadata__" (of the first shard, for an index). metadata gives NULL, and no failure, when there is
 * no such key. */
HEED_API int64_t heed_safetensors_metadata_count(const heed_safetensors *st);
HEED_API heed_pair heed_safetensors_metadata_at(heed_ctx *cx, const heed_safetensors *st, int64_t i);
HEED_API const char *heed_safetensors_metadata(heed_ctx *cx, const heed_safetensors *st, const char *key);

/* Writes arrays in the order given, with no gaps, behind a header padded to 8 bytes. Given widest types first, all of
 * them can be used straight from a map. */
HEED_API bool heed_safetensors_write(heed_ctx *cx, const char *path, const heed_array *arrays, int64_t n,
                                     const heed_pair *metadata, int64_t metadata_n);

/* ---- npy and idx ---- */

/* One array of numpy's format, versions 1.0 to 3.0; Fortran order is turned into C order. Big-endian, complex, text and
 * structured types are refused, and so are bytes after the data. The array's name is the name of the file. Writing:
 * version 1.0; every type but bf16, for which numpy has no name. */
HEED_API heed_array *heed_npy_read(heed_ctx *cx, const char *path);
HEED_API heed_array *heed_npy_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size);
HEED_API bool heed_npy_write(heed_ctx *cx, const char *path, const heed_array *a);

/* The format of MNIST, as is or gzipped, up to 8 GiB: u8, i8, i16, i32, f32 and f64, turned from big-endian. */
HEED_API heed_array *heed_idx_read(heed_ctx *cx, const char *path);
HEED_API heed_array *heed_idx_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size);

/* ---- Standard MIDI Files ---- formats 0 and 1: who plays which note from when to when. What else a file says
 * (controllers, pitch bends, lyrics) is skipped. Refused: format 2, time in frames of film, files of more than 64 MB.
 */

typedef struct heed_midi_note {
    int64_t start, end; /* ticks; of a note that nobody ends, the end of its track */
    int32_t track;      /* from 0 */
    uint8_t channel, pitch, velocity;
} heed_midi_note;

#define HEED_MIDI_NAME 64
typedef struct heed_midi {
    int32_t division;             /* ticks to the quarter note, 1 to 32767 */
    double tempo;                 /* quarter notes to the minute, the first that the file gives; 0: 120 */
    int32_t program;              /* of General MIDI, 0 to 127: the instrument of all channels, when it is written */
    int32_t tracks;               /* of those read */
    char (*name)[HEED_MIDI_NAME]; /* (tracks) "": none; NULL: none has one */
    heed_midi_note *note;         /* (notes) by start, track and pitch */
    int64_t notes;
} heed_midi;
/* One block: heed_mem_free gives back all of it. */
HEED_API heed_midi *heed_midi_read(heed_ctx *cx, const char *path);
HEED_API heed_midi *heed_midi_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size);
/* Format 1: a track with the tempo and four quarters to the bar, then the tracks. Of two notes of one track, channel
 * and pitch that overlap, the first ends where the second begins. */
HEED_API bool heed_midi_write(heed_ctx *cx, const char *path, const heed_midi *midi);

/* ---- JSON ---- parsed and held by jansson, whose memory comes from malloc, past the allocator hook. It is estimated
 * from above and counted against the byte budget before it is taken; a text that would take more than 16 times the
 * limit of its size is refused. When malloc gives nothing the context fails as always.
 *
 * Strict RFC 8259: up to 100 MB and 128 levels deep, UTF-8, no duplicate keys, nothing after the value, no \u0000.
 * Integers beyond 64 bits are kept as numbers. Errors of syntax read "config.json: line 3, column 7: ..."; errors of
 * type name the path: "config.json: rope.factor: expected a number, found a string". */

typedef enum heed_json_kind {
    HEED_JSON_NONE, /* no value at all: a failed call, a missing member, the end of a list */
    HEED_JSON_NULL,
    HEED_JSON_BOOL,
    HEED_JSON_INT,
    HEED_JSON_REAL,
    HEED_JSON_TEXT,
    HEED_JSON_ARRAY,
    HEED_JSON_OBJECT,
} heed_json_kind;

/* A value of a document and where it stands. To be copied freely, and valid until its document is freed; the fields
 * are heed's own. */
typedef struct heed_json {
    struct heed_json_doc *doc;
    void *node, *parent; /* parent NULL: the document's root */
    const char *key;     /* its name, when the parent is an object */
    int64_t index;       /* its position, when the parent is an array */
} heed_json;

HEED_API heed_json heed_json_open(heed_ctx *cx, const char *path);
HEED_API heed_json heed_json_parse(heed_ctx *cx, const char *name, const char *text, size_t size);
/* A document of its own, of the same name; of NONE it is NONE. */
HEED_API heed_json heed_json_copy(heed_ctx *cx, heed_json at);
HEED_API void heed_json_free(heed_json any); /* the whole document that `any` is part of; NONE is allowed */

/* Members of objects by key; `key` NULL means the value `at` itself. A missing member or one of another kind fails the
 * context; the _or forms give the fallback when the member is missing or null. number takes integers too. */
HEED_API int64_t heed_json_int(heed_ctx *cx, heed_json at, const char *key);
HEED_API double heed_json_number(heed_ctx *cx, heed_json at, const char *key);
HEED_API bool heed_json_bool(heed_ctx *cx, heed_json at, const char *key);
HEED_API const char *heed_json_text(heed_ctx *cx, heed_json at, const char *key);
HEED_API heed_json heed_json_array(heed_ctx *cx, heed_json at, const char *key);
HEED_API heed_json heed_json_object(heed_ctx *cx, heed_json at, const char *key);
HEED_API int64_t heed_json_int_or(heed_ctx *cx, heed_json at, const char *key, int64_t fallback);
HEED_API double heed_json_number_or(heed_ctx *cx, heed_json at, const char *key, double fallback);
HEED_API bool heed_json_bool_or(heed_ctx *cx, heed_json at, const char *key, bool fallback);
HEED_API const char *heed_json_text_or(heed_ctx *cx, heed_json at, const char *key, const char *fallback);

/* find gives the member of any kind, or NONE and no failure when there is none. */
HEED_API heed_json heed_json_find(heed_ctx *cx, heed_json at, const char *key);
HEED_API heed_json_kind heed_json_kind_of(heed_json at);
HEED_API int64_t heed_json_count(heed_json at); /* of an array or object; 0 of anything else */
HEED_API heed_json heed_json_item(heed_ctx *cx, heed_json array, int64_t i);
/* Walks an array or object in the order of the file:
 *     for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) ... */
HEED_API heed_json heed_json_first(heed_json at);
HEED_API heed_json heed_json_next(heed_json at);
HEED_API const char *heed_json_key(heed_json at); /* its name within an object, else NULL */
/* Fails the context with a sentence that begins with the file and the path of `at`, for checks of one's own. */
HEED_API bool heed_json_fail(heed_ctx *cx, heed_json at, const char *format, ...) HEED_PRINTF(3, 4);

/* Building. put adds a member `key` to an object, or replaces it (and all that it held), keeping its place; with key
 * NULL it appends to an array. put_object and put_array give the new, empty value. Text must be UTF-8, numbers finite.
 */
HEED_API heed_json heed_json_new(heed_ctx *cx, const char *name); /* a document that is an empty object */
HEED_API bool heed_json_put_null(heed_ctx *cx, heed_json at, const char *key);
HEED_API bool heed_json_put_bool(heed_ctx *cx, heed_json at, const char *key, bool value);
HEED_API bool heed_json_put_int(heed_ctx *cx, heed_json at, const char *key, int64_t value);
HEED_API bool heed_json_put_number(heed_ctx *cx, heed_json at, const char *key, double value);
HEED_API bool heed_json_put_text(heed_ctx *cx, heed_json at, const char *key, const char *value);
HEED_API heed_json heed_json_put_array(heed_ctx *cx, heed_json at, const char *key);
HEED_API heed_json heed_json_put_object(heed_ctx *cx, heed_json at, const char *key);

/* The value as text (heed_mem_free it), keys in the order they were put, numbers in the fewest digits that read back
 * the same. indent 0: all on one line. *size, when asked for, does not count the final 0. heed_json_write indents by 2
 * and ends the file with a new line. */
HEED_API char *heed_json_print(heed_ctx *cx, heed_json at, int indent, size_t *size);
HEED_API bool heed_json_write(heed_ctx *cx, const char *path, heed_json at);

/* ---- csv and tsv ---- RFC 4180: cells in double quotes may hold delimiters, new lines and doubled quotes. As is or
 * gzipped, up to 8 GiB. UTF-8, with or without a byte order mark, or UTF-16 with one; lines end in LF or CRLF. All rows
 * have as many cells as the first. Blank lines after the last row are skipped where rows have more than one cell. Two
 * columns of one name are refused. */

typedef struct heed_table heed_table;

typedef enum heed_header {
    /* Yes when the first row holds no number and a column below it is of numbers; without such a column, in at least
     * three rows of at least two cells, when no cell of the first row occurs again in its column, and either most words
     * of some column do, or each cell looks like the name of its column: "question" and "answer", or a word or two
     * above texts that are longer. */
    HEED_HEADER_AUTO,
    HEED_HEADER_YES,
    HEED_HEADER_NO,
} heed_header;

typedef struct heed_table_options {
    /* ' ': runs of spaces and tabs. 0: a tab when the name ends in .tsv or .tab (before any .gz), else whichever of
     * tab, semicolon, comma, bar and blanks cuts the first lines into the same number of cells. */
    char delimiter;
    /* Of numbers, '.' or ','; 0: a comma when the delimiter is ';' and a number has one, or where numbers such as
     * 1.234,5 have points between groups of three digits; else a point. */
    char decimal;
    heed_header header;
    bool plain_quotes; /* quotes are text like any other, as in most tsv files of sentences */
    int64_t line;      /* number of the first line, for sentences; 0: 1 */
    /* Between groups of three digits: ',', '.', '\'' or ' '; 0: what the first rows show beyond doubt, as 1,234,567 and
     * 1,234.5 do, else none. */
    char thousands;
} heed_table_options;

HEED_API heed_table *heed_table_open(heed_ctx *cx, const char *path, const heed_table_options *options);
HEED_API heed_table *heed_table_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                                      const heed_table_options *options);
HEED_API void heed_table_close(heed_table *t);

HEED_API int64_t heed_table_rows(const heed_table *t); /* without the header */
HEED_API int64_t heed_table_columns(const heed_table *t);
HEED_API bool heed_table_has_header(const heed_table *t);
HEED_API char heed_table_delimiter(const heed_table *t); /* as found or as asked for; 0 of NULL */
HEED_API char heed_table_decimal(const heed_table *t);
HEED_API int64_t heed_table_line(const heed_table *t, int64_t row); /* on which a row begins; 0: no such row */
/* The name of a column: without a header "1", "2", ... find gives -1, and no failure, when there is no such name. */
HEED_API const char *heed_table_name(heed_ctx *cx, const heed_table *t, int64_t column);
HEED_API int64_t heed_table_find(heed_ctx *cx, const heed_table *t, const char *name);
HEED_API const char *heed_table_cell(heed_ctx *cx, const heed_table *t, int64_t row, int64_t column);
/* Whether a cell is a number: decimal, correctly rounded, with the table's decimal mark whatever the locale; nan and
 * inf are numbers, spaces around are ignored. Neither of the two fails the context. */
HEED_API bool heed_table_number(const heed_table *t, int64_t row, int64_t column, double *out);
/* Whether a cell says that its value is missing: empty, NA, N/A, n/a, NULL, null, ? or nan. */
HEED_API bool heed_table_missing(const heed_table *t, int64_t row, int64_t column);
/* A column as such numbers, one per row. */
HEED_API bool heed_table_numbers(heed_ctx *cx, const heed_table *t, int64_t column, double *out, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
