/*
 * What overlap_models found out, as text and as JSON.
 */
#ifndef XFERSCOPE_GPU_OVERLAP_MODELS_PRINT_H
#define XFERSCOPE_GPU_OVERLAP_MODELS_PRINT_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
#include "tests/analyzer/overlap/overlap.h"
}

struct options {
    int edge = 1024, levels = 42, runs = 9;
    bool collide = false;
    const char *profile = nullptr, *json = nullptr;
};

struct result {
    double kernel, predicted, measured;

    double error() const // percent
    {
        return 100 * (predicted / measured - 1);
    }
};

enum { ALL_IN_FIRST = 1, IN_BY_LEVEL = 2, ORDERS = 4 }; // the last: a level waits for that before

inline const char *order_word(int order)
{
    static const char *const words[ORDERS] = {"level by level", "all in first",
                                              "level by level, in one by one",
                                              "all in first, in one by one"};

    return words[order];
}

struct timeline {
    std::vector<double> in, done; // of each level, ns from the start
};

// A kernel that reads and writes mapped memory: 1 array each way, 2 in, 2 out.
struct mapped_mix {
    double profile_both_G, bytes, even_ns, more_in_ns, more_out_ns;
};

struct results {
    const char *kernel;
    double read_times;
    int papers_order, order; // of the streams; the second was the fastest
    double order_ns[ORDERS];
    timeline order_lines[ORDERS], hybrid_line;
    result of[XFA_OVERLAP_METHODS];
    int predicted_best = 0, measured_best = 0;
    xfa_overlap_choice advised;
};

const double most_error[XFA_OVERLAP_METHODS] = {9.7, 3.9, 6.5, 10.8}; // section VII, percent

inline bool within(const results &r)
{
    bool good = r.predicted_best == r.measured_best;

    for (int i = 0; i < XFA_OVERLAP_METHODS; i++)
        good = good && std::fabs(r.of[i].error()) <= most_error[i];
    return good;
}

inline const char *word(int method)
{
    return xfa_overlap_word((xfa_overlap_method)method);
}

inline void print_way(const char *name, const xfa_overlap_way &way)
{
    printf("  %-24s %8.0f %8.0f %10.6f %10.6f\n", name, way.fit.Lo_ns, way.fit.g_ns,
           way.fit.G_ns_per_byte, way.both_G);
}

inline void print_machine(const xfa_overlap_machine &m, double again, bool measured_here)
{
    printf("category %d; of mapped memory read again, %.0f %% passes the link again\n", m.category,
           100 * again);
    printf("  %-24s %8s %8s %10s %10s\n", "", "L+o ns", "g ns", "G ns/byte", "both ways");
    print_way("copies in", m.copies.in);
    print_way("copies out", m.copies.out);
    print_way("mapped in", m.mapped.in);
    print_way("mapped out", m.mapped.out);
    print_way("hybrid: copies in", m.hybrid.in);
    print_way("hybrid: mapped out", m.hybrid.out);
    if (measured_here)
        printf("  (hybrid, both ways: measured here, not the profile's)\n");
}

inline void print_mapped(const mapped_mix &m)
{
    printf("  one kernel on mapped memory, us: %.0f bytes in and out %.1f, twice as many in %.1f, "
           "twice as many out %.1f\n  (of the first follows what both ways cost each other, where "
           "the profile has no table "
           "of one kernel; the profile's: "
           "%.6f)\n",
           m.bytes, m.even_ns / 1e3, m.more_in_ns / 1e3, m.more_out_ns / 1e3, m.profile_both_G);
}

inline void print_line(const char *what, const std::vector<double> &ns)
{
    size_t n = ns.size();

    printf("    %-5s", what);
    for (size_t k : {(size_t)0, (size_t)1, n / 4, n / 2, n - 2, n - 1})
        printf(" %2zu: %8.1f ", k, ns[k] / 1e3);
    printf("\n");
}

inline void print_timeline(const timeline &t)
{
    print_line("in", t.in);
    print_line("done", t.done);
}

inline void print_orders(const results &r, double predicted)
{
    for (int i = 0; i < ORDERS; i++) {
        printf("  %s, streams %s: %.1f us, error %+.2f %%%s%s; level: us in one run\n", r.kernel,
               order_word(i), r.order_ns[i] / 1e3, 100 * (predicted / r.order_ns[i] - 1),
               i == r.papers_order ? ", the paper's order" : "",
               i == r.order ? ", the fastest" : "");
        print_timeline(r.order_lines[i]);
    }
    printf("  %s, hybrid %s\n", r.kernel, order_word(r.papers_order));
    print_timeline(r.hybrid_line);
}

inline void print_results(const results &r)
{
    printf("\n%-9s %-9s %12s %14s %14s %9s %9s\n", "kernel", "method", "kernel us", "predicted us",
           "measured us", "error %", "at most");
    for (int i = 0; i < XFA_OVERLAP_METHODS; i++)
        printf("%-9s %-9s %12.1f %14.1f %14.1f %+9.2f %9.1f%s\n", r.kernel, word(i),
               r.of[i].kernel / 1e3, r.of[i].predicted / 1e3, r.of[i].measured / 1e3,
               r.of[i].error(), most_error[i],
               std::fabs(r.of[i].error()) <= most_error[i] ? "" : "  MISSED");
    printf("%-9s best: predicted %s, measured %s%s; advised: %s, %u streams\n", r.kernel,
           word(r.predicted_best), word(r.measured_best),
           r.predicted_best == r.measured_best ? "" : "  MISSED", word(r.advised.best),
           r.advised.streams[r.advised.best]);
    print_orders(r, r.of[XFA_OVERLAP_STREAMS].predicted);
}

inline void write_way(FILE *out, const char *name, const xfa_overlap_way &way, const char *end)
{
    auto number = [&](const char *key, double value, const char *after) {
        if (std::isfinite(value))
            fprintf(out, "\"%s\": %.10g%s", key, value, after);
        else
            fprintf(out, "\"%s\": null%s", key, after);
    };

    fprintf(out, "  \"%s\": {", name);
    number("Lo_ns", way.fit.Lo_ns, ", ");
    number("g_ns", way.fit.g_ns, ", ");
    number("G_ns_per_byte", way.fit.G_ns_per_byte, ", ");
    number("both_G_ns_per_byte", way.both_G, "}");
    fputs(end, out);
}

inline void write_results(FILE *out, const results &r, const char *end)
{
    fprintf(out, "  {\"kernel\": \"%s\", \"read_times\": %.6g, \"methods\": {\n", r.kernel,
            r.read_times);
    for (int i = 0; i < XFA_OVERLAP_METHODS; i++)
        fprintf(out,
                "    \"%s\": {\"kernel_ns\": %.1f, \"predicted_ns\": %.1f, \"measured_ns\": %.1f, "
                "\"error_percent\": %.4f, \"goal_percent\": %.1f}%s\n",
                word(i), r.of[i].kernel, r.of[i].predicted, r.of[i].measured, r.of[i].error(),
                most_error[i], i + 1 < XFA_OVERLAP_METHODS ? "," : "},");
    fprintf(out, "   \"papers_order\": \"%s\", \"fastest_order\": \"%s\", \"order_ns\": {",
            order_word(r.papers_order), order_word(r.order));
    for (int i = 0; i < ORDERS; i++)
        fprintf(out, "\"%s\": %.1f%s", order_word(i), r.order_ns[i],
                i + 1 < ORDERS ? ", " : "},\n");
    fprintf(out,
            "   \"predicted_best\": \"%s\", \"measured_best\": \"%s\", \"advised\": "
            "\"%s\", \"advised_streams\": %u}%s\n",
            word(r.predicted_best), word(r.measured_best), word(r.advised.best),
            r.advised.streams[r.advised.best], end);
}

inline void write_json(const options &options, const char *gpu, const xfa_overlap_machine &m,
                       double again, bool measured_here, const mapped_mix &mix,
                       const std::vector<results> &all)
{
    FILE *out = fopen(options.json, "w");

    if (!out) {
        perror(options.json);
        exit(1);
    }
    fprintf(out,
            "{\"gpu\": \"%s\", \"edge\": %d, \"levels\": %d, \"runs\": %d, \"category\": %d,\n "
            "\"again_over_the_link\": %.6g, \"collision_measured_here\": %s, \"parameters\": {\n",
            gpu, options.edge, options.levels, options.runs, m.category, again,
            measured_here ? "true" : "false");
    write_way(out, "copies_in", m.copies.in, ",\n");
    write_way(out, "copies_out", m.copies.out, ",\n");
    write_way(out, "mapped_in", m.mapped.in, ",\n");
    write_way(out, "mapped_out", m.mapped.out, ",\n");
    write_way(out, "hybrid_in", m.hybrid.in, ",\n");
    write_way(out, "hybrid_out", m.hybrid.out, "},\n");
    fprintf(out,
            " \"mapped_mix\": {\"bytes\": %.0f, \"even_ns\": %.1f, \"more_in_ns\": %.1f, "
            "\"more_out_ns\": %.1f},\n",
            mix.bytes, mix.even_ns, mix.more_in_ns, mix.more_out_ns);
    fprintf(out, " \"kernels\": [\n");
    for (size_t i = 0; i < all.size(); i++)
        write_results(out, all[i], i + 1 < all.size() ? "," : "]}");
    if (fclose(out)) {
        perror(options.json);
        exit(1);
    }
}

#endif
