#include "tools/xferscope/checked_plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json_read.h"
#include "common/text.h"
#include "preload/apply/classes.h"

#define SCHEMA "xferscope-plan-check"
#define MOST_BYTES 65536

static bool has_such(const struct xfa_apply_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].carry_out && plan->steps[i].by == XFT_PLAN_STREAMS)
            return true;
    return false;
}

static bool text_is(const json_t *root, const char *key, const char *wanted)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text && strcmp(text, wanted) == 0;
}

/* NULL: it holds. */
static const char *why_not(const char *path)
{
    char error[256] = "", hash[XFA_FILE_HASH_CHARS];
    struct xfa_json_reader r = {.error = error, .error_bytes = sizeof error};
    char *beside = xfa_print("%s.checked", path);
    json_t *root = xfa_json_read(&r, beside, MOST_BYTES);
    const char *why = NULL;
    if (!root || !text_is(root, "schema", SCHEMA) ||
        json_integer_value(json_object_get(root, "version")) != 1)
        why = "no run with --check has compared it";
    else if (!xfa_apply_file_hash(path, hash, NULL) || !text_is(root, "plan", hash))
        why = "the plan is not as it was when a run with --check compared it";
    else if (json_integer_value(json_object_get(root, "different")) != 0)
        why = "a run with --check found a difference";
    else if (json_integer_value(json_object_get(root, "compared")) <= 0)
        why = "no run with --check has compared it";
    json_decref(root);
    free(beside);
    return why;
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
    int printed =
        file ? fprintf(file,
                       "{\"schema\": \"" SCHEMA "\", \"version\": 1, \"plan\": \"%s\", "
                       "\"compared\": %" PRIu64 ", \"different\": %" PRIu64 "}\n",
                       hash, compared, different)
             : -1;
    bool written = file && fclose(file) == 0 && printed > 0;
    free(beside);
    return written;
}

void checked_plan_note(const struct xfa_apply_plan *plan, const char *path,
                       const struct xfs_report *report)
{
    char hash[XFA_FILE_HASH_CHARS];
    uint64_t compared = report->own[XFS_OWN_CHECKED], different = report->own[XFS_OWN_DIFFERENT];
    bool kernels = report->own[XFS_OWN_KERNELS] > 0, looked_at = compared > 0;
    for (uint32_t i = 0; i < report->sites_used && i < XFS_REPORT_SITES; i++) {
        const struct xfs_report_site *site = &report->sites[i];
        if (site->state != XFS_REPORT_THERE || site->class != XFS_CLASS_STREAMS)
            continue;
        compared += site->checked;
        different += site->different;
    }
    if (!has_such(plan) || compared == 0 || (kernels && !looked_at)) {
        if (has_such(plan))
            xfc_print(stderr, "xferscope apply: streams: nothing was compared, so that %s is not "
                              "checked\n",
                      path);
        return;
    }
    if (!xfa_apply_file_hash(path, hash, NULL) || !write(path, hash, compared, different))
        xfc_print(stderr, "xferscope apply: %s.checked cannot be written\n", path);
    else
        xfc_print(stderr, "xferscope apply: %s.checked: %" PRIu64 " compared, %" PRIu64 " different%s\n",
                  path, compared, different,
                  different ? "; streams will be left out" : "");
}
