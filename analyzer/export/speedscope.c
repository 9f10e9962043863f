/*
 * Speedscope's JSON (its file-format-schema): frames once, and three profiles of the same stacks,
 * weighed by bytes, by time, and by what would be saved; one more of a run with messages, by time
 * in them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json.h"
#include "analyzer/export/stacks.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct numbered {
    uint64_t hash; /* key: of what is written */
};

struct speedscope {
    struct xfa_stacks stacks;
    struct xfa_table frames; /* in the order they were written */
};

/* ---- frames ---------------------------------------------------------------------------------- */

static json_t *frame_json(const struct xfa_frame *frame)
{
    json_t *json = json_object();
    char *text = frame->function ? NULL : xfa_frame_text(frame);
    json_object_set_new(json, "name", xfa_json_text(frame->function ? frame->function : text));
    if (frame->file)
        json_object_set_new(json, "file", xfa_json_text(frame->file));
    if (frame->line)
        json_object_set_new(json, "line", xfa_json_count(frame->line));
    free(text);
    return json;
}

static json_t *leaf_json(const struct xfa_export *export, const struct xfa_stack_sum *sum)
{
    char *text = xfa_stacks_leaf(export, sum);
    json_t *json = json_object();
    json_object_set_new(json, "name", xfa_json_text(text));
    free(text);
    return json;
}

/* Its number; written when it is a new one. Takes the JSON. */
static size_t number_of(struct speedscope *speedscope, json_t *json, FILE *out)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = text ? XXH3_64bits(text, strlen(text)) : 0;
    size_t before = speedscope->frames.count;
    const struct numbered *frame = xfa_table_put(&speedscope->frames, &hash);
    size_t number = (size_t)(frame - (struct numbered *)xfa_table_at(&speedscope->frames, 0));
    if (out && number == before) {
        fputs(number ? ",\n" : "\n", out);
        xfa_json_write(json, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
    }
    free(text);
    json_decref(json);
    return number;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static double weight_of(const struct xfa_stack_sum *sum, enum xfa_weight weight)
{
    return round(sum->weights[weight]);
}

static void write_frames(struct xfa_export *export)
{
    struct speedscope *speedscope = export->self;
    for (size_t i = 0; i < xfa_stacks_count(&speedscope->stacks); i++) {
        const struct xfa_stack_sum *sum = xfa_stacks_sum(&speedscope->stacks, i);
        const struct xfa_site *site = xfa_stacks_frames(&speedscope->stacks, sum);
        for (size_t j = site->frame_count; j-- > 0;)
            number_of(speedscope, frame_json(&site->frames[j]), export->out);
        number_of(speedscope, leaf_json(export, sum), export->out);
    }
}

static void write_sample(struct xfa_export *export, const struct xfa_stack_sum *sum)
{
    struct speedscope *speedscope = export->self;
    const struct xfa_site *site = xfa_stacks_frames(&speedscope->stacks, sum);
    putc('[', export->out);
    for (size_t j = site->frame_count; j-- > 0;)
        fprintf(export->out, "%zu,", number_of(speedscope, frame_json(&site->frames[j]), NULL));
    fprintf(export->out, "%zu]", number_of(speedscope, leaf_json(export, sum), NULL));
}

/* Its samples and weights; `sum` of the latter. */
static void write_profile(struct xfa_export *export, enum xfa_weight weight, const char *name,
                          const char *unit)
{
    const struct xfa_stacks *stacks = export->self;
    double all = 0;
    size_t written = 0;
    fprintf(export->out, "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\",\"samples\":[",
            name, unit);
    for (size_t i = 0; i < xfa_stacks_count(stacks); i++) {
        const struct xfa_stack_sum *sum = xfa_stacks_sum(stacks, i);
        if (weight_of(sum, weight) < 1)
            continue;
        fputs(written++ ? ",\n" : "\n", export->out);
        write_sample(export, sum);
    }
    fputs("],\n\"weights\":[", export->out);
    written = 0;
    for (size_t i = 0; i < xfa_stacks_count(stacks); i++) {
        double value = weight_of(xfa_stacks_sum(stacks, i), weight);
        if (value < 1)
            continue;
        fprintf(export->out, "%s%.0f", written++ ? "," : "", value);
        all += value;
    }
    fprintf(export->out, "],\n\"startValue\":0,\"endValue\":%.0f}", all);
}

static void finish(struct xfa_export *export)
{
    const struct xfa_run *run = export->analysis->run;
    json_t *name = xfa_json_text(run->program ? run->program : run->path);
    xfa_stacks_save(export);
    fprintf(export->out, "{\"$schema\":\"%s\",\"exporter\":\"xferscope\",\"name\":", SCHEMA);
    xfa_json_write(name, export->out, JSON_ENCODE_ANY);
    fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", export->out);
    write_frames(export);
    fputs("]},\n\"profiles\":[\n", export->out);
    const char *simulated = export->analysis->simulated ? ", SIMULATED GPU" : "";
    char *names[XFA_WEIGHTS] = {
        xfa_print("bytes moved%s", simulated),
        xfa_print("time of transfers%s", simulated),
        xfa_print("time the best set of fixes would save%s", simulated),
        xfa_print("time in calls of MPI and NCCL%s", simulated),
    };
    unsigned count = export->analysis->messages.calls ? XFA_WEIGHTS : XFA_WEIGHT_MESSAGES;
    for (unsigned weight = 0; weight < XFA_WEIGHTS; weight++) {
        if (weight < count) {
            fputs(weight ? ",\n" : "", export->out);
            write_profile(export, weight, names[weight], weight ? "nanoseconds" : "bytes");
        }
        free(names[weight]);
    }
    putc('\n', export->out);
    fputs("]}\n", export->out);
    json_decref(name);
}

static void begin(struct xfa_export *export)
{
    struct speedscope *speedscope = export->self;
    xfa_table_init(&speedscope->frames, sizeof(uint64_t), sizeof(struct numbered));
    xfa_stacks_begin(export);
}

static void free_self(struct xfa_export *export)
{
    struct speedscope *speedscope = export->self;
    xfa_table_free(&speedscope->frames);
    xfa_stacks_free(export);
}

const struct xfa_export_format xfa_export_speedscope = {
    .name = "speedscope",
    .what = "call stacks by bytes, time, saving and messages; speedscope.app",
    .text = true,
    .saves = true,
    .words = XFA_WORDS_JSON,
    .self_bytes = sizeof(struct speedscope),
    .begin = begin,
    .process = xfa_stacks_process,
    .kinds = XFA_STACKS_KINDS,
    .event = xfa_stacks_event,
    .transfer = xfa_stacks_transfer,
    .finish = finish,
    .free = free_self,
};
