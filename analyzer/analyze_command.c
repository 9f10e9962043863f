/* xferscope analyze: docs/analyze.md. */
#include "analyzer/analyzer.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analysis/survey.h"
#include "analyzer/analyze_steps.h"
#include "analyzer/base/alloc.h"
#include "analyzer/base/forked_team.h"
#include "analyzer/base/pager.h"
#include "analyzer/jobs.h"
#include "analyzer/plan/plan.h"
#include "analyzer/remeasure/play_run.h"
#include "analyzer/timeline/timeline.h"
#include "analyzer/together.h"
#include "common/text.h"

static void say_losses(const struct xfa_analysis *analysis)
{
    if (analysis->achievable.mismatch)
        xfa_analyze_complain(analysis->achievable.mismatch);
    xfa_analysis_tell_losses(analysis, xfa_analyze_complain);
}

/* A run, and all that is made of it. */
struct reading {
    struct xfa_analyze_options *options;
    char *name;
    struct xfa_machine_profile machine;
    struct xfa_analysis *analysis;
    struct xfa_survey *survey; /* of all processes; NULL: there was none, or all is read */
    struct xfa_replayed replayed;
    struct xfa_timeline *timeline; /* NULL: the format shows none */
    struct xfa_filter filter;      /* of this analysis */
    bool watched;
    bool unplayed;                        /* --replay=run failed */
    void (*leave)(struct xfa_team *team); /* rank 0: nothing more is done together */
};

static void begin(struct reading *reading, struct xfa_analyze_options *options, bool watched)
{
    *reading = (struct reading){.options = options,
                                .name = xfa_texts_joined(options->traces, options->trace_count),
                                .filter = options->filter};
    xfa_analyze_profile(&reading->machine, options);
    reading->watched = watched && isatty(STDERR_FILENO);
}

static void open_analysis(struct reading *reading, const struct xfa_observer *observers,
                          size_t count)
{
    const struct xfa_analyze_options *options = reading->options;
    struct xfa_observer *all = xfa_alloc((count + 1) * sizeof *all);
    memcpy(all, observers, count * sizeof *all);
    xfa_filter_free(&reading->filter); /* of the previous pass */
    reading->filter = options->filter;
    if (xfa_filter_observes(&reading->filter))
        all[count++] = xfa_filter_observer(&reading->filter);
    struct xfa_request request = xfa_analyze_request(&reading->machine, reading->name, all, count);
    request.team = options->team;
    request.survey = options->team ? reading->survey : NULL;
    if (reading->watched) {
        xfa_progress_begin(&xfa_analyze_progress, stderr, options->traces, options->trace_count);
        request.watch = &xfa_analyze_progress.watch;
    }
    reading->analysis = xfa_analysis_new(&request);
    reading->filter.analysis = reading->analysis;
    free(all);
}

/* to: where to report what cannot be read; of two passes only one reports. */
static void read_all(struct reading *reading, xfa_complain_fn *to)
{
    const struct xfa_analyze_options *options = reading->options;
    for (size_t i = 0; i < options->trace_count && !reading->analysis->stopped; i++)
        xfa_analysis_add(reading->analysis, options->traces[i], to);
    xfa_progress_clear(&xfa_analyze_progress);
    xfa_analysis_finish(reading->analysis);
}

static void drop_timeline(struct reading *reading)
{
    if (reading->timeline)
        xfa_timeline_free(reading->timeline);
    free(reading->timeline);
    reading->timeline = NULL;
}

static void end(struct reading *reading)
{
    xfa_filter_free(&reading->filter);
    xfa_analysis_free(reading->analysis);
    xfa_machine_profile_free(&reading->machine);
    xfa_replayed_free(&reading->replayed);
    drop_timeline(reading);
    xfa_survey_free(reading->survey);
    free(reading->name);
}

/* ---- --replay -------------------------------------------------------------------------------- */

static void watch_replay(void *self, size_t done, size_t count, double seconds)
{
    const struct reading *reading = self;
    if (reading->watched)
        xfa_progress_replay(&xfa_analyze_progress, done, count, seconds,
                            reading->options->replay_s);
}

static void say_replayed(const struct xfa_replayed *replayed)
{
    xfa_progress_clear(&xfa_analyze_progress);
    if (replayed->why)
        xfc_print(stderr,
                  "xferscope analyze: --replay: %s; going on with what the profile says, if any\n",
                  replayed->why);
    if (replayed->note)
        xfc_print(stderr, "xferscope analyze: --replay: %s\n", replayed->note);
    if (replayed->failure)
        xfc_print(stderr, "xferscope analyze: --replay: not measured: %s%s\n", replayed->failure,
                  replayed->failed > 1 ? ", and others" : "");
    if (replayed->not_kept)
        xfc_print(stderr, "xferscope analyze: --replay: what was measured is not kept: %s\n",
                  replayed->not_kept);
}

/* Measures the cells. True: the profile has changed, and the run has to be analysed again. */
static bool replay(struct reading *reading, const struct xfa_cells *cells)
{
    const struct xfa_analyze_options *options = reading->options;
    struct xfa_replay_request request = {
        .run = reading->analysis->run,
        .cells = cells,
        .profile_path = options->profile,
        .not_kept = reading->machine.problem,
        .limit_s = options->replay_s,
        .progress = watch_replay,
        .progress_self = reading,
    };
    if (reading->analysis->run->process_count == 0)
        return false;
    bool changed = xfa_replay(&request, &reading->machine.profile, &reading->replayed);
    say_replayed(&reading->replayed);
    return changed;
}

/* ---- --replay=run ---------------------------------------------------------------------------- */

static void say_played(const struct xfw_played *played)
{
    xfa_progress_clear(&xfa_analyze_progress);
    if (played->why)
        xfc_print(stderr, "xferscope analyze: --replay=run: %s; savings are those of the model\n",
                  played->why);
    if (played->note)
        xfc_print(stderr, "xferscope analyze: --replay=run: %s\n", played->note);
}

/* The changes of the best set, and their places in it. */
struct best_set {
    struct xfw_change **changes;
    unsigned *order;
    size_t count;
};

static struct best_set best_set_of(const struct xfa_findings *findings)
{
    struct best_set set = {xfa_alloc((findings->count + 1) * sizeof *set.changes),
                           xfa_alloc((findings->count + 1) * sizeof *set.order), 0};
    for (size_t i = 0; i < findings->count; i++) {
        if (!findings->items[i].change || !findings->items[i].order)
            continue;
        set.changes[set.count] = findings->items[i].change;
        set.order[set.count++] = findings->items[i].order;
    }
    return set;
}

static void free_set(struct best_set *set)
{
    free(set->changes);
    free(set->order);
}

static void play_run(struct reading *reading, struct xfa_findings *findings)
{
    struct best_set set = best_set_of(findings);
    struct xfa_play_request request = {
        .analysis = reading->analysis,
        .changes = set.changes,
        .order = set.order,
        .count = set.count,
        .limit_s = reading->options->replay_s,
        .progress = watch_replay,
        .progress_self = reading,
    };
    struct xfw_played *played = xfa_play_run(&request);
    say_played(played);
    reading->unplayed = played->why;
    xfw_whatif_take_played(findings->whatif, played);
    free_set(&set);
}

/* A replay that failed counts as a loss. */
static int status_of(const struct reading *reading)
{
    const struct xfa_replayed *replayed = &reading->replayed;
    bool lacks = replayed->why || replayed->unwritten || replayed->failed || reading->unplayed;
    return reading->analysis->lossy || lacks ? XFA_LOSSES : XFA_OK;
}

/* ---- the timeline ---------------------------------------------------------------------------- */

/* A new timeline and its observer; replaces that of the previous pass. */
static size_t watch_timeline(struct reading *reading, struct xfa_observer *observer)
{
    const struct xfa_format *format = reading->options->format;
    const struct xfa_team *team = reading->options->team;
    bool divided = reading->survey && !format->timeline;
    if ((!format->timeline && !format->shares) || (team && team->rank > 0 && !divided))
        return 0;
    drop_timeline(reading);
    reading->timeline = xfa_alloc(sizeof *reading->timeline);
    xfa_timeline_init(reading->timeline);
    reading->timeline->shares_alone = !format->timeline;
    *observer = xfa_timeline_observer(reading->timeline);
    return 1;
}

/* Each member has the shares of time of its own processes: rank 0 gets all. */
static void merge_timeline(struct reading *reading)
{
    struct xfa_team *team = reading->analysis->run->team;
    struct xfa_parcel mine = {0};
    if (!team || !reading->survey || !reading->timeline || !reading->timeline->shares_alone)
        return;
    xfa_timeline_give(reading->timeline, &mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "shares of time", &mine);
    for (uint32_t rank = 0; rank < team->count; rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        if (rank != team->rank)
            xfa_timeline_take(reading->timeline, &from);
        if (from.bad)
            team->fail(
                team->self,
                xfa_print("the shares of time of rank %u are none: let one of them analyze", rank));
    }
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
}

static void finish_timeline(struct reading *reading, const struct xfa_findings *findings)
{
    xfa_timeline_finish(reading->timeline);
    if (!reading->options->format->timeline)
        return;
    struct best_set set = best_set_of(findings);
    char *why = set.count ? xfa_timeline_advise(reading->timeline, reading->analysis, set.changes,
                                                set.order, set.count)
                          : NULL;
    if (findings->whatif && findings->whatif->known)
        reading->timeline->alone_ns = findings->whatif->alone_ns;
    if (!why)
        why = xfa_timeline_try_sets(reading->timeline, reading->analysis, set.changes, set.order,
                                    set.count);
    if (why)
        xfa_analyze_complain(why);
    free(why);
    free_set(&set);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* 0, or -1 after a line on stderr. */
static int write_plan(const struct reading *reading, const struct xfa_findings *findings)
{
    struct xfa_output output;
    if (xfa_output_open(&output, reading->options->plan) != 0)
        return -1;
    struct xfa_apply_plan *plan = xfa_apply_plan_of(reading->analysis, findings);
    xfa_apply_plan_write(plan, output.stream);
    size_t steps = plan->step_count, chosen = xfa_apply_plan_chosen(plan);
    xfa_apply_plan_free(plan);
    if (xfa_output_close(&output) != 0)
        return -1;
    xfc_print(stderr,
              "xferscope analyze: %s: %zu step%s, %zu of them to be carried out: "
              "xferscope apply --plan %s -- COMMAND\n",
              reading->options->plan, steps, steps == 1 ? "" : "s", chosen, reading->options->plan);
    return 0;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Writes the report to memory, and shows it through the pager; directly where that cannot be
 * started. 0, or -1: it could not be written. */
static int write_paged(const struct xfa_report *report, struct xfa_view *view,
                       const struct xfa_format *format, const char *pager, FILE *out)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return -1;
    format->write(report, view, memory);
    int failed = fclose(memory);
    if (failed == 0 && !xfa_page_text(pager, text, length))
        fwrite(text, 1, length, out); /* an error is reported when it is closed */
    free(text);
    return failed;
}

static void write_output(const struct reading *reading, const struct xfa_report *report,
                         struct xfa_view *view, struct xfa_output *output)
{
    const struct xfa_analyze_options *options = reading->options;
    bool screen =
        options->format == &xfa_format_text && !output->path && isatty(fileno(output->stream));
    const char *pager = screen && options->full ? xfa_pager() : NULL;
    view->brief = options->brief || (screen && !options->full);
    if (!pager || write_paged(report, view, options->format, pager, output->stream) != 0)
        options->format->write(report, view, output->stream);
}

static int write_report(struct reading *reading, const struct xfa_findings *findings)
{
    struct xfa_analyze_options options = *reading->options;
    struct xfa_report report = {reading->analysis, findings,
                                options.replay ? &reading->replayed : NULL, reading->timeline};
    struct xfa_output output;
    struct xfa_view view;
    char *page;
    if (!xfa_analyze_output(&options, &output, &view, &page))
        return XFA_OUTPUT;
    if (xfa_filter_any(&reading->filter)) {
        xfa_filter_finish(&reading->filter, findings);
        view.filter = &reading->filter;
    }
    write_output(reading, &report, &view, &output);
    int status = xfa_output_close(&output) != 0 ? XFA_OUTPUT : status_of(reading);
    if (status != XFA_OUTPUT)
        xfa_analyze_show(&options, page);
    free(page);
    return status;
}

/* ---- a team ---------------------------------------------------------------------------------- */

/* From here on this process is alone. False: it is not rank 0, and has nothing to do any more. */
static bool leave_team(struct reading *reading)
{
    struct xfa_team *team = reading->analysis->run->team;
    reading->analysis->run->team = NULL;
    if (team)
        reading->leave(team);
    return !team || team->rank == 0;
}

/* ---- one run --------------------------------------------------------------------------------- */

static int report(struct reading *reading, struct xfa_findings *findings)
{
    if (reading->analysis->run->process_count == 0)
        return XFA_NOTHING;
    xfa_findings_find(findings, reading->analysis);
    findings->phase = reading->filter.phase;
    findings->plan = reading->options->plan != NULL;
    xfa_findings_weigh(findings, reading->analysis);
    merge_timeline(reading);
    if (!leave_team(reading))
        return XFA_OK;
    if (reading->options->play)
        play_run(reading, findings);
    if (reading->timeline)
        finish_timeline(reading, findings);
    say_losses(reading->analysis);
    xfa_analyze_needless(&reading->options->answers);
    if (reading->options->plan && write_plan(reading, findings) != 0)
        return XFA_OUTPUT;
    return write_report(reading, findings);
}

/* One pass with the observers of findings, of the timeline if the format shows one, and `more`
 * (NULL: none). */
static void walk_once(struct reading *reading, const struct xfa_findings *findings,
                      const struct xfa_observer *more, xfa_complain_fn *to)
{
    size_t count = findings->observer_count;
    struct xfa_observer *all = xfa_alloc((count + 2) * sizeof *all);
    memcpy(all, findings->observers, count * sizeof *all);
    count += watch_timeline(reading, &all[count]);
    if (more)
        all[count++] = *more;
    open_analysis(reading, all, count);
    if (reading->timeline)
        reading->timeline->analysis = reading->analysis;
    read_all(reading, to);
    free(all);
}

static void walk_again(struct reading *reading, struct xfa_findings **findings)
{
    xfa_analysis_free(reading->analysis);
    xfa_findings_free(*findings);
    *findings = xfa_analyze_findings(reading->options);
    walk_once(reading, *findings, NULL, NULL);
}

enum { LEAST_MEMBERS = 3 }; /* two of them read half of a run twice: as much as all of it once */

/* Of a team: each member reads its own processes first, with the observers that will sum the run
 * up. What is chosen of a run by a filter depends on all that it has. */
static void survey(struct reading *reading)
{
    const struct xfa_analyze_options *options = reading->options;
    if (xfa_team_count(options->team) < LEAST_MEMBERS || xfa_filter_observes(&reading->filter))
        return;
    struct xfa_findings *findings = xfa_findings_of_survey();
    struct xfa_request request = xfa_analyze_request(&reading->machine, reading->name,
                                                     findings->observers, findings->observer_count);
    request.team = options->team;
    request.surveys = true;
    struct xfa_analysis *analysis = xfa_analysis_new(&request);
    for (size_t i = 0; i < options->trace_count; i++)
        xfa_analysis_add(analysis, options->traces[i], NULL);
    if (xfa_together_same_files(analysis, &reading->machine))
        reading->survey = xfa_survey_of(analysis);
    xfa_analysis_free(analysis);
    xfa_findings_free(findings);
}

/* One pass; with --replay, which needs the cells, a second one when the profile has changed.
 * *findings is that of the last pass. */
static void walk(struct reading *reading, struct xfa_findings **findings)
{
    struct xfa_cells cells;
    xfa_cells_init(&cells);
    struct xfa_observer observer = xfa_cells_observer(&cells);
    bool replays = reading->options->replay;
    survey(reading);
    walk_once(reading, *findings, replays ? &observer : NULL, xfa_analyze_complain);
    if (replays && replay(reading, &cells))
        walk_again(reading, findings);
    xfa_cells_free(&cells);
}

/* Members that have not read the same could not add up what they have summed up and play. Rank 0
 * reports what it sees: it has summed up but its own processes, so that it reads all of them again.
 * False: this member has nothing to do any more. */
static bool check_team(struct reading *reading, struct xfa_findings **findings)
{
    if (!reading->analysis->run->team)
        return true;
    if (xfa_together_agree(reading->analysis, &reading->machine)) {
        if (xfa_together_share(reading->analysis, (*findings)->gather)) {
            xfw_gather_free((*findings)->gather);
            (*findings)->gather = NULL;
        }
        return true;
    }
    xfa_analyze_complain("the ranks do not see the same files and machine profile: rank 0 "
                         "analyzes alone what it sees");
    if (!leave_team(reading))
        return false;
    reading->options->team = NULL;
    walk_again(reading, findings);
    return true;
}

static int analyze(struct xfa_analyze_options *options, void (*leave)(struct xfa_team *team))
{
    struct reading reading;
    struct xfa_findings *findings = xfa_analyze_findings(options);
    begin(&reading, options, true);
    reading.leave = leave;
    walk(&reading, &findings);
    int status = check_team(&reading, &findings) ? report(&reading, findings) : XFA_OK;
    xfa_findings_free(findings);
    end(&reading);
    return status;
}

/* ---- --per-transfer -------------------------------------------------------------------------- */

static int end_list(struct xfa_per_transfer *list, struct reading *reading,
                    struct xfa_output *output)
{
    if (list->analysis->run->process_count == 0) {
        xfa_output_drop(output);
        return XFA_NOTHING;
    }
    xfa_per_transfer_end(list);
    errno = list->failed; /* reported by closing, unless that fails by itself */
    if (xfa_output_close(output) != 0)
        return XFA_OUTPUT;
    if (list->filter && list->written == 0) {
        xfa_filter_finish(&reading->filter, NULL);
        xfc_print(stderr, "xferscope analyze: %s\n", reading->filter.nothing);
    }
    say_losses(list->analysis);
    return status_of(reading);
}

/* Measures before transfers are listed, in a pass of its own. */
static void replay_first(struct reading *reading)
{
    struct xfa_cells cells;
    xfa_cells_init(&cells);
    struct xfa_observer observer = xfa_cells_observer(&cells);
    open_analysis(reading, &observer, 1);
    read_all(reading, NULL);
    replay(reading, &cells);
    xfa_analysis_free(reading->analysis);
    xfa_cells_free(&cells);
}

static int list_transfers(struct xfa_analyze_options *options)
{
    struct xfa_output output;
    struct reading reading;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of writing */
    if (xfa_output_open(&output, options->output) != 0)
        return XFA_OUTPUT;
    struct xfa_per_transfer list = {
        .format = options->format->per_transfer, .out = output.stream, .limit = options->view.top};
    struct xfa_observer observer = xfa_per_transfer_observer(&list);
    begin(&reading, options, !isatty(fileno(output.stream)));
    if (options->replay)
        replay_first(&reading);
    open_analysis(&reading, &observer, 1);
    list.analysis = reading.analysis;
    list.filter = xfa_filter_any(&reading.filter) ? &reading.filter : NULL;
    read_all(&reading, xfa_analyze_complain);
    int status = end_list(&list, &reading, &output);
    xfa_per_transfer_free(&list);
    end(&reading);
    return status;
}

static int do_as_asked(struct xfa_analyze_options *options, void (*leave)(struct xfa_team *team))
{
    const bool shared = xfa_is_shared(options);
    if (!options->team && shared) {
        xfa_jobs_begin(options);
        leave = xfa_forked_team_leave;
    } else if (options->team && !shared) {
        leave(options->team);
        if (options->team->rank > 0)
            return XFA_OK;
        options->team = NULL;
    }
    if (options->gate_format)
        return xfa_gate_command(options);
    if (options->compare)
        return xfa_compare_command(options);
    return options->per_transfer ? list_transfers(options) : analyze(options, leave);
}

static int command(int argc, char **argv, struct xfa_team *team,
                   void (*leave)(struct xfa_team *team), uint32_t jobs)
{
    struct xfa_analyze_options options;
    int status = XFA_USAGE;
    setlocale(LC_CTYPE, ""); /* names beyond ASCII, as wide as the terminal shows them */
    int parsed = xfa_analyze_options(&options, argc, argv);
    options.team = team;
    options.jobs = options.jobs ? options.jobs : jobs;
    if (parsed > 0)
        status = fputs(xfa_analyze_usage, stdout) < 0 || fflush(stdout) != 0 ? XFA_OUTPUT : XFA_OK;
    else if (parsed == 0)
        status = do_as_asked(&options, leave);
    free(options.traces);
    xfa_answers_free(&options.answers);
    return status;
}

int xfa_analyze_in_team(int argc, char **argv, struct xfa_team *team,
                        void (*leave)(struct xfa_team *team))
{
    return command(argc, argv, team, leave, 1);
}

int xfa_analyze_command(int argc, char **argv)
{
    return command(argc, argv, NULL, NULL, 0);
}
