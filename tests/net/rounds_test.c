/*
 * The tournament of ranks: every pair once, and no two of a round on one host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "probe/net/direct.h"
#include "probe/net/interfaces.h"
#include "probe/net/rounds.h"

enum { MOST = 24 };

static void check(int ranks, const int *hosts, bool loaded, int rounds)
{
    struct xfp_net_rounds r;
    int met[MOST][MOST] = {{0}}, last = -1;
    bool busy[MOST] = {0};

    assert_int_equal(xfp_net_make_rounds(ranks, hosts, loaded, &r), 0);
    assert_int_equal(r.count, ranks * (ranks - 1) / 2);
    for (size_t i = 0; i < r.count; i++) {
        const struct xfp_net_pair *p = &r.pairs[i];

        assert_true(p->a < p->b && p->b < ranks && p->a >= 0);
        assert_true(p->round >= last && p->round < r.rounds);
        met[p->a][p->b]++;
        if (p->round != last)
            memset(busy, 0, sizeof(busy));
        last = p->round;
        if (loaded)
            continue;
        assert_false(busy[hosts[p->a]] || (hosts[p->a] != hosts[p->b] && busy[hosts[p->b]]));
        busy[hosts[p->a]] = busy[hosts[p->b]] = true;
    }
    for (int a = 0; a < ranks; a++)
        for (int b = a + 1; b < ranks; b++)
            assert_int_equal(met[a][b], 1);
    if (rounds)
        assert_int_equal(r.rounds, rounds);
    assert_int_equal(last, r.rounds - 1);
    free(r.pairs);
}

/* A host for each rank: the fewest rounds there can be. */
static void a_host_each(void **state)
{
    int hosts[MOST];

    for (int i = 0; i < MOST; i++)
        hosts[i] = i;
    for (int ranks = 2; ranks <= MOST; ranks++)
        check(ranks, hosts, false, ranks % 2 ? ranks : ranks - 1);
}

static void several_on_a_host(void **state)
{
    static const int two_hosts[] = {0, 0, 2, 2}, one_host[] = {0, 0, 0};
    int hosts[MOST];

    check(4, two_hosts, false, 5); /* 0-1 beside 2-3, and four between the hosts */
    check(3, one_host, false, 3);
    check(4, two_hosts, true, 3); /* loaded: two pairs at once each time */
    for (int each = 2; each <= 4; each++)
        for (int ranks = 2; ranks <= MOST; ranks++) {
            for (int i = 0; i < ranks; i++)
                hosts[i] = i / each * each;
            check(ranks, hosts, false, 0);
            check(ranks, hosts, true, ranks % 2 ? ranks : ranks - 1);
        }
}

static void counters(void **state)
{
    static const char text[] =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
        "    lo: 7 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0\n"
        "  eth0:123456789012 5 0 0 0 0 0 0 987654321098 6 0 0 0 0 0 0\n"
        " short: 1 2 3\n"
        "a-very-long-name-that-no-interface-has-in-linux: 1 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0";
    struct xfp_net_port ports[8];

    assert_int_equal(xfp_net_parse_counters(text, ports, 8), 3);
    assert_string_equal(ports[0].name, "lo");
    assert_true(ports[0].sent == 70);
    assert_string_equal(ports[1].name, "eth0");
    assert_true(ports[1].sent == 987654321098);
    assert_int_equal(strlen(ports[2].name), XFP_NET_NAME_BYTES - 1);
    assert_int_equal(xfp_net_parse_counters(text, ports, 1), 1);
    assert_int_equal(xfp_net_parse_counters("", ports, 8), 0);
}

static void the_port_that_was_used(void **state)
{
    struct xfp_net_port before[] = {{.name = "lo", .sent = 100}, {.name = "eth0", .sent = 1000}};
    struct xfp_net_port after[] = {
        {.name = "eth0", .sent = 1600}, {.name = "new", .sent = 9000}, {.name = "lo", .sent = 160}};

    assert_string_equal(xfp_net_used_port(before, 2, after, 3, 600), "eth0");
    assert_string_equal(xfp_net_used_port(before, 2, after, 3, 1199), "eth0"); /* half of it */
    assert_string_equal(xfp_net_used_port(before, 2, after, 3, 1200), "");
    after[2].sent = 900; /* more than eth0 */
    assert_string_equal(xfp_net_used_port(before, 2, after, 3, 600), "lo");
    after[2].sent = 50; /* a counter that began anew */
    assert_string_equal(xfp_net_used_port(before, 2, after, 3, 600), "eth0");
}

/* A crash is an answer, whatever status MPI's own handler of signals ends with. */
static void ends_of_the_child(void **state)
{
    assert_int_equal(xfp_net_direct_of(11, true), XFP_NET_CRASHED); /* SIGSEGV */
    assert_int_equal(xfp_net_direct_of(9, true), XFP_NET_CRASHED);
    assert_int_equal(xfp_net_direct_of(1 << 8, true), XFP_NET_CRASHED); /* MPI_Abort */
    assert_int_equal(xfp_net_direct_of(0, true), XFP_NET_CRASHED);
    assert_int_equal(xfp_net_direct_of(40 << 8, true), XFP_NET_TAKEN);
    assert_int_equal(xfp_net_direct_of(41 << 8, true), XFP_NET_REFUSED);
    assert_int_equal(xfp_net_direct_of(42 << 8, true), XFP_NET_WRONG);
    assert_int_equal(xfp_net_direct_of(43 << 8, true), XFP_NET_NOT_TRIED);
    /* one whose MPI does not start alone has not tried anything */
    assert_int_equal(xfp_net_direct_of(11, false), XFP_NET_NOT_TRIED);
    assert_int_equal(xfp_net_direct_of(1 << 8, false), XFP_NET_NOT_TRIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_each),       cmocka_unit_test(several_on_a_host),
        cmocka_unit_test(counters),          cmocka_unit_test(the_port_that_was_used),
        cmocka_unit_test(ends_of_the_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
