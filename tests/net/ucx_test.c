/*
 * The tables that UCX writes of its protocols, read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "probe/net/ucx.h"

#define LINE "[1795730631.892335] [vm:18160:0]   "
#define EDGE LINE "+-----+-----+-----+\n"

static struct xfp_net_ucx_row rows[8];

static size_t parse(const char *text)
{
    memset(rows, 0, sizeof(rows));
    return xfp_net_ucx_parse(text, rows, 8, NULL);
}

static void a_table(void **state)
{
    size_t count =
        parse(EDGE LINE "| 0x55 ep_cfg[1] | tagged message from host memory |\n" EDGE LINE
                        "|    0..92 | eager short    | sysv/memory |\n" LINE
                        "| 93..64K | (?) rendezvous | cma/memory |\n" LINE
                        "| 65537..inf | last | tcp/eth0 |\n" EDGE);

    assert_int_equal(count, 3);
    assert_string_equal(rows[0].messages, "tagged message from host memory");
    assert_string_equal(rows[0].protocol, "eager short");
    assert_string_equal(rows[0].transport, "sysv/memory");
    assert_int_equal(rows[0].last_bytes, 92);
    assert_string_equal(rows[1].protocol, "rendezvous");
    assert_int_equal(rows[1].first_bytes, 93);
    assert_int_equal(rows[1].last_bytes, 65536);
    assert_true(rows[2].last_bytes == UINT64_MAX);
}

/* A second endpoint of the same kind says the same. */
static void rows_that_are_known(void **state)
{
#define TABLE LINE "| 0x1 ep_cfg[1] | tagged |\n" LINE "| 0..inf | eager | sysv/memory |\n"
    assert_int_equal(parse(TABLE TABLE), 1);
    assert_int_equal(
        parse(TABLE LINE "| 0x1 ep_cfg[1] | other |\n" LINE "| 0..inf | eager | sysv/memory |\n"),
        2);
}

/* All of a table one of whose rows shows that it is of messages to the process itself. */
static void messages_to_itself(void **state)
{
    static const char itself[] =
        LINE "| 0x1 ep_cfg[0] | tagged |\n" LINE "| 0..10 | eager | self/memory0 |\n" LINE
             "| 11..inf | rendezvous | cma/memory |\n";
    char both[2000];

    assert_int_equal(parse(itself), 0);
    snprintf(both, sizeof(both), "%s%s", TABLE, itself);
    assert_int_equal(parse(both), 1);
    snprintf(both, sizeof(both), "%s%s", itself, TABLE);
    assert_int_equal(parse(both), 1);
    assert_string_equal(rows[0].transport, "sysv/memory");
}

/* Other lines are left to whom they were meant for; rows that say nothing sensible are none. */
static void what_is_no_table(void **state)
{
    char *said = NULL;
    size_t bytes = 0;
    FILE *rest = open_memstream(&said, &bytes);
    size_t count = xfp_net_ucx_parse(
        "[1.0] [vm:1:0] UCX  WARN  odd\n"
        "|\n||\n+\n[\n[x\n[x]\n[x] [y\n\n" LINE "| 0..1 | before | a title |\n" LINE
        "| k | tagged |\n" LINE "| 9..3 | falls | tcp |\n" LINE
        "| 1..99999999999999999999K | large | tcp |\n" LINE "| 1... | dots | tcp |\n" LINE
        "| 1..2x | tail | tcp |\n" LINE "| 1..2 | good | tcp |",
        rows, 8, rest);

    fclose(rest);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].protocol, "good");
    assert_string_equal(said, "[1.0] [vm:1:0] UCX  WARN  odd\n[\n[x\n[x]\n[x] [y\n");
    free(said);
}

static void as_many_as_there_is_room_for(void **state)
{
    char text[4000] = LINE "| k | tagged |\n";

    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), LINE "| %d..%d | p | t |\n", i,
                 i);
    assert_int_equal(parse(text), 8);
    assert_int_equal(rows[7].first_bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table),
        cmocka_unit_test(rows_that_are_known),
        cmocka_unit_test(messages_to_itself),
        cmocka_unit_test(what_is_no_table),
        cmocka_unit_test(as_many_as_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
