#include "analyzer/pass/profile_tables.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

#define MOST_NODES 8
#define NONE (-1) /* no such number in the name */

struct named {
    const char *what; /* in the table's name */
    size_t length;
    uint64_t hash;
    bool host;
    int node, second_node, gpu; /* NONE: not of one */
    const struct xfp_table *table;
    const struct named *next; /* of the same slot, in the profile's order */
};

struct xfa_profile_tables {
    struct named *names;
    const struct named **slots; /* by hash; a power of two */
    size_t slot_count;
};

/* What stands behind the word and its number, which is put into *number; NULL: no such word. */
static const char *numbered(const char *text, const char *word, int *number)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || text[length] < '0' || text[length] > '9')
        return NULL;
    text += length;
    if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        return NULL;
    for (*number = 0; *text >= '0' && *text <= '9' && *number < 100000; text++)
        *number = *number * 10 + (*text - '0');
    return text;
}

/* "WORDn" and nothing else: n; NONE: it is something else. */
static int only_number(const char *text, const char *word)
{
    int number;
    const char *end = numbered(text, word, &number);
    return end && *end == '\0' ? number : NONE;
}

static uint64_t hash(const char *what, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)what[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static struct named named(const struct xfp_table *table)
{
    const char *slash = strrchr(table->name, '/'), *place = slash ? slash + 1 : "";
    size_t length = slash ? (size_t)(slash - table->name) : 0;
    struct named named = {table->name, length, hash(table->name, length), false, NONE, NONE, NONE,
                          table,       NULL};
    named.host = strcmp(place, "host") == 0;
    named.gpu = only_number(place, "gpu");
    const char *end = numbered(place, "node", &named.node);
    if (!end || *end != '-') {
        named.node = NONE;
        return named;
    }
    named.gpu = only_number(end + 1, "gpu");
    named.second_node = only_number(end + 1, "node");
    return named;
}

struct xfa_profile_tables *xfa_profile_tables_new(const struct xfp_profile *profile)
{
    if (!profile)
        return NULL;
    struct xfa_profile_tables *tables = xfa_alloc(sizeof *tables);
    for (tables->slot_count = 16; tables->slot_count < 2 * profile->table_count;)
        tables->slot_count *= 2;
    tables->names = xfa_alloc((profile->table_count + 1) * sizeof *tables->names);
    tables->slots = xfa_alloc(tables->slot_count * sizeof *tables->slots);
    for (size_t i = profile->table_count; i-- > 0;) { /* so that the first comes first */
        struct named *name = &tables->names[i];
        *name = named(&profile->tables[i]);
        const struct named **slot = &tables->slots[name->hash & (tables->slot_count - 1)];
        name->next = *slot;
        *slot = name;
    }
    return tables;
}

void xfa_profile_tables_free(struct xfa_profile_tables *tables)
{
    if (!tables)
        return;
    free(tables->names);
    free(tables->slots);
    free(tables);
}

/* The next table of that name, from this one on; NULL: there is none. */
static const struct named *of_name(const struct named *name, const struct named *like)
{
    while (name && (name->hash != like->hash || name->length != like->length ||
                    memcmp(name->what, like->what, like->length) != 0))
        name = name->next;
    return name;
}

static struct named asked(const char *what)
{
    size_t length = strlen(what);
    return (struct named){.what = what, .length = length, .hash = hash(what, length)};
}

static const struct named *slot_of(const struct xfa_profile_tables *tables,
                                   const struct named *like)
{
    return tables->slots[like->hash & (tables->slot_count - 1)];
}

const struct xfp_table *xfa_profile_gpu_table(const struct xfa_profile_tables *tables,
                                              const char *what, int node, int gpu)
{
    const struct named like = asked(what), *found = NULL;
    const struct named *at = tables && gpu >= 0 ? slot_of(tables, &like) : NULL;
    for (at = of_name(at, &like); at; at = of_name(at->next, &like)) {
        if (at->gpu != gpu)
            continue;
        if (at->node == NONE)
            return at->table;
        if ((node < 0 ? at->node <= MOST_NODES : at->node == node) &&
            (!found || at->node < found->node))
            found = at;
    }
    return found ? found->table : NULL;
}

const struct xfp_table *xfa_profile_host_table(const struct xfa_profile_tables *tables,
                                               const char *what)
{
    const struct named like = asked(what), *found = NULL;
    const struct named *at = tables ? slot_of(tables, &like) : NULL;
    for (at = of_name(at, &like); at; at = of_name(at->next, &like)) {
        if (at->host)
            return at->table;
        if (at->node != NONE && at->node == at->second_node && at->node < MOST_NODES &&
            (!found || at->node < found->node))
            found = at;
    }
    return found ? found->table : NULL;
}
