/* Other differences between the runs, which may explain a change. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/compare/compare.h"

static void add_warning(struct xfa_comparison *comparison, char *line)
{
    size_t bytes = (comparison->warning_count + 1) * sizeof *comparison->warnings;
    char **longer = xfa_alloc(bytes);
    for (size_t i = 0; i < comparison->warning_count; i++)
        longer[i] = comparison->warnings[i];
    longer[comparison->warning_count++] = line;
    free(comparison->warnings);
    comparison->warnings = longer;
}

static const struct xfa_snapshot *run_at(const struct xfa_comparison *comparison, size_t i)
{
    size_t before = comparison->before.count;
    return i < before ? comparison->before.runs[i] : comparison->after.runs[i - before];
}

/* A fact as text; NULL: not recorded, so not compared. */
typedef const char *fact(const struct xfa_snapshot *taken);

static const char *program(const struct xfa_snapshot *taken)
{
    return taken->program;
}

static const char *arguments(const struct xfa_snapshot *taken)
{
    return taken->program ? taken->arguments ? taken->arguments : "none" : NULL;
}

static const char *hosts(const struct xfa_snapshot *taken)
{
    return taken->hosts;
}

static const char *machine(const struct xfa_snapshot *taken)
{
    return taken->machine;
}

static const char *gpus(const struct xfa_snapshot *taken)
{
    return taken->gpus;
}

static const char *timing(const struct xfa_snapshot *taken)
{
    return taken->timing;
}

static const char *simulated(const struct xfa_snapshot *taken)
{
    return taken->simulated ? "the simulated one" : "a real one";
}

/* Warns of the first run whose fact differs from that of the first run that has it. */
static void warn_of(struct xfa_comparison *comparison, const char *what, fact *fact_of)
{
    size_t count = comparison->before.count + comparison->after.count;
    const struct xfa_snapshot *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct xfa_snapshot *taken = run_at(comparison, i);
        const char *text = fact_of(taken);
        if (!text)
            continue;
        if (!first) {
            first = taken;
        } else if (strcmp(fact_of(first), text) != 0) {
            add_warning(comparison, xfa_print("%s: %s in %s, %s in %s", what, fact_of(first),
                                              first->path, text, taken->path));
            return;
        }
    }
}

static void warn_of_driver(struct xfa_comparison *comparison)
{
    size_t count = comparison->before.count + comparison->after.count;
    const struct xfa_snapshot *first = run_at(comparison, 0);
    for (size_t i = 1; i < count; i++) {
        const struct xfa_snapshot *taken = run_at(comparison, i);
        if (!first->driver || !taken->driver || first->driver == taken->driver)
            continue;
        add_warning(comparison,
                    xfa_print("driver: for CUDA %d.%d in %s, %d.%d in %s", first->driver / 1000,
                              first->driver % 1000 / 10, first->path, taken->driver / 1000,
                              taken->driver % 1000 / 10, taken->path));
        return;
    }
}

static void warn_of_processes(struct xfa_comparison *comparison)
{
    const struct xfa_snapshot *first = run_at(comparison, 0);
    size_t count = comparison->before.count + comparison->after.count;
    for (size_t i = 1; i < count; i++) {
        const struct xfa_snapshot *taken = run_at(comparison, i);
        if (taken->processes == first->processes)
            continue;
        add_warning(comparison, xfa_print("processes: %zu in %s, %zu in %s", first->processes,
                                          first->path, taken->processes, taken->path));
        return;
    }
}

/* Warns of one run's own defects. */
static void warn_of_run(struct xfa_comparison *comparison, const struct xfa_snapshot *taken)
{
    if (taken->lossy)
        add_warning(comparison, xfa_print("%s: something was lost or could not be read, so that "
                                          "its figures are too small",
                                          taken->path));
    if (taken->mixed)
        add_warning(comparison, xfa_print("%s: %s", taken->path, taken->mixed));
    if (taken->mismatch)
        add_warning(comparison, xfa_print("%s: %s", taken->path, taken->mismatch));
    if (taken->row_count >= XFA_MAX_CLASSES)
        add_warning(comparison, xfa_print("%s: more call sites than are kept apart", taken->path));
}

void xfa_compare_warnings(struct xfa_comparison *comparison)
{
    warn_of(comparison, "GPU", simulated);
    warn_of(comparison, "GPUs", gpus);
    warn_of(comparison, "hosts", hosts);
    if (comparison->warning_count == 0) /* one host by name, but two machines */
        warn_of(comparison, "machines", machine);
    warn_of_driver(comparison);
    warn_of(comparison, "device times from", timing);
    warn_of(comparison, "programs", program);
    warn_of(comparison, "arguments", arguments);
    warn_of_processes(comparison);
    for (size_t i = 0; i < comparison->before.count + comparison->after.count; i++)
        warn_of_run(comparison, run_at(comparison, i));
}
