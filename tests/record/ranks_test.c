/* Ranks: what is taken from the variables of launchers, alone, within each other, and malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/record/ranks.h"

#define MOST 24

/* NAME=VALUE, as in environ. */
static const char *const *now_entries, *const *first_entries;
static const char *const none[] = {NULL};

static const char *look(const char *const *entries, const char *name)
{
    size_t bytes = strlen(name);
    for (; *entries; entries++)
        if (strncmp(*entries, name, bytes) == 0 && (*entries)[bytes] == '=')
            return *entries + bytes + 1;
    return NULL;
}

static const char *get_now(const char *name)
{
    return look(now_entries, name);
}

static const char *get_first(const char *name)
{
    return look(first_entries, name);
}

static const struct xfs_rank *choose(const char *const *now, const char *const *first)
{
    static struct xfs_rank rank;
    now_entries = now;
    first_entries = first;
    memset(&rank, 0xaa, sizeof rank);
    xfs_rank_choose(get_now, get_first, &rank);
    return &rank;
}

/* "launcher rank/size local/local_size node world !senseless", what is not known as -. */
static const char *text_of(const struct xfs_rank *r)
{
    static char line[1024];
    const int32_t counts[] = {r->rank, r->size, r->local, r->local_size, r->node};
    char texts[5][16];
    for (size_t i = 0; i < 5; i++)
        snprintf(texts[i], sizeof texts[i], counts[i] < 0 ? "-" : "%d", (int)counts[i]);
    snprintf(line, sizeof line, "%s %s/%s %s/%s %s %s%s%s", r->launcher ? r->launcher : "-",
             texts[0], texts[1], texts[2], texts[3], texts[4], r->world[0] ? r->world : "-",
             r->senseless ? " !" : "", r->senseless ? r->senseless : "");
    return line;
}

#define NOBODY "- -/- -/- - -"

#define SLURM(id, tasks, local, node)                                                              \
    "SLURM_JOB_ID=17", "SLURM_STEP_ID=2", "SLURM_PROCID=" id, "SLURM_STEP_NUM_TASKS=" tasks,       \
        "SLURM_LOCALID=" local, "SLURM_NODEID=" node
#define TORCHRUN(rank, size, local, local_size, node)                                              \
    "RANK=" rank, "WORLD_SIZE=" size, "LOCAL_RANK=" local, "LOCAL_WORLD_SIZE=" local_size,         \
        "GROUP_RANK=" node, "TORCHELASTIC_RUN_ID=none", "TORCHELASTIC_RESTART_COUNT=0"
#define OPENMPI(rank, size, local, local_size)                                                     \
    "OMPI_COMM_WORLD_RANK=" rank, "OMPI_COMM_WORLD_SIZE=" size,                                    \
        "OMPI_COMM_WORLD_LOCAL_RANK=" local, "OMPI_COMM_WORLD_LOCAL_SIZE=" local_size
#define HYDRA(rank, size, local, local_size)                                                       \
    "PMI_RANK=" rank, "PMI_SIZE=" size, "MPI_LOCALRANKID=" local, "MPI_LOCALNRANKS=" local_size

struct row {
    const char *entries[MOST];
    const char *expected;
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(text_of(choose(rows[i].entries, none)), rows[i].expected);
        /* The same when the program has cleaned its environment since. */
        assert_string_equal(text_of(choose(none, rows[i].entries)), rows[i].expected);
    }
}

#define CHECK(rows) check_rows(rows, sizeof rows / sizeof *rows)

static void test_each_launcher(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{NULL}, NOBODY},
        {{SLURM("5", "8", "1", "2"), "SLURM_STEP_TASKS_PER_NODE=2(x4)"}, "slurm 5/8 1/2 2 17.2"},
        {{SLURM("6", "7", "0", "3"), "SLURM_STEP_TASKS_PER_NODE=2(x3),1"}, "slurm 6/7 0/1 3 17.2"},
        {{SLURM("2", "7", "1", "1"), "SLURM_STEP_TASKS_PER_NODE=1,2,4"}, "slurm 2/7 1/2 1 17.2"},
        {{SLURM("3", "4", "3", "0"), "SLURM_STEP_TASKS_PER_NODE=4"}, "slurm 3/4 3/4 0 17.2"},
        {{"SLURM_JOBID=17", "SLURM_STEPID=0", "SLURM_PROCID=1", "SLURM_NTASKS=2"},
         "slurm 1/2 -/- - 17.0"},
        {{OPENMPI("3", "8", "1", "2"), "OMPI_COMM_WORLD_NODE_RANK=1", "PMIX_NAMESPACE=prterun-a-1",
          "PMIX_RANK=3"},
         "openmpi 3/8 1/2 - prterun-a-1"},
        {{HYDRA("2", "4", "0", "2")}, "pmi 2/4 0/2 - -"},
        {{"PMI_RANK=2", "PMI_SIZE=4", "PMI_LOCAL_RANK=0", "PMI_LOCAL_SIZE=2", "PMI_JOBID=a-b"},
         "pmi 2/4 0/2 - a-b"},
        {{"MV2_COMM_WORLD_RANK=2", "MV2_COMM_WORLD_SIZE=4", "MV2_COMM_WORLD_LOCAL_RANK=0",
          "MV2_COMM_WORLD_LOCAL_SIZE=2"},
         "mvapich 2/4 0/2 - -"},
        {{"PMIX_NAMESPACE=prte-1@2", "PMIX_RANK=4"}, "pmix 4/- -/- - prte-1@2"},
        {{TORCHRUN("5", "8", "1", "4", "1")}, "torchrun 5/8 1/4 1 none.0"},
        {{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_SIZE=4", "CROSS_RANK=1"},
         "env 5/8 1/4 1 -"},
        {{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "NODE_RANK=1"},
         "env 5/8 1/4 1 -"},
    };
    CHECK(rows);
}

static void test_without_a_rank(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=4", "SLURM_TASKS_PER_NODE=4"}, NOBODY}, /* salloc */
        {{"SLURM_JOB_ID=17", "SLURM_NTASKS=4", "SLURM_PROCID=0", "SLURM_LOCALID=0"}, NOBODY},
        {{"SLURM_JOB_ID=17", "SLURM_STEP_ID=4294967291", "SLURM_PROCID=0", "SLURM_NTASKS=4"},
         NOBODY}, /* sbatch */
        {{"SLURM_JOB_ID=17", "SLURM_STEP_ID=4294967290", "SLURM_PROCID=0",
          "SLURM_STEP_NUM_TASKS=1"},
         NOBODY}, /* salloc's own shell */
        {{"RANK=3"}, NOBODY},
        {{"RANK=3", "WORLD_SIZE="}, NOBODY},
        {{"RANK=", "WORLD_SIZE=4"}, NOBODY},
        {{"WORLD_SIZE=4", "MASTER_ADDR=a"}, NOBODY},
        {{"PMIX_RANK=3"}, NOBODY},
        {{"TORCHELASTIC_RUN_ID=1"}, NOBODY},
    };
    CHECK(rows);
}

static void test_the_innermost(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* torchrun started by srun, by mpirun */
        {{SLURM("1", "2", "0", "1"), TORCHRUN("6", "8", "2", "4", "1")},
         "torchrun 6/8 2/4 1 none.0"},
        {{OPENMPI("1", "2", "0", "1"), TORCHRUN("6", "8", "2", "4", "1")},
         "torchrun 6/8 2/4 1 none.0"},
        {{SLURM("0", "1", "0", "0"), "RANK=0", "WORLD_SIZE=1", "TORCHELASTIC_RUN_ID=17",
          "TORCHELASTIC_RESTART_COUNT=2"},
         "torchrun 0/1 -/- - 17.2"},
        /* mpirun's daemon is a task of Slurm */
        {{SLURM("0", "1", "0", "0"), OPENMPI("5", "8", "1", "4"), "PMIX_NAMESPACE=3",
          "PMIX_RANK=5"},
         "openmpi 5/8 1/4 - 3"},
        {{SLURM("0", "1", "0", "0"), HYDRA("5", "8", "1", "4")}, "pmi 5/8 1/4 - -"},
        {{"SLURM_JOB_ID=17", "SLURM_PROCID=0", "SLURM_NTASKS=8", OPENMPI("0", "8", "0", "4")},
         "openmpi 0/8 0/4 - -"},
        {{HYDRA("0", "1", "0", "1"), OPENMPI("5", "8", "1", "4")}, "openmpi 5/8 1/4 - -"},
        /* srun --mpi=pmix, --mpi=pmi2: the step's own, with what they do not tell */
        {{SLURM("5", "8", "1", "2"), "PMIX_RANK=5", "PMIX_NAMESPACE=slurm.pmix.17.2"},
         "slurm 5/8 1/- 2 17.2"},
        {{SLURM("5", "8", "1", "2"), "PMI_RANK=5", "PMI_SIZE=8", "PMI_JOBID=17.2"},
         "slurm 5/8 1/- 2 17.2"},
        {{SLURM("5", "8", "1", "2"), OPENMPI("5", "8", "1", "2"), "PMIX_RANK=5",
          "PMIX_NAMESPACE=slurm.pmix.17.2"},
         "slurm 5/8 1/- 2 17.2"},
        /* and not another step's, nor what mpirun started in it */
        {{SLURM("5", "8", "1", "2"), "PMIX_RANK=5", "PMIX_NAMESPACE=slurm.pmix.117.2"},
         "pmix 5/- -/- - slurm.pmix.117.2"},
        {{SLURM("0", "1", "0", "0"), OPENMPI("0", "4", "0", "4"), "PMIX_RANK=0",
          "PMIX_NAMESPACE=slurm.pmix.17.2"},
         "openmpi 0/4 0/4 - slurm.pmix.17.2"},
        /* a launcher of one's own in each task; a script that has set them once for all */
        {{SLURM("1", "2", "0", "1"), "RANK=6", "WORLD_SIZE=8", "LOCAL_RANK=2"}, "env 6/8 2/- - -"},
        {{SLURM("5", "8", "1", "2"), "RANK=0", "WORLD_SIZE=8", "LOCAL_RANK=0"},
         "slurm 5/8 1/- 2 17.2"},
        {{OPENMPI("5", "8", "1", "4"), "RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1"},
         "openmpi 5/8 1/4 - -"},
        {{SLURM("0", "1", "0", "0"), HYDRA("5", "8", "1", "4"), "RANK=5", "WORLD_SIZE=8"},
         "pmi 5/8 1/4 - -"},
    };
    CHECK(rows);
}

static void test_senseless(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{OPENMPI("-1", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("three", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("3 ", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI(" 3", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("0x3", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("3.0", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("2147483648", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("99999999999999999999999999", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("8", "8", "1", "4")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("0", "0", "0", "1")}, NOBODY " !OMPI_COMM_WORLD_RANK"},
        {{OPENMPI("3", "-8", "1", "4")}, "openmpi 3/- 1/4 - - !OMPI_COMM_WORLD_SIZE"},
        {{OPENMPI("3", "", "1", "4")}, "openmpi 3/- 1/4 - -"},
        {{OPENMPI("3", "8", "x", "4")}, "openmpi 3/8 -/4 - - !OMPI_COMM_WORLD_LOCAL_RANK"},
        {{OPENMPI("3", "8", "4", "4")}, "openmpi 3/8 -/- - - !OMPI_COMM_WORLD_LOCAL_SIZE"},
        {{OPENMPI("3", "8", "1", "9")}, "openmpi 3/8 -/- - - !OMPI_COMM_WORLD_LOCAL_SIZE"},
        {{OPENMPI("3", "8", "1", "4,")}, "openmpi 3/8 1/- - - !OMPI_COMM_WORLD_LOCAL_SIZE"},
        {{OPENMPI("2147483646", "2147483647", "1", "4")}, "openmpi 2147483646/2147483647 1/4 - -"},
        {{"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=", "PMI_LOCAL_RANK=one"},
         "pmi 1/2 -/- - - !PMI_LOCAL_RANK"},
        /* the next one out is asked */
        {{SLURM("1", "2", "0", "1"), OPENMPI("x", "8", "1", "4")},
         "slurm 1/2 0/- 1 17.2 !OMPI_COMM_WORLD_RANK"},
        {{SLURM("1", "2", "0", "1"), TORCHRUN("9", "8", "1", "4", "0")},
         "slurm 1/2 0/- 1 17.2 !RANK"},
        {{"RANK=x", "WORLD_SIZE=4"}, NOBODY " !RANK"},
        {{"RANK=1", "WORLD_SIZE=x"}, NOBODY " !WORLD_SIZE"},
        /* lists of tasks */
        {{SLURM("1", "8", "1", "0"), "SLURM_STEP_TASKS_PER_NODE=2(x4"},
         "slurm 1/8 1/- 0 17.2 !SLURM_STEP_TASKS_PER_NODE"},
        {{SLURM("1", "8", "1", "0"), "SLURM_STEP_TASKS_PER_NODE=2(x"},
         "slurm 1/8 1/- 0 17.2 !SLURM_STEP_TASKS_PER_NODE"},
        {{SLURM("1", "8", "1", "0"), "SLURM_STEP_TASKS_PER_NODE=2(4)"},
         "slurm 1/8 1/- 0 17.2 !SLURM_STEP_TASKS_PER_NODE"},
        {{SLURM("1", "8", "1", "4"), "SLURM_STEP_TASKS_PER_NODE=2(x4)"},
         "slurm 1/8 1/- 4 17.2 !SLURM_STEP_TASKS_PER_NODE"},
        {{SLURM("1", "8", "1", "2"), "SLURM_STEP_TASKS_PER_NODE=4,,4"},
         "slurm 1/8 1/- 2 17.2 !SLURM_STEP_TASKS_PER_NODE"},
        {{SLURM("1", "8", "1", "2"), "SLURM_STEP_TASKS_PER_NODE=4,4,"},
         "slurm 1/8 1/- 2 17.2 !SLURM_STEP_TASKS_PER_NODE"},
    };
    CHECK(rows);
}

static void test_too_long(void **state)
{
    (void)state;
    static char entry[XFS_RANK_TEXT_BYTES + 32], digits[XFS_RANK_TEXT_BYTES + 32];
    const char *entries[] = {"PMIX_RANK=1", entry, NULL};
    int start = snprintf(entry, sizeof entry, "PMIX_NAMESPACE=");
    memset(entry + start, 'n', XFS_RANK_TEXT_BYTES - 1);
    assert_int_equal(strlen(choose(entries, none)->world), XFS_RANK_TEXT_BYTES - 1);
    entry[start + XFS_RANK_TEXT_BYTES - 1] = 'n';
    assert_string_equal(text_of(choose(entries, none)), "pmix 1/- -/- - - !PMIX_NAMESPACE");
    const char *zeros[] = {digits, "PMIX_NAMESPACE=n", NULL};
    start = snprintf(digits, sizeof digits, "PMIX_RANK=");
    memset(digits + start, '0', XFS_RANK_TEXT_BYTES);
    digits[start + XFS_RANK_TEXT_BYTES] = '7';
    assert_string_equal(text_of(choose(zeros, none)), "pmix 7/- -/- - n");
}

/* What the program has set for itself since it was loaded goes first; launcher by launcher. */
static void test_now_and_first(void **state)
{
    (void)state;
    static const char *const task[] = {SLURM("1", "2", "0", "1"), NULL};
    static const char *const agent[] = {TORCHRUN("0", "8", "0", "4", "0"), NULL};
    static const char *const worker[] = {"RANK=6", "WORLD_SIZE=8", NULL};
    static const char *const broken[] = {"RANK=6", "WORLD_SIZE=none", NULL};
    assert_string_equal(text_of(choose(worker, task)), "env 6/8 -/- - -");
    assert_string_equal(text_of(choose(task, worker)), "env 6/8 -/- - -");
    assert_string_equal(text_of(choose(task, agent)), "torchrun 0/8 0/4 0 none.0");
    assert_string_equal(text_of(choose(broken, worker)), "env 6/8 -/- - - !WORLD_SIZE");
}

static void test_job(void **state)
{
    (void)state;
    static const char *const task[] = {SLURM("1", "2", "0", "1"), "SLURMD_NODENAME=n7", NULL};
    static const char *const shell[] = {"SLURM_JOB_ID=18", "SLURM_STEP_ID=4294967290", NULL};
    static const char *const inner[] = {SLURM("1", "2", "0", "1"),
                                        TORCHRUN("5", "8", "1", "4", "1"), NULL};
    const struct xfs_rank *r = choose(task, none);
    assert_string_equal(r->job, "17");
    assert_string_equal(r->step, "2");
    assert_string_equal(r->node_name, "n7");
    r = choose(none, task);
    assert_string_equal(r->node_name, "n7");
    r = choose(shell, none);
    assert_null(r->launcher);
    assert_string_equal(r->job, "18");
    assert_string_equal(r->step, "");
    assert_string_equal(r->node_name, "");
    r = choose(inner, none);
    assert_string_equal(r->job, "17");
    assert_string_equal(r->step, "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_launcher), cmocka_unit_test(test_without_a_rank),
        cmocka_unit_test(test_the_innermost), cmocka_unit_test(test_senseless),
        cmocka_unit_test(test_too_long),      cmocka_unit_test(test_now_and_first),
        cmocka_unit_test(test_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
