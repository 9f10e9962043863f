#include "tools/xferscope/record_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/units.h"
#include "analyzer/report/summary.h"
#include "common/text.h"
#include "tools/xferscope/guarded.h"
#include "xferscope/profile.h"

#define MOST_SECONDS 10 /* then what is known by then is said; docs/record.md */
#define MOST_TEXT 4096

/* ---- the profile ----------------------------------------------------------------------------- */

static void profile_name(bool simulated, char *name, size_t bytes)
{
    char host[256] = "";

    if (gethostname(host, sizeof host) != 0)
        host[0] = '\0';
    host[sizeof host - 1] = '\0';
    xfp_default_name(host, simulated, name, bytes);
}

/* ---- the lines ------------------------------------------------------------------------------- */

static void say_what_moved(const struct rundir_totals *totals, bool part)
{
    char bytes[XFA_UNIT_CHARS];
    const char *before = ": ";

    if (totals->transfers == 0) {
        xfc_print(stderr, "xferscope: moved nothing%s: no transfer was seen%s\n",
                  part ? " in the part that was recorded" : "", part ? " there" : "");
        return;
    }
    xfc_print(stderr, "xferscope: moved %s in %" PRIu64 " transfer%s",
              xfa_bytes_text(bytes, totals->bytes), totals->transfers,
              totals->transfers == 1 ? "" : "s");
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        if (totals->by_direction[d] == 0)
            continue;
        xfc_print(stderr, "%s%s %s", before, xft_direction_word(d),
                  xfa_bytes_text(bytes, totals->by_direction[d]));
        before = ", ";
    }
    fputc('\n', stderr);
}

static int summarize(void *context, FILE *out)
{
    return xfa_summarize(context, out) ? 0 : 1;
}

static void say(const char *line, const char *why)
{
    xfc_print(stderr, "xferscope: %s%s%s%s\n", line, why ? " (" : "", why ? why : "",
              why ? ")" : "");
}

void record_summary(const struct rundir *dir, const struct rundir_totals *totals,
                    const struct record_words *words, char used[PATH_MAX])
{
    char name[320], make[512], text[MOST_TEXT];
    const char *why;
    struct xfa_summary_request request = {.run = dir->path, .make_profile = make};

    profile_name(totals->simulated, name, sizeof name);
    if (words->profile && *words->profile)
        snprintf(used, PATH_MAX, "%s", words->profile);
    else
        xfp_look_up(NULL, totals->simulated, used, PATH_MAX);
    request.profile = *used ? used : NULL;
    snprintf(make, sizeof make, "`xferscope probe` makes one (%s)", name);
    say_what_moved(totals, words->part);
    if (totals->transfers == 0)
        return;
    if (guarded_text(summarize, &request, MOST_SECONDS, text, sizeof text, &why))
        why = NULL;
    xfa_summary_lines(text, why, say);
}
