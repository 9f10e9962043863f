/* What names of kernels tell of their parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/base/signature.h"

static const struct {
    const char *name;
    struct xfa_signature wanted; /* known but where all is 0 */
} cases[] = {
    {"_Z8pair_addPfmf", {.known = true, .pointers = 1, .writes = 1}},
    {"_Z8pair_sumPKfmPd", {.known = true, .pointers = 2, .writes = 2, .reads = 1}},
    {"_Z5firstfPfiPKfm", {.known = true, .pointers = 2, .writes = 1, .reads = 8}},
    {"_Z9pair_spiny", {.known = true}},
    {"_Z5emptyv", {.known = true}},
    {"_Z4bothPKfPKi", {.known = true, .pointers = 2, .reads = 3}},
    /* volatile const; a template with numbers; a namespace without a name */
    {"_Z5latchPVKfPVf", {.known = true, .pointers = 2, .writes = 2, .reads = 1}},
    {"_Z5tiledILi4EfEvPKT0_PS0_i", {.known = true, .pointers = 2, .writes = 2, .reads = 1}},
    {"_ZN12_GLOBAL__N_15localEPKf", {.known = true, .pointers = 1, .reads = 1}},
    /* pointers to pointers: in all forms */
    {"_Z5tablePPf", {.known = true, .pointers = 1, .writes = 1, .deep = true}},
    {"_Z5tablePKPf", {.known = true, .pointers = 1, .deep = true, .reads = 1}},
    {"_Z5tablePKPKf", {.known = true, .pointers = 1, .deep = true, .reads = 1}},
    /* vectors and half precision are plain, classes are not; what they are pointed to as is one */
    {"_Z5shift6float44dim36__halfP6float4", {.known = true, .pointers = 1, .writes = 1}},
    {"_Z5applyPKf7Functor", {.known = true, .pointers = 1, .others = true, .reads = 1}},
    {"_Z5applyP7Functor", {.known = true, .pointers = 1, .writes = 1}},
    {"_Z5applyRf", {.known = true, .others = true}},
    {"_Z4callPFviE", {.known = true, .others = true}},
    {"_Z5applySt5arrayIPfLm2EE", {.known = true, .others = true}},
    /* extern "C", and what is no name */
    {"pair_add", {0}},
    {"", {0}},
    {"_Z", {0}},
    {"_Z3", {0}},
    {"_Z4data", {0}},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xfa_signature found = xfa_signature_of(cases[i].name), wanted = cases[i].wanted;
        if (found.known != wanted.known || found.others != wanted.others ||
            found.deep != wanted.deep || found.pointers != wanted.pointers ||
            found.writes != wanted.writes || found.reads != wanted.reads)
            fail_msg("%s: known %d, others %d, deep %d, %u pointers, writes %lx, reads %lx",
                     cases[i].name, found.known, found.others, found.deep, found.pointers,
                     (unsigned long)found.writes, (unsigned long)found.reads);
    }
}

/* More pointers than are kept: nothing is known of any. */
static void test_many(void **state)
{
    (void)state;
    for (unsigned count = XFA_SIGNATURE_MOST; count <= XFA_SIGNATURE_MOST + 1; count++) {
        char name[16 + 2 * (XFA_SIGNATURE_MOST + 1)] = "_Z4many";
        for (size_t i = 0; i < count; i++)
            memcpy(name + 7 + 2 * i, "Pf", 2);
        struct xfa_signature found = xfa_signature_of(name);
        assert_int_equal(found.known, count <= XFA_SIGNATURE_MOST);
        assert_true(!found.known || found.writes == UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
