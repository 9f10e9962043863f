/* The machine in the block `timeline`: places, links, what moved between them, what the profile
 * measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/html/html.h"

#define ID_CHARS 40
#define MOST_PLACES 512
#define MOST_GPUS 16 /* with curves and links */

/* ---- places ---------------------------------------------------------------------------------- */

static const char *place_id(char id[ID_CHARS], const struct xfa_place *place)
{
    char host[24] = "host";
    if (place->host > 0)
        snprintf(host, sizeof host, "host%u", place->host);
    if (place->gpu >= 0)
        snprintf(id, ID_CHARS, "gpu:%d", place->gpu);
    else if (place->gpu == XFA_SOME_GPU)
        snprintf(id, ID_CHARS, "gpu");
    else if (place->node >= 0)
        snprintf(id, ID_CHARS, "%s:%d", host, place->node);
    else
        snprintf(id, ID_CHARS, "%s", host);
    return id;
}

static char *place_label(const struct xfa_run *run, const struct xfa_place *place)
{
    if (place->gpu == XFA_SOME_GPU)
        return xfa_text("a GPU");
    if (place->gpu < 0)
        return place->node >= 0 ? xfa_print("NUMA node %d", place->node) : xfa_text("host memory");
    const char *name = (size_t)place->gpu < run->gpu_count ? run->gpus[place->gpu].name : NULL;
    return name ? xfa_print("GPU %d: %s", place->gpu, name) : xfa_print("GPU %d", place->gpu);
}

struct places {
    struct xfa_place all[MOST_PLACES];
    size_t count;
};

static void add_place(struct places *places, struct xfa_place place)
{
    size_t i = 0;
    while (i < places->count && memcmp(&places->all[i], &place, sizeof place) != 0)
        i++;
    if (i == places->count && i < MOST_PLACES)
        places->all[places->count++] = place;
}

/* Hosts with their nodes, then GPUs. */
static int in_place(const void *a, const void *b)
{
    const struct xfa_place *x = a, *y = b;
    int64_t gpu = (int64_t)(x->gpu != -1) - (y->gpu != -1);
    int64_t order = gpu ? gpu : (int64_t)x->host - y->host;
    order = order ? order : (int64_t)x->node - y->node;
    order = order ? order : (int64_t)x->gpu - y->gpu;
    return order < 0 ? -1 : order > 0;
}

/* The profile, unless it is known to be of another machine; NULL: none. */
static const struct xfp_profile *profile_of(const struct xfa_analysis *analysis)
{
    bool other = analysis->achievable.match == XFA_MATCH_NO || analysis->run->host_count > 1;
    return other ? NULL : analysis->profile;
}

static const struct xfp_gpu *gpu_of(const struct xfa_analysis *analysis, int gpu)
{
    const struct xfp_profile *profile = profile_of(analysis);
    int ordinal = profile ? xfa_achievable_gpu(&analysis->achievable, gpu) : -1;
    bool there = ordinal >= 0 && (size_t)ordinal < profile->machine.gpu_count;
    return there ? &profile->machine.gpus[ordinal] : NULL;
}

/* The NUMA node that a GPU is attached to; -1 = not known. */
static int node_of(const struct xfa_analysis *analysis, int gpu)
{
    const struct xfp_gpu *known = gpu_of(analysis, gpu);
    if (!known)
        return -1;
    return known->numa < 0 && analysis->profile->machine.numa_nodes == 1 ? 0 : known->numa;
}

/* Host memory whose node is not known, on a machine with one node, is on that node. */
static struct xfa_place known_place(const struct xfa_analysis *analysis, struct xfa_place place)
{
    const struct xfp_profile *profile = profile_of(analysis);
    bool one = profile && profile->machine.numa_nodes == 1;
    if (one && place.gpu == -1 && place.node == -1)
        place.node = (int16_t)(profile->machine.node_count ? profile->machine.nodes[0].node : 0);
    return place;
}

static void gather(struct places *places, const struct xfa_timeline *timeline)
{
    const struct xfa_analysis *analysis = timeline->analysis;
    const struct xfp_profile *profile = profile_of(analysis);
    const struct xfa_table *traffic = &timeline->traffic.table;
    for (size_t i = 0; profile && i < profile->machine.node_count; i++)
        if (profile->machine.nodes[i].cpus > 0 && profile->machine.nodes[i].node <= INT16_MAX)
            add_place(places, (struct xfa_place){.gpu = -1,
                                                 .node = (int16_t)profile->machine.nodes[i].node});
    for (size_t i = 0; i < analysis->run->gpu_count && i <= INT16_MAX; i++) {
        int node = node_of(analysis, (int)i);
        add_place(places, (struct xfa_place){.gpu = (int16_t)i, .node = -1});
        if (node >= 0 && node <= INT16_MAX)
            add_place(places, (struct xfa_place){.gpu = -1, .node = (int16_t)node});
    }
    for (size_t i = 0; i < traffic->count; i++) {
        const struct xfa_between *between = xfa_table_at(traffic, i);
        add_place(places, known_place(analysis, between->from));
        add_place(places, known_place(analysis, between->to));
    }
    qsort(places->all, places->count, sizeof *places->all, in_place);
}

json_t *xfa_places_json(const struct xfa_timeline *timeline)
{
    const struct xfa_analysis *analysis = timeline->analysis;
    const struct xfa_run *run = analysis->run;
    struct places *places = xfa_alloc(sizeof *places);
    json_t *array = json_array();
    gather(places, timeline);
    for (size_t i = 0; i < places->count; i++) {
        const struct xfa_place *place = &places->all[i];
        char id[ID_CHARS], *label = place_label(run, place);
        int node = place->gpu >= 0 ? node_of(analysis, place->gpu) : -1;
        struct xfa_place parent = {.gpu = -1, .node = (int16_t)node};
        uint32_t host = place->gpu >= 0 && (size_t)place->gpu < run->gpu_count
                            ? run->gpus[place->gpu].host
                            : place->host;
        json_t *json = json_object();
        json_object_set_new(json, "id", json_string(place_id(id, place)));
        json_object_set_new(json, "label", xfa_json_text(label));
        json_object_set_new(json, "parent",
                            node >= 0 ? json_string(place_id(id, &parent)) : json_null());
        json_object_set_new(json, "host",
                            xfa_json_text(host < run->host_count ? run->hosts[host].name : NULL));
        json_array_append_new(array, json);
        free(label);
    }
    free(places);
    return array;
}

static json_t *between_json(const struct xfa_between *between)
{
    char from[ID_CHARS], to[ID_CHARS];
    json_t *json = json_object();
    json_object_set_new(json, "from", json_string(place_id(from, &between->from)));
    json_object_set_new(json, "to", json_string(place_id(to, &between->to)));
    json_object_set_new(json, "bytes", xfa_json_count(between->bytes));
    json_object_set_new(json, "count", xfa_json_count(between->count));
    json_object_set_new(json, "time_ns",
                        between->timed ? xfa_json_number(between->ns) : json_null());
    return json;
}

json_t *xfa_traffic_places_json(const struct xfa_timeline *timeline)
{
    const struct xfa_table *table = &timeline->traffic.table;
    struct xfa_traffic known; /* traffic between the known places */
    json_t *array = json_array();
    xfa_traffic_init(&known);
    for (size_t i = 0; i < table->count; i++) {
        struct xfa_between between = *(const struct xfa_between *)xfa_table_at(table, i);
        between.from = known_place(timeline->analysis, between.from);
        between.to = known_place(timeline->analysis, between.to);
        xfa_traffic_add(&known, &between);
    }
    for (size_t i = 0; i < known.table.count; i++)
        json_array_append_new(array, between_json(xfa_table_at(&known.table, i)));
    xfa_traffic_free(&known);
    return array;
}

/* ---- links ----------------------------------------------------------------------------------- */

static const struct xfp_path *copy_path(const struct xfp_profile *profile, struct xfp_place src,
                                        struct xfp_place dst)
{
    const struct xfp_path *path = xfp_find(profile, XFP_COPY, src, dst, false);
    return path ? path : xfp_find(profile, XFP_COPY, src, dst, true);
}

static double point_ns(const struct xfp_point *point)
{
    return point->median_ns > 0 ? point->median_ns : point->blocking_ns;
}

static json_t *longest_gbps(const struct xfp_path *path)
{
    if (!path || path->point_count == 0)
        return json_null();
    const struct xfp_point *last = &path->points[path->point_count - 1];
    return xfa_json_number(point_ns(last) > 0 ? xfp_gbps(last->bytes, point_ns(last)) : NAN);
}

static void add_link(json_t *links, struct xfa_place a, struct xfa_place b, const char *label,
                     const struct xfp_path *path)
{
    char from[ID_CHARS], to[ID_CHARS];
    json_array_append_new(links,
                          json_pack("{s:s,s:s,s:s,s:o}", "a", place_id(from, &a), "b",
                                    place_id(to, &b), "label", label, "gb_s", longest_gbps(path)));
}

static void add_host_link(json_t *links, const struct xfa_analysis *analysis, int gpu,
                          const struct xfp_gpu *known)
{
    char label[64] = "PCIe";
    int node = node_of(analysis, gpu), ordinal = xfa_achievable_gpu(&analysis->achievable, gpu);
    if (known->pcie_max_gen > 0 && known->pcie_max_width > 0)
        snprintf(label, sizeof label, "PCIe gen %d x%d", known->pcie_max_gen,
                 known->pcie_max_width);
    struct xfp_place host = {XFT_MEM_PINNED, -1, node}, device = {XFT_MEM_DEVICE, ordinal, -1};
    const struct xfp_path *path = copy_path(analysis->profile, host, device);
    host.numa = -1;
    add_link(links, (struct xfa_place){.gpu = -1, .node = (int16_t)node},
             (struct xfa_place){.gpu = (int16_t)gpu, .node = -1}, label,
             path ? path : copy_path(analysis->profile, host, device));
}

static void add_peer_links(json_t *links, const struct xfa_analysis *analysis, int gpu,
                           const struct xfp_gpu *known)
{
    int ordinal = xfa_achievable_gpu(&analysis->achievable, gpu);
    for (size_t k = (size_t)gpu + 1; k < analysis->run->gpu_count && k < MOST_GPUS; k++) {
        const struct xfp_gpu *peer = gpu_of(analysis, (int)k);
        int other = xfa_achievable_gpu(&analysis->achievable, (int)k);
        struct xfp_place src = {XFT_MEM_DEVICE, ordinal, -1}, dst = {XFT_MEM_DEVICE, other, -1};
        bool direct = false;
        for (size_t i = 0; i < known->peer_count; i++)
            direct = direct || known->peers[i] == other;
        if (peer && direct)
            add_link(links, (struct xfa_place){.gpu = (int16_t)gpu, .node = -1},
                     (struct xfa_place){.gpu = (int16_t)k, .node = -1},
                     known->nvlinks > 0 && peer->nvlinks > 0 ? "NVLink" : "PCIe",
                     copy_path(analysis->profile, src, dst));
    }
}

json_t *xfa_links_json(const struct xfa_analysis *analysis)
{
    json_t *links = json_array();
    for (size_t i = 0; i < analysis->run->gpu_count && i < MOST_GPUS; i++) {
        const struct xfp_gpu *known = gpu_of(analysis, (int)i);
        if (!known)
            continue;
        if (node_of(analysis, (int)i) >= 0)
            add_host_link(links, analysis, (int)i, known);
        add_peer_links(links, analysis, (int)i, known);
    }
    return links;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static json_t *points_json(const struct xfp_path *path)
{
    json_t *points = json_array();
    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_point *point = &path->points[i];
        bool device = point->median_ns > 0;
        double least = device ? point->ci_low_ns : point->blocking_low_ns;
        double most = device ? point->ci_high_ns : point->blocking_high_ns;
        if (!(point_ns(point) > 0))
            continue;
        json_array_append_new(
            points, json_pack("[o,o,o,o]", xfa_json_count(point->bytes),
                              xfa_json_number(xfp_gbps(point->bytes, point_ns(point))),
                              xfa_json_number(most > 0 ? xfp_gbps(point->bytes, most) : NAN),
                              xfa_json_number(least > 0 ? xfp_gbps(point->bytes, least) : NAN)));
    }
    return points;
}

static void add_curve(json_t *curves, const struct xfp_path *path, enum xft_direction direction,
                      int gpu, int peer)
{
    if (!path || path->point_count == 0)
        return;
    const struct xfp_place *host = direction == XFT_DIR_H2D   ? &path->src
                                   : direction == XFT_DIR_D2H ? &path->dst
                                                              : NULL;
    enum xft_memory memory = host ? host->memory : XFT_MEM_DEVICE;
    char label[96];
    if (peer >= 0)
        snprintf(label, sizeof label, "GPU %d to GPU %d", gpu, peer);
    else
        snprintf(label, sizeof label, "%s %s, GPU %d", xft_memory_word(memory),
                 xft_direction_word(direction), gpu);
    json_t *json = json_object();
    json_object_set_new(json, "label", json_string(label));
    json_object_set_new(json, "direction", json_string(xft_direction_word(direction)));
    json_object_set_new(json, "memory", json_string(xft_memory_word(memory)));
    json_object_set_new(json, "node",
                        host && host->numa >= 0 ? json_integer(host->numa) : json_null());
    json_object_set_new(json, "gpu", json_integer(gpu));
    json_object_set_new(json, "peer", peer >= 0 ? json_integer(peer) : json_null());
    json_object_set_new(json, "points", points_json(path));
    json_array_append_new(curves, json);
}

/* Of each kind of the host's memory, on the GPU's own node where that was measured. */
static void add_host_curves(json_t *curves, const struct xfa_analysis *analysis, int gpu,
                            enum xft_direction direction)
{
    struct xfp_place device = {XFT_MEM_DEVICE, xfa_achievable_gpu(&analysis->achievable, gpu), -1};
    for (int memory = XFT_MEM_PAGEABLE; memory <= XFT_MEM_MANAGED; memory++) {
        struct xfp_place host = {(enum xft_memory)memory, -1, node_of(analysis, gpu)};
        const struct xfp_path *path = NULL;
        for (int i = 0; i < 2 && !path; i++, host.numa = -1)
            path = direction == XFT_DIR_H2D ? copy_path(analysis->profile, host, device)
                                            : copy_path(analysis->profile, device, host);
        add_curve(curves, path, direction, gpu, -1);
    }
}

/* Was anything copied to or from the GPU? */
static bool moved(const struct xfa_timeline *timeline, size_t gpu)
{
    const struct xfa_table *traffic = &timeline->traffic.table;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct xfa_between *between = xfa_table_at(traffic, i);
        if (between->from.gpu == (int)gpu || between->to.gpu == (int)gpu)
            return true;
    }
    return false;
}

static void add_device_curves(json_t *curves, const struct xfa_timeline *timeline, int gpu)
{
    const struct xfa_analysis *analysis = timeline->analysis;
    const struct xfa_achievable *achievable = &analysis->achievable;
    size_t count = analysis->run->gpu_count < MOST_GPUS ? analysis->run->gpu_count : MOST_GPUS;
    struct xfp_place src = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, gpu), -1};
    if (analysis->directions[XFT_DIR_D2D].transfers)
        add_curve(curves, copy_path(analysis->profile, src, src), XFT_DIR_D2D, gpu, -1);
    for (size_t i = 0; i < count && analysis->directions[XFT_DIR_P2P].transfers; i++) {
        struct xfp_place dst = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, (int)i), -1};
        if ((int)i != gpu && moved(timeline, i))
            add_curve(curves, copy_path(analysis->profile, src, dst), XFT_DIR_P2P, gpu, (int)i);
    }
}

json_t *xfa_curves_json(const struct xfa_timeline *timeline)
{
    const struct xfa_analysis *analysis = timeline->analysis;
    json_t *curves = json_array();
    for (size_t i = 0; analysis->profile && i < analysis->run->gpu_count && i < MOST_GPUS; i++) {
        if (!moved(timeline, i))
            continue;
        if (analysis->directions[XFT_DIR_H2D].transfers)
            add_host_curves(curves, analysis, (int)i, XFT_DIR_H2D);
        if (analysis->directions[XFT_DIR_D2H].transfers)
            add_host_curves(curves, analysis, (int)i, XFT_DIR_D2H);
        add_device_curves(curves, timeline, (int)i);
    }
    return curves;
}
