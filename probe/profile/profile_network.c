/*
 * The network's part of a profile: its memory, and what it answers.
 */
#include "xferscope/profile_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "probe/profile/named_list.h"
#include "xferscope/message.h"

#define WORD_ROW(symbol, number, word)                                                             \
    case symbol:                                                                                   \
        return word;

const char *xfp_net_shape_word(enum xfp_net_shape shape)
{
    switch ((unsigned)shape) {
        XFP_NET_SHAPE_LIST(WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_net_direct_word(enum xfp_net_direct direct)
{
    switch ((unsigned)direct) {
        XFP_NET_DIRECT_LIST(WORD_ROW)
    default:
        return "unknown";
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void free_path(struct xfp_net_path *path)
{
    for (size_t i = 0; path->windows && i < path->point_count; i++)
        free(path->windows[i].ns);
    free(path->name);
    free(path->interface);
    free(path->points);
    free(path->windows);
}

static void free_staged(struct xfp_net_staged *staged)
{
    free(staged->name);
    free(staged->points);
    free(staged->cells);
    free(staged->first_uses);
}

static void free_collective(struct xfp_net_collective *collective)
{
    free(collective->name);
    free(collective->points);
}

static void free_rank(struct xfp_net_rank *rank)
{
    for (size_t i = 0; i < rank->interface_count; i++) {
        free(rank->interfaces[i].name);
        free(rank->interfaces[i].driver);
    }
    free(rank->interfaces);
    free(rank->hostname);
    free(rank->machine_id);
    free(rank->gpu_name);
    free(rank->gpu_uuid);
}

/* A list of the network, and moving all of it to another. */
#define LIST(kind, list, count)                                                                    \
    XFP_NAMED_LIST(xfp_net_add_##kind, struct xfp_network, struct xfp_net_##kind, kind, list,      \
                   count)                                                                          \
    static int move_##kind(struct xfp_network *network, struct xfp_network *other)                 \
    {                                                                                              \
        int bad = 0;                                                                               \
                                                                                                   \
        for (size_t i = 0; i < other->count; i++)                                                  \
            bad |= xfp_net_add_##kind(network, &other->list[i]);                                   \
        other->count = 0;                                                                          \
        return bad;                                                                                \
    }

LIST(path, paths, path_count)
LIST(staged, staged, staged_count)
LIST(collective, collectives, collective_count)

struct xfp_network *xfp_net_of(struct xfp_profile *profile)
{
    if (!profile->network)
        profile->network = calloc(1, sizeof(*profile->network));
    return profile->network;
}

static void free_protocol(struct xfp_net_protocol *p)
{
    free(p->messages);
    free(p->protocol);
    free(p->transport);
}

static bool same_protocol(const struct xfp_net_protocol *a, const struct xfp_net_protocol *b)
{
    return a->first_bytes == b->first_bytes && a->last_bytes == b->last_bytes &&
           !strcmp(a->messages, b->messages) && !strcmp(a->protocol, b->protocol) &&
           !strcmp(a->transport, b->transport);
}

static bool has_protocol(const struct xfp_network *network, const struct xfp_net_protocol *item)
{
    for (size_t i = 0; i < network->protocol_count; i++)
        if (same_protocol(&network->protocols[i], item))
            return true;
    return false;
}

int xfp_net_add_protocol(struct xfp_network *network, struct xfp_net_protocol *item)
{
    bool bad = !item->messages || !item->protocol || !item->transport;
    bool known = !bad && has_protocol(network, item);

    if (!bad && !known &&
        xfc_resize(&network->protocols, network->protocol_count + 1, sizeof(*item))) {
        network->protocols[network->protocol_count++] = *item;
        return 0;
    }
    free_protocol(item);
    return known ? 0 : -1;
}

int xfp_net_merge(struct xfp_network *network, struct xfp_network *other)
{
    int bad = move_path(network, other);

    bad |= move_staged(network, other);
    return bad | move_collective(network, other);
}

void xfp_net_free(struct xfp_network *network)
{
    if (!network)
        return;
    for (size_t i = 0; i < network->rank_count; i++)
        free_rank(&network->ranks[i]);
    free_all_path(network);
    free_all_staged(network);
    free_all_collective(network);
    for (size_t i = 0; i < network->protocol_count; i++)
        free_protocol(&network->protocols[i]);
    free(network->protocols);
    free(network->ranks);
    free(network->mpi);
    free(network->ucx);
    free(network->nccl);
    free(network);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct xfp_net_path *xfp_net_find(const struct xfp_profile *profile, enum xfp_net_shape shape,
                                        int from, int to)
{
    const struct xfp_network *network = profile->network;

    for (size_t i = 0; network && i < network->path_count; i++) {
        const struct xfp_net_path *p = &network->paths[i];

        if (p->shape == shape && p->from == from && p->to == to && !p->loaded && !p->bound)
            return p;
    }
    return NULL;
}

const struct xfp_net_staged *xfp_net_find_staged(const struct xfp_profile *profile, int from,
                                                 int to)
{
    const struct xfp_network *network = profile->network;

    for (size_t i = 0; network && i < network->staged_count; i++) {
        const struct xfp_net_staged *s = &network->staged[i];

        if (s->from == from && s->to == to && !s->loaded)
            return s;
    }
    return NULL;
}

static double up_to(const struct xfp_net_staged *staged, uint64_t bytes)
{
    double ns = 0;

    for (size_t i = 0; staged && i < staged->first_use_count; i++)
        if (staged->first_uses[i].bytes <= bytes)
            ns += staged->first_uses[i].ns;
    return ns;
}

double xfp_net_first_use_ns(const struct xfp_profile *profile, int one, int other, uint64_t bytes)
{
    return up_to(xfp_net_find_staged(profile, one, other), bytes) +
           up_to(xfp_net_find_staged(profile, other, one), bytes);
}

struct xfp_estimate xfp_net_time(const struct xfp_net_path *path, uint64_t bytes)
{
    const struct xfp_path same = {
        .points = path->points, .point_count = path->point_count, .fit = path->fit};

    return xfp_time(&same, bytes);
}

const struct xfp_net_staged_point *xfp_net_staged_at(const struct xfp_net_staged *staged,
                                                     uint64_t bytes)
{
    const struct xfp_net_staged_point *best = staged->point_count ? staged->points : NULL;

    for (size_t i = 1; i < staged->point_count; i++)
        if (staged->points[i].bytes <= bytes)
            best = &staged->points[i];
    return best;
}

uint64_t xfp_net_hybrid_bytes(const struct xfp_net_staged_point *points, size_t count)
{
    uint64_t from = 0;

    for (size_t i = count; i > 0; i--) {
        if (!(points[i - 1].direct_ns > 0))
            continue;
        if (points[i - 1].adaptive_ns >= points[i - 1].direct_ns)
            break;
        from = points[i - 1].bytes;
    }
    return from;
}

double xfp_net_bus_factor(const char *collective, int ranks)
{
    double n = ranks > 1 ? ranks : 1;

    if (strstr(collective, "all-reduce"))
        return 2 * (n - 1) / n;
    if (strstr(collective, "all-gather") || strstr(collective, "reduce-scatter") ||
        strstr(collective, "all-to-all"))
        return (n - 1) / n;
    return 1;
}

const char *xfp_net_operation_word(unsigned what)
{
    const char *word = xft_message_is_collective(what) ? xft_message_word(what) : NULL;

    return word ? word : "send-recv";
}

static const struct xfp_net_collective *find_named(const struct xfp_network *network,
                                                   const char *name)
{
    for (size_t i = 0; i < network->collective_count; i++)
        if (!strcmp(network->collectives[i].name, name))
            return &network->collectives[i];
    return NULL;
}

const struct xfp_net_collective *xfp_net_find_collective(const struct xfp_network *network,
                                                         const char *library, unsigned what)
{
    char name[64];

    snprintf(name, sizeof(name), "net/%s/%s", library, xfp_net_operation_word(what));
    return find_named(network, name);
}

void xfp_net_part_word(uint32_t ranks, uint32_t hosts, char text[XFP_NET_PART_TEXT])
{
    snprintf(text, XFP_NET_PART_TEXT, "/ranks%u-hosts%u", ranks, hosts);
}

const struct xfp_net_collective *xfp_net_find_part(const struct xfp_network *network,
                                                   const char *library, unsigned what,
                                                   uint32_t ranks, uint32_t hosts)
{
    char name[64 + XFP_NET_PART_TEXT], part[XFP_NET_PART_TEXT];
    const struct xfp_net_collective *found;

    xfp_net_part_word(ranks, hosts, part);
    snprintf(name, sizeof(name), "net/%s/%s%s", library, xfp_net_operation_word(what), part);
    found = find_named(network, name);
    return found && found->ranks == ranks && found->hosts == hosts ? found : NULL;
}

bool xfp_net_is_part(const struct xfp_net_collective *collective)
{
    char part[XFP_NET_PART_TEXT];
    size_t length = strlen(collective->name), end;

    xfp_net_part_word(collective->ranks, collective->hosts, part);
    end = strlen(part);
    return length > end && !strcmp(collective->name + length - end, part);
}

const struct xfp_net_collective *xfp_net_other_way(const struct xfp_network *network,
                                                   const struct xfp_net_collective *collective)
{
    char name[96];
    const struct xfp_net_collective *other;

    snprintf(name, sizeof(name), "%s-block", collective->name);
    other = find_named(network, name);
    return other && other->ranks == collective->ranks ? other : NULL;
}
