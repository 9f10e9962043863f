#include "probe/net/collect.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text.h"
#include "probe/measure/budget.h"
#include "probe/net/watch.h"
#include "probe/profile/profile_json.h"

enum { TAG_REPORT = 1, TAG_END };
#define INTERVAL_NS 1000000000u
#define PAUSE_NS 500000

/* A message to rank 0 that may still be under way. */
struct xfp_net_pending {
    struct xfp_net_pending *next;
    MPI_Request request;
    char *text;
};

static void drop_sent(struct xfp_net_run *run, bool wait)
{
    struct xfp_net_pending **at = &run->pending;

    while (*at) {
        struct xfp_net_pending *p = *at;
        int done = 1;

        if (wait)
            xfp_net_mpi(run, MPI_Wait(&p->request, MPI_STATUS_IGNORE), "reporting to rank 0");
        else
            xfp_net_mpi(run, MPI_Test(&p->request, &done, MPI_STATUS_IGNORE),
                        "reporting to rank 0");
        if (!done) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p->text);
        free(p);
    }
}

/* The session's profile as text; what it has of the network and its warnings stay in it. */
static void report(struct xfp_net_run *run)
{
    struct xfp_net_pending *p = calloc(1, sizeof(*p));
    size_t bytes = 0;
    FILE *out = p ? open_memstream(&p->text, &bytes) : NULL;

    if (!out || xfp_write_json(run->session.profile, out) || fclose(out))
        xfp_net_give_up(run, "out of memory");
    xfp_net_mpi(run,
                MPI_Isend(p->text, (int)bytes, MPI_BYTE, 0, TAG_REPORT, run->results, &p->request),
                "reporting to rank 0");
    p->next = run->pending;
    run->pending = p;
}

bool xfp_net_has_figures(const struct xfp_network *network)
{
    return network && network->path_count + network->staged_count + network->collective_count > 0;
}

static void keep_own(struct xfp_net_run *run)
{
    int measured = run->pairs_done;

    if (xfp_net_has_figures(run->session.profile->network))
        xfp_net_watch_keep(run->session.profile, measured, (int)run->rounds.count);
}

void xfp_net_keep(struct xfp_net_run *run)
{
    uint64_t now = xfp_wall_ns();

    if (now - run->last_kept_ns < INTERVAL_NS)
        return;
    run->last_kept_ns = now;
    if (!run->rank) {
        keep_own(run);
        return;
    }
    drop_sent(run, false);
    if (run->count == 2 && !run->pending)
        report(run);
}

void xfp_net_end_lead(struct xfp_net_run *run)
{
    if (!run->rank) {
        run->leading_ends++;
        keep_own(run);
        return;
    }
    report(run);
    xfp_net_mpi(run, MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_END, run->results), "reporting to rank 0");
    drop_sent(run, true);
    xfp_net_free(run->session.profile->network); /* rank 0 has it */
    run->session.profile->network = NULL;
}

static bool is_said(const struct xfp_net_run *run, const char *line)
{
    const struct xfp_profile *own = run->session.profile;

    for (size_t i = 0; i < own->warning_count; i++)
        if (!strcmp(own->warnings[i], line))
            return true;
    return false;
}

/* Another rank's warnings bear its name; what is said of rank 0's host is not said again. */
static void take_warnings(struct xfp_net_run *run, const struct xfp_profile *from, int rank)
{
    char who[XFP_NET_WHO_BYTES];
    bool same_host = run->hellos[rank].host == run->hellos[0].host;

    for (size_t i = 0; i < from->warning_count; i++)
        if (!same_host || !is_said(run, from->warnings[i]))
            xfp_warn(&run->session.sys, "%s: %s", xfp_net_who(run, rank, who), from->warnings[i]);
}

static void take_report(struct xfp_net_run *run, int rank, const char *text, size_t bytes)
{
    char error[256];
    struct xfp_profile *from = xfp_parse(text, bytes, error, sizeof(error));
    struct xfp_network *network = xfp_net_of(run->session.profile);

    if (!from || !network)
        xfp_net_give_up(run, from ? "out of memory" : error);
    take_warnings(run, from, rank);
    if (from->network && xfp_net_merge(network, from->network))
        xfp_net_give_up(run, "out of memory");
    xfp_free(from);
    keep_own(run);
}

void xfp_net_take_reports(struct xfp_net_run *run)
{
    MPI_Status status;
    int there = 0, bytes;
    char *text;

    if (run->rank)
        return;
    for (;;) {
        xfp_net_mpi(run, MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, run->results, &there, &status),
                    "looking for reports");
        if (!there)
            return;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        text = malloc((size_t)bytes + 1);
        if (!text)
            xfp_net_give_up(run, "out of memory");
        xfp_net_mpi(run,
                    MPI_Recv(text, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, run->results,
                             MPI_STATUS_IGNORE),
                    "taking a report");
        if (status.MPI_TAG == TAG_END)
            run->leading_ends++;
        else
            take_report(run, status.MPI_SOURCE, text, (size_t)bytes);
        free(text);
    }
}

static int leaders_of(const struct xfp_net_run *run, int round)
{
    int leaders = 0;

    for (size_t i = 0; i < run->rounds.count; i++)
        leaders += 2 * (run->rounds.pairs[i].round == round);
    return leaders;
}

void xfp_net_sleep_until_all(struct xfp_net_run *run)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    MPI_Request barrier;
    int done = 0;

    xfp_net_mpi(run, MPI_Ibarrier(run->results, &barrier), "waiting for the others");
    while (!done) {
        xfp_net_mpi(run, MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "waiting for the others");
        if (!done)
            nanosleep(&pause, NULL);
    }
}

void xfp_net_end_round(struct xfp_net_run *run, int round)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int leaders = leaders_of(run, round);

    while (!run->rank && run->leading_ends < leaders) {
        xfp_net_take_reports(run);
        nanosleep(&pause, NULL);
    }
    run->leading_ends = 0;
    run->pairs_done += leaders / 2;
    if (!run->rank)
        keep_own(run);
    xfp_net_sleep_until_all(run);
}
