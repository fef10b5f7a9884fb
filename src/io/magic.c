#include "io/magic.h"
#include "io/text.h"

#include <string.h>

#define CONVERT "convert it to PNG or JPEG"
#define AS_CSV  "write it as CSV"
#define UNPACK  "unpack it first"

/* Of those with the same bytes the first whose ending fits. */
static const struct {
    struct magic what;
    const char *bytes;
    size_t n, at;
    const char *ending; /* NULL: any */
} known[] = {
    {{"a GIF", CONVERT, true}, "GIF8", 4, 0, NULL},
    {{"a WebP picture", CONVERT, true}, "WEBP", 4, 8, NULL},
    {{"a BMP", CONVERT, true}, "BM", 2, 0, NULL},
    {{"a TIFF", CONVERT, true}, "II*\0", 4, 0, NULL},
    {{"a TIFF", CONVERT, true}, "MM\0*", 4, 0, NULL},
    {{"an AVIF picture", CONVERT, true}, "ftypavif", 8, 4, NULL},
    {{"a HEIC picture", CONVERT, true}, "ftyphei", 7, 4, NULL},
    {{"a HEIC picture", CONVERT, true}, "ftypmif1", 8, 4, NULL},
    {{"a JPEG XL picture", CONVERT, true}, "\0\0\0\fJXL ", 8, 0, NULL},
    {{"a JPEG 2000 picture", CONVERT, true}, "\0\0\0\fjP  ", 8, 0, NULL},
    {{"a Photoshop picture", CONVERT, true}, "8BPS", 4, 0, NULL},
    {{"an icon", CONVERT, true}, "\0\0\1\0", 4, 0, NULL},
    {{"an SVG drawing", CONVERT, true}, "<svg", 4, 0, NULL},
    {{"an SVG drawing", CONVERT, true}, "<?xml", 5, 0, ".svg"},
    {{"a PDF", CONVERT, true}, "%PDF-", 5, 0, NULL},
    {{"a PNG picture", "'heed classify DIR PICTURE' reads pictures; to train on them, put each class into a folder",
      false},
     "\x89PNG",
     4,
     0,
     NULL},
    {{"a JPEG picture", "'heed classify DIR PICTURE' reads pictures; to train on them, put each class into a folder",
      false},
     "\xFF\xD8\xFF",
     3,
     0,
     NULL},
    {{"an Excel workbook", "save it as CSV", false}, "PK\3\4", 4, 0, ".xlsx"},
    {{"an Excel workbook", "save it as CSV", false}, "\xD0\xCF\x11\xE0", 4, 0, NULL},
    {{"an OpenDocument table", "save it as CSV", false}, "PK\3\4", 4, 0, ".ods"},
    {{"an npz archive", "unzip it and give its arrays as x.npy,y.npy", false}, "PK\3\4", 4, 0, ".npz"},
    {{"a zip archive", UNPACK, false}, "PK\3\4", 4, 0, NULL},
    {{"a 7z archive", UNPACK, false}, "7z\xBC\xAF\x27\x1C", 6, 0, NULL},
    {{"a RAR archive", UNPACK, false}, "Rar!", 4, 0, NULL},
    {{"compressed by bzip2", UNPACK, false}, "BZh", 3, 0, ".bz2"},
    {{"compressed by xz", UNPACK, false},
     "\xFD"
     "7zXZ",
     5,
     0,
     NULL},
    {{"compressed by zstd", UNPACK, false}, "\x28\xB5\x2F\xFD", 4, 0, NULL},
    {{"a tar archive", "its name must end in .tar or .tar.gz", false}, "ustar", 5, 257, NULL},
    {{"a Parquet file", AS_CSV, false}, "PAR1", 4, 0, NULL},
    {{"an Arrow file", AS_CSV, false}, "ARROW1", 6, 0, NULL},
    {{"a Feather file", AS_CSV, false}, "FEA1", 4, 0, NULL},
    {{"an SQLite database", AS_CSV, false}, "SQLite format 3", 15, 0, NULL},
    {{"an HDF5 file", "write its arrays as x.npy,y.npy", false}, "\x89HDF", 4, 0, NULL},
    {{"a Python pickle", "write it as CSV or npy", false}, "\x80", 1, 0, ".pkl"},
    {{"an npy array", "it is given as x.npy,y.npy", false}, "\x93NUMPY", 6, 0, NULL},
};

static bool ends(const char *name, const char *ending) {
    const size_t n = strlen(name);
    return !ending || text_ends(name, n, ending) || (text_ends(name, n, ".gz") && text_ends(name, n - 3, ending));
}

const struct magic *magic_find(const char *name, const void *bytes, size_t size) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size >= known[i].at + known[i].n &&
            memcmp((const char *)bytes + known[i].at, known[i].bytes, known[i].n) == 0 && ends(name, known[i].ending))
            return &known[i].what;
    return NULL;
}
