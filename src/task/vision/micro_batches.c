/* Epochs, cut into batches and micro-batches. */
#include "task/vision/micro_batches.h"
#include "kernel/ints.h"

struct micro_batches micro_batches_of(int64_t n, int64_t batch, int64_t micro) {
    struct micro_batches m = {.n = n, .batch = batch, .micro = micro > 0 ? min64(micro, batch) : batch};
    m.batches = ceil_div(n, batch);
    m.parts = ceil_div(batch, m.micro);
    m.per_epoch = (m.batches - 1) * m.parts + ceil_div(n - (m.batches - 1) * batch, m.micro);
    return m;
}

int64_t micro_batches_from(const struct micro_batches *m, int64_t batch) {
    return batch / m->batches * m->per_epoch + batch % m->batches * m->parts;
}

struct micro_batch micro_batches_at(const struct micro_batches *m, int64_t number) {
    const int64_t within = number % m->per_epoch, batch = min64(within / m->parts, m->batches - 1);
    struct micro_batch b = {.epoch = number / m->per_epoch, .batch_at = batch * m->batch};
    b.part = within - batch * m->parts;
    b.total = min64(m->batch, m->n - b.batch_at);
    b.parts = ceil_div(b.total, m->micro);
    b.at = b.batch_at + b.part * m->micro;
    b.n = min64(m->micro, b.total - b.part * m->micro);
    return b;
}
