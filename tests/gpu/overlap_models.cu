// What the equations of tests/analyzer/overlap/overlap.h predict, compared with what a GPU does:
// the evaluation of van Werkhoven et al., section VII, with kernels like its state and buoydiff on
// 1024 x 1024 x 42 points, explicit, implicit (mapped memory), with 42 streams, and hybrid.
//
// usage: overlap_models [--quick] [--edge N] [--levels N] [--runs N] [--collide] PROFILE [JSON]
//
// PROFILE is what `xferscope probe` wrote on this machine. Each implementation runs N times (9)
// after one run whose results are checked: all of them against the explicit one, that against the
// host on every 101st point. Prints what was predicted and measured, and writes the same to JSON.
// Exit status: 0 all within the paper's errors and the best methods predicted; 1 wrong results, or
// it could not run; 2 wrong usage; 3 predictions further off, or another method best.
//
// What no profile has is measured here before: the kernels' times with their data in the device's
// memory, how often mapped memory passes the link when it is read again (caches), and what reads
// and writes of mapped memory by one kernel cost each other: the profile's figure is of two
// kernels, which also compete for the GPU. Where the profile does not say how mapped writes and
// copies slow each other, or with --collide, that too.
//
// The equations have each engine busy as soon as it has work. In which order copies in many streams
// reach the engines is the GPU's and the driver's affair, and matters where levels need each other:
// the streams are issued in several orders, all are printed, and the fastest is the one measured.
#include "tests/gpu/ocean_kernels.h"
#include "tests/gpu/overlap_models_print.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace
{

constexpr int block = 256, most_arrays = 5;

void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "overlap_models: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

// The same points in the host's memory, as kernels see it when it is mapped, and in the device's.
struct grid {
    size_t cells, points;
    int levels;
    double *host[most_arrays], *mapped[most_arrays], *device[most_arrays]; // T, S, outputs
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> copied, done;
    cudaStream_t main;
    cudaEvent_t start, stop;

    size_t bytes() const
    {
        return points * sizeof(double);
    }
};

typedef void (*column_kernel)(ocean);
typedef void (*level_kernel)(ocean, int);

struct model {
    const char *name;
    int outputs;
    bool neighbours; // levels 1 and k-1 are needed, too
    column_kernel column, flat;
    level_kernel level;
    void (*at)(const ocean &, int, size_t);
    double reads; // of each element of the input
};

// ---- memory
// --------------------------------------------------------------------------------------

void make_arrays(grid &g)
{
    for (int i = 0; i < most_arrays; i++) {
        CHECK(cudaHostAlloc(&g.host[i], g.bytes(), cudaHostAllocMapped));
        CHECK(cudaHostGetDevicePointer(&g.mapped[i], g.host[i], 0));
        CHECK(cudaMalloc(&g.device[i], g.bytes()));
    }
    for (size_t i = 0; i < g.points; i++) { // warm and fresh above, cold and salt below
        double depth = (double)(i / g.cells) / g.levels,
               ripple = (double)(i * 7919 % 10007) / 10007;

        g.host[0][i] = 2 + 22 * (1 - depth) + 4 * ripple;
        g.host[1][i] = 34 + 1.5 * depth + 0.5 * (1 - ripple);
    }
}

grid make_grid(const options &options)
{
    grid g = {};

    g.cells = (size_t)options.edge * options.edge;
    g.levels = options.levels;
    g.points = g.cells * g.levels;
    make_arrays(g);
    CHECK(cudaStreamCreateWithFlags(&g.main, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&g.start));
    CHECK(cudaEventCreate(&g.stop));
    for (int k = 0; k < g.levels; k++) {
        cudaStream_t stream;
        cudaEvent_t events[2];

        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (cudaEvent_t &event : events)
            CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        g.streams.push_back(stream);
        g.copied.push_back(events[0]);
        g.done.push_back(events[1]);
    }
    return g;
}

ocean seen(const grid &g, double *const *in, double *const *out)
{
    return {in[0], in[1], {out[2], out[3], out[4]}, g.cells, g.levels};
}

unsigned blocks(size_t threads)
{
    return (unsigned)((threads + block - 1) / block);
}

// ---- the four implementations
// --------------------------------------------------------------------

void copy_in(const grid &g, size_t at, size_t points, cudaStream_t stream)
{
    for (int i = 0; i < 2; i++)
        CHECK(cudaMemcpyAsync(g.device[i] + at, g.host[i] + at, points * sizeof(double),
                              cudaMemcpyHostToDevice, stream));
}

void copy_out(const grid &g, int array, size_t at, size_t points, cudaStream_t stream)
{
    CHECK(cudaMemcpyAsync(g.host[array] + at, g.device[array] + at, points * sizeof(double),
                          cudaMemcpyDeviceToHost, stream));
}

void run_explicit(const grid &g, const model &m)
{
    copy_in(g, 0, g.points, g.main);
    m.column<<<blocks(g.cells), block, 0, g.main>>>(seen(g, g.device, g.device));
    for (int i = 2; i < 2 + m.outputs; i++)
        copy_out(g, i, 0, g.points, g.main);
}

void run_implicit(const grid &g, const model &m)
{
    m.flat<<<blocks(g.points), block, 0, g.main>>>(seen(g, g.mapped, g.mapped));
}

// The kernel of level k, after what it needs of other streams.
void compute_level(const grid &g, const model &m, const ocean &o, int k)
{
    if (m.neighbours && k) {
        CHECK(cudaStreamWaitEvent(g.streams[k], g.copied[0], 0));
        CHECK(cudaStreamWaitEvent(g.streams[k], g.copied[k - 1], 0));
    }
    m.level<<<blocks(g.cells), block, 0, g.streams[k]>>>(o, k);
}

// What the kernel of level k has written: with neighbours, to the level above in the first output.
void fetch_level(const grid &g, const model &m, int k)
{
    size_t cells = g.cells;

    for (int i = m.neighbours ? 3 : 2; i < 2 + m.outputs; i++)
        copy_out(g, i, k * cells, cells, g.streams[k]);
    if (m.neighbours && k)
        copy_out(g, 2, (k - 1) * cells, k + 1 < g.levels ? cells : 2 * cells, g.streams[k]);
}

// The paper's order: without neighbours one level after the other; with them all that comes in
// first.
int papers_order(const model &m)
{
    return m.neighbours ? ALL_IN_FIRST : 0;
}

void in_streams(const grid &g, const model &m, bool fetch, int order)
{
    ocean o = seen(g, g.device, fetch ? g.device : g.mapped);
    int ahead = order & ALL_IN_FIRST ? g.levels : 1, copied = 0;

    for (int k = 0; k < g.levels; k++) {
        for (; copied < g.levels && copied < k + ahead; copied++) {
            if (order & IN_BY_LEVEL && copied)
                CHECK(cudaStreamWaitEvent(g.streams[copied], g.copied[copied - 1], 0));
            copy_in(g, copied * g.cells, g.cells, g.streams[copied]);
            CHECK(cudaEventRecord(g.copied[copied], g.streams[copied]));
        }
        compute_level(g, m, o, k);
        if (fetch)
            fetch_level(g, m, k);
    }
    for (int k = 0; k < g.levels; k++) {
        CHECK(cudaEventRecord(g.done[k], g.streams[k]));
        CHECK(cudaStreamWaitEvent(g.main, g.done[k], 0));
    }
}

void run(const grid &g, const model &m, int method, int order)
{
    switch (method) {
    case XFA_OVERLAP_EXPLICIT:
        return run_explicit(g, m);
    case XFA_OVERLAP_IMPLICIT:
        return run_implicit(g, m);
    case XFA_OVERLAP_STREAMS:
        return in_streams(g, m, true, order);
    case XFA_OVERLAP_HYBRID:
        return in_streams(g, m, false, order);
    }
}

// ---- measuring
// -----------------------------------------------------------------------------------

double elapsed_ns(cudaEvent_t from, cudaEvent_t to)
{
    float ms;

    CHECK(cudaEventElapsedTime(&ms, from, to));
    return ms * 1e6;
}

template <typename Work> double once_ns(const grid &g, Work work)
{
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(g.start, g.main));
    work();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(g.stop, g.main));
    CHECK(cudaDeviceSynchronize());
    return elapsed_ns(g.start, g.stop);
}

double median(std::vector<double> values)
{
    size_t n = values.size();

    std::sort(values.begin(), values.end());
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <typename Work> double median_ns(const grid &g, int runs, Work work)
{
    std::vector<double> times;

    once_ns(g, work); // loads the kernels
    for (int i = 0; i < runs; i++)
        times.push_back(once_ns(g, work));
    return median(times);
}

// The kernel alone, as each method launches it.
double kernel_ns(const grid &g, const model &m, int method, int runs)
{
    ocean o = seen(g, g.device, g.device);

    return median_ns(g, runs, [&] {
        if (method == XFA_OVERLAP_EXPLICIT)
            m.column<<<blocks(g.cells), block, 0, g.main>>>(o);
        else if (method == XFA_OVERLAP_IMPLICIT)
            m.flat<<<blocks(g.points), block, 0, g.main>>>(o);
        else
            for (int k = 0; k < g.levels; k++)
                m.level<<<blocks(g.cells), block, 0, g.main>>>(o, k);
    });
}

// The share of what is read again from mapped memory that passes the link again: 0 where caches
// have it, 1 where they do not.
double again_over_the_link(const grid &g, int runs, double Lo_ns)
{
    const int times = 3;
    ocean o = seen(g, g.mapped, g.device);
    double ns[2];

    for (int i = 0; i < 2; i++)
        ns[i] = median_ns(g, runs, [&] {
            int n = i ? times : 1;

            read_levels<<<blocks(g.cells * n), block, 0, g.main>>>(o, n);
        });
    return std::min(1.0, std::max(0.0, (ns[1] - ns[0]) / (ns[0] - Lo_ns) / (times - 1)));
}

// A kernel that reads and writes mapped memory.
double pass_ns(const grid &g, int runs, int reads, int writes)
{
    ocean o = seen(g, g.mapped, g.mapped);

    return median_ns(
        g, runs, [&] { pass_levels<<<blocks(g.points), block, 0, g.main>>>(o, reads, writes); });
}

// As many bytes each way, by one kernel: both directions end together, each has taken all the time.
// The other mixtures are printed only, and so is this one where the profile has it.
mapped_mix measure_mapped(const grid &g, int runs, xfa_overlap_link &link, bool known)
{
    double Lo =
        link.in.fit.valid && link.out.fit.valid ? link.in.fit.Lo_ns + link.out.fit.Lo_ns : 0;
    mapped_mix mix = {link.in.both_G, (double)g.bytes(), pass_ns(g, runs, 1, 1),
                      pass_ns(g, runs, 2, 1), pass_ns(g, runs, 1, 2)};

    if (!known)
        link.in.both_G = link.out.both_G = (mix.even_ns - Lo) / mix.bytes;
    return mix;
}

// Copies to the device and a kernel's writes, as many bytes, started together: from when each has
// ended follows the G of both while both go on (overlap.h has the same rule the other way round).
void measure_collision(const grid &g, int runs, xfa_overlap_link &link)
{
    std::vector<double> in, out;
    cudaEvent_t ends[2];
    double bytes = (double)g.bytes(), ns[2];

    for (cudaEvent_t &end : ends)
        CHECK(cudaEventCreate(&end));
    for (int run = 0; run <= runs; run++) {
        once_ns(g, [&] {
            for (int i = 0; i < 2; i++)
                CHECK(cudaStreamWaitEvent(g.streams[i], g.start, 0));
            CHECK(cudaMemcpyAsync(g.device[0], g.host[0], g.bytes(), cudaMemcpyHostToDevice,
                                  g.streams[0]));
            write_levels<<<blocks(g.points), block, 0, g.streams[1]>>>(seen(g, g.device, g.mapped));
            for (int i = 0; i < 2; i++)
                CHECK(cudaEventRecord(ends[i], g.streams[i]));
        });
        in.push_back(elapsed_ns(g.start, ends[0]));
        out.push_back(elapsed_ns(g.start, ends[1]));
    }
    in.erase(in.begin());
    out.erase(out.begin());
    ns[0] = median(in);
    ns[1] = median(out);
    {
        xfa_overlap_way &first = ns[0] <= ns[1] ? link.in : link.out;
        xfa_overlap_way &second = ns[0] <= ns[1] ? link.out : link.in;
        double both = std::min(ns[0], ns[1]), rest = std::max(ns[0], ns[1]) - both;

        first.both_G = both / bytes;
        second.both_G = both / (bytes - std::min(rest / second.fit.G_ns_per_byte, bytes * 0.99));
    }
}

// ---- results
// -------------------------------------------------------------------------------------

bool agree(double a, double b)
{
    return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

bool as_on_the_host(const grid &g, const model &m)
{
    std::vector<double> kept[3];
    double *out[most_arrays] = {};
    bool same = true;

    for (int i = 0; i < m.outputs; i++) { // the host writes where the device has written
        kept[i].assign(g.host[2 + i], g.host[2 + i] + g.points);
        out[2 + i] = g.host[2 + i];
    }
    for (size_t i = 0; i < g.points; i += 101) {
        int level = (int)(i / g.cells);
        size_t cell = i % g.cells;

        m.at(seen(g, g.host, out), level, cell);
        if (m.neighbours && level + 1 < g.levels)
            m.at(seen(g, g.host, out), level + 1, cell);
        for (int j = 0; j < m.outputs; j++)
            same = same && agree(kept[j][i], out[2 + j][i]);
    }
    for (int i = 0; i < m.outputs; i++)
        std::copy(kept[i].begin(), kept[i].end(), g.host[2 + i]);
    return same;
}

// Not a number, wherever nothing is written after this.
void spoil(const grid &g)
{
    for (int i = 2; i < most_arrays; i++) {
        memset(g.host[i], 0xff, g.bytes());
        CHECK(cudaMemset(g.device[i], 0xff, g.bytes()));
    }
    CHECK(cudaMemset(g.device[0], 0xff, g.bytes()));
    CHECK(cudaMemset(g.device[1], 0xff, g.bytes()));
}

bool right(const grid &g, const model &m, int method, int order, std::vector<double> *expected)
{
    spoil(g);
    once_ns(g, [&] { run(g, m, method, order); });
    if (method == XFA_OVERLAP_EXPLICIT) {
        for (int i = 0; i < m.outputs; i++)
            expected[i].assign(g.host[2 + i], g.host[2 + i] + g.points);
        return as_on_the_host(g, m);
    }
    for (int i = 0; i < m.outputs; i++)
        for (size_t j = 0; j < g.points; j++)
            if (!agree(g.host[2 + i][j], expected[i][j]))
                return false;
    return true;
}

xfa_overlap_work work_of(const grid &g, const model &m, double read_times, double kernel)
{
    xfa_overlap_work work = {};

    work.in_bytes = 2 * g.bytes();
    work.out_bytes = m.outputs * g.bytes();
    work.in_arrays = 2;
    work.out_arrays = m.outputs;
    work.kernel_ns = kernel;
    work.mapped_in_times = read_times;
    return work;
}

void must_be_right(const grid &g, const model &m, int method, int order,
                   std::vector<double> *expected)
{
    if (right(g, m, method, order, expected))
        return;
    fprintf(stderr, "overlap_models: %s, %s, order %d: wrong results\n", m.name, word(method),
            order);
    exit(1);
}

// When each level had come in, and when all of its stream's work had ended, in one more run.
timeline trace(const grid &g, const model &m, int method, int order)
{
    grid timed = g;
    timeline t;

    for (std::vector<cudaEvent_t> *events : {&timed.copied, &timed.done})
        for (cudaEvent_t &event : *events)
            CHECK(cudaEventCreate(&event));
    once_ns(timed, [&] { run(timed, m, method, order); });
    for (int k = 0; k < g.levels; k++) {
        t.in.push_back(elapsed_ns(g.start, timed.copied[k]));
        t.done.push_back(elapsed_ns(g.start, timed.done[k]));
        CHECK(cudaEventDestroy(timed.copied[k]));
        CHECK(cudaEventDestroy(timed.done[k]));
    }
    return t;
}

// The streams in each order; what the fastest takes.
double measure_orders(const grid &g, const model &m, int runs, results &r,
                      std::vector<double> *expected)
{
    for (int order = 0; order < ORDERS; order++) {
        must_be_right(g, m, XFA_OVERLAP_STREAMS, order, expected);
        r.order_ns[order] = median_ns(g, runs, [&] { run(g, m, XFA_OVERLAP_STREAMS, order); });
        r.order_lines[order] = trace(g, m, XFA_OVERLAP_STREAMS, order);
    }
    r.order = (int)(std::min_element(r.order_ns, r.order_ns + ORDERS) - r.order_ns);
    return r.order_ns[r.order];
}

results evaluate(const grid &g, const model &m, const xfa_overlap_machine &machine, double again,
                 int runs)
{
    const xfa_overlap_limits limits = {256, 1 << 20, 0.01};
    std::vector<double> expected[3];
    results r = {};

    r.kernel = m.name;
    r.papers_order = papers_order(m);
    r.read_times = 1 + again * (m.reads - 1);
    for (int method = 0; method < XFA_OVERLAP_METHODS; method++) {
        result &of = r.of[method];
        xfa_overlap_method asked = (xfa_overlap_method)method;

        must_be_right(g, m, method, r.papers_order, expected);
        of.kernel = kernel_ns(g, m, method, runs);
        xfa_overlap_work work = work_of(g, m, r.read_times, of.kernel);
        of.predicted = xfa_overlap_ns(&machine, &work, asked, g.levels);
        if (method == XFA_OVERLAP_STREAMS)
            of.measured = measure_orders(g, m, runs, r, expected);
        else
            of.measured = median_ns(g, runs, [&] { run(g, m, method, r.papers_order); });
        if (method == XFA_OVERLAP_HYBRID)
            r.hybrid_line = trace(g, m, method, r.papers_order);
        if (of.predicted < r.of[r.predicted_best].predicted)
            r.predicted_best = method;
        if (of.measured < r.of[r.measured_best].measured)
            r.measured_best = method;
        if (method == XFA_OVERLAP_STREAMS)
            r.advised = xfa_overlap_choose(&machine, &work, limits);
    }
    return r;
}

// ---- from the command line
// -----------------------------------------------------------------------

int positive(const char *text)
{
    int value = text ? atoi(text) : 0;

    return value > 0 && value <= 1 << 14 ? value : 0;
}

bool parse(int argc, char **argv, options &o)
{
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        int *number = word == "--edge"     ? &o.edge
                      : word == "--levels" ? &o.levels
                      : word == "--runs"   ? &o.runs
                                           : nullptr;

        if (number) {
            *number = positive(argv[++i]);
            if (!*number)
                return false;
        } else if (word == "--collide") {
            o.collide = true;
        } else if (word == "--quick") {
            o.edge = 128;
            o.runs = 3;
        } else if (word[0] == '-' || (o.profile && o.json)) {
            return false;
        } else {
            (o.profile ? o.json : o.profile) = argv[i];
        }
    }
    return o.profile && o.levels > 1;
}

// one_kernel: the profile tells what one kernel's reads and writes of mapped memory take.
xfa_overlap_machine machine_of(const char *path, bool &one_kernel)
{
    char error[300];
    xfp_profile *profile = xfp_read_file(path, error, sizeof error);
    xfa_overlap_machine machine;

    if (!profile) {
        fprintf(stderr, "overlap_models: %s\n", error);
        exit(1);
    }
    machine = xfa_overlap_of_profile(profile, 0, -1);
    one_kernel = xfp_find_table(profile, XFP_ONE_KERNEL "gpu0") ||
                 xfp_find_table(profile, XFP_ONE_KERNEL "node0-gpu0");
    xfp_free(profile);
    return machine;
}

} // namespace

int main(int argc, char **argv)
{
    options o;
    cudaDeviceProp properties;
    bool good = true, one_kernel = false;

    if (!parse(argc, argv, o)) {
        fprintf(stderr, "usage: overlap_models [--quick] [--edge N] [--levels N] [--runs N] "
                        "[--collide] PROFILE [JSON]\n");
        return 2;
    }
    xfa_overlap_machine machine = machine_of(o.profile, one_kernel);
    grid g = make_grid(o);
    const double three_levels =
        (3.0 * o.levels - 4) / o.levels; // none of the first, 2 of the second
    const model models[] = {
        {"state", 3, false, state_column, state_flat, state_level, state_at, 1},
        {"buoydiff", 2, true, buoydiff_column, buoydiff_flat, buoydiff_level, buoydiff_at,
         three_levels},
    };
    double again = again_over_the_link(g, o.runs, machine.mapped.in.fit.Lo_ns);
    bool measured_here = o.collide || std::isnan(machine.hybrid.out.both_G);
    std::vector<results> all;

    mapped_mix mix = measure_mapped(g, o.runs, machine.mapped, one_kernel);
    if (measured_here)
        measure_collision(g, o.runs, machine.hybrid);
    print_machine(machine, again, measured_here);
    print_mapped(mix);
    for (const model &m : models) {
        all.push_back(evaluate(g, m, machine, again, o.runs));
        print_results(all.back());
        good = good && within(all.back());
    }
    if (o.json) {
        CHECK(cudaGetDeviceProperties(&properties, 0));
        write_json(o, properties.name, machine, again, measured_here, mix, all);
    }
    printf("\n%s\n", good ? "all within the paper's errors, the best methods predicted"
                          : "not all within the paper's errors, or another method is best");
    return good ? 0 : 3;
}
