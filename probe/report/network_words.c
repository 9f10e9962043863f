/*
 * What a profile says of the network, in sentences.
 */
#include "probe/report/network.h"

#include <math.h>
#include <string.h>

#include "common/text.h"
#include "probe/progress.h"
#include "probe/report/summary.h"

#define SIZE_TEXT 32

uint64_t xfp_net_ring_pays_from(const struct xfp_net_staged *s)
{
    uint64_t from = 0;

    for (size_t i = s->point_count; i > 0 && s->points[i - 1].adaptive_ns * (1 + XFP_SUMMARY_PART) <
                                                 s->points[i - 1].unpipelined_ns;
         i--)
        from = s->points[i - 1].bytes;
    return from;
}

static double gbps_of(const struct xfp_point *p)
{
    return xfp_gbps(p->bytes, p->median_ns);
}

static const struct xfp_net_path *find(const struct xfp_network *n, enum xfp_net_shape shape,
                                       int from, int to, bool loaded)
{
    for (size_t i = 0; i < n->path_count; i++) {
        const struct xfp_net_path *p = &n->paths[i];

        if (p->shape == shape && p->from == from && p->to == to && p->loaded == loaded &&
            !p->bound && p->point_count)
            return p;
    }
    return NULL;
}

static void print_host(const struct xfp_network *n, int rank, FILE *out)
{
    if ((size_t)rank < n->rank_count)
        xfc_print(out, "rank %d (%s)", rank, n->ranks[rank].hostname);
    else
        xfc_print(out, "rank %d", rank);
}

/* Whether a's best bandwidth is above b's, beyond noise. */
static bool is_faster(const struct xfp_point *a, const struct xfp_point *b)
{
    return gbps_of(a) > gbps_of(b) * (1 + XFP_SUMMARY_PART) &&
           xfp_gbps(a->bytes, a->ci_high_ns) > xfp_gbps(b->bytes, b->ci_low_ns);
}

static void print_slow_way(const struct xfp_net_path *a, const struct xfp_net_path *b, FILE *out)
{
    const struct xfp_point *way = xfp_net_best(a), *back = xfp_net_best(b);

    if (is_faster(way, back))
        xfc_print(out, "; the way back is slower: %.3g GB/s", gbps_of(back));
    if (is_faster(back, way))
        xfc_print(out, "; slower than the way back: %.3g GB/s", gbps_of(back));
}

/* ---- by NUMA node ---------------------------------------------------------------------------- */

static void print_node(int node, FILE *out)
{
    if (node >= 0)
        xfc_print(out, "node %d", node);
    else
        fputs("the only node", out);
}

static void print_bound(const struct xfp_network *n, const struct xfp_net_path *s, FILE *out)
{
    fputs("from ", out);
    print_node(s->from_node, out);
    fputs(" to ", out);
    print_node(s->to_node, out);
    xfc_print(out, " %.3g GB/s", gbps_of(xfp_net_best(s)));
    for (size_t i = 0; i < n->path_count; i++) {
        const struct xfp_net_path *p = &n->paths[i];

        if (p->shape == XFP_NET_PING && p->bound && p->from == s->from && p->to == s->to &&
            p->loaded == s->loaded && p->from_node == s->from_node && p->to_node == s->to_node &&
            p->point_count)
            xfc_print(out, " (%.1f us)", p->points[0].median_ns / 1e3);
    }
}

/* Of the pairs of nodes that a path's ranks were bound to the fastest and the slowest. */
static void print_nodes(const struct xfp_network *n, const struct xfp_net_path *of, FILE *out)
{
    const struct xfp_net_path *best = NULL, *worst = NULL;

    for (size_t i = 0; i < n->path_count; i++) {
        const struct xfp_net_path *p = &n->paths[i];

        if (p->shape != of->shape || p->from != of->from || p->to != of->to ||
            p->loaded != of->loaded || !p->bound || !p->point_count)
            continue;
        if (!best || gbps_of(xfp_net_best(p)) > gbps_of(xfp_net_best(best)))
            best = p;
        if (!worst || gbps_of(xfp_net_best(p)) < gbps_of(xfp_net_best(worst)))
            worst = p;
    }
    if (!best)
        return;
    fputs("  by NUMA node: ", out);
    if (is_faster(xfp_net_best(best), xfp_net_best(worst))) {
        print_bound(n, best, out);
        fputs(", the slowest ", out);
        print_bound(n, worst, out);
    } else {
        fputs("no difference that is beyond noise, ", out);
        print_bound(n, best, out);
    }
    fputc('\n', out);
}

static void print_stream(const struct xfp_network *n, const struct xfp_net_path *s, FILE *out)
{
    const struct xfp_net_path *ping = find(n, XFP_NET_PING, s->from, s->to, s->loaded);
    const struct xfp_net_path *both = find(n, XFP_NET_BOTH, s->from, s->to, s->loaded);
    const struct xfp_net_path *back = find(n, XFP_NET_STREAM, s->to, s->from, s->loaded);
    const struct xfp_point *best = xfp_net_best(s);
    char size[2][SIZE_TEXT];

    xfc_print(out, "%s: ", s->name);
    print_host(n, s->from, out);
    fputs(" to ", out);
    print_host(n, s->to, out);
    if (s->interface && *s->interface)
        xfc_print(out, " over %s", s->interface);
    if (ping)
        xfc_print(out, ", a message of %s takes %.1f us",
                  xfp_size_text(ping->points[0].bytes, size[0], sizeof(size[0])),
                  ping->points[0].median_ns / 1e3);
    xfc_print(out, "; many of %s reach %.3g GB/s, half of that from %s on",
              xfp_size_text(best->bytes, size[0], sizeof(size[0])), gbps_of(best),
              xfp_size_text(xfp_net_half_bytes(s), size[1], sizeof(size[1])));
    if (both)
        xfc_print(out, ", both ways together %.3g GB/s", 2 * gbps_of(xfp_net_best(both)));
    if (back)
        print_slow_way(s, back, out);
    fputc('\n', out);
    print_nodes(n, s, out);
}

/* From this size on MPI's own way is the fastest; 0: not for the largest one. */
static uint64_t direct_best_from(const struct xfp_net_staged *s)
{
    uint64_t from = 0;

    for (size_t i = s->point_count; i > 0; i--) {
        const struct xfp_net_staged_point *p = &s->points[i - 1];

        if (!(p->direct_ns > 0) ||
            p->direct_ns >= fmin(p->adaptive_ns, fmin(p->pipelined_ns, p->unpipelined_ns)))
            break;
        from = p->bytes;
    }
    return from;
}

/* Whether it is the best way for large copies. */
static bool print_direct_first(const struct xfp_net_staged *s, FILE *out)
{
    const struct xfp_net_staged_point *last = &s->points[s->point_count - 1];
    uint64_t from = direct_best_from(s);
    char size[SIZE_TEXT];

    if (!from)
        return false;
    xfc_print(out, "device memory given to MPI is best%s%s (%.3g GB/s); staged: ",
              from > s->points[0].bytes ? " from " : "",
              from > s->points[0].bytes ? xfp_size_text(from, size, sizeof(size)) : "",
              xfp_gbps(last->bytes, last->direct_ns));
    return true;
}

static void print_direct(const struct xfp_net_staged *s, const struct xfp_net_staged_point *p,
                         FILE *out)
{
    char size[SIZE_TEXT];

    if (!(p->direct_ns > 0))
        return;
    xfc_print(out, "; device memory given to MPI %.3g", xfp_gbps(p->bytes, p->direct_ns));
    if (s->hybrid_bytes && s->hybrid_bytes <= s->points[0].bytes)
        fputs(", which a ring beats at every size", out);
    else if (s->hybrid_bytes)
        xfc_print(out, ", which is best below %s",
                  xfp_size_text(s->hybrid_bytes, size, sizeof(size)));
}

/* What a program gets that begins all pieces at once, where that is less than a ring turns over. */
static void print_posted(const struct xfp_net_staged_point *p, FILE *out)
{
    if (p->posted_ns > p->adaptive_ns * (1 + XFP_SUMMARY_PART))
        xfc_print(out, "; all pieces begun at once %.3g", xfp_gbps(p->bytes, p->posted_ns));
}

static void print_first_uses(const struct xfp_net_staged *s, FILE *out)
{
    double ns = 0;

    for (size_t i = 0; i < s->first_use_count; i++)
        ns += s->first_uses[i].ns;
    if (ns >= 1e6)
        xfc_print(out, "; MPI's first messages of device memory take %.3g ms more", ns / 1e6);
}

static void print_staging(const struct xfp_network *n, const struct xfp_net_staged *s, FILE *out)
{
    const struct xfp_net_path *stream = find(n, XFP_NET_STREAM, s->from, s->to, s->loaded);
    uint64_t pays = xfp_net_ring_pays_from(s);
    const struct xfp_net_staged_point *p;
    char size[2][SIZE_TEXT];
    bool direct_is_best;

    if (!s->point_count)
        return;
    p = &s->points[s->point_count - 1];
    xfc_print(out, "%s: ", s->name);
    direct_is_best = print_direct_first(s, out);
    if (pays)
        xfc_print(out,
                  "from %s on a ring of pinned buffers (4B) is best, below one buffer (2B) "
                  "does as well",
                  xfp_size_text(pays, size[0], sizeof(size[0])));
    else
        fputs("one pinned buffer (2B) does as well as a ring", out);
    xfc_print(out, "; %s between the GPUs at %.3g GB/s with %u of %s (3B %.3g, 2B %.3g)",
              xfp_size_text(p->bytes, size[0], sizeof(size[0])), xfp_gbps(p->bytes, p->adaptive_ns),
              p->buffers, xfp_size_text(p->buffer_bytes, size[1], sizeof(size[1])),
              xfp_gbps(p->bytes, p->pipelined_ns), xfp_gbps(p->bytes, p->unpipelined_ns));
    if (stream)
        xfc_print(out, " of the network's %.3g", gbps_of(xfp_net_best(stream)));
    print_posted(p, out);
    if (!direct_is_best)
        print_direct(s, p, out);
    print_first_uses(s, out);
    fputc('\n', out);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void print_collective(const struct xfp_net_collective *c, FILE *out)
{
    const struct xfp_point *first = c->points, *best = xfp_net_best_of(c);
    char size[SIZE_TEXT];

    xfc_print(out, "%s: ", c->name);
    if (c->ranks)
        xfc_print(out, "%u ranks on ", c->ranks);
    if (c->ranks && c->hosts > 1)
        xfc_print(out, "%u hosts, ", c->hosts);
    else if (c->ranks)
        fputs("one host, ", out);
    if (!first->bytes) {
        xfc_print(out, "takes %.1f us\n", first->median_ns / 1e3);
        return;
    }
    xfc_print(out, "%s take %.1f us", xfp_size_text(first->bytes, size, sizeof(size)),
              first->median_ns / 1e3);
    xfc_print(out, ", at best %.3g GB/s (%s)\n", gbps_of(best),
              xfp_size_text(best->bytes, size, sizeof(size)));
}

/* Of several kinds of such messages the first. How many protocols it has. */
static int print_protocols_of(const struct xfp_network *n, bool devices, FILE *out)
{
    const char *messages = NULL;
    int said = 0;

    for (size_t i = 0; i < n->protocol_count; i++) {
        const struct xfp_net_protocol *p = &n->protocols[i];

        if (!xfp_net_is_of(p, devices) || (messages && strcmp(messages, p->messages)))
            continue;
        messages = p->messages;
        if (!said++)
            xfc_print(out, "UCX sends messages of %s memory by %s", devices ? "device" : "host",
                      p->protocol);
        else
            xfc_print(out, ", %s", p->protocol);
        if (p->last_bytes != UINT64_MAX)
            xfc_print(out, " to %llu B", (unsigned long long)p->last_bytes);
        xfc_print(out, " (%s)", p->transport);
    }
    if (said)
        fputc('\n', out);
    return said;
}

static void print_protocol_words(const struct xfp_network *n, FILE *out)
{
    int said = print_protocols_of(n, false, out) + print_protocols_of(n, true, out);

    if (!said && n->ucx && *n->ucx)
        fputs("UCX says nothing of its protocols: before 1.16 only with UCX_PROTO_ENABLE=y, which "
              "has it use others\n",
              out);
}

void xfp_print_network_words(const struct xfp_profile *profile, FILE *out)
{
    const struct xfp_network *n = profile->network;

    if (!n)
        return;
    fputc('\n', out);
    for (size_t i = 0; i < n->path_count; i++)
        if (n->paths[i].shape == XFP_NET_STREAM && !n->paths[i].bound && n->paths[i].point_count)
            print_stream(n, &n->paths[i], out);
    print_protocol_words(n, out);
    for (size_t i = 0; i < n->staged_count; i++)
        print_staging(n, &n->staged[i], out);
    for (size_t i = 0; i < n->collective_count; i++)
        if (n->collectives[i].point_count && !xfp_net_is_part(&n->collectives[i]))
            print_collective(&n->collectives[i], out);
}
