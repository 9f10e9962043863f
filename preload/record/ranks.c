#include "preload/record/ranks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/kept.h"

#define FIRST_BYTES 4096
#define MOST_STEP 0xfffffff0u /* SLURM_MAX_NORMAL_STEP_ID: above are batch scripts and shells */

enum variable {
#define V(name, other) V_##name,
#include "preload/record/ranks.def"
#undef V
    VARIABLES,
    V_NONE = VARIABLES
};

static const struct {
    const char *name;
    enum variable other;
} variables[] = {
#define V(name, other) {#name, V_##other},
#include "preload/record/ranks.def"
#undef V
};

enum nature { LAUNCHER, CONVENTION, PROTOCOL, STEP };

struct launcher {
    const char *name;
    enum nature nature;
    enum variable sign, rank, size, local, local_size, node, world, part;
};

static const struct launcher launchers[] = {
#define L(name, nature, sign, rank, size, local, local_size, node, world, part)                    \
    {name,      nature,         V_##sign, V_##rank,  V_##size,                                     \
     V_##local, V_##local_size, V_##node, V_##world, V_##part},
#include "preload/record/ranks.def"
#undef L
};

#define LAUNCHERS (sizeof launchers / sizeof *launchers)

typedef const char *get_fn(const char *name);

/* ---- values ----------------------------------------------------------------------------- */

/* The value of a variable, or of its substitute; an empty value counts as none. */
static const char *text_of(get_fn *get, enum variable v, const char **name)
{
    for (; v != V_NONE; v = variables[v].other) {
        const char *text = get(variables[v].name);
        *name = variables[v].name;
        if (text && text[0])
            return text;
    }
    return NULL;
}

static void complain(const char **senseless, const char *name)
{
    if (*senseless == NULL)
        *senseless = name;
}

/* Digits at `*at`, which moves behind them; -1: none, or more than `most`. */
static int64_t take_number(const char **at, int64_t most)
{
    int64_t n = 0;
    const char *start = *at;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if ((n = 10 * n + **at - '0') > most)
            return -1;
    return *at == start ? -1 : n;
}

static int64_t number_of(get_fn *get, enum variable v, int64_t most, const char **senseless)
{
    const char *name, *text = text_of(get, v, &name), *at = text;
    int64_t n = text ? take_number(&at, most) : -1;
    if (text && (n < 0 || *at)) {
        complain(senseless, name);
        return -1;
    }
    return n;
}

static int32_t count_of(get_fn *get, enum variable v, const char **senseless)
{
    return (int32_t)number_of(get, v, INT32_MAX, senseless);
}

/* "(xN)", or nothing, which is 1. */
static int64_t take_repeat(const char **at)
{
    if ((*at)[0] != '(' || (*at)[1] != 'x')
        return 1;
    *at += 2;
    int64_t n = take_number(at, INT32_MAX);
    return *(*at)++ == ')' ? n : -1;
}

/* A number, or a node's of a list: "2(x3),1" says 2 on each of three nodes and 1 on the fourth. */
static int32_t tasks_of(get_fn *get, enum variable v, int32_t node, const char **senseless)
{
    const char *name, *at = text_of(get, v, &name);
    if (at == NULL)
        return -1;
    int64_t tasks = take_number(&at, INT32_MAX), behind = 0;
    if (*at == '\0' && tasks >= 0)
        return (int32_t)tasks;
    while (tasks >= 0) {
        int64_t nodes = take_repeat(&at);
        behind += nodes;
        if (nodes < 0 || (*at != ',' && *at != '\0'))
            break;
        if (node >= 0 && node < behind)
            return (int32_t)tasks;
        if (*at++ == '\0')
            break;
        tasks = take_number(&at, INT32_MAX);
    }
    complain(senseless, name);
    return -1;
}

static bool put_text(get_fn *get, enum variable v, char text[XFS_RANK_TEXT_BYTES],
                     const char **senseless)
{
    const char *name, *value = text_of(get, v, &name);
    size_t bytes = value ? strnlen(value, XFS_RANK_TEXT_BYTES) : 0;
    text[0] = '\0';
    if (bytes == XFS_RANK_TEXT_BYTES)
        complain(senseless, name);
    else if (value)
        text[bytes] = '\0', memcpy(text, value, bytes);
    return text[0] != '\0';
}

/* ---- one launcher ------------------------------------------------------------------------ */

static bool is_there(const struct launcher *l, get_fn *get)
{
    const char *name, *senseless = NULL;
    if (l->nature == STEP)
        return number_of(get, l->sign, MOST_STEP, &senseless) >= 0;
    return text_of(get, l->sign, &name) != NULL;
}

static void put_world(const struct launcher *l, get_fn *get, struct xfs_rank *r,
                      const char **senseless)
{
    char part[XFS_RANK_TEXT_BYTES];
    size_t bytes = put_text(get, l->world, r->world, senseless) ? strlen(r->world) : 0;
    if (bytes > 0 && put_text(get, l->part, part, senseless) &&
        bytes + 1 + strlen(part) < sizeof r->world)
        stpcpy(stpcpy(r->world + bytes, "."), part);
}

/* Values that contradict the rest are left out. */
static void put_local(const struct launcher *l, get_fn *get, struct xfs_rank *r,
                      const char **senseless)
{
    const char *name = NULL;
    r->node = count_of(get, l->node, senseless);
    r->local = count_of(get, l->local, senseless);
    r->local_size = tasks_of(get, l->local_size, r->node, senseless);
    if (r->local_size == 0 || (r->size >= 0 && r->local_size > r->size) ||
        (r->local_size >= 0 && r->local >= r->local_size)) {
        text_of(get, l->local_size, &name);
        complain(senseless, name);
        r->local = r->local_size = -1;
    }
}

/* True when the launcher's variables give a rank. */
static bool ask(const struct launcher *l, get_fn *get, struct xfs_rank *r, const char **senseless)
{
    const char *name = NULL;
    if (!is_there(l, get))
        return false;
    r->launcher = l->name;
    r->rank = count_of(get, l->rank, senseless);
    r->size = count_of(get, l->size, senseless);
    if (r->rank < 0 || (l->nature == CONVENTION && r->size < 0))
        return false;
    if (r->size >= 0 && r->rank >= r->size) {
        text_of(get, l->rank, &name);
        complain(senseless, name);
        return false;
    }
    put_local(l, get, r, senseless);
    put_world(l, get, r, senseless);
    return true;
}

/* ---- the innermost ----------------------------------------------------------------------- */

/* "slurm.pmix.17.0" is of the step "17.0". */
static bool is_of_step(const char *world, const char *step)
{
    size_t n = strlen(world), bytes = strlen(step);
    return bytes > 0 && n >= bytes && strcmp(world + n - bytes, step) == 0 &&
           (n == bytes || world[n - bytes - 1] == '.');
}

static bool gives_way(const struct launcher *inner, const struct xfs_rank *a,
                      const struct launcher *outer, const struct xfs_rank *b)
{
    if (inner->nature == CONVENTION)
        return a->size == b->size;
    return inner->nature == PROTOCOL && outer->nature == STEP && a->rank == b->rank &&
           (a->size < 0 || a->size == b->size) && is_of_step(a->world, b->world);
}

static void put_job(get_fn *get, struct xfs_rank *r, const char **senseless)
{
    const char *ignored = NULL;
    if (!r->job[0])
        put_text(get, V_SLURM_JOB_ID, r->job, senseless);
    if (!r->step[0] && number_of(get, V_SLURM_STEP_ID, MOST_STEP, &ignored) >= 0)
        put_text(get, V_SLURM_STEP_ID, r->step, senseless);
    if (!r->node_name[0])
        put_text(get, V_SLURMD_NODENAME, r->node_name, senseless);
}

void xfs_rank_choose(get_fn *now, get_fn *start, struct xfs_rank *rank)
{
    static const struct xfs_rank nothing = {
        .rank = -1, .size = -1, .local = -1, .local_size = -1, .node = -1};
    const struct launcher *chosen = NULL;
    const char *senseless = NULL;
    *rank = nothing;
    for (const struct launcher *l = launchers; l < launchers + LAUNCHERS; l++) {
        struct xfs_rank here = nothing, before = nothing;
        if (!ask(l, now, &here, &senseless)) {
            if (!ask(l, start, &before, &senseless))
                continue;
            here = before;
        }
        if (chosen == NULL || gives_way(chosen, rank, l, &here)) {
            chosen = l;
            *rank = here;
        }
    }
    put_job(now, rank, &senseless);
    put_job(start, rank, &senseless);
    rank->senseless = senseless;
}

/* ---- the environment that the process began with ------------------------------------------ */

static char first_text[FIRST_BYTES];
static struct xfs_kept first = {first_text, sizeof first_text, 0};

static bool is_wanted(const char *entry)
{
    for (size_t i = 0; i < VARIABLES; i++)
        if (entry[0] == variables[i].name[0] && xfs_value_in(entry, variables[i].name))
            return true;
    return false;
}

__attribute__((constructor)) static void remember_start(void)
{
    xfs_keep(&first, is_wanted);
}

static const char *from_start(const char *name)
{
    return xfs_kept_value(&first, name);
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

void xfs_rank_find(struct xfs_rank *rank)
{
    xfs_rank_choose(from_environment, from_start, rank);
}
