/* The ops of this room: each is a record, named once in ops.def. */
#ifndef ATTENTION_OPS_H
#define ATTENTION_OPS_H

#include "heed/attention.h"

#define OP(name) extern const heed_op op_##name;
#include "attention/ops.def"
#undef OP

#endif
