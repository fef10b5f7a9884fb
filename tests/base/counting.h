/* An allocator hook that keeps books: it checks that heed knows the size of what it frees, hands out memory aligned to
 * 8 and no more, and refuses the N-th request. */
#ifndef TESTS_COUNTING_H
#define TESTS_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct counting {
    size_t live, blocks; /* bytes and blocks handed out and not given back */
    int64_t requests;
    int64_t fail_at;  /* the request refused, counted from 1; 0: none */
    int64_t mistakes; /* wrong old sizes */
};

static void *counting_alloc(void *user, void *ptr, size_t old_size, size_t size) {
    struct counting *const c = user;
    char *const raw = ptr ? (char *)ptr - 24 : NULL;
    if (raw && memcmp(raw, &old_size, sizeof old_size) != 0) c->mistakes++;
    if (!raw && old_size != 0) c->mistakes++;
    char *fresh = NULL;
    if (size > 0) {
        if (++c->requests == c->fail_at) return NULL;
        fresh = malloc(size + 24); /* 24 beyond malloc's 16: aligned to 8 only */
        if (!fresh) return NULL;
        memcpy(fresh, &size, sizeof size);
        memset(fresh + 24, 0xA5, size < 4096 ? size : 4096);
        if (raw) memcpy(fresh + 24, raw + 24, old_size < size ? old_size : size);
        c->live += size;
        c->blocks++;
    }
    if (raw) {
        c->live -= old_size;
        c->blocks--;
        free(raw);
    }
    return fresh ? fresh + 24 : NULL;
}

#endif
