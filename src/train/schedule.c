/* Learning rates. Warm-up is linear: step s of w has (s + 1) / w of the full rate. */
#include "heed/train.h"
#include <math.h>

double heed_schedule_at(const heed_schedule *s, int64_t step) {
    if (!s) return 0;
    const double warmup = (double)s->warmup, at = (double)step;
    if (step < s->warmup) return s->lr * (at + 1) / warmup;
    const double left = (double)(s->steps - s->warmup);
    const double done = left > 0 ? fmin((at - warmup) / left, 1) : 1; /* of the way down */
    switch (s->kind) {
    case HEED_CONSTANT:
        return s->lr;
    case HEED_STEP:
        return s->lr * pow(s->factor, s->every > 0 ? floor(at / (double)s->every) : 0);
    case HEED_LINEAR:
        return s->lr * (s->floor + (1 - s->floor) * (1 - done));
    case HEED_COSINE:
        return s->lr * (s->floor + (1 - s->floor) * 0.5 * (1 + cos(3.14159265358979323846 * done)));
    case HEED_INVERSE_ROOT:
        return s->lr * sqrt(fmax(warmup, 1) / (at + 1));
    }
    return s->lr;
}
