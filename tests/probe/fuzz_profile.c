/*
 * Everything that is done with the bytes of a machine profile, for libFuzzer:
 *
 *     cmake -DCMAKE_C_COMPILER=clang -DXFERSCOPE_FUZZ=ON -DXFERSCOPE_SANITIZE=address,undefined ...
 *     bin/probe_fuzz_profile CORPUS
 *
 * What is read is asked, printed in every form and compared with itself; written, it must be read
 * again. What is refused must be refused in one line that a terminal can show.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/report/compare.h"
#include "probe/report/report.h"
#include "probe/report/summary.h"
#include "xferscope/profile_network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fuzz_profile: not so: %s\n", #condition);                             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void check_line(const char *line)
{
    MUST(*line);
    for (const char *c = line; *c; c++)
        MUST((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_estimate(struct xfp_estimate e)
{
    MUST(e.basis != XFP_UNKNOWN || e.ns == 0);
    MUST(isfinite(e.ns) && e.ns >= 0 && !isnan(e.error));
}

static void ask_path(const struct xfp_profile *p, const struct xfp_path *path)
{
    static const uint64_t sizes[] = {0, 1, 4096, 1 << 20, 1ull << 40, UINT64_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_estimate(xfp_time(path, sizes[i]));
        check_estimate(xfp_blocking_time(path, sizes[i]));
    }
    for (size_t i = 0; i < path->point_count; i++)
        MUST(xfp_time(path, path->points[i].bytes).basis == XFP_MEASURED);
    if (xfp_is_plain(path) && path->point_count)
        MUST(xfp_find(p, path->method, path->src, path->dst, false));
    xfp_find_loaded(p, path->method, path->src, path->dst, path->load);
}

static void ask(const struct xfp_profile *p)
{
    for (size_t i = 0; i < p->path_count; i++)
        ask_path(p, &p->paths[i]);
    for (size_t i = 0; i < p->scalar_count; i++)
        MUST(xfp_find_scalar(p, p->scalars[i].name) == &p->scalars[i]);
    for (size_t i = 0; i < p->table_count; i++) {
        const struct xfp_table *t = &p->tables[i];

        MUST(xfp_find_table(p, t->name) == t);
        for (uint64_t at = 1; at; at *= 64) {
            check_estimate(xfp_table_at(t, at));
            xfp_table_moved(t, at);
        }
    }
    for (size_t i = 0; i < p->staged_count; i++) {
        const struct xfp_staged *s = &p->staged[i];

        MUST(xfp_find_staged(p, s->src_device, s->dst_device));
        xfp_staged_at(s, 1 << 20);
    }
}

static void ask_network(const struct xfp_profile *p)
{
    const struct xfp_network *n = p->network;

    for (size_t i = 0; n && i < n->path_count; i++) {
        const struct xfp_net_path *path = &n->paths[i];

        MUST(path->loaded || xfp_net_find(p, path->shape, path->from, path->to));
        for (uint64_t bytes = 1; bytes; bytes *= 256)
            check_estimate(xfp_net_time(path, bytes));
    }
    for (size_t i = 0; n && i < n->staged_count; i++) {
        const struct xfp_net_staged *s = &n->staged[i];

        MUST(s->loaded || xfp_net_find_staged(p, s->from, s->to));
        MUST(!xfp_net_staged_at(s, 4096) == !s->point_count);
        xfp_net_hybrid_bytes(s->points, s->point_count);
    }
}

static void print(const struct xfp_profile *p, FILE *sink)
{
    static const char *const formats[] = {"text", "csv", "json"};
    struct xfp_comparison result = {0};
    char error[200];

    for (int i = 0; i < 3; i++)
        MUST(!xfp_report_format(formats[i])->print(p, sink));
    MUST(!xfp_print_summary(p, sink));
    MUST(!xfp_print_sections(p, sink));
    MUST(!xfp_compare(p, p, NULL, 0.05, sink, &result, error, sizeof(error)));
    MUST(!result.differ && !result.only_first && !result.only_second);
}

/* What was read can be written, and what was written can be read. */
static void write_again(const struct xfp_profile *p)
{
    char *text = NULL, error[512] = "";
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct xfp_profile *again;

    MUST(out && !xfp_report_format("json")->print(p, out) && !fclose(out));
    again = xfp_parse(text, bytes, error, sizeof(error));
    if (!again)
        fprintf(stderr, "fuzz_profile: %s\n", error);
    MUST(again && !again->network == !p->network);
    MUST(!p->network || (again->network->path_count == p->network->path_count &&
                         again->network->staged_count == p->network->staged_count));
    MUST(again->path_count == p->path_count && again->table_count == p->table_count);
    xfp_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    char error[512] = "";
    char *text = malloc(size ? size : 1); /* of its own: the sanitizer watches its end */
    struct xfp_profile *p;

    sink = sink ? sink : fopen("/dev/null", "w");
    MUST(sink && text);
    memcpy(text, data, size);
    p = xfp_parse(text, size, error, sizeof(error));
    if (p) {
        ask(p);
        ask_network(p);
        print(p, sink);
        write_again(p);
    } else {
        check_line(error);
    }
    xfp_free(p);
    free(text);
    return 0;
}
