/* The passes of HAT (Bai et al. 2022; heed/picture_training.h has the formulas): what moves the pictures of a batch
 * from one pass to the next, and the loss of each. */
#ifndef TASK_VISION_HAT_H
#define TASK_VISION_HAT_H

#include "heed/picture_training.h"

struct hat {
    const heed_hat *opts; /* NULL: off */
    int64_t pass, passes; /* over the part of a batch that is under way */
    float *delta, *slope; /* what is added to its pixels, and the gradient of the loss by it */
    float *clean;         /* (pictures, classes) logits of its pictures as they are */
    heed_grad grad;       /* which has `slope` */
};

bool hat_check(heed_ctx *cx, const heed_hat *opts);
/* Takes room for parts of so many pixels and logits. */
bool hat_open(heed_ctx *cx, struct hat *h, const heed_hat *opts, int64_t pixels, int64_t logits);
void hat_close(heed_ctx *cx, struct hat *h);
/* Passes over each part of the batch of an update; 1 without HAT. */
int64_t hat_passes(heed_ctx *cx, struct hat *h, int64_t update);
/* Begins pass number `pass` over a part, of pixels x: these as the model is to see them. */
heed_tensor *hat_pixels(heed_ctx *cx, struct hat *h, int64_t pass, heed_tensor *x);
/* What that pass learns by, of the model's logits and of the loss that training has anyway. */
heed_tensor *hat_goal(heed_ctx *cx, const struct hat *h, heed_tensor *loss, heed_tensor *logits);

/* In the first pass: finds the logits of the pictures as they are, as the model gives them in training. */
bool hat_look(heed_ctx *cx, const struct hat *h, const heed_model *model, heed_tensor *x);

/* Logits of classes, of the class token where the distillation token has its own. */
heed_tensor *hat_logits(const heed_io *out);

#endif
