/*
 * Allocations that live, by address. One is there from xfa_blocks_add() on, until the time at which
 * its end was said to be has passed. They may overlap, as those of damaged traces do.
 *
 * Each function takes a number of steps that is logarithmic in how many live. What was found around
 * an address is kept until there are other blocks: one thread asks at a time.
 */
#ifndef XFA_BLOCKS_H
#define XFA_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfa_block {
    uint64_t address, end;
    uint32_t stack;
    bool ended;       /* its end is known */
    bool lives_below; /* blocks.c: it, or one below it in the tree, has no end yet */
    uint32_t left, right;
    uint64_t order; /* in which they were added */
    uint64_t reach; /* the furthest end of it and those below */
};

struct xfa_blocks {
    struct xfa_block *items; /* from 1 on */
    size_t used, capacity;
    size_t count; /* that live */
    uint32_t root, spare;
    uint64_t added;
    uint64_t changes;              /* of which blocks there are */
    struct xfa_block_asked *asked; /* by address; NULL: there has been none */
    struct xfa_block_end *ends;    /* a heap: the first is the next */
    size_t end_count, end_capacity;
};

/* Starts zeroed. */
void xfa_blocks_free(struct xfa_blocks *blocks);

void xfa_blocks_add(struct xfa_blocks *blocks, uint64_t address, uint64_t end, uint32_t stack);

/* Of those at this address without an end the oldest ends then; it is there at that time still.
 * Nothing happens where there is none. */
void xfa_blocks_end(struct xfa_blocks *blocks, uint64_t address, uint64_t when);

/* Forgets those that ended before. */
void xfa_blocks_pass(struct xfa_blocks *blocks, uint64_t now);

/* The one that an address lies in: of several the one that begins last, then the newest. NULL when
 * there is none. Until the next call of another function. */
const struct xfa_block *xfa_blocks_find(const struct xfa_blocks *blocks, uint64_t address);

#endif
