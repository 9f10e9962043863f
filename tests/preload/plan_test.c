/* The plan in a process (preload/apply/site/plan.h): bytes that are none, and sites by build id and
 * offset. */
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preload/apply/site/plan.h"
#include "preload/unwind/module.h"

struct whole {
    struct xft_plan_header header;
    struct xft_plan_module modules[2];
    struct xft_plan_site sites[2];
    struct xft_plan_reader readers[2];
};

/* ---- this test's own module ------------------------------------------------------------------ */

static uintptr_t bias;

static int find_own(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    struct xft_plan_module *module = out;
    bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const unsigned char *at = (const unsigned char *)(bias + part->p_vaddr);
        const unsigned char *end = at + part->p_filesz;
        while (part->p_type == PT_NOTE && at < end) {
            const ElfW(Nhdr) *note = (const void *)at;
            const unsigned char *text = at + sizeof *note + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID) {
                module->build_id_bytes = note->n_descsz;
                memcpy(module->build_id, text, note->n_descsz);
            }
            at = text + ((note->n_descsz + 3) & ~3u);
        }
    }
    return 1; /* the program is the first */
}

static struct whole plan_of(void)
{
    struct whole plan = {.header = {XFT_PLAN_MAGIC, XFT_PLAN_VERSION, 2, 2, 2}};
    memcpy(plan.header.magic, XFT_PLAN_MAGIC, sizeof plan.header.magic);
    dl_iterate_phdr(find_own, &plan.modules[0]);
    assert_true(plan.modules[0].build_id_bytes > 0);
    plan.modules[1] = (struct xft_plan_module){.build_id_bytes = 3, .build_id = {1, 2, 3}};
    plan.sites[0] = (struct xft_plan_site){.offset = (uintptr_t)plan_of - bias + 16,
                                           .module = 0,
                                           .caller_module = XFT_PLAN_NO_MODULE,
                                           .what = XFT_PLAN_LEAVE_OUT,
                                           .step = 1,
                                           .node = -1,
                                           .text = "one"};
    plan.sites[1] = plan.sites[0];
    plan.sites[1].module = 1;
    plan.sites[1].step = 2;
    plan.readers[0] = (struct xft_plan_reader){xft_plan_text_hash("turn", 4), 5};
    plan.readers[1] = (struct xft_plan_reader){xft_plan_text_hash("turn", 4), 8};
    return plan;
}

static int setup(void **state)
{
    (void)state;
    xfs_module_init();
    return 0;
}

/* ---- what is a plan -------------------------------------------------------------------------- */

static void taken_whole_or_not_at_all(void **state)
{
    (void)state;
    struct whole plan = plan_of();
    assert_true(xfs_plan_take(&plan, sizeof plan));
    assert_true(xfs_plan_has(XFT_PLAN_LEAVE_OUT));
    assert_false(xfs_plan_has(XFT_PLAN_POOL));
    for (size_t bytes = 0; bytes < sizeof plan; bytes++) {
        assert_false(xfs_plan_take(&plan, bytes));
        assert_false(xfs_plan_has(XFT_PLAN_LEAVE_OUT));
    }
}

static void readers_have_names(void **state)
{
    (void)state;
    struct whole plan = plan_of();
    assert_true(xfs_plan_take(&plan, sizeof plan));
    assert_int_equal(xfs_plan_reads("turn"), 13);
    assert_int_equal(xfs_plan_reads("turns"), 0);
    plan.header.readers = 0;
    assert_true(xfs_plan_take(&plan, sizeof plan - sizeof plan.readers));
    assert_int_equal(xfs_plan_reads("turn"), 0);
}

static void bad(const struct whole *plan)
{
    assert_false(xfs_plan_take(plan, sizeof *plan));
    assert_false(xfs_plan_has(XFT_PLAN_LEAVE_OUT));
}

#define WITH(change)                                                                               \
    {                                                                                              \
        struct whole plan = plan_of();                                                             \
        change;                                                                                    \
        bad(&plan);                                                                                \
    }

static void every_number_has_bounds(void **state)
{
    (void)state;
    WITH(plan.header.magic[0] = 'x')
    WITH(plan.header.version = XFT_PLAN_VERSION + 1)
    WITH(plan.header.modules = 3)
    WITH(plan.header.modules = UINT32_MAX)
    WITH(plan.header.sites = 3)
    WITH(plan.header.sites = XFT_PLAN_SITES_MOST + 1)
    WITH(plan.header.readers = 3)
    WITH(plan.header.readers = XFT_PLAN_READERS_MOST + 1)
    WITH(plan.modules[0].build_id_bytes = 0)
    WITH(plan.modules[1].build_id_bytes = XFT_PLAN_BUILD_ID_MOST + 1)
    WITH(plan.modules[1].python = 2)
    WITH((plan.modules[1].python = 1, plan.modules[1].build_id_bytes = 4))
    WITH(plan.sites[1].module = 2)
    WITH(plan.sites[0].module = XFT_PLAN_NO_MODULE)
    WITH(plan.sites[1].caller_module = 2)
    WITH(plan.sites[0].what = XFT_PLAN_NOTHING)
    WITH(plan.sites[0].what = XFT_PLAN_CLASSES)
    WITH(plan.sites[0].step = 0)
    WITH(plan.sites[0].step = XFT_PLAN_STEPS_MOST + 1)
    WITH(plan.sites[0].flags = XFT_PLAN_KERNELS_APART << 1)
    WITH(plan.sites[0].node = 0)
    WITH(plan.sites[0].what = XFT_PLAN_PLACEMENT)
    WITH((plan.sites[0].what = XFT_PLAN_PLACEMENT, plan.sites[0].node = XFT_PLAN_NODES_MOST))
    WITH(memset(plan.sites[1].text, 'x', sizeof plan.sites[1].text))
}

static const struct xft_plan_site *match_taken(enum xft_plan_class what, const uintptr_t *addresses,
                                               unsigned depth)
{
    return xfs_plan_match(what, &(struct xfs_plan_stack){.addresses = addresses, .depth = depth});
}

/* Whatever the bytes are: none of them is followed out of the plan. */
static void any_bytes(void **state)
{
    (void)state;
    uintptr_t addresses[] = {(uintptr_t)plan_of + 16, (uintptr_t)setup, 0, UINTPTR_MAX};
    srand(7);
    for (int i = 0; i < 20000; i++) {
        struct whole plan = plan_of();
        for (int n = rand() % 4; n >= 0; n--)
            ((unsigned char *)&plan)[(size_t)rand() % sizeof plan] = (unsigned char)rand();
        if (xfs_plan_take(&plan, sizeof plan))
            for (unsigned what = 1; what < XFT_PLAN_CLASSES; what++)
                match_taken((enum xft_plan_class)what, addresses, 4);
    }
}

/* The command's memory is larger than the plan in it. */
static void what_is_behind_it_does_not_matter(void **state)
{
    (void)state;
    static unsigned char memory[XFT_PLAN_BYTES_MOST + 1];
    struct whole plan = plan_of();
    memset(memory, 0xff, sizeof memory);
    memcpy(memory, &plan, sizeof plan);
    assert_true(xfs_plan_take(memory, XFT_PLAN_BYTES_MOST));
    assert_false(xfs_plan_take(memory, sizeof memory));
}

/* ---- sites ----------------------------------------------------------------------------------- */

static const struct xft_plan_site *match(const struct whole *plan, enum xft_plan_class what,
                                         const uintptr_t *addresses, unsigned depth)
{
    assert_true(xfs_plan_take(plan, sizeof *plan));
    return match_taken(what, addresses, depth);
}

static void found_anywhere_in_a_stack(void **state)
{
    (void)state;
    uintptr_t site = (uintptr_t)plan_of + 16;
    uintptr_t stack[] = {(uintptr_t)setup, (uintptr_t)memcpy + 1, site, (uintptr_t)bad};
    struct whole plan = plan_of();
    const struct xft_plan_site *found = match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4);
    assert_non_null(found);
    assert_int_equal(found->step, 1);
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 2));
    assert_null(match(&plan, XFT_PLAN_POOL, stack, 4));
    stack[2]++;
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4));
    stack[2]--;
    plan.modules[0].build_id[0]++;
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4));
    plan = plan_of();
    plan.modules[0].build_id_bytes--;
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4));
}

static void callers_are_further_up(void **state)
{
    (void)state;
    uintptr_t site = (uintptr_t)plan_of + 16, caller = (uintptr_t)bad + 8;
    uintptr_t stack[] = {caller, site, (uintptr_t)setup, caller};
    struct whole plan = plan_of();
    plan.sites[0].caller_module = 0;
    plan.sites[0].caller_offset = caller - bias;
    assert_non_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4));
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 3));
    plan.sites[0].caller_module = 1;
    assert_null(match(&plan, XFT_PLAN_LEAVE_OUT, stack, 4));
}

static const struct xft_plan_site *in_python(const struct whole *plan, uintptr_t *addresses,
                                             const struct xfs_line *lines, unsigned count)
{
    assert_true(xfs_plan_take(plan, sizeof *plan));
    return xfs_plan_match(XFT_PLAN_LEAVE_OUT,
                          &(struct xfs_plan_stack){addresses, lines, addresses ? 1 : 0, count});
}

static void lines_of_python(void **state)
{
    (void)state;
    const struct xfs_line lines[] = {{5, 50, 12}, {5, 51, 30}, {6, 50, 40}};
    uintptr_t address = (uintptr_t)setup;
    struct whole plan = plan_of();
    assert_true(xfs_plan_take(&plan, sizeof plan));
    assert_false(xfs_plan_has_lines(XFT_PLAN_LEAVE_OUT));
    plan.modules[1] = (struct xft_plan_module){8, 1, {5}};
    plan.sites[1].offset = 12;
    assert_int_equal(in_python(&plan, &address, lines, 3)->step, 2);
    assert_true(xfs_plan_has_lines(XFT_PLAN_LEAVE_OUT));
    assert_true(xfs_plan_names(&lines[0]));
    assert_false(xfs_plan_names(&lines[1]));
    assert_null(in_python(&plan, &address, lines + 1, 2));
    address = (uintptr_t)plan_of + 16;
    assert_int_equal(in_python(&plan, &address, lines, 3)->step, 1); /* further in */
    plan.sites[1].offset = 40;                                       /* of the other file */
    assert_null(in_python(&plan, NULL, lines, 3));

    plan.sites[1].offset = 12;
    plan.sites[1].caller_module = 1;
    plan.sites[1].caller_offset = 51;
    assert_non_null(in_python(&plan, NULL, lines, 3));
    assert_true(xfs_plan_names(&lines[1]));
    assert_null(in_python(&plan, NULL, lines, 1));
    plan.sites[1].caller_offset = 50; /* the site itself, and a function of the other file */
    assert_null(in_python(&plan, NULL, lines, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_have_names),
        cmocka_unit_test(taken_whole_or_not_at_all),
        cmocka_unit_test(every_number_has_bounds),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(what_is_behind_it_does_not_matter),
        cmocka_unit_test(found_anywhere_in_a_stack),
        cmocka_unit_test(callers_are_further_up),
        cmocka_unit_test(lines_of_python),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
