/* The ops of this room: each is a record, named once in ops.def. */
#ifndef ATTENTION_ATTENTION_OPS_H
#define ATTENTION_ATTENTION_OPS_H

#include "heed/attention.h"

#define OP(name) extern const heed_op op_##name;
#include "attention/attention_ops.def"
#undef OP

#endif
