/* One process of a run played with some of the changes: private to whatif/. */
#ifndef XFW_PLAYER_H
#define XFW_PLAYER_H

#include "analyzer/whatif/change.h"
#include "analyzer/whatif/tap.h"

/* changes: those to be made, borrowed until it is freed. */
struct xfw_player *xfw_player_new(struct xfa_process *process, struct xfw_change *const *changes,
                                  size_t count, enum xfw_certainty certainty);
/* Without what recording cost (xfw_op_alone()), where that is not to be in it. */
void xfw_player_op(struct xfw_player *player, const struct xfw_op *op);
/* Transfers that a change took (xfw_player_take()): by its number and their class. */
struct xfw_taken {
    struct xfw_taken_key {
        uint32_t change, class;
    } key;
    uint64_t transfers;
};
/* counts: of struct xfw_taken, to be added to; outlives the player. */
void xfw_player_count(struct xfw_player *player, struct xfa_table *counts);
/* What is scheduled from now on goes to the tap, too, which outlives the player. */
void xfw_player_tap(struct xfw_player *player, const struct xfw_tap *tap);
void xfw_player_free(struct xfw_player *player);

#endif
