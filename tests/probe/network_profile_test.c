/*
 * The profile's `network`: written and read back, asked, merged, and refused when it makes no
 * sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/profile/profile_json.h"
#include "xferscope/message.h"
#include "xferscope/profile_network.h"

#define HEAD "{\"schema\": \"xferscope-profile\", \"version\": 1, \"machine\": {}, \"paths\": []"
#define POINT(bytes, ns, more)                                                                     \
    "{\"bytes\": " #bytes ", \"median_ns\": " #ns ", \"n\": 9, \"min_ns\": 1, \"max_ns\": 99999,"  \
    " \"ci_low_ns\": 2, \"ci_high_ns\": 9999" more "}"
#define STAGED(bytes, adaptive, more)                                                              \
    "{\"bytes\": " #bytes                                                                          \
    ", \"unpipelined_ns\": 900, \"pipelined_ns\": 700, \"adaptive_ns\": " #adaptive                \
    ", \"buffers\": 8, \"buffer_bytes\": 65536" more "}"

/* clang-format off */
static const char full[] = HEAD
    ", \"network\": {\"mpi\": \"Some MPI 1\", \"ucx\": \"1.2\", \"nccl\": \"2.1\","
    " \"protocols\": [{\"messages\": \"tagged\", \"first_bytes\": 0, \"last_bytes\": 92, \"protocol\":"
    "   \"eager\", \"transport\": \"tcp\"}, {\"messages\": \"tagged\", \"first_bytes\": 93, \"last_bytes\":"
    "   null, \"protocol\": \"late\", \"transport\": \"tcp\"}],"
    " \"ranks\": [{\"hostname\": \"a\", \"gpu\": 1, \"gpu_name\": \"G\", \"driver_version\": 13000,"
    "   \"direct\": \"crashed\", \"interfaces\": [{\"name\": \"eth0\", \"driver\": \"veth\","
    "   \"mbps\": 10000, \"mtu\": 9000}]}, {\"hostname\": \"b\", \"simulated\": true}],"
    " \"paths\": [{\"name\": \"net/ping/rank0-rank1\", \"shape\": \"ping\", \"from\": 0, \"to\": 1,"
    "   \"interface\": \"eth0\", \"fit\": {\"Lo_ns\": 100, \"g_ns\": 10, \"G_ns_per_byte\": 0.5,"
    "   \"max_error\": 0.01}, \"points\": [" POINT(1, 100, "") ", " POINT(1001, 600, "") "]},"
    "  {\"name\": \"net-loaded/stream/rank0-rank1\", \"shape\": \"stream\", \"from\": 0, \"to\": 1,"
    "   \"loaded\": true, \"points\": [" POINT(4096, 50, "") "]},"
    "  {\"name\": \"net/stream/rank0-rank1\", \"shape\": \"stream\", \"from\": 0, \"to\": 1,"
    "   \"points\": [" POINT(4096, 40, ", \"window\": 64, \"windows_ns\": [2560, 2600]") "]}],"
    " \"staged\": [{\"name\": \"net/staged/rank0-rank1\", \"from\": 0, \"to\": 1,"
    "   \"hybrid_bytes\": 2048, \"points\": [" STAGED(1024, 600, ", \"direct_ns\": 500, \"posted_ns\": 800, \"posted\": {\"n\": 5, \"min_ns\": 700,"
           " \"max_ns\": 900, \"ci_low_ns\": 750, \"ci_high_ns\": 850}") ", "
    STAGED(2048, 650, ", \"direct_ns\": 651, \"direct\": {\"n\": 7, \"min_ns\": 600,"
           " \"max_ns\": 700, \"ci_low_ns\": 640, \"ci_high_ns\": 660}") ", "
    STAGED(4096, 660, "") "],"
    "   \"first_uses\": [{\"bytes\": 1024, \"ns\": 5000, \"rounds\": 8}, {\"bytes\": 4096, \"ns\": 700}],"
    "   \"cells\": [{\"bytes\": 1024, \"buffers\": 2, \"buffer_bytes\": 65536, \"median_ns\": 6,"
    "   \"n\": 8, \"min_ns\": 5, \"max_ns\": 9, \"ci_low_ns\": 5.5, \"ci_high_ns\": 8}]}],"
    " \"collectives\": [{\"name\": \"net/nccl/all-reduce\", \"ranks\": 4, \"hosts\": 2,"
    "   \"bus_per_algbw\": 1.5, \"points\": [" POINT(8, 20, "") "]},"
    "  {\"name\": \"net/mpi/barrier\", \"points\": [{\"bytes\": 0, \"median_ns\": 7}]}]}}";
/* clang-format on */

static struct xfp_profile *parse(const char *text, char *error, size_t bytes)
{
    return xfp_parse(text, strlen(text), error, bytes);
}

static void check_ranks(const struct xfp_network *n)
{
    assert_string_equal(n->mpi, "Some MPI 1");
    assert_string_equal(n->ucx, "1.2");
    assert_string_equal(n->nccl, "2.1");
    assert_int_equal(n->rank_count, 2);
    assert_string_equal(n->ranks[0].hostname, "a");
    assert_int_equal(n->ranks[0].gpu, 1);
    assert_int_equal(n->ranks[0].direct, XFP_NET_CRASHED);
    assert_int_equal(n->ranks[0].interface_count, 1);
    assert_string_equal(n->ranks[0].interfaces[0].driver, "veth");
    assert_int_equal(n->ranks[0].interfaces[0].mbps, 10000);
    assert_int_equal(n->ranks[0].interfaces[0].mtu, 9000);
    assert_int_equal(n->ranks[1].gpu, -1);
    assert_true(n->ranks[1].simulated && n->ranks[1].direct == XFP_NET_NOT_TRIED);
}

static void check_figures(const struct xfp_network *n)
{
    const struct xfp_net_staged *s = &n->staged[0];

    assert_int_equal(n->path_count, 3);
    assert_true(n->paths[0].fit.valid && n->paths[0].fit.g_ns == 10);
    assert_int_equal(n->paths[0].points[1].bytes, 1001);
    assert_int_equal(n->paths[2].windows[0].messages, 64);
    assert_int_equal(n->paths[2].windows[0].count, 2);
    assert_true(n->paths[2].windows[0].ns[1] == 2600);
    assert_true(n->paths[2].points[0].ci_high_ns == 9999 && n->paths[2].points[0].n == 9);
    assert_int_equal(n->staged_count, 1);
    assert_int_equal(s->point_count, 3);
    assert_true(s->hybrid_bytes == 2048 && s->points[0].direct_ns == 500);
    assert_true(s->points[2].direct_ns == 0 && s->points[1].direct.ci_high_ns == 660);
    assert_true(s->points[0].posted_ns == 800 && s->points[0].posted.ci_low_ns == 750);
    assert_true(s->points[1].posted_ns == 0 && s->points[1].posted.n == 0);
    assert_int_equal(s->first_use_count, 2);
    assert_true(s->first_uses[0].rounds == 8 && s->first_uses[1].ns == 700);
    assert_int_equal(s->points[0].buffers, 8);
    assert_int_equal(s->cells[0].spread.n, 8);
    assert_true(n->collectives[0].bus_per_algbw == 1.5);
    assert_true(n->collectives[0].ranks == 4 && n->collectives[0].hosts == 2);
    assert_int_equal(n->collective_count, 2);
    assert_int_equal(n->collectives[1].ranks, 0);
    assert_int_equal(n->collectives[1].points[0].bytes, 0);
    assert_true(n->collectives[1].points[0].median_ns == 7);
    assert_int_equal(n->protocol_count, 2);
    assert_string_equal(n->protocols[0].protocol, "eager");
    assert_int_equal(n->protocols[0].last_bytes, 92);
    assert_int_equal(n->protocols[1].first_bytes, 93);
    assert_true(n->protocols[1].last_bytes == UINT64_MAX);
}

/* Of the pair, whichever of its ranks was asked first; a larger message takes what smaller ones do.
 */
static void first_messages_add_up(void **state)
{
    char error[256] = "";
    struct xfp_profile *p = parse(full, error, sizeof(error));

    for (int from = 0; from < 2; from++) {
        assert_true(xfp_net_first_use_ns(p, from, 1 - from, 1023) == 0);
        assert_true(xfp_net_first_use_ns(p, from, 1 - from, 1024) == 5000);
        assert_true(xfp_net_first_use_ns(p, from, 1 - from, 1 << 20) == 5700);
    }
    assert_true(xfp_net_first_use_ns(p, 0, 2, 1 << 20) == 0);
    xfp_free(p);
}

static void what_is_written_is_read(void **state)
{
    char error[256] = "", name[] = "/tmp/network_test.XXXXXX";
    struct xfp_profile *first = parse(full, error, sizeof(error)), *second;
    int fd = mkstemp(name);

    assert_string_equal(error, "");
    assert_non_null(first);
    check_ranks(first->network);
    check_figures(first->network);
    assert_int_equal(xfp_save(first, name, error, sizeof(error)), 0);
    second = xfp_read_file(name, error, sizeof(error));
    assert_string_equal(error, "");
    assert_non_null(second);
    check_ranks(second->network);
    check_figures(second->network);
    xfp_free(first);
    xfp_free(second);
    close(fd);
    unlink(name);
}

/* A size at which MPI is faster: what the ring wins below it does not count. */
static void the_rule_holds_from_there_on(void **state)
{
    const struct xfp_net_staged_point points[] = {{.bytes = 1, .adaptive_ns = 5, .direct_ns = 9},
                                                  {.bytes = 2, .adaptive_ns = 9, .direct_ns = 5},
                                                  {.bytes = 4, .adaptive_ns = 5, .direct_ns = 9}};

    assert_int_equal(xfp_net_hybrid_bytes(points, 3), 4);
    assert_int_equal(xfp_net_hybrid_bytes(points, 2), 0);
    assert_int_equal(xfp_net_hybrid_bytes(points, 1), 1);
}

static void questions(void **state)
{
    char error[256] = "";
    struct xfp_profile *p = parse(full, error, sizeof(error));
    const struct xfp_net_path *ping = xfp_net_find(p, XFP_NET_PING, 0, 1);
    const struct xfp_net_staged *staged = xfp_net_find_staged(p, 0, 1);

    assert_non_null(ping);
    assert_null(xfp_net_find(p, XFP_NET_PING, 1, 0));
    assert_null(xfp_net_find(p, XFP_NET_BOTH, 0, 1));
    /* the one that was measured under load stands first, and is not the answer */
    assert_string_equal(xfp_net_find(p, XFP_NET_STREAM, 0, 1)->name, "net/stream/rank0-rank1");
    assert_true(xfp_net_time(ping, 1001).basis == XFP_MEASURED);
    assert_true(fabs(xfp_net_time(ping, 501).ns - 350) < 1e-9); /* halfway */
    assert_true(xfp_net_time(ping, 2000).basis == XFP_MODELLED);
    assert_true(fabs(xfp_net_time(ping, 2000).ns - (100 + 2000 * 0.5)) < 1);
    assert_null(xfp_net_find_staged(p, 1, 0));
    assert_int_equal(xfp_net_staged_at(staged, 1)->bytes, 1024);
    assert_int_equal(xfp_net_staged_at(staged, 4095)->bytes, 2048);
    /* at 1024 MPI is faster, at 2048 the ring; at 4096 MPI was not measured */
    assert_int_equal(xfp_net_hybrid_bytes(staged->points, 3), 2048);
    assert_int_equal(xfp_net_hybrid_bytes(staged->points, 1), 0);
    /* nccl-tests: 2 (n - 1) / n, (n - 1) / n, 1 */
    assert_true(xfp_net_bus_factor("net/nccl/all-reduce", 4) == 1.5);
    assert_true(xfp_net_bus_factor("net/nccl/all-gather", 4) == 0.75);
    assert_true(xfp_net_bus_factor("net/nccl/reduce-scatter", 2) == 0.5);
    assert_true(xfp_net_bus_factor("net/nccl/send-recv", 4) == 1);
    assert_true(xfp_net_bus_factor("net/mpi/all-to-all", 4) == 0.75);
    assert_true(xfp_net_bus_factor("net/mpi/reduce", 4) == 1);
    assert_ptr_equal(xfp_net_find_collective(p->network, "mpi", XFT_MESSAGE_BARRIER),
                     &p->network->collectives[1]);
    assert_ptr_equal(xfp_net_find_collective(p->network, "nccl", XFT_MESSAGE_ALLREDUCE),
                     &p->network->collectives[0]);
    assert_null(xfp_net_find_collective(p->network, "mpi", XFT_MESSAGE_ALLREDUCE));
    assert_string_equal(xfp_net_operation_word(XFT_MESSAGE_RECV), "send-recv");
    xfp_free(p);
}

/* Collectives of some of the ranks: by what their names and their figures say, both. */
static void some_ranks(void **state)
{
    struct xfp_network network = {0};
    static const struct {
        const char *name;
        uint32_t ranks, hosts;
    } all[] = {{"net/mpi/barrier", 4, 2},
               {"net/mpi/barrier/ranks2-hosts1", 2, 1},
               {"net/mpi/barrier/ranks2-hosts2", 2, 1},
               {"net/mpi/barrier/ranks12-hosts2", 12, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct xfp_net_collective one = {
            .name = strdup(all[i].name), .ranks = all[i].ranks, .hosts = all[i].hosts};

        assert_int_equal(xfp_net_add_collective(&network, &one), 0);
    }
    assert_ptr_equal(xfp_net_find_collective(&network, "mpi", XFT_MESSAGE_BARRIER),
                     &network.collectives[0]);
    assert_ptr_equal(xfp_net_find_part(&network, "mpi", XFT_MESSAGE_BARRIER, 2, 1),
                     &network.collectives[1]);
    assert_ptr_equal(xfp_net_find_part(&network, "mpi", XFT_MESSAGE_BARRIER, 12, 2),
                     &network.collectives[3]);
    assert_null(xfp_net_find_part(&network, "mpi", XFT_MESSAGE_BARRIER, 2, 2));
    assert_null(xfp_net_find_part(&network, "nccl", XFT_MESSAGE_BARRIER, 2, 1));
    assert_null(xfp_net_find_part(&network, "mpi", XFT_MESSAGE_BARRIER, 4, 2));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(xfp_net_is_part(&network.collectives[i]), i % 2);
        free(network.collectives[i].name);
    }
    free(network.collectives);
}

static void merging(void **state)
{
    char error[256] = "";
    struct xfp_profile *p = parse(full, error, sizeof(error));
    struct xfp_profile *other = parse(full, error, sizeof(error));
    struct xfp_net_path *path = &other->network->paths[0];

    path->from = 7; /* the same name: replaces */
    free(other->network->paths[1].name);
    other->network->paths[1].name = strdup("net/stream/rank5-rank6"); /* new */
    assert_int_equal(xfp_net_merge(p->network, other->network), 0);
    assert_int_equal(other->network->path_count, 0);
    xfp_free(other);
    assert_int_equal(p->network->path_count, 4);
    assert_int_equal(p->network->paths[0].from, 7);
    assert_string_equal(p->network->paths[3].name, "net/stream/rank5-rank6");
    assert_int_equal(p->network->staged_count, 1);
    assert_int_equal(p->network->collective_count, 2);
    xfp_free(p);
}

/* The text with one part replaced. */
static void refused(const char *old, const char *new, const char *line)
{
    char error[256] = "", text[sizeof(full) + 200];
    const char *at = strstr(full, old);
    struct xfp_profile *p;

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - full), full, new, at + strlen(old));
    p = parse(text, error, sizeof(error));
    assert_null(p);
    if (!strstr(error, line))
        print_message("%s\n", error);
    assert_non_null(strstr(error, line));
}

static void what_is_refused(void **state)
{
    refused("\"shape\": \"ping\"", "\"shape\": \"pong\"", "network.paths[0].shape: not a word");
    refused("\"from\": 0", "\"from\": -1", "network.paths[0].from");
    refused("\"bytes\": 1001", "\"bytes\": 1", "network.paths[0].points: sizes must ascend");
    refused("\"min_ns\": 1,", "\"min_ns\": 101,",
            "network.paths[0].points[0].median_ns: not within");
    refused("[2560, 2600]", "[2560, 0]", "network.paths[2].points[0].windows_ns: not times");
    refused("\"crashed\"", "\"exploded\"", "network.ranks[0].direct: not a word");
    refused("\"bytes\": 4096, \"ns\": 700", "\"bytes\": 1024, \"ns\": 700",
            "network.staged[0].first_uses: sizes must ascend");
    refused("\"ns\": 700", "\"ns\": -1", "network.staged[0].first_uses[1].ns");
    refused("\"posted_ns\": 800", "\"posted_ns\": 950",
            "network.staged[0].points[0].median_ns: not within its limits");
    refused("\"buffers\": 8", "\"buffers\": 0", "network.staged[0].points[0].buffers");
    refused("\"name\": \"net-loaded/stream/rank0-rank1\"", "\"name\": \"net/ping/rank0-rank1\"",
            "a name that is there twice");
    refused("\"mtu\": 9000}]", "\"mtu\": 9000}, 3]", "network.ranks[0].interfaces[1]: must be");
    refused("\"last_bytes\": 92", "\"last_bytes\": -2", "network.protocols[0].last_bytes");
    refused("\"first_bytes\": 0", "\"first_bytes\": 93", "is below first_bytes");
    refused("{\"mpi\"", "7, \"x\": {\"mpi\"", "network: must be an object");
}

static void none(void **state)
{
    char error[256] = "";
    struct xfp_profile *p = parse(HEAD "}", error, sizeof(error));

    assert_null(p->network);
    assert_null(xfp_net_find(p, XFP_NET_PING, 0, 1));
    assert_null(xfp_net_find_staged(p, 0, 1));
    xfp_free(p);
}

/* A path of ranks that are bound to nodes says so, and answers for no others. */
static void bound_to_nodes(void **state)
{
    static const char text[] =
        HEAD ", \"network\": {\"paths\": [{\"name\": \"net/stream/rank0-rank1/node1-node0\", "
             "\"shape\": \"stream\", \"from\": 0, \"to\": 1, \"from_node\": 1, \"to_node\": -1, "
             "\"points\": [" POINT(4096, 40, "") "]}]}}";
    char error[256] = "", *written = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&written, &bytes);
    struct xfp_profile *p = parse(text, error, sizeof(error));

    assert_string_equal(error, "");
    assert_true(p->network->paths[0].bound);
    assert_int_equal(p->network->paths[0].from_node, 1);
    assert_int_equal(p->network->paths[0].to_node, -1);
    assert_null(xfp_net_find(p, XFP_NET_STREAM, 0, 1));
    assert_int_equal(xfp_write_json(p, out), 0);
    fclose(out);
    assert_non_null(strstr(written, "\"from_node\": 1, \"to_node\": -1"));
    free(written);
    xfp_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(first_messages_add_up),
        cmocka_unit_test(questions),
        cmocka_unit_test(the_rule_holds_from_there_on),
        cmocka_unit_test(merging),
        cmocka_unit_test(some_ranks),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(none),
        cmocka_unit_test(bound_to_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
