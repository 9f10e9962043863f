/* The report's key `ranks`. */
#include <stdlib.h>

#include "analyzer/report/json/json.h"

static const char *const words[XFA_RANK_MEASURES] = {
    [XFA_RANK_BYTES] = "bytes",
    [XFA_RANK_GBPS] = "achieved_gbps",
    [XFA_RANK_FAR] = "far",
};

static json_t *outliers_json(const struct xfa_outlier *outliers, size_t count, size_t rank)
{
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        if (outliers[i].rank == rank)
            json_array_append_new(json, json_string(words[outliers[i].measure]));
    return json;
}

static json_t *rank_json(const struct xfa_run *run, const struct xfa_rank_sum *sum)
{
    const struct xfa_process *process = sum->process;
    const struct xfa_rank *rank = &process->rank;
    json_t *json = json_object();
    json_object_set_new(json, "rank", rank->known ? json_integer(rank->number) : json_null());
    json_object_set_new(json, "size", rank->size ? json_integer(rank->size) : json_null());
    json_object_set_new(json, "launcher", xfa_json_text(rank->launcher));
    json_object_set_new(json, "world", xfa_json_text(rank->world));
    json_object_set_new(json, "host", xfa_json_text(run->hosts[process->host].name));
    json_object_set_new(json, "file", xfa_json_text(process->file));
    json_object_set_new(json, "processes", xfa_json_count(sum->processes));
    json_object_set_new(json, "transfers", xfa_json_count(sum->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(sum->bytes));
    json_object_set_new(json, "directions", xfa_directions_json(sum->by_direction));
    json_object_set_new(json, "achieved_gbps",
                        xfa_json_number(xfa_rank_figure(sum, XFA_RANK_GBPS)));
    json_object_set_new(json, "far", xfa_json_number(xfa_rank_figure(sum, XFA_RANK_FAR)));
    return json;
}

json_t *xfa_ranks_json(const struct xfa_analysis *analysis)
{
    const struct xfa_ranks *ranks = &analysis->ranks;
    json_t *json = json_object(), *all = json_array(), *medians = json_object();
    size_t count;
    struct xfa_outlier *outliers = xfa_ranks_outliers(ranks, &count);
    for (int measure = 0; measure < XFA_RANK_MEASURES; measure++)
        json_object_set_new(
            medians, words[measure],
            xfa_json_number(xfa_ranks_median(ranks, (enum xfa_rank_measure)measure)));
    for (size_t i = 0; i < ranks->all.count; i++) {
        json_t *one = rank_json(analysis->run, xfa_table_at(&ranks->all, i));
        json_object_set_new(one, "stands_out", outliers_json(outliers, count, i));
        json_array_append_new(all, one);
    }
    json_object_set_new(json, "medians", medians);
    json_object_set_new(json, "all", all);
    free(outliers);
    return json;
}
