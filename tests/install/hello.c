/* A program outside the tree: opens a context, makes it fail, reads the sentence. */
#include <heed/heed.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    heed_ctx *cx = heed_open(NULL);
    if (heed_failed(cx)) return fprintf(stderr, "%s\n", heed_message(cx)), 1;
    heed_fail(cx, HEED_ERR_USAGE, "hello: this is %s", "an error");
    const int wrong = strcmp(heed_message(cx), "hello: this is an error") != 0;
    heed_close(cx);
    printf("heed %s\n", heed_version());
    return wrong;
}
