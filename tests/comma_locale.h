/* A locale with decimal commas, such as a host program may have set. */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include "folder.h"
#include <locale.h>
#include <stdbool.h>

/* The system's, or else one that is compiled here; false where that cannot be done, which is said. To be called
 * once. */
static bool set_comma_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    char dir[] = P_tmpdir "/heed-locale-XXXXXX", command[500];
    if (!mkdtemp(dir)) abort();
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\ngrouping 3;3\\nEND "
             "LC_NUMERIC\\n' >source"
             " && localedef -c -i source -f ANSI_X3.4-1968 %s/comma >log 2>&1",
             dir, dir);
    int status = system(command); /* not 0, as there is nothing but numbers in it */
    setenv("LOCPATH", dir, 1);
    const bool set = status != -1 && setlocale(LC_ALL, "comma");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    status = system(command);
    if (!set) printf("skipped: there is no locale with decimal commas\n");
    return status == 0 && set;
}

#endif
