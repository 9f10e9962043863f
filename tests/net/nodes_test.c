/* Which NUMA nodes of two ranks are measured with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe/net/nodes.h"

static struct xfp_net_nodes nodes(int count)
{
    struct xfp_net_nodes nodes = {.count = count, .all = {-1}};

    for (int i = 0; count > 1 && i < count; i++)
        nodes.all[i] = 10 + i;
    return nodes;
}

static size_t pairs_of(int own, int peers, struct xfp_net_node_pair *pairs)
{
    const struct xfp_net_nodes a = nodes(own), b = nodes(peers);

    return xfp_net_node_pairs(&a, &b, pairs);
}

static void few(void **state)
{
    static const struct xfp_net_node_pair all[] = {{10, 10}, {10, 11}, {10, 12},
                                                   {11, 10}, {11, 11}, {11, 12}};
    struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS];

    (void)state;
    assert_int_equal(pairs_of(1, 1, pairs), 0);
    assert_int_equal(pairs_of(2, 3, pairs), 6);
    assert_memory_equal(pairs, all, sizeof(all));
    assert_int_equal(pairs_of(1, 2, pairs), 2);
    assert_int_equal(pairs[1].own, -1);
    assert_int_equal(pairs[1].peers, 11);
    assert_int_equal(pairs_of(4, 4, pairs), 16);
}

/* Each node once, though not with each other one. */
static void many(void **state)
{
    struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS];
    unsigned own = 0, peers = 0;

    (void)state;
    assert_int_equal(pairs_of(8, 3, pairs), 8);
    for (int i = 0; i < 8; i++) {
        own |= 1u << (pairs[i].own - 10);
        peers |= 1u << (pairs[i].peers - 10);
    }
    assert_int_equal(own, 0xff);
    assert_int_equal(peers, 0x7);
    assert_int_equal(pairs_of(64, 64, pairs), XFP_NET_MOST_NODE_PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few), cmocka_unit_test(many)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
