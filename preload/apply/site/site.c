#include "preload/apply/site/site.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/apply/site/lines.h"
#include "preload/apply/site/plan.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/settings.h"
#include "preload/unwind/unwind.h"

#define SLOTS 1024 /* a power of two; half of them are used at most */

static struct xfs_site sites[SLOTS];
static atomic_uint site_count;

/* ---- where the calls come from --------------------------------------------------------------- */

struct stack {
    uintptr_t addresses[XFS_REPORT_FRAMES];
    struct xfs_line lines[XFS_LINES]; /* that the plan names */
    uint32_t count, line_count;
};

/* This library, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_own(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end;
}

static void take_stack(struct stack *stack, enum xft_plan_class what)
{
    struct xfs_registers here = xfs_registers_here();
    struct xfs_walk walk;
    uintptr_t address;
    stack->count = 0;
    xfs_unwind_begin(&walk, &here, NULL);
    while (stack->count < XFS_REPORT_FRAMES && (address = xfs_unwind_next(&walk)) != 0)
        if (!is_own(address))
            stack->addresses[stack->count++] = address;
    stack->line_count = xfs_plan_has_lines(what) ? xfs_lines_here(stack->lines) : 0;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

static uint64_t key_of(const struct stack *stack, unsigned class, unsigned direction)
{
    uint64_t key = mix(class + 1, direction);
    for (uint32_t i = 0; i < stack->count; i++)
        key = mix(key, stack->addresses[i]);
    for (uint32_t i = 0; i < stack->line_count; i++)
        key = mix(mix(mix(key, stack->lines[i].file), stack->lines[i].function),
                  stack->lines[i].line);
    return key ? key : 1;
}

/* ---- its line in the report ------------------------------------------------------------------ */

struct place {
    char path[XFS_REPORT_PATH];
    uint64_t offset;
};

/* The module of an address, by the loader's own table, which takes no lock. */
static bool find_place(uintptr_t address, struct place *place)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    static int (*find)(void *, struct dl_find_object *);
    struct dl_find_object found;
    if (find == NULL)
        find = (__typeof__(find))xfs_real_dlsym(RTLD_DEFAULT, "_dl_find_object");
    if (find == NULL || find((void *)address, &found) != 0)
        return false;
    const char *name = found.dlfo_link_map->l_name;
    place->offset = address - found.dlfo_link_map->l_addr;
    if (name && *name) {
        snprintf(place->path, sizeof place->path, "%s", name);
        return true;
    }
    ssize_t n = readlink("/proc/self/exe", place->path, sizeof place->path - 1);
    if (n < 0) /* its first thread has left */
        snprintf(place->path, sizeof place->path, "%s", (const char *)getauxval(AT_EXECFN));
    else
        place->path[n] = '\0';
    return true;
#else
    (void)address, (void)place;
    return false;
#endif
}

/* NAME+0xOFFSET, or NAME:LINE, is in the list of XFERSCOPE_APPLY_OFF. */
static bool is_off(const char *path, const char *format, uint64_t offset)
{
    const char *slash = strrchr(path, '/');
    char id[XFS_REPORT_PATH + 24];
    int length = snprintf(id, sizeof id, "%s", slash ? slash + 1 : path);
    length += snprintf(id + length, sizeof id - (size_t)length, format, (unsigned long long)offset);
    for (const char *at = xfs_settings()->apply_off; *at;) {
        size_t n = strcspn(at, ",");
        if (n == (size_t)length && strncmp(at, id, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* Classes of the plan, by their words; XFT_PLAN_NOTHING: it takes no plan. */
static enum xft_plan_class plan_class(unsigned class)
{
    for (unsigned what = 1; what < XFT_PLAN_CLASSES; what++)
        if (strcmp(xft_plan_class_word(what), xfs_class_word(class)) == 0)
            return (enum xft_plan_class)what;
    return XFT_PLAN_NOTHING;
}

/* A line that the plan names as this site; its caller is not it. */
static const struct xfs_line *line_of(const struct xfs_site *site, const struct stack *stack)
{
    for (uint32_t i = 0; i < stack->line_count && site->planned; i++)
        if (xfs_plan_is_at(site->planned, &stack->lines[i]))
            return &stack->lines[i];
    return NULL;
}

/* Into the report, where it has room; and whether the user switched the site off. */
static void describe_frames(struct xfs_site *site, const struct stack *stack,
                            struct xfs_report *report, struct xfs_report_site *to)
{
    const struct xfs_line *line = line_of(site, stack);
    uint32_t count = 0;
    if (line) {
        site->off |= is_off(xfs_line_path(line), ":%llu", line->line);
        if (to)
            to->frame[count++] = (struct xfs_report_frame){
                xfs_report_module(report, xfs_line_path(line)), true, line->line};
    }
    for (uint32_t i = 0; i < stack->count; i++) {
        struct place place;
        if (!find_place(stack->addresses[i], &place))
            continue;
        site->off |= is_off(place.path, "+0x%llx", place.offset);
        if (to && count < XFS_REPORT_FRAMES)
            to->frame[count++] = (struct xfs_report_frame){
                .module = xfs_report_module(report, place.path), .offset = place.offset};
    }
    if (to)
        to->frames = (uint8_t)count;
}

static void describe(struct xfs_site *site, const struct stack *stack, unsigned class,
                     enum xft_plan_class what, unsigned direction)
{
    if (what != XFT_PLAN_NOTHING) {
        site->planned =
            xfs_plan_match(what, &(struct xfs_plan_stack){stack->addresses, stack->lines,
                                                          stack->count, stack->line_count});
        if (site->planned == NULL)
            return;
    }
    struct xfs_report *report = xfs_report();
    struct xfs_report_site *line = report ? xfs_report_add_site(report) : NULL;
    describe_frames(site, stack, report, line);
    site->report = line;
    if (line == NULL)
        return;
    line->step = site->planned ? site->planned->step : 0;
    line->pid = getpid();
    line->class = (uint8_t) class;
    line->direction = (uint8_t)direction;
    __atomic_store_n(&line->state, XFS_REPORT_THERE, __ATOMIC_RELEASE);
}

/* ---- the table ------------------------------------------------------------------------------- */

bool xfs_site_hold(struct xfs_site *site)
{
    bool held = false;
    return atomic_compare_exchange_strong(&site->held, &held, true);
}

void xfs_site_release(struct xfs_site *site)
{
    atomic_store(&site->held, false);
}

/* Held; new: described by the thread whose key it is. */
static struct xfs_site *claim(struct xfs_site *site, uint64_t key, bool *is_new)
{
    uint64_t none = 0;
    *is_new = false;
    if (!xfs_site_hold(site))
        return NULL;
    if (atomic_load(&site->key) == key)
        return site;
    *is_new = atomic_load(&site_count) < SLOTS / 2 &&
              atomic_compare_exchange_strong(&site->key, &none, key);
    if (*is_new)
        atomic_fetch_add(&site_count, 1);
    else
        xfs_site_release(site);
    return *is_new ? site : NULL;
}

static struct xfs_site *find_site(enum xfs_apply_class class, enum xft_direction direction)
{
    struct stack stack;
    bool is_new = false;
    enum xft_plan_class what = plan_class(class);
    take_stack(&stack, what);
    uint64_t key = key_of(&stack, class, direction);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct xfs_site *site = &sites[(key + i) % SLOTS];
        uint64_t known = atomic_load(&site->key);
        if (known != 0 && known != key)
            continue;
        site = claim(site, key, &is_new);
        if (is_new)
            describe(site, &stack, class, what, direction);
        return site;
    }
    return NULL;
}

struct xfs_site *xfs_site_here(enum xfs_apply_class class, enum xft_direction direction)
{
    int saved = errno; /* pages of a stack may have been asked for, and paths */
    struct xfs_site *site = find_site(class, direction);
    errno = saved;
    return site;
}

struct xfs_proof *xfs_site_proof(struct xfs_site *site, uint64_t bytes)
{
    unsigned size = 63 - (unsigned)__builtin_clzll(bytes >> 20 | 1);
    return &site->proofs[size < XFS_SITE_SIZES ? size : XFS_SITE_SIZES - 1];
}

void xfs_site_report(struct xfs_site *site, const struct xfs_proof *proof, enum xfs_way way,
                     uint64_t bytes, uint64_t took_ns)
{
    struct xfs_report_site *line = site->report;
    if (line == NULL)
        return;
    __atomic_fetch_add(&line->asked_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&line->verdict, proof->verdict, __ATOMIC_RELAXED);
    if (way != XFS_WAY_OURS)
        return;
    uint64_t instead = xfs_proof_expects(proof, XFS_WAY_AS_ASKED, bytes);
    if (took_ns == 0)
        took_ns = xfs_proof_expects(proof, XFS_WAY_OURS, bytes);
    __atomic_fetch_add(&line->done, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_bytes, bytes, __ATOMIC_RELAXED);
    if (instead == 0)
        return;
    __atomic_fetch_add(&line->compared_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_ns, took_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->instead_ns, instead, __ATOMIC_RELAXED);
}

void xfs_sites_after_fork(void)
{
    memset(sites, 0, sizeof sites);
    atomic_store(&site_count, 0);
}
