#include "analyzer/whatif/together/kernel_links.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"

#define ROUNDING_NS 2000.0 /* device times are converted to the host's clock, and round */

struct linking {
    struct xfw_links *links;
    const struct xfa_analysis *analysis;
};

/* When the kernels of a meeting began: the last one of all, of those that give. end_ns: when all of
 * them end; NAN: by the clocks. */
struct begun {
    double all_ns, given_ns, end_ns;
};

static double common_ns(const struct linking *l, const struct xfa_nccl_call *one, uint64_t ns)
{
    const struct xfa_process *process = l->analysis->run->processes[one->at.process];
    return xfa_host_clocks_common_ns(&l->analysis->matched.clocks, process, ns);
}

/* Does it give what others need; does it need what others give? */
static bool gives(const struct xfa_nccl_call *one)
{
    if (one->at.what == XFT_MESSAGE_BCAST || one->at.what == XFT_MESSAGE_SCATTER)
        return one->at.rank == one->root;
    if (one->at.what == XFT_MESSAGE_REDUCE || one->at.what == XFT_MESSAGE_GATHER)
        return one->at.rank != one->root;
    return one->at.side != XFA_RECEIVES;
}

static bool is_between_hosts(const struct linking *l, const struct xfa_nccl_call *all, size_t count)
{
    struct xfa_process **processes = l->analysis->run->processes;
    for (size_t i = 1; i < count; i++)
        if (processes[all[i].at.process]->host != processes[all->at.process]->host)
            return true;
    return false;
}

/* What has to be added to its times. */
static double later_ns(const struct linking *l, const struct xfa_nccl_call *one, double end_ns)
{
    return isnan(end_ns) ? 0 : end_ns - common_ns(l, one, one->end_ns);
}

static struct begun begun_of(const struct linking *l, const struct xfa_nccl_call *all, size_t count)
{
    bool together = xfa_message_is_of_all(all->at.what) && is_between_hosts(l, all, count);
    struct begun begun = {-INFINITY, -INFINITY, NAN};
    if (together)
        begun.end_ns = common_ns(l, all, all->end_ns);
    for (size_t i = 0; i < count; i++) {
        double ns = common_ns(l, &all[i], all[i].begin_ns) + later_ns(l, &all[i], begun.end_ns);
        begun.all_ns = fmax(begun.all_ns, ns);
        if (gives(&all[i]))
            begun.given_ns = fmax(begun.given_ns, ns);
    }
    return begun;
}

static struct xfw_meeting_part part_of(const struct linking *l, const struct xfa_nccl_call *one,
                                       const struct begun *begun)
{
    bool giver = gives(one), of_all = xfa_message_is_of_all(one->at.what);
    double later = later_ns(l, one, begun->end_ns), end_ns = common_ns(l, one, one->end_ns) + later;
    struct xfw_meeting_part part = {.posts = giver ? XFW_OF_SENT : XFW_OF_GOT, .later_ns = later};
    if (end_ns >= begun->all_ns - ROUNDING_NS) {
        part.awaits = of_all ? XFW_OF_SENT : XFW_OF_SENT | XFW_OF_GOT;
        part.under_way_ns = end_ns - begun->all_ns;
    } else if (!giver && end_ns >= begun->given_ns - ROUNDING_NS) {
        part.awaits = XFW_OF_SENT;
        part.under_way_ns = end_ns - begun->given_ns;
    }
    return part;
}

/* Can it be what was recorded; does anybody wait? */
static bool can_be(const struct linking *l, const struct xfa_nccl_call *all, size_t count,
                   const struct begun *begun)
{
    bool waits = false;
    for (size_t i = 0; i < count; i++) {
        bool one = part_of(l, &all[i], begun).awaits != 0;
        if (!one && xfa_message_is_of_all(all[i].at.what))
            return false;
        waits = waits || one;
    }
    return waits;
}

static void add_part(struct linking *l, const struct xfa_nccl_call *one,
                     const struct xfw_meeting_part *made)
{
    struct xfw_links *links = l->links;
    const struct xfw_kernel_key key = {one->at.process, one->correlation};
    struct xfw_kernel *kernel = xfa_table_put(&links->kernels, &key);
    struct xfw_link_group *group = &links->groups[made->group];
    links->parts =
        xfa_room(links->parts, &links->part_capacity, links->part_count + 1, sizeof *links->parts);
    struct xfw_meeting_part *part = &links->parts[links->part_count++];
    *part = *made;
    part->next = kernel->first;
    kernel->first = (uint32_t)links->part_count;
    kernel->count++;
    kernel->waits = kernel->waits || part->awaits;
    group->posts++;
    group->awaits += part->awaits != 0;
}

static void link_meeting(void *self, const struct xfa_nccl_call *all, size_t count)
{
    struct linking *l = self;
    const struct begun begun = begun_of(l, all, count);
    if (!can_be(l, all, count, &begun)) {
        l->links->unmet += count;
        return;
    }
    uint32_t group = xfw_links_new_group(l->links);
    l->links->meetings++;
    for (size_t i = 0; i < count; i++) {
        struct xfw_meeting_part part = part_of(l, &all[i], &begun);
        part.group = group;
        add_part(l, &all[i], &part);
    }
}

/* Kernels with too many parts begin, and wait for nobody. */
static void let_go(struct xfw_links *links, struct xfw_kernel *kernel)
{
    for (uint32_t at = kernel->first; at; at = links->parts[at - 1].next) {
        struct xfw_meeting_part *part = &links->parts[at - 1];
        links->groups[part->group].awaits -= part->awaits != 0;
        links->groups[part->group].posts--;
    }
    links->unmet += kernel->count;
    kernel->first = kernel->count = 0;
    kernel->waits = false;
}

void xfw_kernel_links_add(struct xfw_links *links, const struct xfa_analysis *analysis)
{
    struct linking l = {links, analysis};
    links->unmet = analysis->matched.unmet;
    xfa_nccl_each(&analysis->messages.nccl, link_meeting, NULL, &l);
    for (size_t i = 0; i < links->kernels.count; i++) {
        struct xfw_kernel *kernel = xfa_table_at(&links->kernels, i);
        if (kernel->count > XFW_MOST_MEETINGS)
            let_go(links, kernel);
    }
}

const struct xfw_kernel *xfw_kernel_of(const struct xfw_links *links, uint32_t process,
                                       uint32_t correlation)
{
    const struct xfw_kernel_key key = {process, correlation};
    const struct xfw_kernel *kernel = correlation ? xfa_table_get(&links->kernels, &key) : NULL;
    return kernel && kernel->count ? kernel : NULL;
}
