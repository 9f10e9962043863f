/* plan_pack FILE: a plan as the library gets it, a line a site; or why not, and exit status 2. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/plan/plan.h"

static void print_module(const struct xft_plan_header *plan, uint32_t module)
{
    const struct xft_plan_module *of = &xft_plan_modules(plan)[module];
    for (uint32_t i = 0; i < of->build_id_bytes; i++)
        printf("%02x", of->build_id[i]);
}

static void print_site(const struct xft_plan_header *plan, const struct xft_plan_site *site)
{
    printf("%s %u %u ", xft_plan_class_word(site->what), site->step, site->flags);
    print_module(plan, site->module);
    printf(" 0x%" PRIx64 " ", site->offset);
    if (site->caller_module == XFT_PLAN_NO_MODULE) {
        printf("-");
    } else {
        print_module(plan, site->caller_module);
        printf("+0x%" PRIx64, site->caller_offset);
    }
    if (site->node >= 0)
        printf(" node %d", site->node);
    printf(" %s\n", site->text);
}

int main(int argc, char **argv)
{
    char error[512];
    size_t bytes, unplaced;
    struct xfa_apply_plan *plan =
        argc == 2 ? xfa_apply_plan_read(argv[1], error, sizeof error) : NULL;
    struct xft_plan_header *packed =
        plan ? xfa_apply_plan_pack(plan, &bytes, &unplaced, error, sizeof error) : NULL;
    xfa_apply_plan_free(plan);
    if (!packed) {
        printf("%s\n", error);
        return 2;
    }
    if (!xft_plan_holds(packed, bytes))
        return 3;
    for (uint32_t i = 0; i < packed->sites; i++)
        print_site(packed, &xft_plan_sites(packed)[i]);
    for (uint32_t i = 0; i < packed->readers; i++)
        printf("reads %016" PRIx64 " %" PRIx64 "\n", xft_plan_readers(packed)[i].kernel,
               xft_plan_readers(packed)[i].arguments);
    free(packed);
    return 0;
}
