/* What a directory says of the pictures that its model takes. */
#ifndef TASK_VISION_PICTURE_FILES_H
#define TASK_VISION_PICTURE_FILES_H

#include "heed/picture_training.h"

/* As preprocessor_config.json or timm's pretrained_cfg has it; a directory that says nothing has pictures resized to
 * the sizes of `input`, with mean and deviation 0.5: *assumed (may be NULL) is then true, and the context's log says
 * it. */
bool picture_files_processor(heed_ctx *cx, const heed_model *model, const char *dir, const heed_picture_input *input,
                             heed_image_processor *out, bool *assumed);
/* The same for the size that the model takes, into input->processor. */
bool picture_files_fitted(heed_ctx *cx, const heed_model *model, const char *dir, heed_picture_input *input);

#endif
