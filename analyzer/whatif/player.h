/*
 * One process of a run, played with some changes. Private to whatif/, but for the tap.
 */
#ifndef XFW_PLAYER_H
#define XFW_PLAYER_H

#include "analyzer/run/run.h"
#include "analyzer/whatif/schedule/change.h"

/*
 * Functions that receive each op when it has been scheduled, as the changes have left it and
 * without what recording cost: for who makes it happen on a GPU (remeasure/) or shows it
 * (timeline/).
 */
struct xfw_tap {
    void *self;
    void (*process)(void *self, struct xfa_process *process);
    /* recorded: the op before the changes; NULL: a change inserted it. */
    void (*op)(void *self, const struct xfw_op *op, const struct xfw_op *recorded,
               const struct xfw_schedule *schedule);
    /* From the next op on, the stream waits until `ns` for what has been scheduled by now. */
    void (*after)(void *self, uint32_t stream, double ns);
    /* total_ns: of the schedule (xfw_schedule_total()). */
    void (*end)(void *self, struct xfa_process *process, const struct xfw_schedule *schedule,
                double total_ns);
};

struct xfw_sample;
/* changes: to be made in this order; borrowed until the player is freed. */
struct xfw_player *xfw_player_new(struct xfa_process *process, struct xfw_change *const *changes,
                                  size_t count, enum xfw_certainty certainty);
void xfw_player_free(struct xfw_player *player);

/* Its messages are those of other ranks (xfw_schedule_join()). */
void xfw_player_join(struct xfw_player *player, struct xfw_board *board, double begun_ns);

/* The next op. Take out what recording cost before (xfw_op_alone()), unless it is to count. */
void xfw_player_op(struct xfw_player *player, const struct xfw_op *op);

/* When its call will begin, as far as is known before it is played. */
double xfw_player_begins(const struct xfw_player *player, const struct xfw_op *op);

/* There are no more: changes play what they have put off. sample: the process's; NULL: no op was
 * left out. */
void xfw_player_finish(struct xfw_player *player, const struct xfw_sample *sample);

/* How many transfers a change took (xfw_player_take()), by its number and their class. */
struct xfw_taken {
    struct xfw_taken_key {
        uint32_t change, class;
    } key;
    uint64_t transfers;
};
/* counts: of struct xfw_taken, added to from now on; outlives the player. */
void xfw_player_count(struct xfw_player *player, struct xfa_table *counts);
/* What is left of the work from now on is noted (schedule/left.h), and the most of it, of what is
 * as recorded and of what changes have altered these parts; 0: nobody asked. */
void xfw_player_ask_left(struct xfw_player *player);
double xfw_player_left(const struct xfw_player *player, double as_recorded, double changed);
/* From now on it is noted which of its changes do anything. A bit for the place of each that did,
 * or that nobody has watched: without the others all would be the same. */
void xfw_player_watch(struct xfw_player *player);
uint64_t xfw_player_acted(const struct xfw_player *player);
/* The next op is given to its only change, which is `by_ops`, and to no schedule, until that does
 * anything: xfw_player_acted(). All of the player's ops, or none. */
void xfw_player_try(struct xfw_player *player, const struct xfw_op *op);
/* The tap, which outlives the player, receives what is scheduled from now on. */
void xfw_player_tap(struct xfw_player *player, const struct xfw_tap *tap);

#endif
