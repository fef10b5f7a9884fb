/* What is found in pictures with objects, and what is said of them. */
#ifndef TASK_VISION_OBJECTS_FOUND_H
#define TASK_VISION_OBJECTS_FOUND_H

#include "heed/objects.h"
#include "task/run.h"

/* What could not be taken as it is, in a sentence; nothing where there was nothing. crowds: they are not learnt from.
 */
void objects_say_notes(heed_ctx *cx, const char *name, const heed_object_set *set, bool crowds);

/* The evaluation of task_way: of a model, or of detections that are given. */
bool objects_evaluate(heed_run *r, const char *part, heed_evaluation *to);

#endif
