/* A locale with decimal commas, such as a host program may have set. */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include "folder.h"
#include <locale.h>
#include <stdbool.h>

/* The system's, or else one that is compiled here; false where that cannot be done. To be called once. */
static bool set_comma_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    char dir[] = P_tmpdir "/heed-locale-XXXXXX", command[300];
    if (!mkdtemp(dir)) return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
    const bool set = system(command) == 0 && setenv("LOCPATH", dir, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 && set;
}

#endif
