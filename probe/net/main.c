/*
 * xferscope-net: from the ranks' introduction to the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/files.h"
#include "common/text.h"
#include "probe/measure/budget.h"
#include "probe/measure/sizes.h"
#include "probe/net/collect.h"
#include "probe/net/direct.h"
#include "probe/net/parts.h"
#include "probe/net/ucx.h"
#include "probe/net/watch.h"

enum { MOST_BYTES = 1 << 30, KEPT_IN_ALL = 400000, KEPT_OF_SIZE = 1024, GRACE_S = 60 };

/* ---- options --------------------------------------------------------------------------------- */

static const char *not_for_net(const struct xfp_command *c)
{
    return c->list                             ? "--list"
           : c->full                           ? "--full"
           : c->options.paper                  ? "--paper"
           : c->flush_said                     ? "--flush and --no-flush"
           : c->resume                         ? "--resume"
           : c->first                          ? "--compare"
           : c->described                      ? "--summary=FILE"
           : c->options.max_bytes > MOST_BYTES ? "sizes above 1G"
                                               : NULL;
}

/* One line for all ranks: rank 0's. */
static int parse(struct xfp_command *c, int argc, char **argv, bool speaks)
{
    const char *wrong;
    int status;

    if (!speaks && !freopen("/dev/null", "w", stderr))
        return XFP_PROBE_USAGE;
    status = xfp_parse_options(c, argc, argv);
    if (status)
        return status;
    wrong = not_for_net(c);
    if (wrong)
        xfp_net_say("%s: not with --net (see xferscope probe --help)", wrong);
    return wrong ? XFP_PROBE_USAGE : 0;
}

/* Reading the options has found it good. */
static void take_filter(struct xfp_net_run *run)
{
    const char *filter = run->command->options.filter;

    if (filter && regcomp(&run->filter, filter, REG_EXTENDED | REG_NOSUB))
        xfp_net_give_up(run, "--filter: out of memory");
}

/* ---- the run --------------------------------------------------------------------------------- */

static void choose_output(struct xfp_net_run *run, char *name, size_t room)
{
    const struct xfp_command *c = run->command;

    if (c->output)
        snprintf(name, room, "%s", c->output);
    else
        snprintf(name, room, "%.120s-net.json", run->hellos[0].hostname);
}

static int make_schedule(struct xfp_net_run *run)
{
    int *hosts = calloc((size_t)run->count, sizeof(*hosts));
    uint64_t sizes[64];
    size_t count, kept;

    for (int i = 0; hosts && i < run->count; i++)
        hosts[i] = run->hellos[i].host;
    if (!hosts || xfp_net_make_rounds(run->count, hosts, run->loaded, &run->rounds)) {
        free(hosts);
        return -1;
    }
    free(hosts);
    count = xfp_sweep_sizes(run->session.options, sizes, 64);
    xfp_net_choose_parts(run);
    kept = KEPT_IN_ALL / (3 * count * run->rounds.count + 1);
    run->kept = kept < KEPT_OF_SIZE ? kept : KEPT_OF_SIZE;
    return 0;
}

static void announce(const struct xfp_net_run *run, const struct xfp_net_pair *pair, double limit_s)
{
    char a[XFP_NET_WHO_BYTES], b[XFP_NET_WHO_BYTES], whom[2 * XFP_NET_WHO_BYTES + 8];

    xfp_net_who(run, pair->a, a);
    xfp_net_who(run, pair->b, b);
    snprintf(whom, sizeof(whom), "%s and %s", a, b);
    if (!run->rank)
        xfp_net_watch_until(xfp_wall_ns() + (uint64_t)(limit_s * 1e9), whom);
    if (!run->rank && isatty(STDERR_FILENO) && !run->command->options.quiet)
        xfp_net_say("round %d of %d: %s", pair->round + 1, run->rounds.rounds, whom);
}

static void measure(struct xfp_net_run *run)
{
    const struct xfp_net_rounds *r = &run->rounds;

    for (size_t i = 0; i < r->count;) {
        int round = r->pairs[i].round;
        const struct xfp_net_pair *mine = NULL;

        for (; i < r->count && r->pairs[i].round == round; i++) {
            announce(run, &r->pairs[i], 4 * xfp_net_pair_s(run) + GRACE_S);
            if (r->pairs[i].a == run->rank || r->pairs[i].b == run->rank)
                mine = &r->pairs[i];
        }
        if (mine)
            xfp_net_measure_pair(run, mine);
        xfp_net_end_round(run, round);
    }
}

static void measure_collectives(struct xfp_net_run *run)
{
    uint64_t most = (uint64_t)(1e9 * (GRACE_S + 4 * xfp_net_pair_s(run)));

    xfp_net_watch_until(xfp_wall_ns() + most, "MPI's collectives");
    if (xfp_net_measure_mpi(run) && !run->rank)
        run->failed++;
    xfp_net_watch_until(xfp_wall_ns() + most, "NCCL");
    if (xfp_net_measure_nccl(run) && !run->rank)
        run->failed++;
}

static int print(const struct xfp_net_run *run, const char *saved)
{
    const struct xfp_command *c = run->command;
    bool to_stdout = c->output && !strcmp(c->output, "-");
    const struct xfp_report_format *format = to_stdout ? xfp_report_format("json") : c->format;
    bool text = !to_stdout && !strcmp(format->word, "text");
    int bad = 0;

    if (!text || !c->options.quiet)
        bad = format->print(run->session.profile, stdout);
    if (*saved && text && !c->options.quiet)
        xfc_print(stdout, "\nmachine profile: %s\n", saved);
    return fflush(stdout) || ferror(stdout) ? -1 : bad;
}

/* Rank 0. The partial file goes when the whole one is there. */
static int deliver(struct xfp_net_run *run, const char *output)
{
    struct xfp_profile *p = run->session.profile;
    bool wanted = run->command->output || !strcmp(run->command->format->word, "text");
    char error[512];

    p->rules.seconds = (double)(xfp_wall_ns() - run->session.started_ns) / 1e9;
    if (!xfp_net_has_figures(p->network)) {
        xfp_net_say("nothing was measured%s, no profile is written",
                    run->command->options.filter ? " of what --filter chooses" : "");
        xfp_net_watch_end(true);
        return XFP_PROBE_FAILED;
    }
    if (wanted && strcmp(output, "-") && xfp_save(p, output, error, sizeof(error))) {
        xfp_net_say("%s", error);
        xfp_net_watch_end(false);
        return XFP_PROBE_FAILED;
    }
    xfp_net_watch_end(true);
    if (print(run, wanted && strcmp(output, "-") ? output : ""))
        return XFP_PROBE_FAILED;
    return run->failed ? XFP_PROBE_PARTLY : XFP_PROBE_OK;
}

/* All ranks that are alike: the schedule, the rounds, the file. */
static int run_together(struct xfp_net_run *run)
{
    char output[4096];
    const char *refused;
    int status = 0, failed;

    choose_output(run, output, sizeof(output));
    refused = !run->rank && strcmp(output, "-") ? xfa_replace_refused(output) : NULL;
    if (refused)
        xfp_net_say("%s: cannot write the machine profile: %s", output, refused);
    status = refused != NULL;
    xfp_net_mpi(run, MPI_Bcast(&status, 1, MPI_INT, 0, run->results), "beginning");
    if (status)
        return XFP_PROBE_FAILED;
    if (make_schedule(run) || xfp_session_make_pattern(&run->session))
        xfp_net_give_up(run, run->session.sys.error);
    xfp_net_watch(run->rank, output);
    run->session.started_ns = run->last_kept_ns = xfp_wall_ns();
    measure(run);
    measure_collectives(run);
    xfp_net_ucx_collect(run);
    xfp_net_watch_until(0, "");
    failed = run->failed;
    xfp_net_mpi(run, MPI_Reduce(&failed, &run->failed, 1, MPI_INT, MPI_SUM, 0, run->results),
                "ending");
    return run->rank ? XFP_PROBE_OK : deliver(run, output);
}

int xfp_net_main(int argc, char **argv, const char *version)
{
    struct xfp_command command = {
        .options = {.min_bytes = 1, .max_bytes = 64 << 20, .device = -1, .verify = true},
        .format = xfp_report_format("text")};
    struct xfp_net_run run = {.command = &command, .version = version};
    int status, provided;

    if (argc > 1 && !strcmp(argv[1], XFP_NET_TRY)) {
        xfp_net_ucx_forget();
        return xfp_net_try_child(argc, argv);
    }
    xfp_net_block_signals();
    xfp_net_ucx_listen();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided)) {
        xfp_net_say("MPI does not start");
        return XFP_PROBE_FAILED;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.count);
    status = parse(&command, argc, argv, !run.rank);
    if (!status && command.help && !run.rank)
        fputs(xfp_probe_usage, stdout);
    run.loaded = command.loaded;
    if (!status && !command.help) {
        take_filter(&run);
        status = xfp_net_introduce(&run);
        if (!status)
            status = run_together(&run);
        if (command.options.filter)
            regfree(&run.filter);
    }
    MPI_Finalize();
    xfp_session_close(&run.session);
    return status;
}
