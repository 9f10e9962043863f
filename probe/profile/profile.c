/*
 * The machine profile's memory and its words.
 */
#include "probe/profile/profile_json.h"
#include "probe/profile/profile_machine.h"
#include "probe/profile/profile_sections.h"
#include "xferscope/profile_network.h"

#include <stdlib.h>
#include <string.h>

#define XFP_WORD_ROW(symbol, number, word)                                                         \
    case symbol:                                                                                   \
        return word;

const char *xfp_method_word(enum xfp_method method)
{
    switch ((unsigned)method) {
        XFP_METHOD_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_load_word(enum xfp_load load)
{
    switch ((unsigned)load) {
        XFP_LOAD_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_by_word(enum xfp_by by)
{
    switch ((unsigned)by) {
        XFP_BY_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

enum xfp_by xfp_by_of(const char *word)
{
    for (unsigned by = XFP_BY_UNKNOWN + 1; by < XFP_BY_COUNT; by++)
        if (!strcmp(word, xfp_by_word(by)))
            return by;
    return XFP_BY_UNKNOWN;
}

const char *xfp_cache_word(enum xfp_cache cache)
{
    switch ((unsigned)cache) {
        XFP_CACHE_LIST(XFP_WORD_ROW)
    default:
        return "unknown";
    }
}

const char *xfp_basis_word(enum xfp_basis basis)
{
    switch (basis) {
    case XFP_MEASURED:
        return "measured";
    case XFP_INTERPOLATED:
        return "interpolated";
    case XFP_MODELLED:
        return "modelled";
    default:
        return "unknown";
    }
}

static void free_costs(struct xfp_profile *profile)
{
    for (size_t i = 0; i < profile->scalar_count; i++) {
        free(profile->scalars[i].name);
        free(profile->scalars[i].unit);
    }
    for (size_t i = 0; i < profile->table_count; i++) {
        free(profile->tables[i].name);
        free(profile->tables[i].by);
        free(profile->tables[i].unit);
        free(profile->tables[i].rows);
    }
    free(profile->scalars);
    free(profile->tables);
}

void xfp_free(struct xfp_profile *profile)
{
    if (!profile)
        return;
    xfp_free_machine(&profile->machine);
    xfp_free_sections(profile);
    xfp_net_free(profile->network);
    for (size_t i = 0; i < profile->path_count; i++) {
        free(profile->paths[i].name);
        free(profile->paths[i].points);
    }
    for (size_t i = 0; i < profile->warning_count; i++)
        free(profile->warnings[i]);
    free_costs(profile);
    free(profile->paths);
    free(profile->warnings);
    free(profile->created);
    free(profile->producer);
    free(profile);
}
