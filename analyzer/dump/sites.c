/* Words of a run's call sites, for those who type --site: completion of shells. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/dump/dump.h"
#include "analyzer/run/resolve.h"
#include "analyzer/run/site.h"
#include "common/text.h"

struct words {
    char **items;
    size_t count, capacity;
};

static void add(struct words *words, const char *text, size_t bytes)
{
    if (bytes == 0)
        return;
    size_t at = words->count;
    words->items =
        xfa_grown(words->items, &words->capacity, &words->count, at, sizeof *words->items);
    words->items[at] = xfa_print("%.*s", (int)bytes, text);
}

/* The function's own name, which is part of what --site looks through: without the scopes before it
 * and the arguments behind it. */
static void add_function(struct words *words, const char *function)
{
    size_t end = strcspn(function, "(<"), begin = end;
    while (begin > 0 && function[begin - 1] != ':' && function[begin - 1] != ' ')
        begin--;
    add(words, function + begin, end - begin);
}

static void add_site(struct words *words, const struct xfa_site *site)
{
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    if (frame && frame->function)
        add_function(words, frame->function);
    if (!frame || !frame->file)
        return;
    const char *slash = strrchr(frame->file, '/'), *base = slash ? slash + 1 : frame->file;
    add(words, base, strlen(base));
}

static void add_trace(struct words *words, struct xfa_trace *trace)
{
    struct xfa_shelf shelf;
    xfa_shelf_init(&shelf);
    xfa_trace_resolve(trace);
    for (size_t i = 0; i < trace->names.stacks.count; i++) {
        const struct xfa_stack *stack = xfa_table_at(&trace->names.stacks, i);
        struct xfa_site *site = xfa_site_new(&shelf, trace, stack->id);
        add_site(words, site);
        xfa_site_free(site);
    }
    xfa_shelf_free(&shelf);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t xfa_dump_sites(char *const *files, size_t count, FILE *out)
{
    struct words words = {0};
    size_t read = 0;
    for (size_t i = 0; i < count; i++) {
        char error[1024];
        struct xfa_trace *trace = xfa_trace_open(files[i], error, sizeof error);
        if (!trace)
            continue;
        add_trace(&words, trace);
        xfa_trace_close(trace);
        read++;
    }
    if (words.count)
        qsort(words.items, words.count, sizeof *words.items, by_text);
    for (size_t i = 0; i < words.count; i++)
        if (i == 0 || strcmp(words.items[i - 1], words.items[i]) != 0)
            xfc_print(out, "%s\n", words.items[i]);
    while (words.count > 0)
        free(words.items[--words.count]);
    free(words.items);
    return read;
}
