#include "analyzer/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/pass.h"
#include "analyzer/whatif/ops.h"
#include "analyzer/whatif/player.h"
#include "analyzer/whatif/records_cost.h"

#define MOST_ROUNDS 8    /* of choosing the set: so many changes are in it at most */
#define LEAST_GAIN 0.001 /* of the run: what adds less is not worth a change */

/* One way to play the run: with these changes (places of the list). */
struct variant {
    struct xfw_change **changes;
    size_t count;
    enum xfw_certainty certainty;
    bool recording;
    const struct xfw_tap *tap; /* NULL: none */
    struct xfw_player *player; /* of the process at hand */
    double run_ns;             /* the latest end of the processes so far */
    double span_ns;            /* of these, added up */
    double ranges[XFW_RANGES]; /* of the run's phases */
};

struct walk {
    struct xfa_analysis *analysis;
    struct xfw_whatif *whatif;
    struct variant *variants;
    size_t count;
    struct xfw_ops *ops;
    struct xfa_process *process;
    double first_ns; /* when the first process began, wall clock */
    struct recorded {
        unsigned depth;
        double begun, sum;
    } recorded[XFW_RANGES]; /* of the process's ranges */
    bool worked;
    double first_work, last_work;
};

/* ---- one walk -------------------------------------------------------------------------------- */

static void begin_process(void *self, struct xfa_process *process)
{
    struct walk *walk = self;
    walk->process = process;
    memset(walk->recorded, 0, sizeof walk->recorded);
    walk->worked = false;
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        v->player = xfw_player_new(process, v->changes, v->count, v->certainty, v->recording);
        xfw_player_tap(v->player, v->tap);
        if (v->tap)
            v->tap->process(v->tap->self, process);
    }
}

static void note_range(struct walk *walk, const struct xfw_op *op)
{
    struct recorded *range = &walk->recorded[op->range];
    if (op->begins && range->depth++ == 0)
        range->begun = op->start_ns;
    else if (!op->begins && range->depth > 0 && --range->depth == 0)
        range->sum += op->start_ns - range->begun;
}

/* As the schedule's: schedule.h. */
static void note_span(struct walk *walk, const struct xfw_op *op)
{
    bool work = xfw_op_is_work(op);
    if (work && !walk->worked) {
        walk->worked = true;
        walk->first_work = walk->last_work = op->start_ns;
    }
    if (work || op->kind == XFT_EVENT_SYNC || op->kind == XFT_EVENT_QUERY)
        walk->last_work = fmax(walk->last_work, op->end_ns);
}

static void take_op(void *self, const struct xfw_op *op)
{
    struct walk *walk = self;
    note_span(walk, op);
    if (op->what == XFW_RANGE && op->range < XFW_RANGES)
        note_range(walk, op);
    for (size_t i = 0; i < walk->count; i++)
        xfw_player_op(walk->variants[i].player, op);
}

/* The run's phase of this name. */
static size_t phase_of(struct xfw_whatif *whatif, const char *name)
{
    for (size_t i = 0; i < whatif->range_count; i++)
        if (strcmp(whatif->ranges[i].name, name) == 0)
            return i;
    if (whatif->range_count == XFW_RANGES)
        return XFW_RANGES;
    if (!whatif->ranges)
        whatif->ranges = xfa_alloc(XFW_RANGES * sizeof *whatif->ranges);
    whatif->ranges[whatif->range_count].name = xfa_kept(name, strlen(name));
    return whatif->range_count++;
}

static void end_ranges(struct walk *walk)
{
    uint64_t text;
    for (uint32_t r = 0; r < XFW_RANGES && (text = xfw_ops_range_text(walk->ops, r)); r++) {
        const struct xfa_text *named = xfa_trace_text(walk->process->trace, text);
        char *name = xfa_kept(named ? named->text : "", named ? named->bytes : 0);
        size_t phase = phase_of(walk->whatif, name);
        free(name);
        if (phase < XFW_RANGES && walk->variants[0].recording)
            walk->whatif->ranges[phase].times.recorded_ns += walk->recorded[r].sum;
        for (size_t i = 0; i < walk->count && phase < XFW_RANGES; i++)
            walk->variants[i].ranges[phase] +=
                xfw_schedule_range(xfw_player_schedule(walk->variants[i].player), r);
    }
}

static void end_process(void *self, struct xfa_process *process, double end_ns)
{
    struct walk *walk = self;
    double begun = (double)(process->start_real_ns) - walk->first_ns;
    end_ranges(walk);
    for (size_t i = 0; i < walk->count; i++) {
        struct variant *v = &walk->variants[i];
        double total = xfw_schedule_total(xfw_player_schedule(v->player), end_ns);
        v->run_ns = fmax(v->run_ns, begun + total);
        v->span_ns += xfw_schedule_span(xfw_player_schedule(v->player));
        if (v->tap)
            v->tap->end(v->tap->self, process, xfw_player_schedule(v->player), total);
        xfw_player_free(v->player);
        v->player = NULL;
    }
    walk->whatif->recorded_ns = fmax(walk->whatif->recorded_ns, begun + end_ns);
    if (walk->worked && walk->variants[0].recording)
        walk->whatif->span.recorded_ns += walk->last_work - walk->first_work;
}

/* False with whatif->why when a file could not be read again. */
static bool play(struct xfa_analysis *analysis, struct xfw_whatif *whatif, struct variant *variants,
                 size_t count)
{
    char error[1024] = "";
    struct walk walk = {
        .analysis = analysis, .whatif = whatif, .variants = variants, .count = count};
    const struct xfw_sink sink = {begin_process, take_op, end_process, &walk};
    walk.ops = xfw_ops_new(&analysis->achievable, &sink);
    walk.first_ns = (double)xfa_run_start_real_ns(analysis->run);
    struct xfa_observer observer = xfw_ops_observer(walk.ops);
    struct xfa_pass *pass = xfa_pass_new(&analysis->classes, &observer, 1);
    bool done = true;
    for (size_t i = 0; i < analysis->run->process_count && done; i++) {
        done = xfa_process_reopen(analysis->run->processes[i], error, sizeof error);
        if (done)
            xfa_pass_walk(pass, analysis->run->processes[i]);
    }
    if (!done)
        whatif->why = xfa_text(error);
    xfa_pass_free(pass);
    xfw_ops_free(walk.ops);
    return done;
}

/* ---- variants -------------------------------------------------------------------------------- */

/* The changes of a set in their order, and one more; NULL: none. */
static void add_changes(struct variant *variant, struct xfw_change *const *changes,
                        const unsigned *order, size_t count, size_t more, size_t without)
{
    variant->changes = xfa_alloc((count + 1) * sizeof *variant->changes);
    for (unsigned place = 1; order && place <= count; place++)
        for (size_t i = 0; i < count; i++)
            if (order[i] == place && i != without)
                variant->changes[variant->count++] = changes[i];
    if (more < count)
        variant->changes[variant->count++] = changes[more];
}

static void free_variants(struct variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(variants[i].changes);
    free(variants);
}

/* ---- savings --------------------------------------------------------------------------------- */

/* The three ways of one change, put in order and widened. */
static struct xfw_saving saving_of(const struct xfw_whatif *whatif,
                                   const struct variant variants[XFW_CERTAINTIES])
{
    double base = whatif->alone_ns;
    double low = base - variants[XFW_LOW].run_ns, likely = base - variants[XFW_LIKELY].run_ns;
    double high = base - variants[XFW_HIGH].run_ns;
    double least = fmin(low, fmin(likely, high)), most = fmax(low, fmax(likely, high));
    double wider = xfw_unsure_ns(whatif, likely);
    return (struct xfw_saving){least - wider, likely, most + wider};
}

static bool play_alone(struct xfa_analysis *analysis, struct xfw_whatif *whatif,
                       struct xfw_change *const *changes)
{
    const size_t count = whatif->count, all = 2 + XFW_CERTAINTIES * count;
    struct variant *variants = xfa_alloc(all * sizeof *variants);
    variants[0].recording = true;
    variants[0].certainty = variants[1].certainty = XFW_LIKELY;
    for (size_t i = 0; i < count; i++) {
        for (int c = 0; c < XFW_CERTAINTIES; c++) {
            struct variant *variant = &variants[2 + XFW_CERTAINTIES * i + (size_t)c];
            variant->certainty = (enum xfw_certainty)c;
            add_changes(variant, changes, NULL, count, i, SIZE_MAX);
        }
    }
    bool done = play(analysis, whatif, variants, all);
    if (done) {
        whatif->replayed_ns = variants[0].run_ns;
        whatif->alone_ns = variants[1].run_ns;
        whatif->span.replayed_ns = variants[0].span_ns;
        whatif->span.alone_ns = variants[1].span_ns;
        whatif->error = whatif->recorded_ns > 0
                            ? fabs(whatif->replayed_ns - whatif->recorded_ns) / whatif->recorded_ns
                            : INFINITY;
        for (size_t r = 0; r < whatif->range_count; r++) {
            whatif->ranges[r].times.replayed_ns = variants[0].ranges[r];
            whatif->ranges[r].times.alone_ns = variants[1].ranges[r];
        }
        for (size_t i = 0; i < count; i++)
            whatif->alone[i] = saving_of(whatif, &variants[2 + XFW_CERTAINTIES * i]);
    }
    free_variants(variants, all);
    return done;
}

/* Of two of a family the later one has to save more by this. */
static double more_than(const struct xfw_change *change)
{
    return change->for_comparison ? XFW_HARDLY_MORE : XFW_ALIKE;
}

bool xfw_whatif_best_of_family(const struct xfw_whatif *whatif, struct xfw_change *const *changes,
                               size_t i)
{
    double saved = whatif->alone[i].likely;
    if (changes[i]->for_comparison)
        return false;
    for (size_t k = 0; k < whatif->count && changes[i]->family; k++) {
        double other = whatif->alone[k].likely;
        bool better = k < i || changes[k]->for_comparison ? saved < more_than(changes[k]) * other
                                                          : other >= XFW_ALIKE * saved;
        if (k != i && changes[k]->family == changes[i]->family && better)
            return false;
    }
    return true;
}

static bool may_join(const struct xfw_whatif *whatif, struct xfw_change *const *changes, size_t i,
                     xfw_excludes_fn *excludes, const void *self)
{
    double least = changes[i]->family ? xfw_change_least(changes[i]) : LEAST_GAIN;
    if (!xfw_whatif_best_of_family(whatif, changes, i))
        return false;
    if (whatif->order[i] || !(whatif->alone[i].likely > least * whatif->alone_ns))
        return false;
    for (size_t k = 0; k < whatif->count && excludes; k++) {
        bool enough = k < i && xfw_whatif_best_of_family(whatif, changes, k) &&
                      whatif->alone[i].likely < XFW_HARDLY_MORE * whatif->alone[k].likely;
        if ((whatif->order[k] || enough) && excludes(self, i, k))
            return false;
    }
    return true;
}

/* What the first member of the set leaves was found by playing each alone. */
static bool know_alone(const struct xfw_whatif *whatif, struct variant *variants, const size_t *of,
                       size_t asked)
{
    for (size_t i = 0; i < asked; i++)
        variants[i].run_ns = whatif->alone_ns - whatif->alone[of[i]].likely;
    return true;
}

/* Adds what saves the most on top of those chosen. False: nothing does. */
static bool choose(struct xfa_analysis *analysis, struct xfw_whatif *whatif,
                   struct xfw_change *const *changes, xfw_excludes_fn *excludes, const void *self,
                   unsigned place, double *so_far)
{
    const size_t count = whatif->count;
    struct variant *variants = xfa_alloc((count + 1) * sizeof *variants);
    size_t *of = xfa_alloc((count + 1) * sizeof *of), asked = 0, best = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!may_join(whatif, changes, i, excludes, self))
            continue;
        variants[asked].certainty = XFW_LIKELY;
        add_changes(&variants[asked], changes, whatif->order, count, i, SIZE_MAX);
        of[asked++] = i;
    }
    bool done = asked > 0 && (place == 1 ? know_alone(whatif, variants, of, asked)
                                         : play(analysis, whatif, variants, asked));
    double least = *so_far;
    for (size_t i = 0; i < asked && done; i++) { /* of such as save the same, the first */
        if (variants[i].run_ns < least - LEAST_GAIN * whatif->alone_ns) {
            least = variants[i].run_ns;
            best = of[i];
        }
    }
    if (best != SIZE_MAX) {
        double added = *so_far - least;
        whatif->order[best] = place;
        whatif->added[best] = (struct xfw_saving){added, added, added};
        *so_far = least;
    }
    free_variants(variants, asked);
    free(of);
    return best != SIZE_MAX;
}

/* The set at worst, likely, at best; and likely, without each of its members. */
static void play_set(struct xfa_analysis *analysis, struct xfw_whatif *whatif,
                     struct xfw_change *const *changes, unsigned members)
{
    const size_t count = whatif->count, all = XFW_CERTAINTIES + members;
    struct variant *variants = xfa_alloc(all * sizeof *variants);
    for (size_t i = 0; i < XFW_CERTAINTIES; i++) {
        variants[i].certainty = (enum xfw_certainty)i;
        add_changes(&variants[i], changes, whatif->order, count, SIZE_MAX, SIZE_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (whatif->order[i] == 0)
            continue;
        struct variant *without = &variants[XFW_CERTAINTIES + whatif->order[i] - 1];
        without->certainty = XFW_LIKELY;
        add_changes(without, changes, whatif->order, count, SIZE_MAX, i);
    }
    if (members && play(analysis, whatif, variants, all)) {
        whatif->set = saving_of(whatif, variants);
        whatif->span.set_ns = variants[XFW_LIKELY].span_ns;
        for (size_t r = 0; r < whatif->range_count; r++)
            whatif->ranges[r].times.set_ns = variants[XFW_LIKELY].ranges[r];
        for (size_t i = 0; i < count; i++) {
            if (whatif->order[i] == 0)
                continue;
            const struct variant *without = &variants[XFW_CERTAINTIES + whatif->order[i] - 1];
            double lost = without->run_ns - variants[XFW_LIKELY].run_ns;
            whatif->last[i] = (struct xfw_saving){lost, lost, lost};
        }
    }
    free_variants(variants, all);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct xfw_saving *unknown(size_t count)
{
    struct xfw_saving *savings = xfa_alloc((count + 1) * sizeof *savings);
    for (size_t i = 0; i <= count; i++)
        savings[i] = (struct xfw_saving){NAN, NAN, NAN};
    return savings;
}

static void abstain(struct xfw_whatif *whatif)
{
    whatif->known = false;
    if (!whatif->why)
        whatif->why = xfa_print("replayed as it was recorded, the run would take %.3g s instead of "
                                "%.3g s: the record does not say what it waited for",
                                whatif->replayed_ns / 1e9, whatif->recorded_ns / 1e9);
}

/* Can it be played at all? One line why not, NULL: yes. */
static const char *lacks(const struct xfa_analysis *analysis)
{
    const struct xfa_run *run = analysis->run;
    if (run->process_count == 0)
        return "no process was recorded";
    if (run->oldest_minor >= 0 && run->oldest_minor < 2)
        return "the trace is of an older format, which has no launches and waits";
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i]->events_lost || run->processes[i]->losses)
            return "events were lost";
    return NULL;
}

/* Does the profile tell what recording this run added? */
static bool knows_recording(const struct xfa_analysis *analysis)
{
    struct xfw_records_cost cost = xfw_records_cost_of(&analysis->achievable, 0);
    uint64_t moved = 0;
    for (size_t i = 0; i < analysis->managed.sites.count; i++) {
        const struct xfa_managed_site *site = xfa_table_at(&analysis->managed.sites, i);
        for (size_t d = 0; d < XFT_DIRECTION_COUNT; d++)
            moved += site->figures.bytes[d];
        moved -= site->figures.by_cause[XFT_CAUSE_USER];
    }
    return cost.known && (moved == 0 || cost.moves_known);
}

struct xfw_whatif *xfw_whatif_of(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                                 size_t count, xfw_excludes_fn *excludes, const void *self)
{
    struct xfw_whatif *whatif = xfa_alloc(sizeof *whatif);
    whatif->count = count < XFW_MOST_CHANGES ? count : XFW_MOST_CHANGES;
    whatif->alone = unknown(count);
    whatif->added = unknown(count);
    whatif->last = unknown(count);
    whatif->order = xfa_alloc((count + 1) * sizeof *whatif->order);
    whatif->set = (struct xfw_saving){NAN, NAN, NAN};
    whatif->recording_known = knows_recording(analysis);
    const char *why = lacks(analysis);
    if (why)
        whatif->why = xfa_text(why);
    whatif->known = !why && play_alone(analysis, whatif, changes);
    if (!whatif->known || !(whatif->error <= XFW_ABSTAIN_ERROR)) {
        abstain(whatif);
        return whatif;
    }
    whatif->marked = whatif->error > XFW_MARK_ERROR;
    double so_far = whatif->alone_ns;
    unsigned members = 0;
    while (members < MOST_ROUNDS &&
           choose(analysis, whatif, changes, excludes, self, members + 1, &so_far))
        members++;
    play_set(analysis, whatif, changes, members);
    return whatif;
}

void xfw_played_free(struct xfw_played *played)
{
    if (!played)
        return;
    free(played->why);
    free(played->note);
    free(played);
}

void xfw_whatif_take_played(struct xfw_whatif *whatif, struct xfw_played *played)
{
    xfw_played_free(whatif->played);
    whatif->played = played;
    if (!whatif->known || played->why || !played->whole || isnan(played->saving.likely) ||
        isnan(whatif->set.likely) || !(played->error <= XFW_MARK_ERROR))
        return;
    /* What the remedies take for granted is as sure as before. */
    double low = whatif->set.likely - whatif->set.low, high = whatif->set.high - whatif->set.likely;
    const struct xfw_saving *saving = &played->saving;
    whatif->set = (struct xfw_saving){
        .low = fmin(saving->low, saving->likely - low),
        .likely = saving->likely,
        .high = fmax(saving->high, saving->likely + high),
    };
    whatif->set_played = true;
}

char *xfw_whatif_tap(struct xfa_analysis *analysis, struct xfw_change *const *changes,
                     const unsigned *order, size_t count, const struct xfw_tap *tap)
{
    struct xfw_whatif *whatif = xfa_alloc(sizeof *whatif); /* for its own figures */
    struct variant variant = {.certainty = XFW_LIKELY, .tap = tap};
    add_changes(&variant, changes, order, count, SIZE_MAX, SIZE_MAX);
    play(analysis, whatif, &variant, 1);
    char *why = whatif->why;
    whatif->why = NULL;
    xfw_whatif_free(whatif);
    free(variant.changes);
    return why;
}

void xfw_whatif_free(struct xfw_whatif *whatif)
{
    if (!whatif)
        return;
    xfw_played_free(whatif->played);
    for (size_t i = 0; i < whatif->range_count; i++)
        free(whatif->ranges[i].name);
    free(whatif->ranges);
    free(whatif->why);
    free(whatif->alone);
    free(whatif->added);
    free(whatif->last);
    free(whatif->order);
    free(whatif);
}
