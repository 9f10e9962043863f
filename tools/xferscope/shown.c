#include "tools/xferscope/shown.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "tools/xferscope/own_step.h"
#include "tools/xferscope/record_end.h"

/* analyze's exit status: reported; and reported, with losses. */
static bool is_reported(int status)
{
    return status == 0 || status == 3;
}

static bool say_failed(const struct own_step *step, const char *what)
{
    if (is_reported(step->status))
        return false;
    xfc_print(stderr, "xferscope: %s %s\n", what,
              step->interrupted ? "was interrupted" : "failed: see above");
    return true;
}

/* Steps are --alone: the recorded program may be a rank of a launcher, of which each has its own
 * run. */

/* The last two of a step's arguments. */
static void use_profile(const char **arguments, const char *profile)
{
    arguments[0] = *profile ? "--profile" : "--no-profile";
    arguments[1] = *profile ? profile : NULL;
    arguments[2] = NULL;
}

bool shown_screen(const char *run, const char *profile)
{
    const char *arguments[8] = {"analyze", "--alone", "--brief", record_short_path(run)};
    struct own_step step;

    use_profile(arguments + 4, profile);
    step = own_step_run(arguments, OWN_TO_STDERR);
    return !say_failed(&step, "the report");
}

/* NAME.html of NAME.xft. */
static bool name_page(const char *run, char page[PATH_MAX])
{
    int bytes = (int)strlen(run) - (int)strlen(".xft");

    return snprintf(page, PATH_MAX, "%.*s.html", bytes, run) < PATH_MAX;
}

void shown_page(const struct record_options *options, const char *run, const char *profile)
{
    char page[PATH_MAX];
    const char *arguments[12] = {"analyze", "--alone", "--format", "html", "-o", page, run};
    struct own_step step;

    if (!name_page(run, page))
        return;
    if (!options->force && access(page, F_OK) == 0) {
        xfc_print(stderr, "xferscope: %s exists, no page was written; --force replaces it\n",
                  record_short_path(page));
        return;
    }
    use_profile(arguments + 7, profile);
    step = own_step_run(arguments, OWN_TO_NOWHERE);
    if (!say_failed(&step, "the page") && !options->quiet)
        xfc_print(stderr, "xferscope: page: %s\n", record_short_path(page));
}

void shown_promise(const char *before, const char *after, const char *profile)
{
    const char *arguments[12] = {"analyze", "--alone", "--compare", "--brief", before, after};
    struct own_step step;

    use_profile(arguments + 6, profile);
    step = own_step_run(arguments, OWN_TO_STDERR);
    say_failed(&step, "the comparison");
}
