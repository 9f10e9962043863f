/*
 * Plays a drawn program (schedule.py): declarations of buffers, streams and events, then one
 * statement to a line, each of them made by the call site that it names. There are SITES functions
 * of as many lines of source, and two helper functions, one behind the other, that all of them may
 * go through, so that one program serves for all that is drawn. Statements behind "T n" are those
 * of thread n; all threads begin together, and the region ends with the last of them. Those between
 * "I" and the next "T n" are performed once, before it.
 *
 *     player [--sums] [--times N] [--least MS] [--most MS] [--helpers 0|1|2] SCHEDULE...
 *            [--helpers 0|1|2 SCHEDULE...]...
 *
 * --times: all statements so often, with a wait for the GPU between, behind a round that does not
 * count, and enough work for the GPU's clocks to rise; host memory that they page-lock is locked by
 * the first round and stays so. What a driver does once (loading kernels, the first copy of a kind)
 * is done before they begin in any case. --least: more often, if need be, for the region of a
 * single schedule to last so long, as it would by what that round took; "rounds N" says how often.
 * --sums: what is read, and in the end all memory that is there, is summed up whole; "contents"
 * has the latter. Several schedules are played in turns, some rounds of each, so that they meet the
 * same speed of the processor; then the lines are "rounds N" and "forms_ns", and what N rounds of
 * each took. --most: a turn has fewer rounds, as many as the first schedule plays in so long.
 * Memory, streams, events and graphs of a schedule are there only while it is its turn: what
 * allocations and waits for the device take depends on what else there is. Each
 * --helpers begins others, which are played when those before it are done: a line for each, so that
 * the processes of many programs are started once.
 */
#include "statements.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <vector>

enum { LEAST = 2 }; /* rounds in a turn */
enum { MORE = 40 }; /* times as many rounds, at most, for the region to last */
enum { TURNS = 3 }; /* of several forms of a program: few, since loading takes time, too */

/* ---- call sites ------------------------------------------------------------------------------ */

static int helpers;

static __attribute__((noinline)) void helper(const struct statement *s)
{
    perform(s);
}

static __attribute__((noinline)) void outer_helper(const struct statement *s)
{
    helper(s);
}

#define SITE(n)                                                                                    \
    static __attribute__((noinline)) void site_##n(const struct statement *s)                      \
    {                                                                                              \
        if (helpers == 2)                                                                          \
            outer_helper(s);                                                                       \
        else if (helpers == 1)                                                                     \
            helper(s);                                                                             \
        else                                                                                       \
            perform(s);                                                                            \
    }
#define EIGHT(n)                                                                                   \
    SITE(n##0) SITE(n##1) SITE(n##2) SITE(n##3) SITE(n##4) SITE(n##5) SITE(n##6) SITE(n##7)
#define NAME(n) site_##n,
#define NAMES(n)                                                                                   \
    NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7)

EIGHT(a)
EIGHT(b)
EIGHT(c)
EIGHT(d) EIGHT(e) EIGHT(f) EIGHT(g) EIGHT(h) typedef void site_function(const struct statement *);
static site_function *const sites[] = {NAMES(a) NAMES(b) NAMES(c) NAMES(d) NAMES(e) NAMES(f)
                                           NAMES(g) NAMES(h)};
enum { SITES = sizeof sites / sizeof *sites };

/* ---- declarations ---------------------------------------------------------------------------- */

static bool is_device(char kind)
{
    return kind == 'd' || kind == 'e';
}

static void declare_buffer(char kind, size_t bytes)
{
    struct buffer b = {kind, bytes, NULL, NULL, false, 0};

    if (kind == 'e')
        PAIR_CHECK(cudaSetDevice(1));
    if (is_device(kind))
        PAIR_CHECK(cudaMalloc((void **)&b.host, bytes));
    else if (kind == 'p')
        PAIR_CHECK(cudaMallocHost((void **)&b.host, bytes));
    else if (kind == 'm')
        PAIR_CHECK(cudaHostAlloc((void **)&b.host, bytes, cudaHostAllocMapped));
    else if (kind == 'u')
        PAIR_CHECK(cudaMallocManaged((void **)&b.host, bytes, cudaMemAttachGlobal));
    else if (kind == 'g')
        b.host = (char *)pair_malloc(bytes);
    b.device = b.host;
    if (kind == 'm')
        PAIR_CHECK(cudaHostGetDevicePointer((void **)&b.device, b.host, 0));
    if (b.host && is_device(kind) && sums)
        PAIR_CHECK(cudaMemset(b.host, 0, bytes));
    if (kind == 'e')
        PAIR_CHECK(cudaSetDevice(0));
    now->buffers.push_back(b);
    if (b.host && !is_device(kind))
        scramble(b.host, bytes, 0);
}

static void declare_stream(char kind)
{
    cudaStream_t stream = cudaStreamLegacy;

    if (kind == 't')
        stream = cudaStreamPerThread;
    else if (kind == 'b')
        PAIR_CHECK(cudaStreamCreate(&stream));
    else if (kind == 'n' || kind == 'x') {
        PAIR_CHECK(cudaSetDevice(kind == 'x'));
        PAIR_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        PAIR_CHECK(cudaSetDevice(0));
    }
    now->streams.push_back(stream);
}

static void declare_event(int gpu)
{
    PAIR_CHECK(cudaSetDevice(gpu));
    now->events.push_back(NULL);
    PAIR_CHECK(cudaEventCreateWithFlags(&now->events.back(), cudaEventDisableTiming));
    PAIR_CHECK(cudaSetDevice(0));
}

static void declare_semaphore(unsigned count)
{
    now->semaphores.emplace_back();
    now->semaphores.back().count = now->semaphores.back().simulated = count;
}

/* B kind bytes; S kind (x: of GPU 1); E, or E and its GPU; # count of a semaphore; I; T thread; all
 * else is a statement. */
static void read_line(char *line, size_t &thread, bool &before)
{
    struct statement s = {line[0], 0, {0}};
    char *at = line + 1;

    if (line[0] == 'B')
        declare_buffer(line[2], strtoull(line + 4, NULL, 10));
    else if (line[0] == 'S')
        declare_stream(line[2]);
    else if (line[0] == 'E')
        declare_event(atoi(at));
    else if (line[0] == '#')
        declare_semaphore((unsigned)atoi(at));
    else if (line[0] == 'I') {
        before = true;
    } else if (line[0] == 'T') {
        before = false;
        thread = strtoul(at, NULL, 10);
        now->programs.resize(std::max(now->programs.size(), thread + 1));
    } else if (line[0] > ' ') {
        s.site = (int)(strtoul(at, &at, 10) % SITES);
        for (int i = 0; i < 8 && *at > ' ' - 1; i++)
            s.number[i] = strtoull(at, &at, 10);
        if (s.what == 'g')
            now->graphs.resize(std::max(now->graphs.size(), (size_t)s.number[1] + 1));
        now->sleeps = now->sleeps || s.what == 'q' || s.what == 's';
        if (s.what == 'J')
            now->jobs.resize(std::max(now->jobs.size(), (size_t)s.number[0] + 1));
        (before ? now->before : now->programs[thread]).push_back(s);
    }
}

static struct form load(const char *path)
{
    char line[256];
    size_t thread = 0;
    bool before = false;
    FILE *file = fopen(path, "r");
    struct form form;

    if (!file) {
        perror(path);
        exit(1);
    }
    form.programs.resize(1);
    now = &form;
    while (fgets(line, sizeof line, file))
        read_line(line, thread, before);
    fclose(file);
    for (const struct statement &s : form.before)
        sites[s.site](&s);
    return form;
}

static void unload_buffer(const struct buffer *b)
{
    bool pinned = b->kind == 'p' || b->kind == 'm' || (b->kind == 'h' && b->locked);

    if (is_device(b->kind) || b->kind == 'u')
        PAIR_CHECK(cudaFree(b->host));
    else if (pinned)
        PAIR_CHECK(cudaFreeHost(b->host));
    else if (b->kind == 'g') {
        if (b->locked)
            PAIR_CHECK(cudaHostUnregister(b->host));
        free(b->host);
    }
}

static void unload(struct form *form)
{
    for (cudaGraphExec_t graph : form->graphs)
        if (graph)
            PAIR_CHECK(cudaGraphExecDestroy(graph));
    for (cudaEvent_t event : form->events)
        PAIR_CHECK(cudaEventDestroy(event));
    for (cudaStream_t stream : form->streams)
        if (stream != cudaStreamLegacy && stream != cudaStreamPerThread)
            PAIR_CHECK(cudaStreamDestroy(stream));
    for (const struct buffer &buffer : form->buffers)
        unload_buffer(&buffer);
    *form = {};
}

static void warm(void)
{
    char *device, *pinned, pageable[64] = {0};
    size_t n = sizeof pageable;

    PAIR_CHECK(cudaMalloc((void **)&device, n));
    PAIR_CHECK(cudaMallocHost((void **)&pinned, n));
    k_read<<<1, PAIR_THREADS>>>(device, n, 0);
    k_write<<<1, PAIR_THREADS>>>(device, n, 0);
    k_map<<<1, PAIR_THREADS>>>(device, n, device, n, 0);
    k_join<<<1, PAIR_THREADS>>>(device, n, device, n, device, n, 0);
    k_next<<<1, PAIR_THREADS>>>(device, device, device, n, 0);
    k_step<<<1, PAIR_THREADS>>>(device, device, n, 0);
    PAIR_CHECK(cudaMemcpy(device, pageable, n, cudaMemcpyHostToDevice));
    PAIR_CHECK(cudaMemcpy(pageable, device, n, cudaMemcpyDeviceToHost));
    PAIR_CHECK(cudaMemcpyAsync(device, pinned, n, cudaMemcpyHostToDevice, 0));
    PAIR_CHECK(cudaMemcpyAsync(pinned, device, n, cudaMemcpyDeviceToHost, 0));
    PAIR_CHECK(cudaMemcpyAsync(device, device + n / 2, n / 2, cudaMemcpyDeviceToDevice, 0));
    PAIR_CHECK(cudaDeviceSynchronize());
    PAIR_CHECK(cudaFreeHost(pinned));
    PAIR_CHECK(cudaFree(device));
}

/* On the simulated GPU threads have clocks of their own; so has one that sleeps, for what it uses
 * of the processor to be known. */
static void *play_thread(void *number)
{
    typedef int begin_function(unsigned, unsigned);
    static begin_function *begin =
        (begin_function *)pair_simulated("xferscope_simgpu_thread_begin");
    static void (*end)(void) = (void (*)(void))pair_simulated("xferscope_simgpu_thread_end");
    size_t thread = (size_t)number;

    if (begin && (now->programs.size() > 1 || now->sleeps) &&
        !begin((unsigned)thread, (unsigned)now->programs.size())) {
        fprintf(stderr, "no clock for thread %zu\n", thread);
        exit(1);
    }
    for (const struct statement &s : now->programs[thread])
        sites[s.site](&s);
    if (end)
        end();
    return NULL;
}

static void play(void)
{
    std::vector<pthread_t> threads(now->programs.size());

    for (size_t i = 1; i < now->programs.size(); i++)
        if (pthread_create(&threads[i], NULL, play_thread, (void *)i)) {
            perror("pthread_create");
            exit(1);
        }
    play_thread((void *)0);
    for (size_t i = 1; i < now->programs.size(); i++)
        pthread_join(threads[i], NULL);
}

/* For the GPU's clocks to rise. */
static void warm_gpu(void)
{
    const unsigned long long ns = 50000000;

    k_write<<<1, PAIR_THREADS>>>(NULL, 0, ns);
    PAIR_CHECK(cudaDeviceSynchronize());
}

/* Host memory as in the midst of a run. */
static void warm_round(struct form *form)
{
    now = form;
    play();
    PAIR_CHECK(cudaDeviceSynchronize());
    copies = sum = 0;
}

/* Of all that is there, on the GPU and on the host. */
static void print_contents(struct form *form)
{
    std::vector<char> fetched;
    unsigned long long all = 0;

    PAIR_CHECK(cudaDeviceSynchronize());
    for (const struct buffer &b : form->buffers) {
        bool freed = b.host == NULL || strchr("lvw", b.kind) || (b.kind == 'h' && !b.locked);
        const char *data = b.host;
        if (freed)
            continue;
        if (is_device(b.kind)) {
            fetched.resize(b.bytes);
            PAIR_CHECK(cudaMemcpy(fetched.data(), b.host, b.bytes, cudaMemcpyDeviceToHost));
            data = fetched.data();
        }
        all = (all ^ sum_of(data, b.bytes, true)) * MIXED;
    }
    printf("contents %llx\n", all);
}

/* The measured region, in rounds of one form. */
static void play_one(struct form *form, long times, unsigned long long least_ns)
{
    now = form;
    if (times > 1) {
        warm_gpu();
        unsigned long long start = pair_now_ns();
        warm_round(form);
        unsigned long long took = std::max(pair_now_ns() - start, 1ull);
        times = std::max(times, std::min(times * MORE, (long)(least_ns / took)));
        printf("rounds %ld\n", times);
    }
    pair_begin();
    play();
    while (--times > 0) {
        pair_wait();
        play();
    }
    pair_stop();
    pair_end(sum, copies);
    if (sums)
        print_contents(form);
}

/* What so many rounds take, ns, behind one that is not measured. most_ns: fewer, but LEAST, where
 * by what that one takes they would take longer; 0: no matter how long. */
static unsigned long long play_rounds(struct form *form, long *rounds, unsigned long long most_ns)
{
    unsigned long long start = pair_now_ns(), took_ns = 0;

    warm_round(form);
    if (most_ns)
        *rounds =
            std::min(*rounds, std::max((long)LEAST,
                                       (long)(most_ns / std::max(pair_now_ns() - start, 1ull))));
    for (long round = 0; round < *rounds; round++) {
        pair_wait();
        start = pair_now_ns();
        play();
        pair_wait();
        took_ns += pair_now_ns() - start;
    }
    return took_ns;
}

/* The first form says how many rounds of a turn last most_ns: as many has each form, in each turn.
 */
static void play_in_turns(const std::vector<const char *> &paths, long times,
                          unsigned long long most_ns)
{
    std::vector<unsigned long long> took_ns(paths.size());
    long rounds = std::max(times / TURNS, 1l);

    warm_gpu();
    for (long turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < paths.size(); i++) {
            struct form form = load(paths[i]);
            took_ns[i] += play_rounds(&form, &rounds, turn || i ? 0 : most_ns);
            unload(&form);
        }
    printf("rounds %ld\nforms_ns", TURNS * rounds);
    for (unsigned long long ns : took_ns)
        printf(" %llu", ns);
    printf("\n");
}

struct group { /* of schedules that are played in turns */
    int helpers;
    std::vector<const char *> paths;
};

static int usage(const char *name)
{
    fprintf(
        stderr,
        "usage: %s [--sums] [--times N] [--least MS] [--most MS] [--helpers 0|1|2] SCHEDULE...\n",
        name);
    return 2;
}

struct asked {
    std::vector<struct group> groups;
    long times;
    unsigned long long least_ns, most_ns; /* 0: not asked for */
};

static bool parse(int argc, char **argv, struct asked *asked)
{
    asked->groups.push_back({0, {}});
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        bool valued =
            word == "--helpers" || word == "--times" || word == "--least" || word == "--most";
        if (valued && i + 1 == argc)
            return false;
        if (word == "--helpers" && !asked->groups.back().paths.empty())
            asked->groups.push_back({0, {}});
        if (word == "--sums")
            sums = true;
        else if (word == "--helpers")
            asked->groups.back().helpers = atoi(argv[++i]);
        else if (word == "--times")
            asked->times = strtol(argv[++i], NULL, 10);
        else if (word == "--least")
            asked->least_ns = 1000000 * strtoull(argv[++i], NULL, 10);
        else if (word == "--most")
            asked->most_ns = 1000000 * strtoull(argv[++i], NULL, 10);
        else
            asked->groups.back().paths.push_back(argv[i]);
    }
    return asked->times >= 1 && !asked->groups.back().paths.empty();
}

static void play_group(const struct group &group, const struct asked *asked)
{
    helpers = group.helpers;
    if (group.paths.size() > 1) {
        play_in_turns(group.paths, asked->times, asked->most_ns);
        return;
    }
    struct form form = load(group.paths[0]);
    play_one(&form, asked->times, asked->least_ns);
    now = NULL; /* main() may run again in a process; what was loaded stays */
}

int main(int argc, char **argv)
{
    struct asked asked = {{}, 1, 0, 0};

    if (!parse(argc, argv, &asked))
        return usage(argv[0]);
    in_rounds = asked.times > 1;
    PAIR_CHECK(cudaFree(NULL));
    warm();
    for (const struct group &group : asked.groups)
        play_group(group, &asked);
    return 0;
}
