#include "analyzer/analyze_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/pager.h"
#include "common/text.h"

struct xfa_progress xfa_analyze_progress;

void xfa_analyze_complain(const char *line)
{
    xfa_progress_clear(&xfa_analyze_progress);
    xfc_print(stderr, "xferscope analyze: %s\n", line);
}

void xfa_analyze_profile(struct xfa_machine_profile *machine,
                         const struct xfa_analyze_options *options)
{
    struct xfa_profile_request request = {.named = options->profile,
                                          .network = options->network,
                                          .none = options->no_profile,
                                          .may_lack = options->replay,
                                          .traces = options->traces,
                                          .trace_count = options->trace_count};
    xfa_machine_profile_take(machine, &request);
    xfa_machine_profile_tell(machine, xfa_analyze_complain);
}

struct xfa_request xfa_analyze_request(const struct xfa_machine_profile *machine, const char *path,
                                       const struct xfa_observer *observers, size_t count)
{
    return (struct xfa_request){
        .path = path,
        .profile = machine->profile,
        .profile_path = machine->path,
        .profile_problem = machine->problem,
        .profile_unused = machine->unused,
        .profile_by = machine->by,
        .observers = observers,
        .observer_count = count,
    };
}

/* Of a new file for the page; NULL after a line on stderr. The caller frees it. */
static char *new_page(void)
{
    const char *folder = getenv("TMPDIR");
    char *path = xfa_print("%s/xferscope-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int fd = mkstemps(path, (int)strlen(".html"));
    if (fd >= 0) {
        close(fd);
        return path;
    }
    xfc_print(stderr, "xferscope analyze: --open: cannot make %s: %s\n", path, strerror(errno));
    free(path);
    return NULL;
}

bool xfa_analyze_output(struct xfa_analyze_options *options, struct xfa_output *output,
                        struct xfa_view *view, char **page)
{
    *page = NULL;
    if (options->open && (!options->output || strcmp(options->output, "-") == 0)) {
        options->output = *page = new_page();
        if (!*page)
            return false;
    }
    if (xfa_output_open(output, options->output) != 0) {
        free(*page);
        return false;
    }
    *view = options->view;
    view->width = xfa_output_width(output->stream);
    view->colour = options->colour == XFA_COLOUR_AUTO ? xfa_output_colour(output->stream)
                                                      : options->colour == XFA_COLOUR_ALWAYS;
    return true;
}

/* A page that is not shown is still there. */
void xfa_analyze_show(const struct xfa_analyze_options *options, const char *page)
{
    if (page)
        printf("%s\n", page);
    if (options->open && !xfa_open_file(options->output))
        xfc_print(stderr, "xferscope analyze: --open: xdg-open could not show %s\n",
                  options->output);
}

struct xfa_findings *xfa_analyze_findings(struct xfa_analyze_options *options)
{
    struct xfa_findings *findings = xfa_findings_within(options->memory);
    findings->answers = options->answers.count ? &options->answers : NULL;
    return findings;
}

void xfa_analyze_needless(const struct xfa_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        if (answers->items[i].met)
            continue;
        char *line = xfa_print("--assume %s: the run has no such finding", answers->items[i].text);
        xfa_analyze_complain(line);
        free(line);
    }
}
