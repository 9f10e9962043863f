/*
 * What memory of the host costs that is new: nobody has touched its pages yet, and the system
 * finds, clears and maps each as it is touched. malloc() maps large blocks anew each time and
 * unmaps them when they are freed. Measured are new memory that the program touches, by size and by
 * number of threads (which the address space's lock makes wait for each other), and that a blocking
 * copy of the driver touches, beside the same copy once more, when the memory is there; with
 * ordinary pages, and with huge ones where the system gives them. Host clock.
 */
#include "probe/bench/bench.h"
#include "probe/device/buffer.h"
#include "probe/device/team.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
#define LEAST ((uint64_t)1 << 20)
#define MOST ((uint64_t)64 << 20)
#define THREADS_BYTES ((size_t)8 << 20)

/* By `variant`. */
static const char *const page_words[] = {"pages", "huge-pages"};
static const int page_advice[] = {MADV_NOHUGEPAGE, MADV_HUGEPAGE};

/* Quickly only what the system gives without being asked. The virtual clock does not see pages:
 * there the system does not matter. */
static bool are_measured(const struct xfp_session *s, int pages)
{
    const char *huge = s->profile->machine.huge_pages;

    if (s->sys.cu && s->sys.cu->simulated_now_ns)
        return true;
    if (s->options->quick)
        return pages == (huge && strcmp(huge, "always") == 0);
    return pages == 0 || !huge || strcmp(huge, "never") != 0;
}

static unsigned char *map(size_t bytes, int pages)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, page_advice[pages]); /* where it is refused the pages are ordinary ones */
    return p;
}

static void touch(unsigned char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        *(volatile unsigned char *)&memory[at] = 1;
}

/* ---- by the program -------------------------------------------------------------------------- */

struct fresh {
    size_t bytes;
    int pages;
    const char *name;
    char back[XFP_NAME_BYTES]; /* the table of giving it back */
    struct xfp_team *team;     /* by threads */
    size_t threads;
    bool failed;
};

static void simulate(const struct xfp_session *s, const char *table, size_t bytes, size_t threads)
{
    if (s->sys.cu->simulated_host_copy)
        s->sys.cu->simulated_host_copy(table, bytes, (unsigned)threads);
}

enum { TOUCH, RELEASE };

static int once_touch(struct xfp_session *s, void *state, double *ns)
{
    const struct fresh *f = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu), between, after;
    unsigned char *memory = map(f->bytes, f->pages);

    if (!memory)
        return xfp_fail(&s->sys, "out of memory");
    touch(memory, f->bytes);
    simulate(s, f->name, f->bytes, 1);
    between = xfp_driver_now_ns(s->sys.cu);
    munmap(memory, f->bytes);
    simulate(s, f->back, f->bytes, 1);
    after = xfp_driver_now_ns(s->sys.cu);
    ns[TOUCH] = (double)(between - before);
    ns[RELEASE] = (double)(after - between);
    return 0;
}

static int run_touch(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct fresh f = {.pages = bench->variant, .name = path->name};
    struct xfp_rows rows[2] = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t count = xfp_coarse_sizes(s, LEAST, xfp_coarse_most(s, MOST), sizes, XFP_COARSE_ROOM);
    int bad = xfp_device_open(&s->sys, &s->sys.devices[0]); /* drivers watch what is unmapped */

    snprintf(f.back, sizeof(f.back), "release%s", strchr(path->name, '/'));
    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats[2];

        xfp_progress(s, path->name, sizes[i]);
        f.bytes = sizes[i];
        bad = xfp_sample(s, once_touch, &f, xfp_share_ns(s, count - i), stats, 2);
        for (int figure = TOUCH; figure <= RELEASE && !bad; figure++)
            xfp_add_row(&rows[figure], sizes[i], &stats[figure]);
    }
    /* the table with the benchmark's name comes last: --resume looks for it */
    if (xfp_add_table(s, &rows[RELEASE], bench->family->by, 0, "%s", f.back) ||
        xfp_add_table(s, &rows[TOUCH], bench->family->by, 0, "%s", path->name))
        return -1;
    return bad;
}

static void enumerate_touch(struct xfp_session *s, const struct xfp_family *family,
                            struct xfp_bench_list *list)
{
    for (int pages = 0; pages < 2 && xfp_has_sizes(s, LEAST, MOST); pages++) {
        struct xfp_bench bench = {
            .family = family, .direction = XFT_DIR_UNKNOWN, .variant = pages, .src.numa = -1};

        if (!are_measured(s, pages))
            continue;
        snprintf(bench.name, sizeof(bench.name), "touch/%s/host", page_words[pages]);
        xfp_bench_add(list, &bench);
    }
}

/* ---- by threads of the program, each its own ------------------------------------------------- */

static void touch_own(void *state, size_t index, size_t count)
{
    struct fresh *f = state;
    size_t from, to;
    unsigned char *memory;

    xfp_team_part(f->bytes, index, count, &from, &to);
    memory = to > from ? map(to - from, f->pages) : NULL;
    if (!memory) {
        f->failed = f->failed || to > from;
        return;
    }
    touch(memory, to - from);
    munmap(memory, to - from);
}

static int once_threads(struct xfp_session *s, void *state, double *ns)
{
    struct fresh *f = state;
    uint64_t before = xfp_driver_now_ns(s->sys.cu);

    xfp_team_work(f->team, touch_own, f);
    simulate(s, f->name, f->bytes, f->threads);
    *ns = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    return f->failed ? xfp_fail(&s->sys, "out of memory") : 0;
}

static int run_threads(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct fresh f = {.pages = bench->variant, .name = path->name, .bytes = THREADS_BYTES};
    struct xfp_rows rows = {0};
    size_t sizes[XFP_TEAM_SIZES], count = xfp_team_sizes(&s->sys, s->options->quick, sizes);
    int bad = xfp_device_open(&s->sys, &s->sys.devices[0]);

    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats;

        xfp_progress(s, path->name, f.bytes);
        f.threads = sizes[i];
        f.team = xfp_team_start(&s->sys, sizes[i], -1);
        bad = !f.team || xfp_sample(s, once_threads, &f, xfp_share_ns(s, count - i), &stats, 1);
        xfp_team_end(f.team);
        if (!bad)
            xfp_add_row(&rows, sizes[i], &stats);
    }
    return xfp_add_table(s, &rows, bench->family->by, f.bytes, "%s", path->name) || bad ? -1 : 0;
}

static void enumerate_threads(struct xfp_session *s, const struct xfp_family *family,
                              struct xfp_bench_list *list)
{
    struct xfp_bench bench = {.family = family, .direction = XFT_DIR_UNKNOWN, .src.numa = -1};

    if (!xfp_has_sizes(s, LEAST, MOST))
        return;
    snprintf(bench.name, sizeof(bench.name), "touch-threads/%s/host", page_words[0]);
    xfp_bench_add(list, &bench);
}

/* ---- by the driver, in a copy ---------------------------------------------------------------- */

struct new_copy {
    size_t bytes;
    int pages;
    bool to_device;
    struct xfp_buffer device;
};

static int copy(struct xfp_session *s, const struct new_copy *c, unsigned char *memory)
{
    xcu_result result = c->to_device ? s->sys.cu->cuMemcpyHtoD(c->device.address, memory, c->bytes)
                                     : s->sys.cu->cuMemcpyDtoH(memory, c->device.address, c->bytes);

    return xfp_check(&s->sys, result, "copying pageable memory");
}

static struct xfp_buffer as_buffer(const struct new_copy *c, unsigned char *memory)
{
    return (struct xfp_buffer){.place = {XFT_MEM_PAGEABLE, -1, -1},
                               .device = c->device.device,
                               .bytes = c->bytes,
                               .host = memory};
}

enum { NEW, KEPT };

static int once_copy(struct xfp_session *s, void *state, double *ns)
{
    const struct new_copy *c = state;
    unsigned char *memory = map(c->bytes, c->pages);
    struct xfp_buffer host = as_buffer(c, memory);
    int bad = 0;

    if (!memory)
        return xfp_fail(&s->sys, "out of memory");
    for (int figure = NEW; figure <= KEPT && !bad; figure++) {
        uint64_t before;

        if (figure == KEPT && c->to_device) /* reading alone leaves its pages empty */
            touch(memory, c->bytes);
        if (figure == KEPT)
            xfp_flush_buffer(&s->sys, &host, c->bytes);
        before = xfp_driver_now_ns(s->sys.cu);
        bad = copy(s, c, memory);
        ns[figure] = (double)(xfp_driver_now_ns(s->sys.cu) - before);
    }
    munmap(memory, c->bytes);
    return bad;
}

/* One copy from where the pattern is to where it is not. */
static int verify(struct xfp_session *s, const struct new_copy *c)
{
    unsigned char *memory = map(c->bytes, c->pages);
    struct xfp_buffer host = as_buffer(c, memory);
    const struct xfp_buffer *from = c->to_device ? &host : &c->device;
    const struct xfp_buffer *to = c->to_device ? &c->device : &host;
    int bad = memory ? 0 : xfp_fail(&s->sys, "out of memory");

    bad = bad || xfp_buffer_fill(&s->sys, from, c->bytes) ||
          (c->to_device && xfp_buffer_clear(&s->sys, to, c->bytes)) || copy(s, c, memory) ||
          xfp_buffer_verify(&s->sys, to, to, c->bytes);
    if (memory)
        munmap(memory, c->bytes);
    return bad ? -1 : 0;
}

static int run_copy(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_host_ends ends = xfp_host_ends(s, bench);
    struct new_copy c = {.pages = bench->variant, .to_device = ends.to_device};
    struct xfp_rows rows[2] = {0};
    uint64_t sizes[XFP_COARSE_ROOM];
    size_t most = xfp_coarse_most(s, MOST);
    size_t count = xfp_coarse_sizes(s, LEAST, most, sizes, XFP_COARSE_ROOM);
    int bad = xfp_device_open(&s->sys, ends.d) ||
              xfp_buffer_make(&s->sys, ends.d, ends.device, most, &c.device);

    for (size_t i = 0; i < count && !bad && !xfp_interrupted(); i++) {
        struct xfp_stats stats[2];

        xfp_progress(s, path->name, sizes[i]);
        c.bytes = sizes[i];
        bad = (s->sys.verify && (i == 0 || !s->options->quick) && verify(s, &c)) ||
              xfp_sample(s, once_copy, &c, xfp_share_ns(s, count - i), stats, 2);
        for (int figure = NEW; figure <= KEPT && !bad; figure++)
            xfp_add_row(&rows[figure], sizes[i], &stats[figure]);
    }
    xfp_buffer_free(&s->sys, &c.device);
    if (xfp_add_table(s, &rows[KEPT], bench->family->by, 0, "kept%s", strchr(path->name, '-')) ||
        xfp_add_table(s, &rows[NEW], bench->family->by, 0, "%s", path->name))
        return -1;
    return bad ? -1 : 0;
}

static void enumerate_copies(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count * 4 && xfp_has_sizes(s, LEAST, MOST); i++) {
        struct xfp_place host = {XFT_MEM_PAGEABLE, -1, -1};
        struct xfp_place device = {XFT_MEM_DEVICE, s->sys.devices[i / 4].ordinal, -1};
        bool back = i % 2;
        struct xfp_bench bench = {.family = family,
                                  .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                  .variant = (int)(i / 2 % 2),
                                  .src = back ? device : host,
                                  .dst = back ? host : device};

        if (!are_measured(s, bench.variant))
            continue;
        snprintf(bench.name, sizeof(bench.name), "new-copy/%s/%s/gpu%d", page_words[bench.variant],
                 back ? "d2h" : "h2d", device.device);
        xfp_bench_add(list, &bench);
    }
}

const struct xfp_family xfp_family_touch = {
    .name = "touch",
    .summary = "mapping new memory of the host and touching each of its pages, and giving it "
               "back, by size",
    .names =
        {
            {"{touch,release}/{pages,huge-pages}/host",
             "mapping new memory of the host and writing to each of its pages, which are ordinary "
             "or huge, by one thread; and unmapping it"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES,
    .from_bytes = LEAST,
    .method = XFP_COPY,
    .budget_s = 0.4,
    .quick_budget_s = 0.06,
    .enumerate = enumerate_touch,
    .run = run_touch,
};

const struct xfp_family xfp_family_touch_threads = {
    .name = "touch-threads",
    .summary = "the same by threads, each its own memory: they share the lock of the address space",
    .names =
        {
            {"touch-threads/pages/host",
             "mapping `bytes` of new memory, writing to each of its ordinary pages and unmapping "
             "it, by that many threads, each its part"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_THREADS,
    .bytes = THREADS_BYTES,
    .from_bytes = LEAST,
    .method = XFP_COPY,
    .budget_s = 0.4,
    .quick_budget_s = 0.06,
    .enumerate = enumerate_threads,
    .run = run_threads,
};

const struct xfp_family xfp_family_new_copy = {
    .name = "new-copy",
    .summary = "blocking copies from and to pageable memory whose pages nobody has touched, beside "
               "the same copy once more",
    .names =
        {
            {"{new-copy,kept-copy}/{pages,huge-pages}/{h2d,d2h}/gpuN",
             "a blocking copy from or to pageable memory of the host whose pages, ordinary or huge "
             "ones, nobody has touched; and once more, when they are there"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_BYTES,
    .from_bytes = LEAST,
    .method = XFP_COPY,
    .budget_s = 0.4,
    .quick_budget_s = 0.06,
    .enumerate = enumerate_copies,
    .run = run_copy,
};
