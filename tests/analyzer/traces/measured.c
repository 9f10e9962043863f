#include "tests/analyzer/traces/measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST (MIB / 4)
#define MOST (64 * MIB)

static void write_points(FILE *out, double ns_per_mib, double more_ns)
{
    for (uint64_t bytes = LEAST; bytes <= MOST; bytes *= 2) {
        double ns = ns_per_mib * (double)bytes / (double)MIB;
        fprintf(
            out,
            "%s{\"bytes\": %llu, \"median_ns\": %.0f, \"host_ns\": %.0f, \"blocking_ns\": %.0f}",
            bytes == LEAST ? "" : ", ", (unsigned long long)bytes, ns, SUBMIT_NS_OF_COPY,
            ns + more_ns);
    }
}

static void write_path(FILE *out, const char *memory, bool up, double ns_per_mib, double more_ns)
{
    char host[100];
    const char *device = "{\"memory\": \"device\", \"device\": 0, \"numa\": -1}";
    snprintf(host, sizeof host, "{\"memory\": \"%s\", \"device\": -1, \"numa\": -1}", memory);
    fprintf(out,
            "{\"name\": \"copy/%s/%s/gpu0\", \"method\": \"copy\", \"direction\": \"%s\","
            " \"src\": %s, \"dst\": %s, \"device_timed\": true, \"blocking\": true,"
            " \"fit\": {\"Lo_ns\": 0, \"g_ns\": 0, \"G_ns_per_byte\": %.17g, \"max_error\": 0},"
            " \"points\": [",
            memory, up ? "h2d" : "d2h", up ? "H2D" : "D2H", up ? host : device, up ? device : host,
            ns_per_mib / (double)MIB);
    write_points(out, ns_per_mib, more_ns);
    fputs("]}", out);
}

static void write_paths(FILE *out)
{
    for (int up = 0; up < 2; up++) {
        fputs(up ? ", " : "", out);
        write_path(out, "pageable", up, PAGEABLE_NS, 0);
        fputs(", ", out);
        write_path(out, "pinned", up, PINNED_NS, BLOCKING_MORE_NS);
        fputs(", ", out);
        write_path(out, "registered", up, PINNED_NS, BLOCKING_MORE_NS);
    }
}

static void write_registering(FILE *out, const char *name)
{
    fprintf(out,
            "{\"name\": \"%s/pageable/gpu0\", \"by\": \"bytes\", \"unit\": \"ns\", \"rows\": [",
            name);
    for (uint64_t mib = 1; mib <= 64; mib *= 2)
        fprintf(out, "%s{\"at\": %llu, \"median\": %.0f}", mib == 1 ? "" : ", ",
                (unsigned long long)(mib * MIB),
                (REGISTER_BASE_NS + REGISTER_NS * (double)mib) / 2);
    fputs("]}", out);
}

static void write_host_copies(FILE *out, const char *name)
{
    double ns = HOST_COPY_NS * 64;
    fprintf(out,
            "{\"name\": \"host-copy/%s/h2h/host\", \"by\": \"threads\", \"unit\": \"ns\","
            " \"bytes\": 67108864, \"rows\": [{\"at\": 1, \"median\": %.0f}, {\"at\": 4,"
            " \"median\": %.0f}, {\"at\": 8, \"median\": %.0f}]}",
            name, ns, ns / 4, ns / 4);
}

static void write_scalar(FILE *out, const char *name, double ns)
{
    fprintf(out, "{\"name\": \"%s/gpu0\", \"unit\": \"ns\", \"median\": %.0f}", name, ns);
}

static void write_tables(FILE *out, unsigned parts)
{
    if (parts & MEASURED_REGISTER) {
        write_registering(out, "register");
        fputs(", ", out);
        write_registering(out, "unregister");
    }
    fputs(parts == MEASURED_ALL ? ", " : "", out);
    if (parts & MEASURED_HOST_COPY) {
        write_host_copies(out, "pageable");
        fputs(", ", out);
        write_host_copies(out, "pinned");
    }
}

void measured_begin(struct measured_text *text, const struct measured_machine *machine)
{
    *text = (struct measured_text){0};
    text->out = open_memstream(&text->text, &text->length);
    if (!text->out)
        abort();
    fprintf(text->out,
            "{\"schema\": \"xferscope-profile\", \"version\": 1, \"created\": \"\","
            " \"producer\": \"\", \"warnings\": [], \"machine\": {\"hostname\": \"\","
            " \"machine_id\": \"%s\", \"cpu\": \"\", \"cpus\": %d, \"numa_nodes\": %d,"
            " \"driver_version\": 13000, \"gpus\": [",
            machine->id, machine->cpus ? machine->cpus : 4,
            machine->numa_nodes ? machine->numa_nodes : 1);
    for (int i = 0; i < machine->gpus; i++) {
        fputs(i ? ", {\"name\": \"Test GPU\"" : "{\"name\": \"Test GPU\"", text->out);
        if (machine->nodes && machine->nodes[i] >= 0)
            fprintf(text->out, ", \"numa\": %d", machine->nodes[i]);
        fputs("}", text->out);
    }
    fputs("]}", text->out);
}

struct xfp_profile *measured_end(struct measured_text *text)
{
    char error[200];
    fputs("}", text->out);
    fclose(text->out);
    struct xfp_profile *profile = xfp_parse(text->text, text->length, error, sizeof error);
    free(text->text);
    if (!profile) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    return profile;
}

struct xfp_profile *measured_profile(unsigned parts)
{
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = "aaaa1111", .gpus = 1, .cpus = 16});
    fputs(", \"paths\": [", text.out);
    write_paths(text.out);
    fputs("], \"tables\": [", text.out);
    write_tables(text.out, parts);
    fputs("], \"scalars\": [", text.out);
    write_scalar(text.out, "event/record", RECORD_EVENT_NS);
    fputs(", ", text.out);
    write_scalar(text.out, "sync/event", SYNC_EVENT_NS);
    fputs("]", text.out);
    return measured_end(&text);
}

static void *one_more(void *items, size_t count, size_t bytes)
{
    char *more = realloc(items, (count + 1) * bytes);
    if (!more)
        abort();
    memset(more + count * bytes, 0, bytes);
    return more;
}

void measured_path(struct xfp_profile *profile, enum xfp_method method,
                   enum xft_direction direction, struct xfp_place src, struct xfp_place dst,
                   double ns_per_mib)
{
    profile->paths = one_more(profile->paths, profile->path_count, sizeof *profile->paths);
    struct xfp_path *path = &profile->paths[profile->path_count++];
    *path = (struct xfp_path){.name = strdup("another"),
                              .method = method,
                              .direction = direction,
                              .src = src,
                              .dst = dst,
                              .device_timed = true};
    for (uint64_t bytes = LEAST; bytes <= MOST; bytes *= 2) {
        path->points = one_more(path->points, path->point_count, sizeof *path->points);
        double ns = ns_per_mib * (double)bytes / (double)MIB;
        path->points[path->point_count++] =
            (struct xfp_point){.bytes = bytes, .median_ns = ns, .ci_low_ns = ns, .ci_high_ns = ns};
    }
}

void measured_scalar(struct xfp_profile *profile, const char *name, double ns)
{
    profile->scalars = one_more(profile->scalars, profile->scalar_count, sizeof *profile->scalars);
    struct xfp_scalar *scalar = &profile->scalars[profile->scalar_count++];
    scalar->name = strdup(name);
    scalar->unit = strdup("ns");
    scalar->cost = (struct xfp_cost){.median = ns, .min = ns, .max = ns};
}

void measured_table(struct xfp_profile *profile, const char *name, double ns_per_mib)
{
    profile->tables = one_more(profile->tables, profile->table_count, sizeof *profile->tables);
    struct xfp_table *table = &profile->tables[profile->table_count++];
    table->name = strdup(name);
    table->by = strdup("bytes");
    table->unit = strdup("ns");
    for (uint64_t mib = 1; mib <= 64; mib *= 2) {
        table->rows = one_more(table->rows, table->row_count, sizeof *table->rows);
        table->rows[table->row_count++] =
            (struct xfp_row){.at = mib * MIB, .cost.median = ns_per_mib * (double)mib};
    }
}
