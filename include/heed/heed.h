/* heed/heed.h: all of heed. Each room has a header of its own; including only what one uses is fine too. */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include "heed/attend.h"
#include "heed/attention.h"
#include "heed/augment.h"
#include "heed/base.h"
#include "heed/chat.h"
#include "heed/data.h"
#include "heed/dataset.h"
#include "heed/forecast.h"
#include "heed/generate.h"
#include "heed/handwriting.h"
#include "heed/history.h"
#include "heed/hmm.h"
#include "heed/image.h"
#include "heed/io.h"
#include "heed/loop.h"
#include "heed/model.h"
#include "heed/music.h"
#include "heed/ngram.h"
#include "heed/nn.h"
#include "heed/ops.h"
#include "heed/plot.h"
#include "heed/similar.h"
#include "heed/task.h"
#include "heed/tensor.h"
#include "heed/train.h"
#include "heed/translate.h"
#include "heed/words.h"
#include "heed/writing.h"

#endif
