/* xferscope run: docs/run.md */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "tools/xferscope/commands.h"
#include "tools/xferscope/own_profile.h"
#include "tools/xferscope/own_step.h"
#include "tools/xferscope/record.h"
#include "tools/xferscope/record_end.h"
#include "tools/xferscope/shown.h"

static const char usage[] =
    "usage: xferscope run [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Records PROGRAM, finds this machine's profile or measures a quick one afterwards, shows what\n"
    "the run would save, and writes the page of the report beside the run.\n"
    "\n"
    "  -o, --output NAME      run directory; default: PROGRAM-PID.xft; the page is NAME.html\n"
    "      --force            replace a run and a page of that name\n"
    "  -p, --profile FILE     machine profile, from `xferscope probe`\n"
    "      --no-probe         measure no profile when there is none\n"
    "      --no-page          write no page\n" RECORD_WHAT_USAGE
    "      --no-summary       show no screen: what was recorded, and the page\n"
    "  -q, --quiet            say nothing when all went well; the page is written\n"
    "  -h, --help             print this\n"
    "\n"
    "All of it goes to standard error: standard output is PROGRAM's. So is the exit status; 125\n"
    "to 127 when recording itself failed.\n";

/* What to type after an edit. */
static void say_next(const struct recorded *recorded)
{
    fputs("xferscope: after the edit: ", stderr);
    record_say_quoted(program_invocation_name);
    fputs(" again ", stderr);
    record_say_quoted(record_short_path(recorded->path));
    fputc('\n', stderr);
}

static void show(const struct record_options *options, const struct recorded *recorded)
{
    char profile[PATH_MAX];
    bool shown = true;

    if (recorded->totals.processes == 0 || recorded->rank > 0)
        return;
    own_profile(options, recorded, profile);
    if (!options->quiet && !options->no_summary)
        shown = shown_screen(recorded->path, profile);
    if (shown && !options->no_page)
        shown_page(options, recorded->path, profile);
    if (!options->quiet)
        say_next(recorded);
}

int xferscope_run(int argc, char **argv)
{
    struct record_options options;
    struct recorded recorded;
    int status = record_parse("run", argc, argv, &options);

    if (status < 0) {
        fputs(usage, stdout);
        return 0;
    }
    options.led = true;
    if (status == 0)
        status = record_program(&options, &recorded);
    if (status != 0)
        return status;
    show(&options, &recorded);
    return child_reproduce(recorded.result.wait_status);
}
