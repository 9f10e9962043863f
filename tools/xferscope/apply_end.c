#include "tools/xferscope/apply_end.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/run/layer.h"
#include "common/text.h"
#include "preload/apply/state/classes.h"
#include "preload/apply/site/proof.h"
#include "symbols/known_modules.h"
#include "symbols/symbols.h"
#include "xferscope/terms.h"
#include "xferscope/trace.h"

/* A site of one process or of several. */
struct line {
    struct xfs_report_site sum; /* frames of the first */
    struct xfa_frame place;     /* the frame that is named; its texts are our own */
};

/* ---- where ----------------------------------------------------------------------------------- */

static char *text_of(const char *bytes, size_t n)
{
    return n ? strndup(bytes, n) : NULL;
}

static void free_names(struct xfa_frame *frame)
{
    free((char *)frame->function);
    free((char *)frame->file);
    frame->function = frame->file = NULL;
}

/* Of the functions that are inlined at an address the innermost one that is most likely the
 * program's own: CUDA's headers have some. */
static void choose_name(const struct xfs_symbol_list *list, struct xfa_frame *frame)
{
    const char *at = (const char *)list->bytes, *end = at + list->count;
    struct xft_symbol symbol;

    while ((size_t)(end - at) >= sizeof symbol) {
        memcpy(&symbol, at, sizeof symbol);
        const char *texts = at + sizeof symbol;
        struct xfa_frame named = *frame;
        named.function = text_of(texts, symbol.function_bytes);
        named.file = text_of(texts + symbol.function_bytes, symbol.file_bytes);
        named.line = symbol.line;
        if (at == (const char *)list->bytes || xfa_layer(&named) < xfa_layer(frame)) {
            free_names(frame);
            *frame = named;
        } else {
            free_names(&named);
        }
        at = texts + symbol.function_bytes + symbol.file_bytes + symbol.module_bytes;
    }
}

static void name_frame(struct xfs_known *known, uint64_t started_ns, struct xfa_frame *frame)
{
    struct xfs_loaded_module module = {.end = UINT64_MAX, .path = (char *)frame->module};
    struct xfs_symbol_list list = {0};
    struct xfs_known_module *at = xfs_known_module(known, &module);

    if (at)
        xfs_known_resolve(known, at, &module, started_ns, frame->offset, &list);
    if (list.bytes)
        choose_name(&list, frame);
    free(list.bytes);
}

/* The line of Python's that is innermost; false: there is none. */
static bool find_python(const struct xfs_report *report, const struct xfs_report_site *site,
                        struct xfa_frame *place)
{
    for (unsigned i = 0; i < site->frames && i < XFS_REPORT_FRAMES; i++) {
        uint32_t number = site->frame[i].module;
        if (number == 0 || number > XFS_REPORT_MODULES || !site->frame[i].python)
            continue;
        *place = (struct xfa_frame){.module = report->modules[number - 1],
                                    .line = (uint32_t)site->frame[i].offset};
        return true;
    }
    return false;
}

/* The innermost frame that is most likely the program's own. Names are looked for only where they
 * can matter: reading a module's takes milliseconds. */
static struct xfa_frame choose_place(const struct xfs_report *report, struct xfs_known *known,
                                     uint64_t started_ns, const struct xfs_report_site *site)
{
    struct xfa_frame best = {0};
    bool named = true;
    if (find_python(report, site, &best))
        return best;
    for (unsigned i = 0; i < site->frames && i < XFS_REPORT_FRAMES &&
                         (!best.module || xfa_layer(&best) != XFA_LAYER_PROGRAM);
         i++) {
        uint32_t number = site->frame[i].module;
        struct xfa_frame frame = {.offset = site->frame[i].offset};
        if (number == 0 || number > XFS_REPORT_MODULES)
            continue;
        frame.module = report->modules[number - 1];
        bool names_matter = xfa_layer(&frame) == XFA_LAYER_PROGRAM;
        if (names_matter)
            name_frame(known, started_ns, &frame);
        if (best.module && xfa_layer(&frame) >= xfa_layer(&best)) {
            free_names(&frame);
            continue;
        }
        free_names(&best);
        best = frame;
        named = names_matter;
    }
    if (!named)
        name_frame(known, started_ns, &best);
    return best;
}

static const char *base_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void say_place(const struct xfa_frame *place)
{
    if (place->module == NULL) {
        fputs("a place that is not known", stderr);
        return;
    }
    if (place->file == NULL && place->line) { /* of Python */
        xfc_print(stderr, "%s:%u", base_of(place->module), place->line);
        return;
    }
    if (place->function)
        xfc_print(stderr, "%s ", place->function);
    if (place->file && place->line)
        xfc_print(stderr, "(%s:%u) ", base_of(place->file), place->line);
    xfc_print(stderr, "%s+0x%" PRIx64, base_of(place->module), place->offset);
}

/* ---- the lines ------------------------------------------------------------------------------- */

static bool is_same_place(const struct line *a, const struct line *b)
{
    return a->sum.class == b->sum.class && a->sum.direction == b->sum.direction &&
           a->place.module == b->place.module && a->place.offset == b->place.offset &&
           a->place.line == b->place.line;
}

static void add(struct xfs_report_site *sum, const struct xfs_report_site *site)
{
    sum->asked += site->asked;
    sum->asked_bytes += site->asked_bytes;
    sum->done += site->done;
    sum->done_bytes += site->done_bytes;
    sum->compared_bytes += site->compared_bytes;
    sum->done_ns += site->done_ns;
    sum->instead_ns += site->instead_ns;
    sum->checked += site->checked;
    sum->different += site->different;
    sum->moved_bytes += site->moved_bytes;
    sum->no_room += site->no_room;
    if (sum->verdict == XFS_TRYING)
        sum->verdict = site->verdict;
}

/* Sites of several processes, and of several ways to one place, as one. Returns their number. */
static size_t merge(const struct xfs_report *report, struct xfs_known *known, uint64_t started_ns,
                    struct line *lines)
{
    size_t count = 0;
    for (uint32_t i = 0; i < report->sites_used && i < XFS_REPORT_SITES; i++) {
        const struct xfs_report_site *site = &report->sites[i];
        struct line line = {.sum = *site};
        size_t at = 0;
        if (site->state != XFS_REPORT_THERE)
            continue;
        line.place = choose_place(report, known, started_ns, site);
        while (at < count && !is_same_place(&lines[at], &line))
            at++;
        if (at == count) {
            lines[count++] = line;
            continue;
        }
        add(&lines[at].sum, site);
        free_names(&line.place);
    }
    return count;
}

static double saved_ns(const struct xfs_report_site *site)
{
    return (double)site->instead_ns - (double)site->done_ns;
}

static int compare_lines(const void *a, const void *b)
{
    double x = saved_ns(&((const struct line *)a)->sum),
           y = saved_ns(&((const struct line *)b)->sum);
    return x < y ? 1 : x > y ? -1 : 0;
}

static void say_what_came(const struct xfs_report_site *site)
{
    char bytes[XFA_UNIT_CHARS], time[XFA_UNIT_CHARS], was[XFA_UNIT_CHARS], is[XFA_UNIT_CHARS];

    if (site->done == 0) {
        fprintf(stderr, "%" PRIu64 " as the program asked", site->asked);
        return;
    }
    const char *loses = site->verdict != XFS_LOSES ? ""
                        : site->done_ns >= site->instead_ns || site->class == XFS_CLASS_STREAMS ||
                                site->class == XFS_CLASS_PLACEMENT
                            ? "; it does not gain, and is left as the program asked"
                            : "; the program loses it between its copies, and it is "
                              "left as the program asked";
    double saved = saved_ns(site);
    xfc_print(stderr, "%s of %" PRIu64 " calls carried out",
              xfa_bytes_text(bytes, site->done_bytes), site->asked);
    if (site->class == XFS_CLASS_PLACEMENT && site->direction == XFT_DIR_UNKNOWN)
        return; /* copies gain by it, not these calls */
    if (site->compared_bytes == 0 || site->instead_ns == 0) {
        fputs(*loses ? loses : ", never compared", stderr);
        return;
    }
    /* What it saves of kernels the host may lose, which finds the pages elsewhere. */
    const char *of = site->class == XFS_CLASS_PREFETCH ? "of kernels' time " : "";
    xfc_print(stderr, ", %s %s%s", xfa_time_text(time, saved < 0 ? -saved : saved), of,
              saved < 0 ? "lost" : "saved");
    if (site->done_ns && site->direction != XFT_DIR_UNKNOWN)
        xfc_print(stderr, " (%s GB/s instead of %s)",
                  xfa_gbps_text(is, (double)site->compared_bytes / (double)site->done_ns),
                  xfa_gbps_text(was, (double)site->compared_bytes / (double)site->instead_ns));
    fputs(loses, stderr);
}

static void say_line(const struct line *line, const struct xfa_apply_plan *plan)
{
    const struct xfs_report_site *site = &line->sum;
    const char *class = xfs_class_word(site->class);
    char bytes[XFA_UNIT_CHARS];

    xfc_print(stderr, "xferscope apply: %s ", class ? class : "?");
    if (site->direction != XFT_DIR_UNKNOWN)
        xfc_print(stderr, "%s ", xft_direction_word(site->direction));
    say_place(&line->place);
    fputs(": ", stderr);
    say_what_came(site);
    if (site->checked)
        fprintf(stderr, "; %" PRIu64 " compared, %" PRIu64 " different", site->checked,
                site->different);
    if (site->moved_bytes)
        xfc_print(stderr, "; %s moved to its node", xfa_bytes_text(bytes, site->moved_bytes));
    if (site->no_room)
        fprintf(stderr, "; %" PRIu64 " without room on the GPU", site->no_room);
    char *step = given_plan_step(plan, site->step);
    if (step)
        xfc_print(stderr, " (%s)", step);
    free(step);
    fputc('\n', stderr);
}

/* What threads' own streams had beside copies. */
static void say_own(const struct xfs_report *report)
{
    const uint64_t *own = report->own;
    if (own[XFS_OWN_KERNELS] + own[XFS_OWN_FILLS] == 0)
        return;
    fprintf(stderr,
            "xferscope apply: streams: %" PRIu64 " kernels and %" PRIu64
            " fills in their threads' own, %" PRIu64 " times in order again",
            own[XFS_OWN_KERNELS], own[XFS_OWN_FILLS], own[XFS_OWN_JOINED]);
    if (own[XFS_OWN_CHECKED])
        fprintf(stderr, "; %" PRIu64 " kernels looked at, %" PRIu64 " different",
                own[XFS_OWN_CHECKED], own[XFS_OWN_DIFFERENT]);
    fputc('\n', stderr);
}

#define LOOKED_LEAST 4 /* launches, before anything is said of them */

/* What a kernel may write and never did, in the launches that were looked at: who knows the program
 * may say so in the plan. */
static void say_unchanged(const struct xfs_report_kernel *kernel)
{
    uint64_t unchanged = kernel->given & ~kernel->changed;
    const char *between = "";
    if (kernel->state != XFS_REPORT_THERE || kernel->looked < LOOKED_LEAST || unchanged == 0)
        return;
    xfc_print(
        stderr,
        "xferscope apply: streams: in %u launches a kernel changed nothing by some arguments; "
        "if it only reads by them, \"kernels_read\" may have {\"kernel\": \"%.*s\", "
        "\"arguments\": [",
        kernel->looked, (int)sizeof kernel->name - 1, kernel->name);
    for (int k = 0; k < 64; k++) {
        if (unchanged >> k & 1)
            fprintf(stderr, "%s%d", between, k + 1);
        between = unchanged >> k & 1 ? ", " : between;
    }
    fputs("]}\n", stderr);
}

static void say_left(const struct xfs_report *report)
{
    static const char *const why[XFS_LEFT_COUNT] = {
        [XFS_LEFT_NOT_PAGEABLE] = "of memory that is not pageable",
        [XFS_LEFT_CONTEXT] = "in another context, on another device, or captured",
        [XFS_LEFT_TOO_LITTLE] = "too little to start for",
        [XFS_LEFT_NO_CORES] = "while the program used its processors itself",
        [XFS_LEFT_NO_MEMORY] = "without memory that could be page-locked",
        [XFS_LEFT_BUSY] = "beside another one",
        [XFS_LEFT_FAILED] = "made again as asked, after an attempt",
        [XFS_LEFT_ORDER] = "in the legacy default stream, with work that it orders beside it",
    };
    bool any = false;

    for (int i = 0; i < XFS_LEFT_COUNT; i++) {
        if (report->left[i] == 0)
            continue;
        fprintf(stderr, "%s%" PRIu64 " %s",
                any ? ", " : "xferscope apply: large copies left alone: ", report->left[i], why[i]);
        any = true;
    }
    if (any)
        fputc('\n', stderr);
}

void apply_end(const struct xfs_report *report, uint64_t started_ns,
               const struct xfa_apply_plan *plan)
{
    static struct line lines[XFS_REPORT_SITES];
    struct xfs_known *known = xfs_known_new();
    size_t count = known ? merge(report, known, started_ns, lines) : 0;
    uint64_t done = 0;
    char bytes[XFA_UNIT_CHARS];

    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        say_line(&lines[i], plan);
        done += lines[i].sum.done;
        free_names(&lines[i].place);
    }
    if (plan)
        given_plan_end(plan, report, "apply");
    say_own(report);
    for (unsigned i = 0; i < XFS_REPORT_KERNELS; i++)
        say_unchanged(&report->kernels[i]);
    say_left(report);
    if (report->threads)
        xfc_print(stderr, "xferscope apply: at most %u threads and %s of page-locked memory\n",
                  report->threads, xfa_bytes_text(bytes, report->locked_bytes));
    else if (report->locked_bytes)
        xfc_print(stderr, "xferscope apply: at most %s of page-locked memory\n",
                  xfa_bytes_text(bytes, report->locked_bytes));
    else if (done == 0)
        fputs("xferscope apply: nothing was carried out: no thread and no memory was taken\n",
              stderr);
    if (known)
        xfs_known_free(known);
}
