/* --png, --svg and --pdf: commands that draw one figure. */
#ifndef CLI_CORE_FIGURE_OPTIONS_H
#define CLI_CORE_FIGURE_OPTIONS_H

#include "cli/core/options.h"
#include "heed/plot.h"

/* To be inserted in a command's table. */
extern const heed_field picture_options[];

bool pictures_asked(const struct options *o);
/* Whether the names end as their formats do, or are -, standard output, for one result at most (--json is one too);
 * false after saying which does not. */
bool pictures_fit(const struct options *o);
/* Whether standard output takes a picture, or another result that options name a file for: then it gets nothing else.
 */
bool pictures_take_standard(const struct options *o);
/* "FILE: what it is" on standard error, unless --quiet. Returns true. */
bool pictures_report(const struct options *o, const char *path, const char *what);
/* Writes the figure in every format asked for, and reports it as `what`. */
bool pictures_write(const struct options *o, heed_figure *f, const char *what);

#endif
