/* Pictures: JPEG. */
#include "fuzz_picture.h"
