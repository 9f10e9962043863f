/* The block `timeline` of the page (html.h), written directly: slices would make a large JSON
 * tree. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/html/html.h"
#include "analyzer/timeline/pack.h"

static const char *const kind_words[XFA_TRACK_KINDS] = {
    [XFA_TRACK_COPIES] = "copies",   [XFA_TRACK_KERNELS] = "kernels",
    [XFA_TRACK_EXPOSED] = "exposed", [XFA_TRACK_WAITS] = "waits",
    [XFA_TRACK_HOST] = "host",       [XFA_TRACK_MIGRATIONS] = "migrations",
    [XFA_TRACK_RANGES] = "ranges",
};

static const char *cause_word(unsigned cause)
{
#define WORD_ROW(symbol, number, word, phrase)                                                     \
    case symbol:                                                                                   \
        return word;
    switch ((enum xft_migration_cause)cause) {
        XFT_CAUSE_LIST(WORD_ROW)
    }
#undef WORD_ROW
    return "unknown";
}

static void put_json(json_t *json, FILE *out)
{
    xfa_json_write(json, out, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    json_decref(json);
}

static void put_key(const char *key, json_t *json, FILE *out)
{
    fprintf(out, ",\"%s\":", key);
    put_json(json, out);
}

/* ---- names: the used ones, renumbered ----------------------------------------------- */

struct writing {
    const struct xfa_timeline *timeline;
    FILE *out;
    uint32_t *numbers; /* by label: number + 1; 0: it is not used */
    uint32_t used;
};

static void use_names(struct writing *writing, const struct xfa_version *version)
{
    for (size_t i = 0; i < version->tracks.table.count; i++) {
        const struct xfa_track *track = xfa_tracks_at(&version->tracks, i);
        for (size_t k = 0; k < track->count; k++) {
            uint32_t name = track->slices[k].name;
            if (name != XFA_NO_NAME && !writing->numbers[name])
                writing->numbers[name] = ++writing->used;
        }
    }
}

static void put_names(const struct writing *writing)
{
    size_t count = writing->timeline->labels.table.count;
    uint32_t *by_number = xfa_alloc((writing->used + 1) * sizeof *by_number);
    for (size_t i = 0; i < count; i++)
        if (writing->numbers[i])
            by_number[writing->numbers[i] - 1] = (uint32_t)i;
    fputs(",\"names\":[", writing->out);
    for (uint32_t i = 0; i < writing->used; i++) {
        fputs(i ? "," : "", writing->out);
        put_json(xfa_json_text(xfa_labels_text(&writing->timeline->labels, by_number[i])),
                 writing->out);
    }
    putc(']', writing->out);
    free(by_number);
}

/* ---- a track --------------------------------------------------------------------------------- */

/* Which of several processes it is; "" for one process. */
static char *process_text(const struct xfa_run *run, uint32_t number)
{
    if (number >= run->process_count || run->process_count == 1)
        return xfa_text("");
    const struct xfa_process *process = run->processes[number];
    if (process->rank.known)
        return xfa_print(", rank %u", process->rank.number);
    return xfa_print(", process %d", process->pid);
}

/* Whose it is: "main thread", "thread 12"; "process" of none. */
static char *thread_text(const struct xfa_run *run, const struct xfa_track_key *key)
{
    if (key->thread == 0)
        return xfa_text("process");
    if (key->process < run->process_count && key->thread == run->processes[key->process]->pid)
        return xfa_text("main thread");
    return xfa_print("thread %d", key->thread);
}

static char *label_of(const struct xfa_run *run, const struct xfa_track_key *key)
{
    const char *direction = xft_direction_word(key->direction);
    char gpu[32] = "GPU", level[16] = "", *label = NULL;
    char *process = process_text(run, key->process), *thread = thread_text(run, key);
    if (key->level)
        snprintf(level, sizeof level, ", level %u", key->level + 1u);
    if (key->gpu >= 0)
        snprintf(gpu, sizeof gpu, "GPU %d", key->gpu);
    if (key->process == XFA_OF_ALL)
        label = xfa_print("further %s", kind_words[key->kind]);
    else if (key->kind == XFA_TRACK_COPIES && key->direction == XFT_DIR_H2H)
        label = xfa_print("H2H copies%s", process);
    else if (key->kind == XFA_TRACK_COPIES)
        label = xfa_print("%s %s copies%s", gpu, direction, process);
    else if (key->kind == XFA_TRACK_KERNELS)
        label = xfa_print("%s kernels%s", gpu, process);
    else if (key->kind == XFA_TRACK_EXPOSED)
        label = xfa_print("%s exposed transfers%s", gpu, process);
    else if (key->kind == XFA_TRACK_MIGRATIONS)
        label =
            xfa_print("%s %s migrations, %s%s", gpu, direction, cause_word(key->cause), process);
    else if (key->kind == XFA_TRACK_HOST)
        label = xfa_print("host%s", process);
    else if (key->kind == XFA_TRACK_RANGES)
        label = xfa_print("%s NVTX%s%s", thread, level, process);
    else
        label = xfa_print("%s waits%s", thread, process);
    free(process);
    free(thread);
    return label;
}

static json_t *or_null(bool known, int64_t value)
{
    return known ? json_integer(value) : json_null();
}

/* Without the slices, and without its last brace. */
static void put_track_head(const struct writing *writing, const struct xfa_track_key *key,
                           size_t number)
{
    bool directed = key->kind == XFA_TRACK_COPIES || key->kind == XFA_TRACK_MIGRATIONS;
    char *label = label_of(writing->timeline->analysis->run, key), id[32];
    snprintf(id, sizeof id, "t%zu", number);
    json_t *json = json_object();
    json_object_set_new(json, "id", json_string(id));
    json_object_set_new(json, "label", xfa_json_text(label));
    json_object_set_new(json, "kind", json_string(kind_words[key->kind]));
    json_object_set_new(json, "gpu", or_null(key->gpu >= 0, key->gpu));
    json_object_set_new(json, "thread", or_null(key->thread != 0, key->thread));
    json_object_set_new(json, "process", or_null(key->process != XFA_OF_ALL, key->process));
    json_object_set_new(json, "direction",
                        xfa_json_text(directed ? xft_direction_word(key->direction) : NULL));
    json_object_set_new(
        json, "cause",
        xfa_json_text(key->kind == XFA_TRACK_MIGRATIONS ? cause_word(key->cause) : NULL));
    char *text = json_dumps(json, JSON_COMPACT);
    fwrite(text, 1, strlen(text) - 1, writing->out);
    free(text);
    free(label);
    json_decref(json);
}

static void put_base64(const unsigned char *bytes, size_t count, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        unsigned three = (unsigned)bytes[i] << 16;
        if (left > 1)
            three |= (unsigned)bytes[i + 1] << 8;
        if (left > 2)
            three |= bytes[i + 2];
        putc(digits[three >> 18], out);
        putc(digits[three >> 12 & 63], out);
        putc(left > 1 ? digits[three >> 6 & 63] : '=', out);
        putc(left > 2 ? digits[three & 63] : '=', out);
    }
}

/* As pack.h has them; starts are of the run. */
static void put_slices(const struct writing *writing, const struct xfa_track *track)
{
    bool of_one = track->key.process != XFA_OF_ALL;
    uint64_t begun = of_one ? xfa_count_of(writing->timeline->begun[track->key.process]) : 0;
    struct xfa_packed packed = {0};
    xfa_pack_track(&packed, track, begun, writing->numbers);
    fputs(",\"slices\":\"", writing->out);
    put_base64(packed.bytes, packed.count, writing->out);
    fputs("\"}", writing->out);
    free(packed.bytes);
}

static int before(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* The order of tracks: by process; of a process its ranges, its GPUs, its threads, the host. */
static int in_place(const void *a, const void *b)
{
    const struct xfa_track_key *x = &(*(const struct xfa_track *const *)a)->key;
    const struct xfa_track_key *y = &(*(const struct xfa_track *const *)b)->key;
    int64_t pairs[][2] = {
        {x->process, y->process}, {x->kind != XFA_TRACK_RANGES, y->kind != XFA_TRACK_RANGES},
        {x->gpu < 0, y->gpu < 0}, {x->gpu, y->gpu},
        {x->kind, y->kind},       {x->direction, y->direction},
        {x->cause, y->cause},     {x->thread, y->thread},
        {x->level, y->level}};
    int order = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && order == 0; i++)
        order = before(pairs[i][0], pairs[i][1]);
    return order;
}

static void put_version(const struct writing *writing, const struct xfa_version *version,
                        const char *name)
{
    size_t count = version->tracks.table.count;
    const struct xfa_track **tracks = xfa_alloc((count + 1) * sizeof *tracks);
    for (size_t i = 0; i < count; i++)
        tracks[i] = xfa_tracks_at(&version->tracks, i);
    qsort(tracks, count, sizeof *tracks, in_place);
    fprintf(writing->out,
            "{\"name\":\"%s\",\"begin_ns\":0,\"end_ns\":%.0f,\"resolution_ns\":%" PRIu64
            ",\"tracks\":[",
            name, version->wall_ns, version->tracks.resolution);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? "," : "", writing->out);
        put_track_head(writing, &tracks[i]->key, i);
        put_slices(writing, tracks[i]);
    }
    fputs("]}", writing->out);
    free(tracks);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Limited to about 32 years, so that the sum of five fits. */
static int64_t whole_ns(double ns)
{
    const double most = 1e18;
    return isnan(ns) ? 0 : llround(fmin(fmax(ns, -most), most));
}

static const char *const share_words[XFA_SHARES] = {"compute", "hidden",   "exposed",
                                                    "waits",   "launches", "host"};

static json_t *focus_json(const struct xfa_timeline *timeline, const char *phase)
{
    const double *of = phase ? xfa_phase_shares_named(timeline->phases, phase) : NULL;
    bool lacks = xfa_version_lacks_kernels(&timeline->recorded);
    if (!of)
        return json_null();
    json_t *shares = json_object();
    for (unsigned i = 0; i < XFA_SHARES; i++) {
        bool unknown = lacks && (i == XFA_SHARE_COMPUTE || i == XFA_SHARE_HIDDEN);
        json_object_set_new(shares, share_words[i], or_null(!unknown, whole_ns(of[i])));
    }
    return json_pack("{s:o,s:o}", "phase", xfa_json_text(phase), "shares", shares);
}

/* Whole ns that add up to the run's. */
static json_t *shares_json(const struct xfa_version *version)
{
    bool lacks = xfa_version_lacks_kernels(version);
    int64_t rest = whole_ns(version->wall_ns);
    json_t *json = json_object();
    for (unsigned i = 0; i < XFA_SHARES; i++) {
        int64_t ns = i == XFA_SHARE_HOST ? rest : whole_ns(version->shares[i]);
        rest -= ns;
        bool unknown = lacks && (i == XFA_SHARE_COMPUTE || i == XFA_SHARE_HIDDEN);
        json_object_set_new(json, share_words[i], or_null(!unknown, ns));
    }
    return json;
}

static json_t *both_shares_json(const struct xfa_timeline *timeline)
{
    json_t *json = shares_json(&timeline->recorded);
    json_object_set_new(json, "advised",
                        timeline->has_advised ? shares_json(&timeline->advised) : json_null());
    return json;
}

/* ---- other sets of fixes --------------------------------------------------------------------- */

static void put_set(const struct writing *writing, const struct xfa_set_tried *set)
{
    double alone = writing->timeline->alone_ns;
    json_t *json = json_object(), *members = json_array();
    for (unsigned i = 0; i < 32; i++)
        if (set->members >> i & 1)
            json_array_append_new(members, json_integer(i + 1));
    json_object_set_new(json, "members", members);
    json_object_set_new(json, "with_s", json_real(set->version.wall_ns / 1e9));
    json_object_set_new(json, "saved_s",
                        alone > 0 ? json_real((alone - set->version.wall_ns) / 1e9) : json_null());
    json_object_set_new(json, "shares", shares_json(&set->version));
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9));
    fwrite(text, 1, strlen(text) - 1, writing->out);
    fputs(",\"version\":", writing->out);
    put_version(writing, &set->version, "with the fixes that are ticked");
    putc('}', writing->out);
    free(text);
    json_decref(json);
}

static void put_sets(const struct writing *writing)
{
    fputs(",\"sets\":[", writing->out);
    for (size_t i = 0; i < writing->timeline->set_count; i++) {
        fputs(i ? "," : "", writing->out);
        put_set(writing, &writing->timeline->sets[i]);
    }
    putc(']', writing->out);
}

/* ---- migrations ------------------------------------------------------------------------------ */

struct bins {
    uint8_t direction, cause;
    uint64_t bytes[XFA_MIGRATION_BINS];
};

/* A slice's bytes go to the bins that it lasts through, in proportion. */
static void spread(struct bins *bins, const struct xfa_slice *slice, double begun, double bin_ns)
{
    double start = ((double)slice->start + begun) / bin_ns;
    double end = ((double)slice->end + begun) / bin_ns;
    size_t bin = start < XFA_MIGRATION_BINS ? (size_t)start : XFA_MIGRATION_BINS - 1;
    uint64_t left = slice->bytes;
    for (; bin < XFA_MIGRATION_BINS - 1 && end > (double)(bin + 1) && left > 0; bin++) {
        double part = ((double)(bin + 1) - fmax(start, (double)bin)) / (end - start);
        uint64_t bytes = xfa_count_of(part * (double)slice->bytes);
        bytes = bytes < left ? bytes : left;
        bins->bytes[bin] += bytes;
        left -= bytes;
    }
    bins->bytes[bin] += left;
}

static json_t *series_json(const struct bins *bins)
{
    char label[64];
    snprintf(label, sizeof label, "%s, %s", xft_direction_word(bins->direction),
             cause_word(bins->cause));
    json_t *bytes = json_array();
    for (size_t i = 0; i < XFA_MIGRATION_BINS; i++)
        json_array_append_new(bytes, xfa_json_count(bins->bytes[i]));
    return json_pack("{s:s,s:s,s:s,s:o}", "label", label, "direction",
                     xft_direction_word(bins->direction), "cause", cause_word(bins->cause), "bytes",
                     bytes);
}

static struct bins *bins_of(struct bins *all, size_t *count, const struct xfa_track_key *key)
{
    size_t i = 0;
    while (i < *count && (all[i].direction != key->direction || all[i].cause != key->cause))
        i++;
    if (i == *count)
        all[(*count)++] = (struct bins){.direction = key->direction, .cause = key->cause};
    return &all[i];
}

static json_t *migrations_json(const struct xfa_timeline *timeline)
{
    const struct xfa_tracks *tracks = &timeline->recorded.tracks;
    double bin_ns = fmax(1, ceil(timeline->recorded.wall_ns / XFA_MIGRATION_BINS));
    struct bins *all = xfa_alloc((tracks->table.count + 1) * sizeof *all);
    size_t count = 0;
    for (size_t i = 0; i < tracks->table.count; i++) {
        const struct xfa_track *track = xfa_tracks_at(tracks, i);
        double begun = track->key.process == XFA_OF_ALL ? 0 : timeline->begun[track->key.process];
        if (track->key.kind != XFA_TRACK_MIGRATIONS)
            continue;
        struct bins *bins = bins_of(all, &count, &track->key);
        for (size_t k = 0; k < track->count; k++)
            spread(bins, &track->slices[k], begun, bin_ns);
    }
    json_t *series = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(series, series_json(&all[i]));
    free(all);
    if (count == 0) {
        json_decref(series);
        return json_null();
    }
    return json_pack("{s:i,s:f,s:o}", "begin_ns", 0, "bin_ns", bin_ns, "series", series);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static json_t *buffer_json(const struct xfa_buffers *buffers, const struct xfa_buffer *buffer)
{
    json_t *json = json_object();
    json_object_set_new(json, "kind", json_string(xft_memory_word(buffer->key.memory)));
    json_object_set_new(json, "bytes",
                        buffer->allocations ? xfa_json_count(buffer->most_live) : json_null());
    json_object_set_new(json, "allocations", xfa_json_count(buffer->allocations));
    json_object_set_new(json, "traffic", xfa_json_count(buffer->traffic));
    json_object_set_new(json, "transfers", xfa_json_count(buffer->transfers));
    json_object_set_new(json, "site", xfa_json_text(xfa_buffers_site(buffers, buffer)));
    return json;
}

static void put_buffers(const struct xfa_timeline *timeline, FILE *out)
{
    const struct xfa_buffers *buffers = &timeline->buffers;
    uint32_t *order = xfa_buffers_sorted(buffers);
    size_t shown =
        buffers->table.count < XFA_SHOWN_BUFFERS ? buffers->table.count : XFA_SHOWN_BUFFERS;
    json_t *json = json_array();
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(json, buffer_json(buffers, xfa_table_at(&buffers->table, order[i])));
    put_key("buffers", json, out);
    put_key("buffers_left_out", xfa_json_count(buffers->table.count - shown), out);
    free(order);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void xfa_timeline_write(const struct xfa_timeline *timeline, const char *phase, FILE *out)
{
    struct writing writing = {.timeline = timeline, .out = out};
    writing.numbers = xfa_alloc((timeline->labels.table.count + 1) * sizeof *writing.numbers);
    use_names(&writing, &timeline->recorded);
    if (timeline->has_advised)
        use_names(&writing, &timeline->advised);
    for (size_t i = 0; i < timeline->set_count; i++)
        use_names(&writing, &timeline->sets[i].version);
    fputs("{\"versions\":[", out);
    put_version(&writing, &timeline->recorded, "as recorded");
    if (timeline->has_advised) {
        putc(',', out);
        put_version(&writing, &timeline->advised, "as advised");
    }
    putc(']', out);
    put_names(&writing);
    put_key("shares", both_shares_json(timeline), out);
    put_key("focus", focus_json(timeline, phase), out);
    put_sets(&writing);
    put_key("untimed", xfa_json_count(timeline->untimed), out);
    put_key("places", xfa_places_json(timeline), out);
    put_key("links", xfa_links_json(timeline->analysis), out);
    put_key("traffic", xfa_traffic_places_json(timeline), out);
    put_key("curves", xfa_curves_json(timeline), out);
    put_key("migrations", migrations_json(timeline), out);
    put_buffers(timeline, out);
    putc('}', out);
    free(writing.numbers);
}
