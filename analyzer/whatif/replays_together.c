/* Ways of a run whose ranks are played together. */
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/ways_shared.h"

#define MOST_PLAYERS 4096 /* at one time; of more ways some come later */

/* ---- whether --------------------------------------------------------------------------------- */

/* Those of the processes that this member has. */
static bool has_own(const struct xfw_replays *replays)
{
    struct xfw_gather *gather = replays->gather;
    return gather && !xfw_gather_left_out(gather) &&
           xfw_gather_kept(gather, replays->analysis->run);
}

static bool has_messages(const struct xfw_replays *replays)
{
    return replays->gather && xfw_gather_has_messages(replays->gather);
}

/* Only finds the ops. */
static void gather_all(struct xfw_replays *replays)
{
    struct xfw_walk walk = {.replays = replays};
    xfw_walk_tally(&walk);
    xfw_replays_drop_gather(replays);
    replays->gather = xfw_gather_new(replays->most, false, NULL);
    if (!xfw_walk_files(&walk, replays->analysis))
        xfw_replays_drop_gather(replays);
    xfw_tally_free(walk.tally);
    free(walk.ways);
}

/* All members of a team have the ops of their own processes, and messages are among them. */
static bool have_own(struct xfw_replays *replays)
{
    struct xfa_team *team = replays->analysis->run->team;
    bool own = xfa_team_all(team, has_own(replays));
    if (own && xfa_team_any(team, has_messages(replays)))
        return true;
    if (own || !has_own(replays))
        gather_all(replays);
    own = xfa_team_all(team, has_own(replays));
    return own && xfa_team_any(team, has_messages(replays));
}

/* All members of a team have the ops of all processes, or none has. */
static bool have_all(struct xfw_replays *replays)
{
    struct xfa_run *run = replays->analysis->run;
    run->whole = false;
    if (!have_own(replays) || (run->team && !xfw_gather_exchange(replays->gather, run)))
        return false;
    run->whole = true;
    return true;
}

bool xfw_replays_are_together(struct xfw_replays *replays)
{
    if (replays->decided)
        return replays->together != NULL;
    replays->decided = true;
    replays->together = xfw_together_new(replays->analysis);
    if (replays->together && !have_all(replays)) {
        xfw_together_free(replays->together);
        replays->together = NULL;
        xfw_replays_drop_gather(replays);
    }
    if (!replays->together && has_messages(replays))
        xfw_replays_drop_gather(replays);
    return replays->together != NULL;
}

/* ---- one walk -------------------------------------------------------------------------------- */

static void turn(void *self, size_t process)
{
    struct xfw_walk *walk = self;
    walk->process = walk->replays->analysis->run->processes[process];
    walk->of = xfw_gather_of(walk->replays->gather, (uint32_t)process);
    walk->begun_ns = xfw_together_begun_ns(walk->replays->together, (uint32_t)process);
    for (size_t i = 0; i < walk->count; i++)
        walk->variants[i].player = walk->variants[i].players[process];
}

static void batch(void *self, struct xfw_op *ops, size_t count)
{
    xfw_walk_batch(self, ops, count, NULL);
}

static void begin(struct xfw_walk *walk, struct xfa_process *process)
{
    double begun = xfw_together_begun_ns(walk->replays->together, process->number);
    xfw_walk_begin(walk, process);
    for (size_t i = 0; i < walk->count; i++) {
        struct xfw_variant *v = &walk->variants[i];
        xfw_player_join(v->player, &v->board, begun);
        v->players[process->number] = v->player;
    }
}

/* Changes play what they have put off. */
static void finish(struct xfw_walk *walk, size_t process)
{
    turn(walk, process);
    for (size_t i = 0; i < walk->count; i++) {
        struct xfw_variant *v = &walk->variants[i];
        xfw_player_finish(v->player, NULL);
        double now = xfw_schedule_now(xfw_player_schedule(v->player));
        if (xfw_together_has(walk->replays->together, (uint32_t)process))
            v->last_ns = fmax(v->last_ns, walk->begun_ns + now);
    }
}

static void end(struct xfw_walk *walk, struct xfw_op_store *kept, size_t process)
{
    double end_ns;
    struct xfw_op_reader *reader = xfw_op_reader_new(kept, process);
    const uint64_t *ranges = xfw_op_reader_over(reader, &end_ns);
    turn(walk, process);
    walk->rest_ns = xfw_together_rest_ns(walk->replays->together, kept, (uint32_t)process);
    xfw_walk_end(walk, walk->process, end_ns, ranges);
    xfw_op_reader_free(reader);
}

static bool open_all(struct xfw_walk *walk, char *error, size_t error_bytes)
{
    const struct xfa_run *run = walk->replays->analysis->run;
    size_t opened = 0;
    while (opened < run->process_count &&
           xfa_process_reopen(run->processes[opened], false, error, error_bytes))
        opened++;
    for (size_t i = 0; opened < run->process_count && i < opened; i++)
        xfa_process_let_go(run->processes[i]);
    walk->replays->failed = (uint32_t)opened;
    return opened == run->process_count;
}

/* Once more, one process after the other, for those who receive what is scheduled. */
static void play_taps(struct xfw_walk *walk, struct xfw_op_store *kept, size_t process)
{
    struct xfa_process *of = walk->replays->analysis->run->processes[process];
    struct xfw_op_reader *reader = xfw_op_reader_new(kept, process);
    struct xfw_op *ops = xfa_alloc(XFW_BATCH * sizeof *ops), op;
    size_t count = 0;
    begin(walk, of);
    turn(walk, process);
    while (xfw_op_reader_next(reader, &op)) {
        count += xfw_together_again(walk->replays->together, (uint32_t)process, &op, ops + count);
        if (count + XFW_MOST_AGAIN <= XFW_BATCH)
            continue;
        batch(walk, ops, count);
        count = 0;
    }
    if (count > 0)
        batch(walk, ops, count);
    finish(walk, process);
    end(walk, kept, process);
    free(ops);
    xfw_op_reader_free(reader);
}

static void drop_players(struct xfw_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        for (size_t p = 0; p < walk->replays->analysis->run->process_count; p++)
            xfw_player_free(walk->variants[i].players[p]);
}

static void play(struct xfw_walk *walk, struct xfw_op_store *kept, bool taps)
{
    const struct xfw_rank_turns turns = {turn, batch, walk};
    const struct xfa_run *run = walk->replays->analysis->run;
    walk->no_taps = true;
    for (size_t i = 0; i < run->process_count; i++)
        begin(walk, run->processes[i]);
    xfw_together_play(walk->replays->together, kept, taps, &turns);
    for (size_t i = 0; i < run->process_count; i++)
        finish(walk, i);
    walk->no_taps = false;
    if (taps)
        drop_players(walk);
    for (size_t i = 0; i < run->process_count; i++) {
        if (taps)
            play_taps(walk, kept, i);
        else
            end(walk, kept, i);
        xfa_process_let_go(run->processes[i]);
    }
}

/* ---- all ways -------------------------------------------------------------------------------- */

static bool has_taps(const struct xfw_variant *variants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (variants[i].way->tap)
            return true;
    return false;
}

/* From the first process's first work to the last one's last, where parts add up each one's. */
static void take_spans(struct xfw_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct xfw_variant *v = &walk->variants[i];
        v->way->span_ns = xfw_extent_ns(&v->span);
        v->way->left_ns = fmin(v->left_ns, v->way->span_ns);
    }
    if (!walk->variants[0].way->recording)
        return;
    walk->replays->whatif->span.recorded_ns = xfw_extent_ns(&walk->recorded);
    walk->replays->whatif->contexts_ns = walk->recorded.contexts_ns;
}

static bool play_some(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    char error[1024] = "";
    struct xfa_analysis *analysis = replays->analysis;
    size_t processes = analysis->run->process_count;
    struct xfw_walk walk = {
        .replays = replays, .variants = variants, .count = count, .together = true};
    for (size_t i = 0; i < count; i++) {
        walk.recording = walk.recording || variants[i].way->recording;
        variants[i].players = xfa_alloc(processes * sizeof *variants[i].players);
    }
    xfw_batch_make(&walk.at_hand, walk.recording);
    xfw_walk_tally(&walk);
    bool done = open_all(&walk, error, sizeof error);
    if (done)
        play(&walk, xfw_gather_kept(replays->gather, analysis->run), has_taps(variants, count));
    else
        xfw_replays_fail(replays, xfa_text(error));
    done = xfw_walk_sum_up(&walk) && done;
    if (done)
        take_spans(&walk);
    for (size_t i = 0; i < count; i++) {
        free(variants[i].players);
        free(variants[i].board.slots);
    }
    xfw_batch_free(&walk.at_hand);
    return done;
}

bool xfw_replays_together(struct xfw_replays *replays, struct xfw_variant *variants, size_t count)
{
    struct xfa_team *team = replays->analysis->run->team;
    struct xfw_way **ways = xfa_alloc((count + 1) * sizeof(struct xfw_way *));
    size_t some = MOST_PLAYERS / replays->analysis->run->process_count;
    bool done = true;
    replays->crew = replays->crew ? replays->crew : xfa_crew_new();
    for (size_t i = 0; i < count; i++)
        ways[i] = variants[i].way;
    uint32_t *owners = xfw_ways_deal(replays, ways, count);
    size_t mine = xfw_ways_mine(team, owners, variants, count);
    for (size_t at = 0, next; at < mine && done; at = next) {
        next = at + some < mine ? at + some : mine;
        done = play_some(replays, variants + at, next - at);
    }
    if (team)
        done = xfw_ways_exchange(replays, ways, owners, count, done);
    free(owners);
    free(ways);
    replays->whatif->replays += (unsigned)count;
    replays->whatif->ranks = xfw_together_ranks(replays->together);
    return done;
}
