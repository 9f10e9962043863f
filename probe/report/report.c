#include "probe/report/report.h"

#include <libsmartcols.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/profile/profile_json.h"
#include "common/text.h"
#include "probe/progress.h"
#include "probe/report/network.h"
#include "probe/report/report_csv.h"
#include "probe/report/summary.h"
#include "probe/report/width.h"

#define LEGEND_WIDTH 97 /* of paragraphs where the output is no terminal */

static void set_cell(struct libscols_line *line, size_t column, const char *format, double x)
{
    char text[64];

    snprintf(text, sizeof(text), format, x);
    scols_line_set_data(line, column, isfinite(x) ? text : "-");
}

/* The widest of the medians' intervals, relative: the accuracy of the figures. */
static double widest(const struct xfp_path *path)
{
    double most = 0;

    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_point *p = &path->points[i];

        most = fmax(most, (p->ci_high_ns - p->ci_low_ns) / 2 / p->median_ns);
    }
    return most;
}

/* A path's row: time of the smallest copy, best bandwidth, the model. */
static int add_row(struct libscols_table *table, const struct xfp_path *path)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const struct xfp_point *small = &path->points[0], *best = small;
    const struct xfp_fit *fit = &path->fit;
    char size[32];

    if (!line)
        return -1;
    for (size_t i = 1; i < path->point_count; i++)
        if (xfp_gbps(path->points[i].bytes, path->points[i].median_ns) >
            xfp_gbps(best->bytes, best->median_ns))
            best = &path->points[i];
    xfp_set_text(line, 0, path->name);
    set_cell(line, 1, "%.2f", small->median_ns / 1e3);
    set_cell(line, 2, "%.2f", small->host_ns > 0 ? small->host_ns / 1e3 : NAN);
    set_cell(line, 3, "%.2f", small->blocking_ns > 0 ? small->blocking_ns / 1e3 : NAN);
    set_cell(line, 4, "%.2f", xfp_gbps(best->bytes, best->median_ns));
    scols_line_set_data(line, 5, xfp_size_text(best->bytes, size, sizeof(size)));
    set_cell(line, 6, "%.2f", fit->valid ? fit->Lo_ns / 1e3 : NAN);
    set_cell(line, 7, "%.2f", fit->valid ? fit->g_ns / 1e3 : NAN);
    set_cell(line, 8, "%.2f", fit->valid ? 1 / fit->G_ns_per_byte : NAN);
    set_cell(line, 9, "%.1f", fit->valid ? fit->max_error * 100 : NAN);
    set_cell(line, 10, "%.1f", widest(path) * 100);
    return 0;
}

static int print_table(const struct xfp_profile *profile, FILE *out)
{
    static const char *const columns[] = {"benchmark", "copy us", "call us", "blocking us",
                                          "best GB/s", "at",      "L+o us",  "g us",
                                          "1/G GB/s",  "error %", "spread %"};
    static const size_t last_first[] = {10, 9, 7, 6, 8, 3, 2};
    struct libscols_table *table = scols_new_table();
    int bad = !table;

    for (size_t c = 0; c < 11 && !bad; c++)
        bad = !scols_table_new_column(table, columns[c], 0, c ? SCOLS_FL_RIGHT : 0);
    for (size_t i = 0; i < profile->path_count && !bad; i++)
        bad = add_row(table, &profile->paths[i]);
    if (!bad)
        bad = xfp_print_fitting(table, last_first, sizeof(last_first) / sizeof(last_first[0]),
                                xfp_width(out), out);
    scols_unref_table(table);
    return bad ? -1 : 0;
}

/* A table's name, and its first and last row; sizes as sizes, numbers as numbers. */
static int add_ends(struct libscols_table *table, const struct xfp_table *t)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const struct xfp_row *ends[] = {&t->rows[0], &t->rows[t->row_count - 1]};
    enum xfp_by by = xfp_by_of(t->by);
    bool sizes = by == XFP_BY_BYTES || by == XFP_BY_BYTES_EACH_WAY || by == XFP_BY_ROW_BYTES;
    char text[32];

    if (!line)
        return -1;
    xfp_set_text(line, 0, t->name);
    xfp_set_text(line, 1, t->by);
    for (size_t i = 0; i < 2; i++) {
        if (sizes)
            xfp_size_text(ends[i]->at, text, sizeof(text));
        else
            snprintf(text, sizeof(text), "%llu", (unsigned long long)ends[i]->at);
        scols_line_set_data(line, 2 + 2 * i, text);
        set_cell(line, 3 + 2 * i, "%.2f", ends[i]->cost.median / 1e3);
    }
    if (xfp_table_moved(t, ends[1]->at))
        set_cell(line, 6, "%.2f", xfp_gbps(xfp_table_moved(t, ends[1]->at), ends[1]->cost.median));
    return 0;
}

static int add_scalar(struct libscols_table *table, const struct xfp_scalar *scalar)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);

    if (!line)
        return -1;
    xfp_set_text(line, 0, scalar->name);
    set_cell(line, 3, "%.2f", scalar->cost.median / 1e3);
    return 0;
}

/* What is not a path: by size or number, and single costs. */
static int print_costs(const struct xfp_profile *profile, FILE *out)
{
    static const char *const columns[] = {"cost", "by", "from", "us", "to", "us", "GB/s"};
    static const size_t last_first[] = {6, 1};
    struct libscols_table *table = scols_new_table();
    int bad = !table;

    for (size_t c = 0; c < 7 && !bad; c++)
        bad = !scols_table_new_column(table, columns[c], 0, c > 1 ? SCOLS_FL_RIGHT : 0);
    for (size_t i = 0; i < profile->table_count && !bad; i++)
        if (profile->tables[i].row_count)
            bad = add_ends(table, &profile->tables[i]);
    for (size_t i = 0; i < profile->scalar_count && !bad; i++)
        bad = add_scalar(table, &profile->scalars[i]);
    if (!bad) {
        fputc('\n', out);
        bad = xfp_print_fitting(table, last_first, sizeof(last_first) / sizeof(last_first[0]),
                                xfp_width(out), out);
    }
    scols_unref_table(table);
    return bad ? -1 : 0;
}

static bool known(const char *text)
{
    return text && *text;
}

static void print_version(FILE *out, const char *before, int version)
{
    xfc_print(out, "%s%d.%d", before, version / 1000, version % 1000 / 10);
}

static void print_host(const struct xfp_machine *m, FILE *out)
{
    xfc_print(out, "%s: %s, %d processors, %d NUMA node(s)", m->hostname, m->cpu, m->cpus,
              m->numa_nodes);
    if (m->driver_version)
        print_version(out, "; CUDA ", m->driver_version);
    else
        fputs("; no CUDA driver", out);
    if (known(m->driver_release))
        xfc_print(out, ", driver %s", m->driver_release);
    if (m->toolkit_version)
        print_version(out, ", toolkit ", m->toolkit_version);
    fputc('\n', out);
    if (!known(m->kernel))
        return;
    xfc_print(out, "%s", m->kernel);
    if (known(m->hypervisor))
        xfc_print(
            out, ", %s %s",
            strcmp(m->hypervisor, "none") ? "virtual machine:" : "hypervisor:", m->hypervisor);
    xfc_print(out, ", governor %s, huge pages %s, locked memory ",
              known(m->governor) ? m->governor : "not known",
              known(m->huge_pages) ? m->huge_pages : "not known");
    if (m->memlock_bytes == XFP_NO_LIMIT)
        fputs("unlimited\n", out);
    else
        xfc_print(out, "%lld KiB\n", (long long)m->memlock_bytes >> 10);
}

static void print_gpu(const struct xfp_machine *m, size_t i, FILE *out)
{
    const struct xfp_gpu *g = &m->gpus[i];

    xfc_print(out, "GPU %zu: %s, %.0f GiB, %d copy engine(s)", i, g->name,
              (double)g->memory_bytes / (1 << 30), g->copy_engines);
    if (g->numa >= 0)
        xfc_print(out, ", node %d", g->numa);
    if (g->pcie_gen)
        xfc_print(out, ", PCIe generation %d x%d", g->pcie_gen, g->pcie_width);
    if (g->pcie_max_gen)
        xfc_print(out, " (at most %d x%d)", g->pcie_max_gen, g->pcie_max_width);
    if (g->nvlinks > 0)
        xfc_print(out, ", %d NVLinks (version %d)", g->nvlinks, g->nvlink_version);
    if (g->ecc >= 0)
        xfc_print(out, ", ECC %s", g->ecc ? "on" : "off");
    for (size_t p = 0; p < g->peer_count; p++)
        xfc_print(out, "%s %d", p ? "" : ", peers", g->peers[p]);
    xfc_print(out, "%s\n", m->simulated ? ", SIMULATED" : "");
}

static void print_rules(const struct xfp_rules *r, FILE *out)
{
    if (r->known)
        xfc_print(out, "Measured in %.1f s%s, caches %s, data %s.\n", r->seconds,
                  r->paper ? " by the paper's rule" : "", r->flushed ? "flushed" : "not flushed",
                  r->verified ? "checked" : "not checked");
}

/* Above the table; `bytes`: of the smallest copy. */
static void print_legend(uint64_t bytes, FILE *out)
{
    char size[32], text[512];
    size_t width = xfp_width(out);

    snprintf(text, sizeof(text),
             "Times are medians of one copy of %s: on the device, until the asynchronous call "
             "returns, and of the blocking call. L+o, g and 1/G: the transfer model; error: its "
             "largest. Spread: half the width of the medians' 95 %% confidence interval, the "
             "largest of all sizes.",
             xfp_size_text(bytes, size, sizeof(size)));
    fputc('\n', out);
    xfp_print_words(text, width == XFP_NO_WIDTH ? LEGEND_WIDTH : width, out);
    fputc('\n', out);
}

static int print_text(const struct xfp_profile *profile, FILE *out)
{
    const struct xfp_machine *m = &profile->machine;

    print_host(m, out);
    for (size_t i = 0; i < m->gpu_count; i++)
        print_gpu(m, i, out);
    print_rules(&profile->rules, out);
    if (profile->path_count) {
        const struct xfp_point *first = profile->paths[0].points;

        print_legend(first->bytes, out);
        if (print_table(profile, out))
            return -1;
    }
    if ((profile->table_count || profile->scalar_count) && print_costs(profile, out))
        return -1;
    if (xfp_print_network(profile, out) || xfp_print_sections(profile, out))
        return -1;
    if (profile->warning_count)
        fputc('\n', out);
    for (size_t i = 0; i < profile->warning_count; i++)
        xfc_print(out, "warning: %s\n", profile->warnings[i]);
    return ferror(out) ? -1 : 0;
}

const struct xfp_report_format *xfp_report_format(const char *word)
{
    static const struct xfp_report_format formats[] = {
        {"text", print_text}, {"json", xfp_write_json}, {"csv", xfp_print_csv}};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (!strcmp(word, formats[i].word))
            return &formats[i];
    return NULL;
}
