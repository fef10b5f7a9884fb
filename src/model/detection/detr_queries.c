/* What the decoders of DETR and its kin start with. */
#include "model/detection/detr.h"
#include "tensor/engine.h"

const char *const detr_inner[] = {"backbone_config", "resnet", NULL};

bool detr_queries(heed_ctx *cx, const struct detr *m, const heed_io *in, const struct detr_scene *scene,
                  struct detr_queries *to) {
    (void)in;
    const int64_t B = scene->memory->shape[0], Q = m->queries, C = m->width;
    *to = (struct detr_queries){0};
    to->own = heed_reshape(cx, heed_param_tensor(cx, m->query_positions), 3, (int64_t[]){1, Q, C});
    to->positions = to->own;
    to->content = heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, Q, C});
    return !heed_failed(cx);
}

heed_tensor *detr_looks(heed_ctx *cx, const struct detr_queries *q, heed_tensor *own) {
    (void)cx, (void)q;
    return own;
}
