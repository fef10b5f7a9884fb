/* A folder of the test's own, for files to be thrown away. */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_UNUSED __attribute__((unused))

static char folder[256];

static FOLDER_UNUSED int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/heed-test-XXXXXX", base && strlen(base) < 200 ? base : P_tmpdir);
    return mkdtemp(folder) ? 0 : -1;
}

/* Fails when a test left a file behind. */
static FOLDER_UNUSED int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

/* With all that is in it. */
static FOLDER_UNUSED int wipe_folder(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* "folder/name", valid until the fourth call after. */
static FOLDER_UNUSED const char *in_folder(const char *name) {
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

#endif
