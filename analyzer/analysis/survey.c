#include "analyzer/analysis/survey.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

/* ---- one's own processes --------------------------------------------------------------------- */

void xfa_survey_walk(struct xfa_analysis *analysis, struct xfa_process *process)
{
    analysis->undivided = analysis->undivided || process->sampled;
    xfa_pass_survey(analysis->pass, process, !analysis->undivided);
}

/* ---- what all have met ----------------------------------------------------------------------- */

static double filled_of(const struct xfa_observer *observer)
{
    return observer->filled ? observer->filled(observer->self) : 0;
}

static void give(const struct xfa_analysis *analysis, struct xfa_parcel *parcel)
{
    const struct xfa_run *run = analysis->run;
    xfa_parcel_number(parcel, analysis->undivided);
    for (size_t i = 0; i < analysis->observer_count; i++)
        xfa_parcel_real(parcel, filled_of(&analysis->observers[i]));
    for (size_t i = 0; i < run->process_count && !analysis->undivided; i++) {
        struct xfa_walked walked;
        if (!xfa_process_is_mine(run->processes[i]))
            continue;
        xfa_pass_walked(analysis->pass, run->processes[i], &walked);
        xfa_walked_give(&walked, parcel);
        xfa_walked_free(&walked);
    }
}

/* What one member gave, of its processes. */
static bool take(struct xfa_survey *survey, const struct xfa_run *run, uint32_t rank,
                 struct xfa_unpacking *from)
{
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->share == rank)
            xfa_walked_take(&survey->processes[i], from);
    return !from->bad && from->left == 0;
}

/* How many the run has, by whoever met them. */
static size_t classes_of(const struct xfa_survey *survey)
{
    struct xfa_table all;
    xfa_table_init(&all, sizeof(struct xfa_walked_class), sizeof(struct xfa_walked_class));
    for (size_t i = 0; i < survey->count; i++) {
        for (size_t k = 0; k < survey->processes[i].class_count; k++) {
            struct xfa_walked_class class = survey->processes[i].classes[k];
            class.key.row.site = class.key.row.function = 0;
            class.key.row.runtime_function = class.key.row.runtime_function != 0;
            xfa_table_put(&all, &class);
        }
    }
    size_t count = all.count;
    xfa_table_free(&all);
    return count;
}

static void refuse(const struct xfa_run *run, uint32_t rank)
{
    struct xfa_team *team = run->team;
    team->fail(team->self, xfa_print("what rank %u has read is nothing that rank %u can read: let "
                                     "one of them analyze",
                                     rank, team->rank));
}

/* Of parcels that no member has marked as undivided. */
static struct xfa_survey *survey_of(const struct xfa_analysis *analysis,
                                    const struct xfa_parcel *all)
{
    const struct xfa_run *run = analysis->run;
    struct xfa_survey *survey = xfa_alloc(sizeof *survey);
    size_t observers = analysis->observer_count;
    survey->count = run->process_count;
    survey->observers = observers < XFA_SURVEYED_OBSERVERS ? observers : XFA_SURVEYED_OBSERVERS;
    survey->processes = xfa_alloc((survey->count + 1) * sizeof *survey->processes);
    for (uint32_t rank = 0; rank < run->team->count; rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        xfa_unpack_number(&from);
        for (size_t i = 0; i < observers; i++)
            xfa_unpack_real(&from);
        if (!take(survey, run, rank, &from))
            refuse(run, rank);
    }
    if (classes_of(survey) < analysis->classes.most)
        return survey;
    xfa_survey_free(survey);
    return NULL;
}

/* Has a member marked it so, or would an observer have no room for all that members have met? */
static bool is_undivided(const struct xfa_analysis *analysis, const struct xfa_parcel *all)
{
    size_t observers = analysis->observer_count;
    double *filled = xfa_alloc((observers + 1) * sizeof *filled);
    bool undivided = false;
    for (uint32_t rank = 0; rank < analysis->run->team->count; rank++) {
        struct xfa_unpacking from = xfa_unpack(&all[rank]);
        undivided = undivided || xfa_unpack_number(&from) != 0;
        for (size_t i = 0; i < observers; i++) {
            filled[i] += xfa_unpack_real(&from);
            undivided = undivided || !(filled[i] < 1);
        }
    }
    free(filled);
    return undivided;
}

struct xfa_survey *xfa_survey_of(const struct xfa_analysis *analysis)
{
    struct xfa_team *team = analysis->run->team;
    struct xfa_parcel mine = {0};
    give(analysis, &mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "survey", &mine);
    struct xfa_survey *survey = is_undivided(analysis, all) ? NULL : survey_of(analysis, all);
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
    return survey;
}

/* ---- the sums of the analysis ---------------------------------------------------------------- */

static void empty_sums(struct xfa_analysis *analysis)
{
    struct xfa_run *run = analysis->run;
    xfa_rows_free(&analysis->of_classes);
    xfa_waits_free(&analysis->waits);
    xfa_waits_observer(&analysis->waits);
    xfa_ranks_empty(&analysis->ranks);
    xfa_messages_empty(&analysis->messages);
    analysis->waits.run = run;
}

static void take_sums(struct xfa_analysis *analysis, uint32_t rank, const struct xfa_parcel *parcel)
{
    struct xfa_unpacking from = xfa_unpack(parcel);
    xfa_rows_take(&analysis->of_classes, &from, analysis->classes.classes.count);
    xfa_waits_take(&analysis->waits, &from);
    xfa_ranks_take(&analysis->ranks, &from);
    xfa_messages_take(&analysis->messages, &from);
    if (from.bad || from.left > 0)
        refuse(analysis->run, rank);
}

void xfa_survey_merge(struct xfa_analysis *analysis)
{
    struct xfa_team *team = analysis->run->team;
    struct xfa_parcel mine = {0};
    xfa_rows_give(&analysis->of_classes, &mine);
    xfa_waits_give(&analysis->waits, &mine);
    xfa_ranks_give(&analysis->ranks, &mine);
    xfa_messages_give(&analysis->messages, &mine);
    struct xfa_parcel *all = xfa_team_exchange(team, "rows", &mine);
    empty_sums(analysis);
    for (uint32_t rank = 0; rank < team->count; rank++)
        take_sums(analysis, rank, &all[rank]);
    xfa_waits_taken(&analysis->waits);
    xfa_messages_taken(&analysis->messages);
    xfa_team_free_parcels(team, all);
    xfa_parcel_free(&mine);
}
