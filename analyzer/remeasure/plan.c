#include "analyzer/remeasure/plan.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/pass/achievable.h"

#define SLOW_BYTES_PER_NS 4.0 /* a copy of which nothing is known is assumed to reach 4 GB/s */

_Static_assert(offsetof(struct xfa_wanted_key, reserved) + 6 == sizeof(struct xfa_wanted_key),
               "no padding");

struct making {
    struct xfa_plan *plan;
    const struct xfa_places *places;
    const struct xfp_profile *profile;
    const struct xfa_cell *cell;
    int src, dst; /* its GPUs as the profile counts, -1 = none */
    int src_here, dst_here;
};

/* ---- a path by its name ---------------------------------------------------------------------- */

static const struct xfp_machine *here_of(const struct making *m)
{
    return m->places->here;
}

static bool several_nodes(const struct making *m)
{
    return here_of(m)->node_count > 1 || here_of(m)->numa_nodes > 1;
}

/* "copy-warm/pinned/h2d/node1-gpu0" */
static char *name_of(const struct xfa_wanted_key *key, bool nodes)
{
    char what[64] = "copy", node[24] = "", *name;
    if (key->row_bytes)
        snprintf(what, sizeof what, "copy-rows-%llu", (unsigned long long)key->row_bytes);
    if (key->direction == XFT_DIR_D2D)
        return xfa_print("copy/device/d2d/gpu%d", key->src_gpu);
    if (key->direction == XFT_DIR_P2P)
        return xfa_print("copy/%s/p2p/gpu%d-gpu%d", key->peer ? "peer" : "no-peer", key->src_gpu,
                         key->dst_gpu);
    if (nodes && key->node >= 0)
        snprintf(node, sizeof node, "node%d-", key->node);
    bool up = key->direction == XFT_DIR_H2D;
    name = xfa_print("%s%s/%s/%s/%sgpu%d", what, key->cache == XFP_WARM ? "-warm" : "",
                     xft_memory_word(key->memory), up ? "h2d" : "d2h", node,
                     up ? key->dst_gpu : key->src_gpu);
    return name;
}

static struct xfp_place place_of(const struct xfa_wanted_key *key, int gpu)
{
    if (gpu >= 0)
        return (struct xfp_place){XFT_MEM_DEVICE, gpu, -1};
    return (struct xfp_place){(enum xft_memory)key->memory, -1, key->node};
}

static void describe(const struct making *m, struct xfa_wanted *wanted)
{
    const struct xfa_wanted_key *key = &wanted->key;
    wanted->like = (struct xfp_path){
        .name = name_of(key, several_nodes(m)),
        .method = XFP_COPY,
        .direction = (enum xft_direction)key->direction,
        .src = place_of(key, key->src_gpu),
        .dst = place_of(key, key->dst_gpu),
        .device_timed = true,
        .cache = (enum xfp_cache)key->cache,
        .row_bytes = key->row_bytes,
    };
    wanted->spec = (struct xfp_transfer_spec){
        .bytes = key->bytes,
        .row_bytes = key->row_bytes,
        .direction = (enum xft_direction)key->direction,
        .src = place_of(key, m->src_here),
        .dst = place_of(key, m->dst_here),
        .cache = (enum xfp_cache)key->cache,
        .peer_access = key->peer,
    };
}

/* ---- what one cell wants --------------------------------------------------------------------- */

static const struct xfp_point *known_point(const struct xfp_profile *profile, const char *name,
                                           uint64_t bytes)
{
    const struct xfp_path *path = profile ? xfp_find_path(profile, name) : NULL;
    for (size_t i = 0; path && i < path->point_count; i++)
        if (path->points[i].bytes == bytes)
            return &path->points[i];
    return NULL;
}

/* Known: the profile's path has a point of this size; for a blocking call with its time, too. */
static enum xfa_wanted_state state_of(const struct making *m, const struct xfa_wanted *wanted)
{
    const struct xfp_point *point = known_point(m->profile, wanted->like.name, wanted->key.bytes);
    bool all = point && (!wanted->spec.blocking || point->blocking_ns > 0);
    return all ? XFA_WANTED_KNOWN : XFA_WANTED_OPEN;
}

static void want(struct making *m, const struct xfa_wanted_key *key, bool as_it_was)
{
    struct xfa_plan *plan = m->plan;
    const struct xfa_cell *cell = m->cell;
    bool host = key->direction == XFT_DIR_H2D || key->direction == XFT_DIR_D2H;
    struct xfa_wanted *wanted = xfa_table_put(&plan->wanted, key);
    if (!wanted->like.name)
        describe(m, wanted);
    wanted->spec.blocking |= host && !cell->key.async && key->row_bytes == 0;
    wanted->copy_ns = fmax(wanted->copy_ns, (double)key->bytes / SLOW_BYTES_PER_NS);
    if (as_it_was && cell->timed)
        wanted->copy_ns = fmax(wanted->copy_ns, cell->achieved_ns / (double)cell->timed);
    wanted->state = state_of(m, wanted);
    plan->wants =
        xfa_room(plan->wants, &plan->want_capacity, plan->want_count + 1, sizeof *plan->wants);
    plan->wants[plan->want_count++] =
        (uint32_t)(wanted - (struct xfa_wanted *)xfa_table_at(&plan->wanted, 0));
}

/* The one node of this machine; where there are several, that of the memory. */
static int16_t node_of(const struct making *m, int node)
{
    const struct xfp_machine *here = here_of(m);
    if (several_nodes(m))
        return (int16_t)node;
    return (int16_t)(here->node_count == 1 ? here->nodes[0].node : -1);
}

/* The node with the fastest copies to or from the GPU, by the profile; else the GPU's own. */
static int16_t best_node(const struct making *m, enum xft_direction direction,
                         enum xft_memory memory)
{
    int gpu = direction == XFT_DIR_H2D ? m->dst : m->src;
    int here = direction == XFT_DIR_H2D ? m->dst_here : m->src_here;
    int node = m->profile ? xfa_near_node(m->profile, direction, memory, gpu) : -1;
    return node_of(m, node >= 0 ? node : here_of(m)->gpus[here].numa);
}

static struct xfa_wanted_key key_of(const struct making *m)
{
    struct xfa_wanted_key key;
    memset(&key, 0, sizeof key);
    key.bytes = m->cell->key.bytes;
    key.direction = m->cell->key.direction;
    key.src_gpu = (int16_t)m->src;
    key.dst_gpu = (int16_t)m->dst;
    key.node = -1;
    return key;
}

static bool want_host_copy(struct making *m)
{
    static const enum xft_memory kinds[] = {XFT_MEM_PINNED, XFT_MEM_WRITE_COMBINED,
                                            XFT_MEM_REGISTERED, XFT_MEM_MAPPED};
    const struct xfa_cell_key *cell = &m->cell->key;
    struct xfa_wanted_key itself = key_of(m), other = key_of(m);
    bool up = cell->direction == XFT_DIR_H2D;
    itself.memory = up ? cell->src_mem : cell->dst_mem;
    itself.node = node_of(m, up ? cell->src_node : cell->dst_node);
    itself.row_bytes = cell->row_bytes;
    bool is = (itself.memory == XFT_MEM_PAGEABLE || xfa_is_page_locked(itself.memory)) &&
              !cell->batch && (up ? cell->dst_mem : cell->src_mem) == XFT_MEM_DEVICE;
    if (is)
        want(m, &itself, true);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        other.memory = (uint8_t)kinds[i];
        other.node = best_node(m, (enum xft_direction)cell->direction, kinds[i]);
        want(m, &other, false);
    }
    itself.cache = other.cache = XFP_WARM;
    if (is && !itself.row_bytes && itself.memory != XFT_MEM_WRITE_COMBINED)
        want(m, &itself, true);
    other.memory = XFT_MEM_PINNED;
    other.node = best_node(m, (enum xft_direction)cell->direction, XFT_MEM_PINNED);
    want(m, &other, false);
    return is;
}

static bool has_peer(const struct xfp_machine *machine, int gpu, int other)
{
    const struct xfp_gpu *of = &machine->gpus[gpu];
    for (size_t i = 0; i < of->peer_count; i++)
        if (of->peers[i] == other)
            return true;
    return false;
}

static bool want_device_copy(struct making *m)
{
    const struct xfa_cell_key *cell = &m->cell->key;
    struct xfa_wanted_key key = key_of(m);
    bool is = !cell->batch && cell->row_bytes == 0 && cell->src_mem == XFT_MEM_DEVICE &&
              cell->dst_mem == XFT_MEM_DEVICE;
    bool peers = cell->direction == XFT_DIR_P2P && has_peer(here_of(m), m->src_here, m->dst_here);
    key.peer = peers && cell->peer == XFA_PEER_ON;
    if (is)
        want(m, &key, true);
    if (!is || key.peer != peers) {
        key.peer = peers;
        want(m, &key, false);
    }
    return is;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Finds the GPUs of the cell, here and in the profile; false: one of them is missing. */
static bool find_gpus(struct making *m)
{
    const struct xfa_cell_key *cell = &m->cell->key;
    bool from = cell->direction != XFT_DIR_H2D, to = cell->direction != XFT_DIR_D2H;
    m->src_here = from ? xfa_place_here(m->places, cell->src_gpu) : -1;
    m->dst_here = to ? xfa_place_here(m->places, cell->dst_gpu) : -1;
    m->src = m->src_here >= 0 ? xfa_place_in_profile(m->places, m->src_here) : -1;
    m->dst = m->dst_here >= 0 ? xfa_place_in_profile(m->places, m->dst_here) : -1;
    return (!from || m->src >= 0) && (!to || m->dst >= 0);
}

static bool want_all(struct making *m)
{
    switch (m->cell->key.direction) {
    case XFT_DIR_H2D:
    case XFT_DIR_D2H:
        return find_gpus(m) && want_host_copy(m);
    case XFT_DIR_D2D:
        return find_gpus(m) && m->src == m->dst && want_device_copy(m);
    case XFT_DIR_P2P:
        return find_gpus(m) && m->src != m->dst && want_device_copy(m);
    default:
        return false;
    }
}

void xfa_plan_make(struct xfa_plan *plan, const struct xfa_cells *cells,
                   const struct xfa_places *places, const struct xfp_profile *profile)
{
    *plan = (struct xfa_plan){.cell_count = cells->cells.count};
    xfa_table_init(&plan->wanted, sizeof(struct xfa_wanted_key), sizeof(struct xfa_wanted));
    plan->cells = xfa_alloc((plan->cell_count + 1) * sizeof *plan->cells);
    uint32_t *order = xfa_cells_worst_first(cells);
    for (size_t i = 0; i < plan->cell_count; i++) {
        const struct xfa_cell *cell = xfa_cell_at(cells, order[i]);
        struct making m = {.plan = plan, .places = places, .profile = profile, .cell = cell};
        struct xfa_planned *planned = &plan->cells[i];
        *planned = (struct xfa_planned){.cell = cell, .from = plan->want_count};
        planned->as_it_was = want_all(&m);
        planned->count = plan->want_count - planned->from;
    }
    free(order);
}

void xfa_plan_free(struct xfa_plan *plan)
{
    for (size_t i = 0; i < plan->wanted.count; i++)
        free(xfa_wanted_at(plan, i)->like.name);
    xfa_table_free(&plan->wanted);
    free(plan->cells);
    free(plan->wants);
}
