/*
 * The subcommand `xferscope probe`: files and exit status. docs/probe.md is its manual.
 */
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/files.h"
#include "common/text.h"
#include "probe/bench/records.h"
#include "probe/report/compare.h"
#include "probe/options.h"
#include "probe/resume.h"
#include "probe/report/summary.h"

/* To --output, or to the default name; name stays empty when no file is wanted. */
static int save(const struct xfp_command *c, const struct xfp_profile *profile, char *name,
                size_t bytes)
{
    char error[512];

    name[0] = '\0';
    if (c->output && !strcmp(c->output, "-"))
        return 0;
    if (c->output)
        snprintf(name, bytes, "%s", c->output);
    else if (!strcmp(c->format->word, "text"))
        xfp_default_name(profile->machine.hostname, profile->machine.simulated, name, bytes);
    if (!*name || !xfp_save(profile, name, error, sizeof(error)))
        return 0;
    xfc_print(stderr, "xferscope probe: %s\n", error);
    return -1;
}

static int print(const struct xfp_command *c, const struct xfp_profile *profile, const char *saved)
{
    bool to_stdout = c->output && !strcmp(c->output, "-");
    const struct xfp_report_format *format = to_stdout ? xfp_report_format("json") : c->format;
    bool text = !to_stdout && !strcmp(format->word, "text");
    int bad = 0;

    if (!text || !c->options.quiet)
        bad = format->print(profile, stdout);
    if (c->summary && text && !bad) {
        putchar('\n');
        bad = xfp_print_summary(profile, stdout);
    }
    if (*saved && text && !c->options.quiet)
        xfc_print(stdout, "\nmachine profile: %s\n", saved);
    if (fflush(stdout) || ferror(stdout)) {
        xfc_print(stderr, "xferscope probe: standard output: %s\n", strerror(errno));
        bad = -1;
    }
    return bad;
}

/* Checked before the measurement. Other errors show when the file is written. */
static bool takes_files(const struct xfp_command *c)
{
    const char *why;

    if ((!c->output && strcmp(c->format->word, "text")) || (c->output && !strcmp(c->output, "-")))
        return true;
    if (c->output)
        why = xfa_replace_refused(c->output);
    else
        why = access(".", W_OK | X_OK) ? strerror(errno) : NULL;
    if (why)
        xfc_print(stderr, "xferscope probe: %s: cannot write the machine profile: %s\n",
                  c->output ? c->output : ".", why);
    return !why;
}

static struct xfp_profile *load(const char *name)
{
    char error[512];
    struct xfp_profile *profile = xfp_read_file(name, error, sizeof(error));

    if (!profile)
        xfc_print(stderr, "xferscope probe: %s\n", error);
    return profile;
}

/* The path of the partial profile: beside the named output file; none if that is a device. */
static bool partial_name(const struct xfp_command *c, char *name, size_t bytes)
{
    struct stat there;

    if (!c->output || !strcmp(c->output, "-") ||
        (!stat(c->output, &there) && !S_ISREG(there.st_mode)))
        return false;
    return snprintf(name, bytes, "%s" XFP_PARTIAL, c->output) < (int)bytes;
}

/*
 * Writes the file first: printing ends the process when the pipe has no reader. Then the partial
 * profile is removed.
 */
static int deliver(const struct xfp_command *c, const struct xfp_profile *profile,
                   const struct xfp_probe_outcome *outcome, const char *partial)
{
    char saved[4096];
    int bad = save(c, profile, saved, sizeof(saved));

    if (!bad && partial)
        unlink(partial);
    if (!bad && c->output == c->whole && !outcome->interrupted)
        unlink(c->resume);
    return print(c, profile, bad ? "" : saved) | bad;
}

static int measure(const struct xfp_command *c)
{
    struct xfp_probe_options options = c->options;
    struct xfp_profile *profile, *old = NULL;
    char partial[4096];
    struct xfp_probe_outcome outcome;
    char error[512];
    int bad;

    if (!takes_files(c))
        return XFP_PROBE_FAILED;
    if (c->resume && !(old = load(c->resume)))
        return XFP_PROBE_FAILED;
    options.resume = old;
    if (!old && partial_name(c, partial, sizeof(partial)))
        options.checkpoint = partial;
    profile = xfp_probe_run(&options, &outcome, error, sizeof(error));
    xfp_free(old);
    if (!profile) {
        xfc_print(stderr, "xferscope probe: %s\n", error);
        return XFP_PROBE_FAILED;
    }
    if (!outcome.measured) {
        xfc_print(stderr, "xferscope probe: nothing was measured, no profile is written\n");
        xfp_free(profile);
        return XFP_PROBE_FAILED;
    }
    bad = deliver(c, profile, &outcome, options.checkpoint);
    xfp_free(profile);
    if (bad)
        return XFP_PROBE_FAILED;
    return outcome.failed || outcome.interrupted ? XFP_PROBE_PARTLY : XFP_PROBE_OK;
}

/* Status: 0 when they agree, XFP_PROBE_DIFFERS when not. */
static int compare(const struct xfp_command *c)
{
    struct xfp_profile *first = load(c->first), *second = first ? load(c->second) : NULL;
    struct xfp_comparison result = {0};
    int status = XFP_PROBE_FAILED;
    char error[512];

    if (!second) {
        xfp_free(first);
        return status;
    }
    if (strcmp(first->machine.machine_id, second->machine.machine_id) && !c->options.quiet)
        xfc_print(stdout, "of two machines: %s, %s\n", first->machine.hostname,
                  second->machine.hostname);
    if (first->rules.known && second->rules.known &&
        first->rules.flushed != second->rules.flushed && !c->options.quiet)
        xfc_print(stdout, "only the %s was measured with flushed caches\n",
                  first->rules.flushed ? "first" : "second");
    if (xfp_compare(first, second, c->options.filter, c->tolerance, stdout, &result, error,
                    sizeof(error)) ||
        fflush(stdout))
        xfc_print(stderr, "xferscope probe: %s\n", error);
    else if (!result.compared)
        xfc_print(stderr, "xferscope probe: the profiles have no figure in common\n");
    else
        status = result.differ || result.only_first || result.only_second ? XFP_PROBE_DIFFERS
                                                                          : XFP_PROBE_OK;
    xfp_free(first);
    xfp_free(second);
    return status;
}

static int describe(const struct xfp_command *c)
{
    struct xfp_profile *profile = load(c->described);
    int bad = !profile || xfp_print_summary(profile, stdout) ||
              xfp_print_sections(profile, stdout) || fflush(stdout);

    if (profile && bad)
        xfc_print(stderr, "xferscope probe: standard output: %s\n", strerror(errno));
    xfp_free(profile);
    return bad ? XFP_PROBE_FAILED : XFP_PROBE_OK;
}

static int list(const struct xfp_command *c)
{
    char error[512];

    if (!xfp_probe_list(&c->options, stdout, error, sizeof(error)))
        return XFP_PROBE_OK;
    xfc_print(stderr, "xferscope probe: %s\n", error);
    return XFP_PROBE_FAILED;
}

int xfp_probe_command(int argc, char **argv)
{
    struct xfp_command c = {.options = {.min_bytes = 64,
                                        .max_bytes = 256 << 20,
                                        .device = -1,
                                        .verify = true,
                                        .again = true,
                                        .flush = true},
                            .format = xfp_report_format("text"),
                            .tolerance = 0.05};
    int status = xfp_records_child(argc, argv);

    if (status >= 0)
        return status;
    status = xfp_parse_options(&c, argc, argv);
    if (status)
        return status;
    if (c.help) {
        fputs(xfp_probe_usage, stdout);
        return XFP_PROBE_OK;
    }
    if (c.net) {
        xfc_print(stderr, "xferscope probe: --net is of the command xferscope, whose place says "
                          "where xferscope-net is\n");
        return XFP_PROBE_USAGE;
    }
    if (c.first)
        return compare(&c);
    if (c.described)
        return describe(&c);
    return c.list ? list(&c) : measure(&c);
}
