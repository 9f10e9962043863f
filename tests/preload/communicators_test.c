/* Communicators: what is known of them, and what their processes call the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/own_stack.h"
#include "preload/messages/communicators.h"
#include "preload/messages/message.h"
#include "preload/record/clock.h"
#include "preload/record/events.h"

/* ---- an MPI of this process: communicators are lists of ranks -------------------------------- */

enum { WORLD_RANKS = 3000, MOST = 4 };
static struct {
    int size, rank, ranks[WORLD_RANKS];
    bool inter;
} comms[MOST]; /* handle: 0x100 + index; 0 is MPI_COMM_WORLD; groups have the same handles */

static int size_of(xfs_word comm, int *size)
{
    *size = comms[comm - 0x100].size;
    return 0;
}

static int rank_of(xfs_word comm, int *rank)
{
    *rank = comms[comm - 0x100].rank;
    return 0;
}

static int is_inter(xfs_word comm, int *flag)
{
    *flag = comms[comm - 0x100].inter;
    return 0;
}

static int group_of(xfs_word comm, void *group)
{
    *(uint32_t *)group = (uint32_t)comm;
    return 0;
}

static int translate(xfs_word from, int count, const int *ranks, xfs_word to, int *found)
{
    assert_int_equal(to, 0x100);
    for (int i = 0; i < count; i++)
        found[i] = comms[from - 0x100].ranks[ranks[i]];
    return 0;
}

static int group_free(void *group)
{
    return 0;
}

static const struct xfs_mpi mpi = {.handle_bits = UINT32_MAX,
                                   .world = 0x100,
                                   .self = 0xff,
                                   .no_comm = 0x99,
                                   .comm_size = size_of,
                                   .comm_rank = rank_of,
                                   .comm_is_inter = is_inter,
                                   .comm_group = group_of,
                                   .translate = translate,
                                   .group_free = group_free};

const struct xfs_mpi *xfs_mpi_here(const void *caller)
{
    return &mpi;
}

bool xfs_messages_wanted(void)
{
    return true;
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static struct xft_event written;
static unsigned count;
static char list[XFT_NAME_MOST + 1];

void xfs_event_write(const struct xft_event *event)
{
    written = *event;
    count++;
}

uint32_t xfs_name(const char *text, size_t bytes)
{
    assert_true(bytes <= XFT_NAME_MOST);
    memcpy(list, text, bytes);
    list[bytes] = '\0';
    return 77;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    work(argument);
    return true;
}

uint64_t xfs_now_ns(void)
{
    return 5;
}

static int begin(void **state)
{
    memset(comms, 0, sizeof comms);
    for (int i = 0; i < WORLD_RANKS; i++)
        comms[0].ranks[i] = i;
    comms[0].size = 8;
    count = 0;
    xfs_communicators_after_fork();
    return 0;
}

static void set(int i, int size, const int *ranks)
{
    comms[i].size = size;
    memcpy(comms[i].ranks, ranks, (size_t)size * sizeof *ranks);
}

static uint32_t number_of(xfs_word comm)
{
    struct xfs_communicator *known = xfs_mpi_communicator(&mpi, comm);
    assert_non_null(known);
    const struct xft_event message = {.call = 9, .start_ns = 1234, .end_ns = 5678};
    return xfs_communicator_number(known, &message, xfs_mpi_ranks, &mpi);
}

static void made(uint32_t handle)
{
    xfs_mpi_made_from(&handle, NULL);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void the_world(void **state)
{
    comms[0].rank = 3;
    assert_int_equal(number_of(0x100), 1);
    assert_int_equal(number_of(0x100), 1);
    assert_int_equal(count, 1);
    assert_int_equal(written.kind, XFT_EVENT_COMMUNICATOR);
    assert_int_equal(written.count, 1);
    assert_int_equal(written.width, 8);
    assert_int_equal(written.src, 3);
    assert_int_equal(written.dst, 77);
    assert_int_equal(written.call, 9);
    assert_int_equal(written.start_ns, 1234); /* the message's: it is not behind it */
    assert_int_equal(written.end_ns, 1234);
    assert_int_not_equal(written.aux, 0);
    assert_string_equal(list, "0-7");
}

static void lists(void **state)
{
    set(1, 6, (int[]){0, 1, 2, 3, 7, 5});
    number_of(0x101);
    assert_string_equal(list, "0-3,7,5");
    assert_int_equal(written.aux, 0); /* where it comes from was not seen */
    set(2, 1, (int[]){4});
    number_of(0x102);
    assert_string_equal(list, "4");
    comms[3].size = 2000; /* longer than a name: cut behind a comma */
    for (int i = 0; i < 2000; i++)
        comms[3].ranks[i] = WORLD_RANKS - 1 - i;
    number_of(0x103);
    assert_in_range(strlen(list), XFT_NAME_MOST - 5, XFT_NAME_MOST);
    assert_int_equal(list[strlen(list) - 1], ',');
    assert_int_equal(strncmp(list, "2999,2998,", 10), 0);
}

/* Equal ranks in an equal order are distinguished by when they were made. */
static void twins(void **state)
{
    uint64_t ids[4];
    for (int i = 1; i < 4; i++)
        set(i, 2, i == 3 ? (int[]){1, 0} : (int[]){0, 1});
    comms[0].size = 2;
    for (uint32_t i = 1; i < 4; i++)
        made(0x100 + i);
    for (unsigned i = 0; i < 4; i++) {
        number_of(0x100 + i);
        ids[i] = written.aux;
        assert_int_not_equal(ids[i], 0);
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(ids[i], ids[j]);
    }
    xfs_communicators_after_fork(); /* as in another process, which uses them in another order */
    for (uint32_t i = 1; i < 4; i++)
        made(0x100 + i);
    for (unsigned i = 4; i-- > 0;) {
        number_of(0x100 + i);
        assert_int_equal(written.aux, ids[i]);
    }
}

/* A handle that was freed is another one's. */
static void freed(void **state)
{
    uint32_t handle = 0x101;
    set(1, 2, (int[]){0, 1});
    made(handle);
    assert_int_equal(number_of(handle), 1);
    xfs_mpi_gone_from(&handle, NULL);
    assert_null(xfs_communicator_find(handle));
    set(1, 3, (int[]){4, 5, 6});
    assert_int_equal(number_of(handle), 2);
    assert_string_equal(list, "4-6");
}

static void between_groups(void **state)
{
    set(1, 2, (int[]){0, 1});
    comms[1].inter = true;
    made(0x101);
    assert_int_equal(number_of(0x101), 0);
    assert_int_equal(count, 0);
}

static void windows(void **state)
{
    uint32_t window = 0x500;
    xfs_mpi_window_made_from(&window, 0x100, NULL);
    struct xfs_communicator *known = xfs_communicator_find(0x500);
    assert_non_null(known);
    assert_ptr_equal(atomic_load(&known->of), xfs_communicator_find(0x100));
}

static void no_room(void **state)
{
    unsigned kept = 0;
    for (uintptr_t handle = 0x1000; handle < 0x1000 + 4000 * 64; handle += 64)
        kept += xfs_communicator_add(handle, &(struct xfs_communicator){.size = 1}) != NULL;
    assert_in_range(kept, 900, 1024);
    made(0x99); /* MPI_COMM_NULL */
    assert_null(xfs_communicator_find(0x99));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_world),      TEST(lists),   TEST(twins),   TEST(freed),
        TEST(between_groups), TEST(windows), TEST(no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
