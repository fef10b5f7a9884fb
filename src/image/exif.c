/* EXIF's orientation: tag 0x0112 of the first directory of a block of TIFF, in either byte order. */
#include "image/image.h"

struct tiff {
    const uint8_t *data;
    size_t size;
    bool big;
};

static unsigned number16(const struct tiff *t, size_t at) {
    const unsigned a = t->data[at], b = t->data[at + 1];
    return t->big ? a << 8 | b : b << 8 | a;
}

static size_t number32(const struct tiff *t, size_t at) {
    const size_t a = number16(t, at), b = number16(t, at + 2);
    return t->big ? a << 16 | b : b << 16 | a;
}

int exif_orientation(const uint8_t *data, size_t size) {
    if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) return 1;
    const struct tiff t = {data, size, data[0] == 'M'};
    const size_t at = number32(&t, 4);
    if (at > size - 2 || size - at < 2) return 1;
    const size_t entries = number16(&t, at);
    for (size_t i = 0; i < entries; i++) {
        const size_t entry = at + 2 + 12 * i;
        if (entry > size || size - entry < 12) return 1;
        if (number16(&t, entry) != 0x0112) continue;
        const unsigned type = number16(&t, entry + 2);
        const size_t value = type == 3 ? number16(&t, entry + 8) : type == 4 ? number32(&t, entry + 8) : 1;
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
