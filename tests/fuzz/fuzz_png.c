/* Pictures: PNG. */
#include "fuzz_picture.h"
