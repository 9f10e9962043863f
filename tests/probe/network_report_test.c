/*
 * What the report says of a network, of figures that can be worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/report/compare.h"
#include "probe/report/network.h"
#include "probe/report/report_csv.h"

#define SPREAD(ns)                                                                                 \
    .n = 9, .min_ns = (ns), .max_ns = (ns), .ci_low_ns = (ns)*0.99, .ci_high_ns = (ns)*1.01
#define POINT(size, ns)                                                                            \
    {                                                                                              \
        .bytes = (size), .median_ns = (ns), SPREAD(ns)                                             \
    }
#define STAGED(size, b2, b3, b4, mpi)                                                              \
    {                                                                                              \
        .bytes = (size), .unpipelined_ns = (b2), .pipelined_ns = (b3), .adaptive_ns = (b4),        \
        .direct_ns = (mpi), .buffers = 8, .buffer_bytes = 262144                                   \
    }

static char *text_of(const struct xfp_profile *p, void (*print)(const struct xfp_profile *, FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    print(p, out);
    fclose(out);
    return text;
}

static void print_network(const struct xfp_profile *p, FILE *out)
{
    assert_int_equal(xfp_print_network(p, out), 0);
}

static void says(const struct xfp_profile *p, const char *words)
{
    char *text = text_of(p, xfp_print_network_words);

    if (!strstr(text, words))
        print_message("not there: %s\n%s", words, text);
    assert_non_null(strstr(text, words));
    free(text);
}

static void says_not(const struct xfp_profile *p, const char *words)
{
    char *text = text_of(p, xfp_print_network_words);

    assert_null(strstr(text, words));
    free(text);
}

static struct xfp_net_rank ranks[] = {{.hostname = "a", .gpu = -1, .gpu_name = "", .gpu_uuid = ""},
                                      {.hostname = "b", .gpu = -1, .gpu_name = "", .gpu_uuid = ""}};
static struct xfp_point pings[] = {POINT(1, 2500), POINT(1048576, 120000)};
/* 1 byte per 100 ns, then 5.24288 and 10.48576 bytes per ns */
static struct xfp_point streams[] = {POINT(1, 100), POINT(524288, 100000), POINT(1048576, 100000)};
static struct xfp_point backs[] = {POINT(1, 100), POINT(1048576, 200000)};
static struct xfp_point boths[] = {POINT(1048576, 125000)};
static struct xfp_net_staged_point copies[] = {STAGED(65536, 50000, 52000, 49000, 20000),
                                               STAGED(1048576, 400000, 300000, 200000, 250000),
                                               STAGED(4194304, 1600000, 900000, 600000, 0)};
static struct xfp_net_path paths[] = {{.name = "net/ping/rank0-rank1",
                                       .shape = XFP_NET_PING,
                                       .to = 1,
                                       .point_count = 2,
                                       .points = pings},
                                      {.name = "net/stream/rank0-rank1",
                                       .shape = XFP_NET_STREAM,
                                       .to = 1,
                                       .interface = "eth0",
                                       .point_count = 3,
                                       .points = streams},
                                      {.name = "net/stream/rank1-rank0",
                                       .shape = XFP_NET_STREAM,
                                       .from = 1,
                                       .point_count = 2,
                                       .points = backs},
                                      {.name = "net/both/rank0-rank1",
                                       .shape = XFP_NET_BOTH,
                                       .to = 1,
                                       .point_count = 1,
                                       .points = boths}};
static struct xfp_net_staged staged[] = {{.name = "net/staged/rank0-rank1",
                                          .to = 1,
                                          .hybrid_bytes = 1048576,
                                          .point_count = 3,
                                          .points = copies}};
static char mpi[] = "Some MPI";
static struct xfp_network network = {.mpi = mpi,
                                     .rank_count = 2,
                                     .ranks = ranks,
                                     .path_count = 4,
                                     .paths = paths,
                                     .staged_count = 1,
                                     .staged = staged};
static struct xfp_profile profile = {.network = &network};

static void words(void **state)
{
    says(&profile,
         "net/stream/rank0-rank1: rank 0 (a) to rank 1 (b) over eth0, a message of 1 B takes "
         "2.5 us; many of 1 MiB reach 10.5 GB/s, half of that from 512 KiB on, both ways "
         "together 16.8 GB/s; the way back is slower: 5.24 GB/s\n");
    says(&profile, "net/stream/rank1-rank0: rank 1 (b) to rank 0 (a); many of 1 MiB reach 5.24 "
                   "GB/s, half of that "
                   "from 1 MiB on; slower than the way back: 10.5 GB/s\n");
}

static void ways_that_are_alike(void **state)
{
    backs[1].median_ns = 104000; /* less than 5 % */
    backs[1].ci_low_ns = 103500;
    says_not(&profile, "slower");
    backs[1].median_ns = 130000; /* more, but it may be noise */
    backs[1].ci_low_ns = 99000;
    says_not(&profile, "slower");
    backs[1] = (struct xfp_point)POINT(1048576, 200000);
}

#define BOUND(what, a, b, of)                                                                      \
    {                                                                                              \
        .name = "net/x", .shape = (what), .to = 1, .bound = true, .from_node = (a),                \
        .to_node = (b), .point_count = 1, .points = (of)                                           \
    }

/* By node the fastest and the slowest; of the pair itself only what was measured unbound. */
static void nodes(void **state)
{
    struct xfp_point fast[] = {POINT(1048576, 80000)}, slow[] = {POINT(1048576, 160000)};
    struct xfp_point short_one[] = {POINT(1, 1500)}, long_one[] = {POINT(1, 3500)};
    struct xfp_net_path all[] = {BOUND(XFP_NET_STREAM, 0, -1, fast),
                                 BOUND(XFP_NET_STREAM, 1, -1, slow),
                                 BOUND(XFP_NET_PING, 0, -1, short_one),
                                 BOUND(XFP_NET_PING, 1, -1, long_one),
                                 paths[0],
                                 paths[1]};
    struct xfp_network bound = network;
    struct xfp_profile of = {.network = &bound};

    bound.paths = all;
    bound.path_count = sizeof(all) / sizeof(all[0]);
    says(&of,
         "a message of 1 B takes 2.5 us; many of 1 MiB reach 10.5 GB/s, half of that from 512 "
         "KiB on\n  by NUMA node: from node 0 to the only node 13.1 GB/s (1.5 us), the slowest "
         "from node 1 to the only node 6.55 GB/s (3.5 us)\n");
    says_not(&of, "net/x");
    slow[0] = fast[0];
    says(&of,
         "by NUMA node: no difference that is beyond noise, from node 0 to the only node 13.1");
    says_not(&profile, "NUMA");
}

static void staging(void **state)
{
    assert_int_equal(xfp_net_ring_pays_from(staged), 1048576);
    says(&profile,
         "net/staged/rank0-rank1: from 1 MiB on a ring of pinned buffers (4B) is best, below one "
         "buffer "
         "(2B) does as well; 4 MiB between the GPUs at 6.99 GB/s with 8 of 256 KiB (3B 4.66, "
         "2B 2.62) of the network's 10.5\n");
    staged[0].point_count = 2; /* where the last size has MPI's figure */
    says(&profile, "; device memory given to MPI 4.19, which is best below 1 MiB\n");
    staged[0].point_count = 1;
    staged[0].hybrid_bytes = 0;
    says(&profile,
         "net/staged/rank0-rank1: device memory given to MPI is best (3.28 GB/s); staged: one "
         "pinned buffer (2B) does as well as a ring; 64 KiB between");
    staged[0].point_count = 3;
    copies[0].direct_ns = 60000; /* and of the others the least */
    copies[1].direct_ns = 100000;
    copies[2].direct_ns = 300000;
    says(&profile,
         "device memory given to MPI is best from 1 MiB (14 GB/s); staged: from 1 MiB on");
    says_not(&profile, "; device memory given to MPI 14");
    copies[0].direct_ns = 20000;
    copies[1].direct_ns = 250000;
    copies[2].direct_ns = 650000;
    staged[0].hybrid_bytes = 65536;
    says(&profile, "; device memory given to MPI 6.45, which a ring beats at every size\n");
    copies[2].direct_ns = 0;
    staged[0].hybrid_bytes = 1048576;
}

/* Said where a ring is much better than pieces begun at once, and where they take a millisecond. */
static void first_and_at_once(void **state)
{
    struct xfp_net_first_use uses[] = {{1024, 600000, 8}, {1 << 20, 300000, 8}};
    char *text;

    says_not(&profile, "begun at once");
    copies[2].posted_ns = 610000;
    says_not(&profile, "begun at once");
    copies[2].posted_ns = 1400000;
    says(&profile, " of the network's 10.5; all pieces begun at once 3\n");
    text = text_of(&profile, print_network);
    assert_non_null(strstr(text, "MPI GB/s at once GB/s\n"));
    free(text);
    staged[0].first_uses = uses;
    staged[0].first_use_count = 2;
    says_not(&profile, "first messages");
    uses[1].ns = 900000;
    says(&profile, "at once 3; MPI's first messages of device memory take 1.5 ms more\n");
    copies[2].posted_ns = 0;
    staged[0].first_uses = NULL;
    staged[0].first_use_count = 0;
}

/* Beside each range the best that was measured of messages of host memory of its sizes. */
static void protocols_of_ucx(void **state)
{
    char host[] = "tagged message by ucp_tag_send*() from host memory", cuda[] = "from cuda";
    char gpu[] = "tagged message by ucp_tag_send* from cuda/GPU0", ipc[] = "cuda_ipc/cuda";
    char eager[] = "eager", late[] = "rendezvous", tcp[] = "tcp/eth0", version[] = "1.16.0";
    struct xfp_net_protocol rows[] = {{host, 0, 1023, eager, tcp},
                                      {host, 1024, UINT64_MAX, late, tcp},
                                      {cuda, 0, UINT64_MAX, late, tcp},
                                      {gpu, 1, UINT64_MAX, late, ipc}};
    char *text;

    says_not(&profile, "UCX");
    network.ucx = version;
    says(&profile, "UCX says nothing of its protocols");
    network.protocols = rows;
    network.protocol_count = 3;
    says(&profile, "UCX sends messages of host memory by eager to 1023 B (tcp/eth0), rendezvous "
                   "(tcp/eth0)\n");
    says_not(&profile, "of device memory by");
    network.protocol_count = 4;
    says(&profile,
         "(tcp/eth0)\nUCX sends messages of device memory by rendezvous (cuda_ipc/cuda)\n");
    text = text_of(&profile, print_network);
    assert_non_null(strstr(text, "\neager          0 to 1023      tcp/eth0     0.010 tagged"));
    assert_non_null(strstr(text, "\nrendezvous     from 1024      tcp/eth0    10.486 tagged"));
    assert_non_null(strstr(text, "\nrendezvous        from 0      tcp/eth0         - "));
    assert_non_null(strstr(text, "from 1 cuda_ipc/cuda     4.194"));
    free(text);
    network.protocols = NULL;
    network.protocol_count = 0;
    network.ucx = NULL;
}

static void rows_of_csv(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_int_equal(xfp_print_csv(&profile, out), 0);
    fclose(out);
    /* both directions together: 2 * 1048576 / 125000 */
    assert_non_null(strstr(
        text,
        "net/both/"
        "rank0-rank1,message,,,,,,,,1048576,9,125000,125000,125000,123750,126250,,,16.7772,"));
    assert_non_null(strstr(text, "net/staged/rank0-rank1,copy,,,,,,,,1048576,,250000,"));
    free(text);
}

/* The same network against one whose way back is slower. */
static void compared(void **state)
{
    struct xfp_point slow[] = {POINT(1, 100), POINT(1048576, 300000)};
    struct xfp_net_path other_paths[4];
    struct xfp_network other_network = network;
    struct xfp_profile other = {.network = &other_network};
    struct xfp_comparison result;
    char error[100], *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    memcpy(other_paths, paths, sizeof(paths));
    other_paths[2].points = slow;
    other_network.paths = other_paths;
    assert_int_equal(xfp_compare(&profile, &other, NULL, 0.05, out, &result, error, sizeof(error)),
                     0);
    fclose(out);
    assert_int_equal(result.compared, 8); /* four of messages, 2B, 3B, 4B and MPI */
    assert_int_equal(result.slower, 1);
    assert_int_equal(result.only_first + result.only_second + result.faster, 0);
    assert_non_null(strstr(text, "net/stream/rank1-rank0"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(ways_that_are_alike),
        cmocka_unit_test(staging),
        cmocka_unit_test(first_and_at_once),
        cmocka_unit_test(protocols_of_ucx),
        cmocka_unit_test(rows_of_csv),
        cmocka_unit_test(compared),
        cmocka_unit_test(nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
