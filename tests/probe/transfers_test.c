/*
 * The door to single transfers, on a simulated machine whose every figure is known: two GPUs and
 * two NUMA nodes. The driver is the simulated one (LD_LIBRARY_PATH).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/measure_transfers.h"

enum { MOST = 1 << 20, ODD = 77777, ROW = 777, TOLERANCE_NS = 60 };

static char machine[] = "/tmp/xferscope-transfers-XXXXXX";

/* A path that takes so many ns, and ns for 1000 bytes. */
struct made {
    const char *name;
    enum xft_direction direction;
    struct xfp_place src, dst;
    enum xfp_cache cache;
    int base, per_1000;
};

#define HOST(memory, node)                                                                         \
    {                                                                                              \
        XFT_MEM_##memory, -1, node                                                                 \
    }
#define GPU(n)                                                                                     \
    {                                                                                              \
        XFT_MEM_DEVICE, n, -1                                                                      \
    }

static const struct made made[] = {
    {"copy/pinned/h2d/node0-gpu0", XFT_DIR_H2D, HOST(PINNED, 0), GPU(0), XFP_COLD, 2000, 20},
    {"copy/pinned/h2d/node1-gpu0", XFT_DIR_H2D, HOST(PINNED, 1), GPU(0), XFP_COLD, 2500, 30},
    {"copy/pinned/d2h/node0-gpu0", XFT_DIR_D2H, GPU(0), HOST(PINNED, 0), XFP_COLD, 2200, 22},
    {"copy-warm/pinned/h2d/node0-gpu0", XFT_DIR_H2D, HOST(PINNED, 0), GPU(0), XFP_WARM, 2000, 40},
    {"copy/pageable/h2d/node0-gpu0", XFT_DIR_H2D, HOST(PAGEABLE, 0), GPU(0), XFP_COLD, 9000, 100},
    {"copy/device/d2d/gpu0", XFT_DIR_D2D, GPU(0), GPU(0), XFP_COLD, 1500, 1},
    {"copy/peer/p2p/gpu0-gpu1", XFT_DIR_P2P, GPU(0), GPU(1), XFP_COLD, 3000, 3},
    {"copy/peer/p2p/gpu1-gpu0", XFT_DIR_P2P, GPU(1), GPU(0), XFP_COLD, 3500, 4},
    {"copy/no-peer/p2p/gpu0-gpu1", XFT_DIR_P2P, GPU(0), GPU(1), XFP_COLD, 20000, 60},
};

static double time_of(const struct made *m, uint64_t bytes)
{
    return m->base + (double)bytes * m->per_1000 / 1000;
}

static void write_place(FILE *out, const char *end, const struct xfp_place *place)
{
    fprintf(out, "\"%s\":{\"memory\":\"%s\",\"device\":%d,\"numa\":%d},", end,
            xft_memory_word(place->memory), place->device, place->numa);
}

static void write_path(FILE *out, const struct made *m)
{
    fprintf(out, "{\"name\":\"%s\",\"method\":\"copy\",\"direction\":\"%s\",\"cache\":\"%s\",",
            m->name, xft_direction_word(m->direction), xfp_cache_word(m->cache));
    write_place(out, "src", &m->src);
    write_place(out, "dst", &m->dst);
    fputs("\"device_timed\":true,\"blocking\":true,\"points\":[", out);
    for (uint64_t bytes = 64; bytes <= MOST; bytes *= 2)
        fprintf(out, "%s{\"bytes\":%llu,\"median_ns\":%f,\"host_ns\":900,\"blocking_ns\":%f}",
                bytes > 64 ? "," : "", (unsigned long long)bytes, time_of(m, bytes),
                time_of(m, bytes) + 5000);
    fputs("]}", out);
}

static int make_machine(void **state)
{
    int file = mkstemp(machine);
    FILE *out = fdopen(file, "w");

    fputs("{\"schema\":\"xferscope-profile\",\"version\":1,\"machine\":{\"simulated\":true,"
          "\"numa_nodes\":2,\"driver_version\":13000,\"gpus\":["
          "{\"name\":\"made\",\"memory_bytes\":1000000000,\"copy_engines\":2,\"numa\":0,"
          "\"peers\":[1]},"
          "{\"name\":\"made\",\"memory_bytes\":1000000000,\"copy_engines\":2,\"numa\":1,"
          "\"peers\":[0]}]},\"paths\":[",
          out);
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        fputs(i ? "," : "", out);
        write_path(out, &made[i]);
    }
    fputs("]}", out);
    fclose(out);
    return setenv("XFERSCOPE_SIMGPU_MACHINE", machine, 1) ||
           setenv("XFERSCOPE_SIMGPU_CLOCK", "virtual", 1);
}

static int drop_machine(void **state)
{
    return unlink(machine);
}

static struct xfp_transfers *open_session(void)
{
    const struct xfp_transfers_settings settings = {.most_bytes = MOST, .flush = true};
    char error[300] = "";
    struct xfp_transfers *session = xfp_transfers_open(&settings, error, sizeof(error));

    if (!session)
        fail_msg("%s", error);
    return session;
}

static struct xfp_transfer_spec spec_of(const struct made *m, uint64_t bytes)
{
    return (struct xfp_transfer_spec){.bytes = bytes,
                                      .direction = m->direction,
                                      .src = m->src,
                                      .dst = m->dst,
                                      .cache = m->cache,
                                      .blocking = m->direction == XFT_DIR_H2D,
                                      .peer_access = !strncmp(m->name, "copy/peer/", 10),
                                      .slice_ns = 1000000};
}

static void every_way_at_an_odd_size(void **state)
{
    enum { N = sizeof(made) / sizeof(made[0]) };
    struct xfp_transfers *session = open_session();
    struct xfp_transfer_spec specs[N];
    struct xfp_transfer_point points[N];

    for (size_t i = 0; i < N; i++)
        specs[i] = spec_of(&made[i], ODD);
    xfp_measure_transfers(session, specs, N, points);
    for (size_t i = 0; i < N; i++) {
        const struct xfp_point *point = &points[i].point;
        bool host = specs[i].blocking;

        if (points[i].basis != XFP_MEASURED)
            fail_msg("%s: %s", made[i].name, points[i].why);
        assert_int_equal(point->bytes, ODD);
        assert_string_equal(points[i].why, "");
        if (point->median_ns < time_of(&made[i], ODD) - TOLERANCE_NS ||
            point->median_ns > time_of(&made[i], ODD) + TOLERANCE_NS)
            fail_msg("%s: %f, not %f", made[i].name, point->median_ns, time_of(&made[i], ODD));
        assert_true(host ? point->blocking_ns > point->median_ns + 4000 : point->blocking_ns == 0);
        assert_true(point->n >= 6 && point->host_ns > 0);
    }
    assert_int_equal(xfp_transfers_machine(session)->machine.gpu_count, 2);
    assert_int_equal(xfp_transfers_machine(session)->path_count, 0);
    assert_false(xfp_transfers_stopped(session));
    xfp_free(xfp_transfers_close(session));
}

static void rows_of_an_odd_length(void **state)
{
    struct xfp_transfers *session = open_session();
    struct xfp_transfer_spec specs[2] = {spec_of(&made[0], 5 * ROW), spec_of(&made[2], 101 * ROW)};
    struct xfp_transfer_point points[2];

    specs[0].row_bytes = specs[1].row_bytes = ROW;
    assert_int_equal(xfp_measure_transfers(session, specs, 2, points), 2);
    assert_float_equal(points[0].point.median_ns, time_of(&made[0], 5 * ROW), TOLERANCE_NS);
    assert_float_equal(points[1].point.median_ns, time_of(&made[2], 101 * ROW), TOLERANCE_NS);
    assert_true(points[0].point.blocking_ns == 0);
    xfp_free(xfp_transfers_close(session));
}

/* Each says why; those behind it are measured. */
static void what_cannot_be(void **state)
{
    struct xfp_transfers *session = open_session();
    struct xfp_transfer_spec specs[7];
    struct xfp_transfer_point points[7];

    for (int i = 0; i < 7; i++)
        specs[i] = spec_of(&made[0], ODD);
    specs[0].bytes = 0;
    specs[1].bytes = MOST + 1;
    specs[2].dst.device = 2;
    specs[3].row_bytes = ODD - 1;
    specs[4].direction = XFT_DIR_H2H;
    specs[5] = spec_of(&made[6], ODD);
    specs[5].row_bytes = ODD;
    assert_int_equal(xfp_measure_transfers(session, specs, 7, points), 1);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(points[i].basis, XFP_UNKNOWN);
        assert_string_not_equal(points[i].why, "");
    }
    assert_string_equal(points[1].why, "not enough memory");
    assert_string_equal(points[2].why, "no such GPU here");
    assert_int_equal(points[6].basis, XFP_MEASURED);
    xfp_free(xfp_transfers_close(session));
}

static void a_signal_stops_it(void **state)
{
    struct xfp_transfers *session = open_session();
    struct xfp_transfer_spec spec = spec_of(&made[0], ODD);
    struct xfp_transfer_point point;

    raise(SIGINT);
    assert_true(xfp_transfers_stopped(session));
    assert_int_equal(xfp_measure_transfers(session, &spec, 1, &point), 0);
    assert_int_equal(point.basis, XFP_UNKNOWN);
    assert_string_equal(point.why, "");
    xfp_free(xfp_transfers_close(session));
    session = open_session(); /* that was then */
    assert_false(xfp_transfers_stopped(session));
    assert_int_equal(xfp_measure_transfers(session, &spec, 1, &point), 1);
    xfp_free(xfp_transfers_close(session));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_at_an_odd_size),
        cmocka_unit_test(rows_of_an_odd_length),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(a_signal_stops_it),
    };

    return cmocka_run_group_tests(tests, make_machine, drop_machine);
}
