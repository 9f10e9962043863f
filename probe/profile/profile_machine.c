#include "probe/profile/profile_machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "probe/profile/profile_json.h"

enum { MOST_NODES = 4096 };

/* ---- reading ------------------------------------------------------------------------------- */

/* 1, 0, or -1 for what is not known. */
static int read_maybe(struct xfp_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return value && !json_is_null(value) ? xfp_read_bool(r, object, key, false) : -1;
}

static int read_small(struct xfp_reader *r, const json_t *object, const char *key, int absent)
{
    return (int)xfp_read_integer(r, object, key, 0, 4096, absent);
}

static void read_pcie(struct xfp_reader *r, const json_t *object, struct xfp_gpu *gpu)
{
    const json_t *pcie = json_object_get(object, "pcie");

    if (!pcie || json_is_null(pcie))
        return;
    if (!json_is_object(pcie)) {
        xfp_refuse(r, "pcie", "must be an object");
        return;
    }
    gpu->pcie_gen = read_small(r, pcie, "gen", 0);
    gpu->pcie_width = read_small(r, pcie, "width", 0);
    gpu->pcie_max_gen = read_small(r, pcie, "max_gen", 0);
    gpu->pcie_max_width = read_small(r, pcie, "max_width", 0);
}

static void read_peers(struct xfp_reader *r, const json_t *object, struct xfp_gpu *gpu)
{
    const json_t *array = xfp_read_array(r, object, "peers", XFP_MAX_GPUS);
    size_t count = json_array_size(array);

    if (!array)
        return;
    gpu->peers = xfp_new_items(r, count, sizeof(*gpu->peers));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *peer = json_array_get(array, i);

        if (!json_is_integer(peer) || json_integer_value(peer) < 0 ||
            json_integer_value(peer) >= XFP_MAX_GPUS)
            xfp_refuse(r, "peers", "must be numbers of GPUs");
        else
            gpu->peers[gpu->peer_count++] = (int)json_integer_value(peer);
    }
}

static void read_gpu(struct xfp_reader *r, const json_t *object, struct xfp_gpu *gpu)
{
    gpu->name = xfp_read_text(r, object, "name");
    gpu->uuid = xfp_read_text(r, object, "uuid");
    gpu->pci = xfp_read_text(r, object, "pci");
    gpu->memory_bytes = (uint64_t)xfp_read_integer(r, object, "memory_bytes", 0, INT64_MAX, 0);
    gpu->numa = (int)xfp_read_integer(r, object, "numa", -1, 4095, -1);
    gpu->copy_engines = (int)xfp_read_integer(r, object, "copy_engines", 0, 1024, 0);
    read_pcie(r, object, gpu);
    gpu->nvlinks = read_small(r, object, "nvlinks", -1);
    gpu->nvlink_version = read_small(r, object, "nvlink_version", 0);
    gpu->ecc = read_maybe(r, object, "ecc");
    gpu->mig = read_maybe(r, object, "mig");
    read_peers(r, object, gpu);
}

static void read_node(struct xfp_reader *r, const json_t *object, struct xfp_node *node)
{
    node->node = read_small(r, object, "node", 0);
    node->cpus = (int)xfp_read_integer(r, object, "cpus", 0, 1 << 20, 0);
    node->memory_bytes = (uint64_t)xfp_read_integer(r, object, "memory_bytes", 0, INT64_MAX, 0);
}

/* Object i of an array of the machine's: "machine.gpus[i]". NULL when it is none. */
static const json_t *object_at(struct xfp_reader *r, const json_t *array, const char *key, size_t i)
{
    const json_t *object = json_array_get(array, i);

    snprintf(r->where, sizeof(r->where), "machine.%s[%zu]", key, i);
    if (json_is_object(object))
        return object;
    xfp_refuse(r, "", "must be an object");
    return NULL;
}

static void read_gpus(struct xfp_reader *r, const json_t *machine, struct xfp_machine *m)
{
    const json_t *array = xfp_read_array(r, machine, "gpus", XFP_MAX_GPUS), *object;
    size_t count = json_array_size(array);

    m->gpus = xfp_new_items(r, count, sizeof(*m->gpus));
    for (size_t i = 0; i < count && !r->failed; i++) {
        m->gpu_count = i + 1;
        object = object_at(r, array, "gpus", i);
        if (object)
            read_gpu(r, object, &m->gpus[i]);
    }
}

static void read_nodes(struct xfp_reader *r, const json_t *machine, struct xfp_machine *m)
{
    const json_t *array = xfp_read_array(r, machine, "nodes", MOST_NODES), *object;
    size_t count = json_array_size(array);

    m->nodes = xfp_new_items(r, count, sizeof(*m->nodes));
    for (size_t i = 0; i < count && !r->failed; i++) {
        object = object_at(r, array, "nodes", i);
        if (object)
            read_node(r, object, &m->nodes[m->node_count++]);
    }
}

void xfp_read_machine(struct xfp_reader *r, const json_t *root, struct xfp_machine *m)
{
    const json_t *object = json_object_get(root, "machine");

    if (!json_is_object(object)) {
        xfp_refuse(r, "machine", object ? "must be an object" : "missing");
        return;
    }
    snprintf(r->where, sizeof(r->where), "machine");
    m->hostname = xfp_read_text(r, object, "hostname");
    m->machine_id = xfp_read_text(r, object, "machine_id");
    m->cpu = xfp_read_text(r, object, "cpu");
    m->cpus = (int)xfp_read_integer(r, object, "cpus", 0, 1 << 20, 0);
    m->numa_nodes = (int)xfp_read_integer(r, object, "numa_nodes", 0, 4096, 0);
    m->driver_version = (int)xfp_read_integer(r, object, "driver_version", 0, 10000000, 0);
    m->simulated = xfp_read_bool(r, object, "simulated", false);
    m->driver_release = xfp_read_text(r, object, "driver_release");
    m->toolkit_version = (int)xfp_read_integer(r, object, "toolkit_version", 0, 10000000, 0);
    m->kernel = xfp_read_text(r, object, "kernel");
    m->governor = xfp_read_text(r, object, "governor");
    m->huge_pages = xfp_read_text(r, object, "huge_pages");
    m->hypervisor = xfp_read_text(r, object, "hypervisor");
    m->memlock_bytes = xfp_read_integer(r, object, "memlock_bytes", XFP_NO_LIMIT, INT64_MAX, 0);
    read_gpus(r, object, m);
    read_nodes(r, object, m);
    r->where[0] = '\0';
}

void xfp_read_rules(struct xfp_reader *r, const json_t *root, struct xfp_rules *rules)
{
    const json_t *object = json_object_get(root, "rules");

    if (!object || json_is_null(object))
        return;
    if (!json_is_object(object)) {
        xfp_refuse(r, "rules", "must be an object");
        return;
    }
    snprintf(r->where, sizeof(r->where), "rules");
    rules->known = true;
    rules->paper = xfp_read_bool(r, object, "paper", false);
    rules->flushed = xfp_read_bool(r, object, "flushed", false);
    rules->verified = xfp_read_bool(r, object, "verified", false);
    rules->seconds = xfp_read_positive(r, object, "seconds", 0);
    r->where[0] = '\0';
}

/* ---- writing ------------------------------------------------------------------------------- */

static json_t *text(const char *words)
{
    return words && *words ? json_string(words) : json_null();
}

static json_t *known(bool is_known, json_int_t n)
{
    return is_known ? json_integer(n) : json_null();
}

static json_t *maybe(int yes)
{
    return yes < 0 ? json_null() : json_boolean(yes);
}

static json_t *pack_pcie(const struct xfp_gpu *g)
{
    if (!g->pcie_gen && !g->pcie_max_gen)
        return json_null();
    return json_pack("{so so so so}", "gen", known(g->pcie_gen, g->pcie_gen), "width",
                     known(g->pcie_width, g->pcie_width), "max_gen",
                     known(g->pcie_max_gen, g->pcie_max_gen), "max_width",
                     known(g->pcie_max_width, g->pcie_max_width));
}

/* json_pack takes ownership of its arguments, also on failure: a NULL argument is a failure. */
static json_t *append(json_t *array, json_t *value)
{
    if (array && !json_array_append_new(array, value))
        return array;
    json_decref(array);
    return NULL;
}

static json_t *pack_gpu(const struct xfp_gpu *g)
{
    json_t *peers = json_array();

    for (size_t i = 0; i < g->peer_count; i++)
        peers = append(peers, json_integer(g->peers[i]));
    return json_pack("{ss? ss? ss? sI si si so so so so so so}", "name", g->name, "uuid", g->uuid,
                     "pci", g->pci, "memory_bytes", (json_int_t)g->memory_bytes, "numa", g->numa,
                     "copy_engines", g->copy_engines, "pcie", pack_pcie(g), "nvlinks",
                     known(g->nvlinks >= 0, g->nvlinks), "nvlink_version",
                     known(g->nvlink_version, g->nvlink_version), "ecc", maybe(g->ecc), "mig",
                     maybe(g->mig), "peers", peers);
}

static json_t *pack_node(const struct xfp_node *n)
{
    return json_pack("{si si sI}", "node", n->node, "cpus", n->cpus, "memory_bytes",
                     (json_int_t)n->memory_bytes);
}

json_t *xfp_pack_machine(const struct xfp_machine *m)
{
    json_t *gpus = json_array(), *nodes = json_array();

    for (size_t i = 0; i < m->gpu_count; i++)
        gpus = append(gpus, pack_gpu(&m->gpus[i]));
    for (size_t i = 0; i < m->node_count; i++)
        nodes = append(nodes, pack_node(&m->nodes[i]));
    return json_pack(
        "{ss? ss? ss? si si si so so so so so so so sb so so}", "hostname", m->hostname,
        "machine_id", m->machine_id, "cpu", m->cpu, "cpus", m->cpus, "numa_nodes", m->numa_nodes,
        "driver_version", m->driver_version, "driver_release", text(m->driver_release),
        "toolkit_version", known(m->toolkit_version, m->toolkit_version), "kernel", text(m->kernel),
        "governor", text(m->governor), "huge_pages", text(m->huge_pages), "hypervisor",
        text(m->hypervisor), "memlock_bytes", known(m->memlock_bytes, m->memlock_bytes),
        "simulated", m->simulated, "nodes", nodes, "gpus", gpus);
}

json_t *xfp_pack_rules(const struct xfp_rules *r)
{
    return json_pack("{sb sb sb sf}", "paper", r->paper, "flushed", r->flushed, "verified",
                     r->verified, "seconds", r->seconds);
}

void xfp_free_machine(struct xfp_machine *m)
{
    for (size_t i = 0; i < m->gpu_count; i++) {
        free(m->gpus[i].name);
        free(m->gpus[i].uuid);
        free(m->gpus[i].pci);
        free(m->gpus[i].peers);
    }
    free(m->gpus);
    free(m->nodes);
    free(m->hostname);
    free(m->machine_id);
    free(m->cpu);
    free(m->driver_release);
    free(m->kernel);
    free(m->governor);
    free(m->huge_pages);
    free(m->hypervisor);
}
