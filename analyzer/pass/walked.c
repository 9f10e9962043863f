#include "analyzer/pass/walked.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

void xfa_walked_free(struct xfa_walked *walked)
{
    free(walked->losses);
    free(walked->lookups);
    free(walked->classes);
    *walked = (struct xfa_walked){0};
}

void xfa_survey_free(struct xfa_survey *survey)
{
    if (!survey)
        return;
    for (size_t i = 0; i < survey->count; i++)
        xfa_walked_free(&survey->processes[i]);
    free(survey->processes);
    free(survey);
}

/* ---- to other members ------------------------------------------------------------------------ */

static void give_items(struct xfa_parcel *parcel, const void *items, size_t count, size_t bytes)
{
    xfa_parcel_number(parcel, count);
    xfa_parcel_put(parcel, items, count * bytes);
}

static void *take_items(struct xfa_unpacking *from, size_t *count, size_t bytes)
{
    *count = xfa_unpack_count(from, bytes);
    void *items = *count ? xfa_alloc_unset(*count * bytes) : NULL;
    if (items)
        xfa_unpack_bytes(from, items, *count * bytes);
    return items;
}

void xfa_walked_give(const struct xfa_walked *walked, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, walked->events);
    xfa_parcel_put(parcel, &walked->span, sizeof walked->span);
    xfa_parcel_put(parcel, &walked->counts, sizeof walked->counts);
    xfa_parcel_put(parcel, &walked->loss, sizeof walked->loss);
    xfa_parcel_text(parcel, walked->losses ? walked->losses : "");
    xfa_parcel_number(parcel, walked->touched);
    give_items(parcel, walked->lookups, walked->lookup_count, sizeof *walked->lookups);
    give_items(parcel, walked->classes, walked->class_count, sizeof *walked->classes);
}

void xfa_walked_take(struct xfa_walked *walked, struct xfa_unpacking *from)
{
    xfa_walked_free(walked);
    walked->events = xfa_unpack_number(from);
    xfa_unpack_bytes(from, &walked->span, sizeof walked->span);
    xfa_unpack_bytes(from, &walked->counts, sizeof walked->counts);
    xfa_unpack_bytes(from, &walked->loss, sizeof walked->loss);
    walked->losses = xfa_unpack_text(from);
    if (!*walked->losses) {
        free(walked->losses);
        walked->losses = NULL;
    }
    walked->touched = xfa_unpack_number(from);
    walked->lookups = take_items(from, &walked->lookup_count, sizeof *walked->lookups);
    walked->classes = take_items(from, &walked->class_count, sizeof *walked->classes);
    if (from->bad)
        xfa_walked_free(walked);
}

/* ---- in the walk ----------------------------------------------------------------------------- */

/* The key in this run's numbers. False: there is no such site, or function. */
static bool own_key(const struct xfa_run *run, const struct xfa_walked_class *met,
                    struct xfa_class_key *key)
{
    const struct xfa_site *site = xfa_run_find_site(run, met->site);
    const struct xfa_function *function = xfa_run_find_function(run, met->function);
    const struct xfa_function *runtime =
        met->key.row.runtime_function ? xfa_run_find_function(run, met->runtime_function) : NULL;
    *key = met->key;
    if (!site || !function || (met->key.row.runtime_function && !runtime))
        return false;
    key->row.site = site->number;
    key->row.function = function->number;
    key->row.runtime_function = runtime ? runtime->number + 1 : 0;
    return true;
}

bool xfa_walked_meet(const struct xfa_walked *walked, struct xfa_process *process,
                     struct xfa_classes *classes)
{
    xfa_process_look_up(process, walked->lookups, walked->lookup_count);
    for (size_t i = 0; i < walked->class_count; i++) {
        struct xfa_class_key key;
        if (!own_key(process->run, &walked->classes[i], &key))
            return false;
        xfa_class_meet(classes, &key);
    }
    return true;
}
