#include "probe/machine/machine.h"

#include "probe/bench/bench.h"
#include "probe/device/flush.h"
#include "probe/device/launch.h"
#include "probe/machine/machine_host.h"
#include "probe/machine/nvml.h"

#include <ctype.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "xferscope/uuid.h"

/* Identifies the machine without revealing the id, which some services treat as a secret. */
static char *hashed_machine_id(void)
{
    char id[128], hash[24];

    xfp_first_line("", "/etc/machine-id", id, sizeof(id));
    if (!*id)
        return strdup("");
    snprintf(hash, sizeof(hash), "%016llx",
             (unsigned long long)XXH3_64bits_withSeed(id, strlen(id), XFT_MACHINE_ID_SEED));
    return strdup(hash);
}

static char *cpu_model(hwloc_topology_t topology)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    struct utsname system;

    if (model)
        return xfp_clean_text(model);
    return xfp_clean_text(uname(&system) ? "" : system.machine);
}

static void note_node(struct xfp_machine *m, hwloc_obj_t node)
{
    m->nodes[m->node_count++] =
        (struct xfp_node){.node = (int)node->os_index,
                          .cpus = hwloc_bitmap_weight(node->cpuset),
                          .memory_bytes = node->attr->numanode.local_memory};
}

/* Nodes that a process could be bound to: memory alone (CXL, a GPU's own) has no processors. */
static int find_nodes(struct xfp_session *s, hwloc_topology_t topology)
{
    int count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);

    s->sys.numa_nodes = calloc(count > 0 ? (size_t)count : 1, sizeof(*s->sys.numa_nodes));
    if (!s->sys.numa_nodes)
        return xfp_fail(&s->sys, "out of memory");
    s->profile->machine.nodes = calloc(count > 0 ? (size_t)count : 1, sizeof(struct xfp_node));
    if (!s->profile->machine.nodes)
        return xfp_fail(&s->sys, "out of memory");
    for (int i = 0; i < count; i++) {
        hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)i);

        if (!node || !node->cpuset || hwloc_bitmap_iszero(node->cpuset))
            continue;
        s->sys.numa_nodes[s->sys.numa_count++] = (int)node->os_index;
        note_node(&s->profile->machine, node);
    }
    if (!s->sys.numa_count)
        s->sys.numa_nodes[s->sys.numa_count++] = -1;
    return 0;
}

static void warn_of_host(struct xfp_session *s)
{
    const struct xfp_machine *m = &s->profile->machine;
    char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES];
    size_t count = xfp_host_troubles("", m, text);

    for (size_t i = 0; i < count; i++)
        xfp_warn(&s->sys, "%s", text[i]);
    if (m->hypervisor && *m->hypervisor && strcmp(m->hypervisor, "none"))
        xfp_warn(&s->sys, "a virtual machine (%s): host times and NUMA nodes may not be real",
                 m->hypervisor);
    if (CPU_COUNT(&s->sys.affinity) < sysconf(_SC_NPROCESSORS_ONLN))
        xfp_warn(&s->sys, "this process may use %d of %ld processors only",
                 CPU_COUNT(&s->sys.affinity), sysconf(_SC_NPROCESSORS_ONLN));
    if (!xfp_can_flush())
        xfp_warn(&s->sys,
                 "this processor's caches cannot be flushed by a program: copies find what "
                 "earlier ones left there");
}

/* Fields that a simulated machine does not have. */
static void describe_system(struct xfp_session *s)
{
    struct xfp_machine *m = &s->profile->machine;
    char release[96];

    xfp_nvml_open();
    xfp_nvml_driver(release, sizeof(release));
    m->driver_release = xfp_clean_text(release);
    xfp_read_host("", m);
    warn_of_host(s);
}

static int describe_host(struct xfp_session *s)
{
    struct xfp_machine *m = &s->profile->machine;
    hwloc_topology_t topology;
    char hostname[256] = "";
    int bad;

    gethostname(hostname, sizeof(hostname) - 1);
    m->hostname = xfp_clean_text(hostname);
    m->machine_id = hashed_machine_id();
    m->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (hwloc_topology_init(&topology))
        return xfp_fail(&s->sys, "hwloc does not start");
    hwloc_topology_load(topology);
    m->cpu = cpu_model(topology);
    bad = find_nodes(s, topology);
    hwloc_topology_destroy(topology);
    m->numa_nodes = s->sys.numa_count;
    if (!m->hostname || !m->machine_id || !m->cpu)
        return xfp_fail(&s->sys, "out of memory");
    return bad;
}

static char *uuid_text(const struct xfp_driver *cu, xcu_device device)
{
    struct xcu_uuid whole, own = {{0}};
    char text[XFT_UUID_TEXT];
    bool known = cu->physical_uuid && cu->physical_uuid(&whole, device) == XCU_SUCCESS;

    cu->cuDeviceGetUuid(&own, device);
    xft_uuid_text(text, &own, known ? &whole : NULL);
    return strdup(text);
}

/* Drivers before CUDA 12.2 do not know it; then the kernel may. */
static int gpu_node(const struct xfp_driver *cu, xcu_device device, const char *pci)
{
    char path[96], line[32], lower[24];
    int node = -1;
    size_t i = 0;

    if (!cu->cuDeviceGetAttribute(&node, XFP_ATTR_HOST_NUMA_ID, device) && node >= 0)
        return node;
    if (cu->simulated_now_ns)
        return -1;
    for (; pci[i] && i + 1 < sizeof(lower); i++)
        lower[i] = (char)tolower((unsigned char)pci[i]);
    lower[i] = '\0';
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", lower);
    xfp_first_line("", path, line, sizeof(line));
    return isdigit((unsigned char)*line) ? atoi(line) : -1;
}

static void warn_of_use(struct xfp_session *s, int ordinal, const struct xfp_gpu *gpu,
                        const struct xfp_gpu_use *use)
{
    if (use->percent > 5)
        xfp_warn(&s->sys, "GPU %d is busy (%d %%): other work disturbs the figures", ordinal,
                 use->percent);
    else if (use->processes > 0)
        xfp_warn(&s->sys, "GPU %d has %d other processes: they may disturb the figures", ordinal,
                 use->processes);
    if (gpu->mig > 0)
        xfp_warn(&s->sys, "GPU %d is divided (MIG): other instances share its link and engines",
                 ordinal);
}

void xfp_see_links(struct xfp_session *s, const struct xfp_bench *bench)
{
    int device = bench->src.device >= 0 ? bench->src.device : bench->dst.device;

    if (bench->family == &xfp_family_host_device && !s->profile->machine.simulated)
        xfp_nvml_see_link(&s->profile->machine.gpus[device]);
}

void xfp_judge_gpus(struct xfp_session *s)
{
    const struct xfp_machine *m = &s->profile->machine;

    for (size_t i = 0; i < m->gpu_count && !m->simulated; i++) {
        const struct xfp_gpu *g = &m->gpus[i];
        const char *why = xfp_nvml_slowed(g);

        if (g->pcie_gen && (g->pcie_gen < g->pcie_max_gen || g->pcie_width < g->pcie_max_width))
            xfp_warn(&s->sys, "GPU %zu: its PCIe link ran at generation %d x%d, of %d x%d", i,
                     g->pcie_gen, g->pcie_width, g->pcie_max_gen, g->pcie_max_width);
        if (*why)
            xfp_warn(&s->sys, "GPU %zu: its clocks are held down (%s)", i, why);
    }
}

/* Whose memory it may access. */
static int find_peers(struct xfp_session *s, int ordinal, struct xfp_gpu *gpu)
{
    size_t count = s->profile->machine.gpu_count;

    gpu->peers = calloc(count, sizeof(*gpu->peers));
    if (!gpu->peers)
        return xfp_fail(&s->sys, "out of memory");
    for (int other = 0; other < (int)count; other++)
        if (xfp_can_access(&s->sys, ordinal, other))
            gpu->peers[gpu->peer_count++] = other;
    return 0;
}

static int describe_gpu(struct xfp_session *s, int ordinal, struct xfp_gpu *gpu)
{
    const struct xfp_driver *cu = s->sys.cu;
    char name[256] = "", pci[32] = "";
    struct xfp_gpu_use use;
    size_t memory = 0;
    xcu_device device;

    gpu->nvlinks = gpu->ecc = gpu->mig = -1;
    if (xfp_check(&s->sys, cu->cuDeviceGet(&device, ordinal), "cuDeviceGet"))
        return -1;
    cu->cuDeviceGetName(name, sizeof(name) - 1, device);
    cu->cuDeviceGetPCIBusId(pci, sizeof(pci) - 1, device);
    cu->cuDeviceTotalMem(&memory, device);
    cu->cuDeviceGetAttribute(&gpu->copy_engines, XFP_ATTR_COPY_ENGINES, device);
    gpu->name = xfp_clean_text(name);
    gpu->pci = xfp_clean_text(pci);
    gpu->uuid = uuid_text(cu, device);
    gpu->memory_bytes = memory;
    gpu->numa = gpu_node(cu, device, pci);
    if (!s->profile->machine.simulated) {
        xfp_nvml_describe(gpu, &use);
        warn_of_use(s, ordinal, gpu, &use);
    }
    return gpu->name && gpu->pci && gpu->uuid ? 0 : xfp_fail(&s->sys, "out of memory");
}

/* The simulated machine has the nodes that its GPUs are attached to, whatever the host has. */
static int simulate_nodes(struct xfp_session *s)
{
    struct xfp_machine *m = &s->profile->machine;
    int highest = 0;

    for (size_t i = 0; i < m->gpu_count; i++)
        highest = m->gpus[i].numa > highest ? m->gpus[i].numa : highest;
    free(s->sys.numa_nodes);
    m->node_count = 0; /* those are the host's */
    s->sys.numa_nodes = calloc((size_t)highest + 1, sizeof(*s->sys.numa_nodes));
    if (!s->sys.numa_nodes)
        return xfp_fail(&s->sys, "out of memory");
    for (s->sys.numa_count = 0; s->sys.numa_count <= highest; s->sys.numa_count++)
        s->sys.numa_nodes[s->sys.numa_count] = s->sys.numa_count;
    m->numa_nodes = s->sys.numa_count;
    return 0;
}

static int describe_gpus(struct xfp_session *s)
{
    struct xfp_machine *m = &s->profile->machine;
    int count = 0;

    if (xfp_check(&s->sys, s->sys.cu->cuDeviceGetCount(&count), "cuDeviceGetCount"))
        return -1;
    m->gpus = calloc((size_t)count, sizeof(*m->gpus));
    s->sys.devices = calloc((size_t)count, sizeof(*s->sys.devices));
    if (!m->gpus || !s->sys.devices)
        return xfp_fail(&s->sys, "out of memory");
    for (int i = 0; i < count; i++) {
        s->sys.devices[s->sys.device_count++].ordinal = i;
        m->gpu_count++;
        if (describe_gpu(s, i, &m->gpus[i]))
            return -1;
    }
    for (int i = 0; i < count; i++)
        if (find_peers(s, i, &m->gpus[i]))
            return -1;
    return s->sys.cu->simulated_bind_numa ? simulate_nodes(s) : 0;
}

int xfp_describe_machine(struct xfp_session *s)
{
    struct xfp_machine *m = &s->profile->machine;
    const struct xfp_driver *cu = s->sys.cu;

    m->simulated = cu && cu->simulated_now_ns;
    m->driver_version = cu ? cu->version : 0;
    sched_getaffinity(0, sizeof(s->sys.affinity), &s->sys.affinity);
    if (describe_host(s))
        return -1;
    if (!m->simulated)
        describe_system(s);
    else
        xfp_warn(&s->sys, "the GPU is simulated: no figure here was measured on hardware");
    return cu ? describe_gpus(s) : 0;
}
