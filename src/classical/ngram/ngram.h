/* An n-gram model in memory and in its file: a tree of n-grams. Nodes are numbered through all orders: first the words,
 * whose number is the node's, then the bigrams sorted by their words, then the trigrams and so on; so the children of
 * a node, the n-grams that it begins, follow each other. A node's suffix is the longest n-gram in the tree that its
 * words but the first end with: the context that is tried next when a word does not follow. */
#ifndef CLASSICAL_NGRAM_NGRAM_H
#define CLASSICAL_NGRAM_NGRAM_H

#include "base/file.h"
#include "heed/ngram.h"

#define NGRAM_OWNED 6
#define NGRAM_ROOT  0xFFFFFFFFu /* the suffix of words: no context at all */

struct ngram_node { /* of all orders but the highest */
    float prob;     /* log10 */
    float backoff;  /* log10 of the weight of shorter contexts when a word does not follow */
    uint32_t child; /* the first; they end where those of the next node begin */
    uint32_t suffix;
};
struct ngram_leaf { /* of the highest order */
    float prob;
    uint32_t suffix;
};

struct heed_ngram {
    int order;
    uint32_t *base;                /* (order + 1): order k has the nodes base[k - 1] up to base[k] */
    const struct ngram_node *node; /* (base[order - 1] + 1): one more, whose child ends the last one's children */
    const struct ngram_leaf *leaf; /* (base[order] - base[order - 1]) */
    const uint32_t *word;          /* (base[order]): the last word of each n-gram */
    const uint64_t *name_start;    /* (words + 1) */
    const char *names;             /* word i is names + name_start[i], ended by 0 */
    uint64_t names_size;
    const uint32_t *slot;     /* a table of words by hash, NGRAM_ROOT: free */
    uint32_t slots;           /* a power of two, more than there are words */
    uint64_t secret;          /* of that table; 0: the table is a file's, by ngram_hash */
    struct file_map map;      /* where all that lies, or */
    void *owned[NGRAM_OWNED]; /* the memory that it lies in; the table of words is the last */
};

/* A model that is being made. Arrays are the model's own. */
struct ngram_making {
    heed_ctx *cx;
    int order;
    uint32_t *base;
    struct ngram_node *node;
    struct ngram_leaf *leaf;
    uint32_t *word;
    heed_string names;
    uint64_t *name_start;
    uint32_t words;
};
/* Memory for so many nodes: base is filled. */
bool ngram_making_nodes(struct ngram_making *g);
/* The model of it, with the table of its words; gives back what it holds when that fails. */
heed_ngram *ngram_made(struct ngram_making *g);
void ngram_making_free(struct ngram_making *g);

/* Word i and its size; NULL: a file says nonsense of it. */
static inline const char *ngram_word(const heed_ngram *m, uint32_t i, size_t *size) {
    const uint64_t start = m->name_start[i], end = m->name_start[i + 1];
    if (start >= end || end > m->names_size) return NULL;
    *size = end - start - 1;
    return m->names + start;
}
/* A table of the words with a secret of its own in the place of the one that m has. */
bool ngram_index(heed_ctx *cx, heed_ngram *m);
uint32_t ngram_slots(uint32_t words);
static inline uint64_t ngram_hash(const char *word, size_t size) { /* of files: it has no secret */
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)word[i]) * 0x100000001B3u;
    return h ^ h >> 29;
}

bool ngram_opts_fit(heed_ctx *cx, const heed_ngram_opts *opts);

/* The n-grams of a text, sorted. Sequences lie one after the other, each padded with <s> and </s>. */
struct ngram_corpus {
    uint32_t *token;  /* (size) */
    uint16_t *left;   /* (size) tokens from here to the end of the sequence, at most the order */
    uint32_t *sorted; /* (size) places in the order of the n-grams that begin there */
    uint16_t *shared; /* (size) how many tokens the n-gram at sorted[i] has in common with the one before it */
    uint32_t size;
    uint32_t words;
};
bool ngram_corpus_sort(heed_ctx *cx, struct ngram_corpus *c, int order);

/* Counts of the n-grams of a tree that is being made. */
struct ngram_counts {
    uint32_t *raw;      /* (nodes) how often it was seen */
    uint32_t *adjusted; /* (nodes) of Kneser & Ney */
};
bool ngram_tree(struct ngram_making *g, const struct ngram_corpus *c, bool modified, struct ngram_counts *counts);
/* Probabilities and backoffs, from counts. last: (order) for each order below the highest a node whose count of counts
 * lmplz takes from raw counts, or NGRAM_ROOT. */
bool ngram_estimate(struct ngram_making *g, const struct ngram_counts *counts, const heed_ngram_opts *opts,
                    const uint32_t *last, heed_ngram_report *report);
/* Leaves out what opts->prune says. */
bool ngram_prune(struct ngram_making *g, const uint32_t *raw, const heed_ngram_opts *opts);
static inline int64_t ngram_threshold(const heed_ngram_opts *o, int order) {
    return o->n_prune == 0 ? 0 : o->prune[(order <= o->n_prune ? order : o->n_prune) - 1];
}

heed_ngram *ngram_arpa_read(heed_ctx *cx, const char *path, char *text, size_t size); /* changes text */
heed_ngram *ngram_file_open(heed_ctx *cx, const char *path);
#define NGRAM_MAGIC "heedngr1"

#endif
