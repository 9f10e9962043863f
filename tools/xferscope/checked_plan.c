#include "tools/xferscope/checked_plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json_read.h"
#include "common/text.h"
#include "preload/apply/state/classes.h"

#define SCHEMA "xferscope-plan-check"
#define MOST_BYTES 65536

static bool has_such(const struct xfa_apply_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].carry_out && plan->steps[i].by == XFT_PLAN_STREAMS)
            return true;
    return false;
}

struct verdict {
    bool there, of_this_plan;
    uint64_t compared, different;
};

static bool text_is(const json_t *root, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && strcmp(text, wanted) == 0;
}

static uint64_t count_of(const json_t *root, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(root, key));
    return count > 0 ? (uint64_t)count : 0;
}

static struct verdict read_verdict(const char *path)
{
    char error[256] = "", hash[XFA_FILE_HASH_CHARS];
    struct xfa_json_reader r = {.error = error, .error_bytes = sizeof error};
    char *beside = xfa_print("%s.checked", path);
    json_t *root = xfa_json_read(&r, beside, MOST_BYTES);
    struct verdict verdict = {
        .there = root && text_is(root, "schema", SCHEMA) && count_of(root, "version") == 1,
        .of_this_plan =
            root && xfa_apply_file_hash(path, hash, NULL) && text_is(root, "plan", hash),
        .compared = count_of(root, "compared"),
        .different = count_of(root, "different"),
    };
    json_decref(root);
    free(beside);
    return verdict;
}

/* NULL: it may be carried out. */
static const char *why_not(const char *path)
{
    struct verdict verdict = read_verdict(path);
    if (!verdict.there || verdict.compared == 0)
        return "no run with --check has compared it";
    if (!verdict.of_this_plan)
        return "the plan is not as it was when a run with --check compared it";
    return verdict.different ? "a run with --check found a difference" : NULL;
}

void checked_plan_ask(struct xfa_apply_plan *plan, const char *path)
{
    const char *why = has_such(plan) ? why_not(path) : NULL;
    for (size_t i = 0; why && i < plan->step_count; i++) {
        struct xfa_apply_step *step = &plan->steps[i];
        if (!step->carry_out || step->by != XFT_PLAN_STREAMS)
            continue;
        step->carry_out = false;
        xfc_print(stderr,
                  "xferscope: %s: step %zu, streams, is left out: %s (xferscope apply --check "
                  "--plan %s)\n",
                  path, i + 1, why, path);
    }
}

static bool write(const char *path, const char *hash, uint64_t compared, uint64_t different)
{
    char *beside = xfa_print("%s.checked", path);
    FILE *file = fopen(beside, "we");
    int printed = file ? fprintf(file,
                                 "{\"schema\": \"" SCHEMA "\", \"version\": 1, \"plan\": \"%s\", "
                                 "\"compared\": %" PRIu64 ", \"different\": %" PRIu64 "}\n",
                                 hash, compared, different)
                       : -1;
    bool written = file && fclose(file) == 0 && printed > 0;
    free(beside);
    return written;
}

/* A plan with which there was a difference once stays so. */
static void add_earlier(const char *path, uint64_t *different)
{
    struct verdict earlier = read_verdict(path);
    if (earlier.there && earlier.of_this_plan)
        *different += earlier.different;
}

/* False: nothing, or no kernel where there were kernels. */
static bool count(const struct xfs_report *report, uint64_t *compared, uint64_t *different)
{
    *compared = report->own[XFS_OWN_CHECKED];
    *different = report->own[XFS_OWN_DIFFERENT];
    bool kernels = report->own[XFS_OWN_KERNELS] == 0 || *compared > 0;
    for (uint32_t i = 0; i < report->sites_used && i < XFS_REPORT_SITES; i++) {
        const struct xfs_report_site *site = &report->sites[i];
        if (site->state != XFS_REPORT_THERE || site->class != XFS_CLASS_STREAMS)
            continue;
        *compared += site->checked;
        *different += site->different;
    }
    return kernels && *compared > 0;
}

void checked_plan_note(const struct xfa_apply_plan *plan, const char *path,
                       const struct xfs_report *report)
{
    char hash[XFA_FILE_HASH_CHARS];
    uint64_t compared, different;
    if (!has_such(plan))
        return;
    if (!count(report, &compared, &different)) {
        xfc_print(stderr, "xferscope apply: streams: nothing was compared; %s is not checked\n",
                  path);
        return;
    }
    add_earlier(path, &different);
    if (!xfa_apply_file_hash(path, hash, NULL) || !write(path, hash, compared, different))
        xfc_print(stderr, "xferscope apply: %s.checked cannot be written\n", path);
    else
        xfc_print(stderr,
                  "xferscope apply: %s.checked: %" PRIu64 " compared, %" PRIu64 " different%s\n",
                  path, compared, different, different ? "; streams will be left out" : "");
}
