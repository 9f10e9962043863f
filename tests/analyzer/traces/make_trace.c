/* Writes the inputs of the command tests: make_trace SCENARIO FILE [ARGUMENT]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/attacks.h"
#include "tests/analyzer/traces/hostile.h"
#include "tests/analyzer/traces/ill_rooms.h"
#include "tests/analyzer/traces/ranked.h"
#include "tests/analyzer/traces/scenario.h"
#include "tests/analyzer/traces/scenario_replay.h"
#include "tests/analyzer/traces/scenario_report.h"

static void make_profile(const char *path, const char *variant)
{
    char error[256];
    struct xfp_profile *profile = scenario_profile();
    if (strcmp(variant, "other") == 0)
        scenario_other_machine(profile);
    if (strcmp(variant, "hostile") == 0)
        hostile_profile(profile);
    if (strcmp(variant, "network") == 0)
        ranked_network(profile, "node01", "node02", 2000, 10);
    profile->machine.simulated = strcmp(variant, "simulated") == 0;
    if (xfp_save(profile, path, error, sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    xfp_free(profile);
}

static void make_newer(struct trace_builder *b)
{
    scenario_mixed(b);
    build_version(b, XFT_VERSION_MAJOR + 1);
}

static void make_simulated(struct trace_builder *b)
{
    build_start(b, 4713);
    scenario_names(b);
    build_meta(b, "gpu.simulated", "1");
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 1 << 20, TEST_START_NS, 90000);
    build_events(b, 0, 0, &event, 1);
    build_close(b, XFT_STATE_CLOSED, TEST_START_NS + 200000);
}

/* A copy of 3000 bytes, whose call site has what formats put around names. */
static void make_quoted(struct trace_builder *b, const char *host)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 3000, TEST_START_NS, 900);
    build_start(b, 4721);
    scenario_names(b);
    if (*host)
        build_meta(b, "hostname", host);
    build_symbol(b, 0x480000, 0, "upload \"a, b\"; c\\new", "/src/app.c", 7, "/opt/sample/train");
    build_stack(b, 99, (uint64_t[]){0x480000}, 1);
    event.stack = 99;
    build_events(b, 0, 0, &event, 1);
    build_close(b, XFT_STATE_CLOSED, TEST_START_NS + 2000);
}

/* Calls of one thread: ten that begin one in the other and end later, then four within each other.
 */
static void make_overlapping(struct trace_builder *b)
{
    static const struct {
        uint64_t from, to;
    } within[] = {{5000, 6000}, {5100, 5200}, {5300, 5900}, {5400, 5500}};
    struct xft_event events[14];
    build_start(b, 4722);
    scenario_names(b);
    for (size_t i = 0; i < 14; i++) {
        uint64_t from = i < 10 ? 100 * i : within[i - 10].from;
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 4096,
                                  TEST_START_NS + from, i < 10 ? 2000 : within[i - 10].to - from);
    }
    build_events(b, 0, 0, events, 14);
    build_close(b, XFT_STATE_CLOSED, TEST_START_NS + 10000);
}

/* What launches were given, and an INDEX, an entry of which lies. */
static void make_indexed(struct trace_builder *b)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 4096, TEST_START_NS, 900);
    build_start(b, 4720);
    scenario_names(b);
    build_arguments(b, 7, (uint64_t[]){0x7f0000001000, 0xffffffffffffffff}, 2);
    build_arguments(b, 9, NULL, 0);
    build_events(b, 3, 0, &event, 1);
    build_events(b, 4, 0, &event, 1);
    b->entries[1].rows = 5;
    build_index(b);
    build_close(b, XFT_STATE_CLOSED, 0);
}

/* A sound file whose recorder had counted losses: events, stacks, device times or arguments. */
static void make_lossy(struct trace_builder *b, const char *what)
{
    scenario_mixed(b);
    struct xft_file_header *header = (struct xft_file_header *)b->bytes;
    header->events_lost = strcmp(what, "events") == 0 ? 7 : 0;
    header->stacks_lost = strcmp(what, "stacks") == 0 ? 8 : 0;
    header->device_lost = strcmp(what, "times") == 0 ? 9 : 0;
    header->arguments_lost = strcmp(what, "arguments") == 0 ? 11 : 0;
    if (strcmp(what, "damage") == 0) {
        header->damaged_places = 1;
        header->damaged_bytes = 4000;
        header->damaged_events = 10;
    }
}

/* A killed process's trace: a stack into this very program, and no symbols. */
static void make_unresolved(struct trace_builder *b, const char *variant)
{
    const unsigned char *inside = (const unsigned char *)(uintptr_t)&scenario_profile + 8;
    build_start(b, 4714);
    build_meta(b, "exe", "/opt/sample/train");
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_own_module(b, inside, strcmp(variant, "rebuilt") != 0);
    build_stack(b, 1, (uint64_t[]){(uint64_t)(uintptr_t)inside}, 1);
    struct xft_event event =
        test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 1 << 20, TEST_START_NS, 90000);
    event.stack = 1;
    build_events(b, 0, 0, &event, 1);
    build_close(b, XFT_STATE_RECORDING, 0);
}

static void break_slab(struct xft_slab *slab, unsigned how)
{
    switch (how) {
    case 1:
        slab->magic ^= 1;
        break;
    case 2:
        slab->state = 9;
        break;
    case 3:
        slab->committed = UINT32_MAX;
        break;
    case 4:
        slab->first_seq = UINT64_MAX;
        break;
    case 5:
        slab->magic = 0;
        break;
    default:
        break;
    }
}

/* Seeds for the fuzzers: a small killed process's file, whole (0) or ill in one of 12 ways. */
static void make_ill(struct trace_builder *b, unsigned how)
{
    struct xft_event events[30];
    for (size_t i = 0; i < 30; i++)
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096, i * 1000, 900);
    build_start(b, 4715);
    build_meta(b, "exe", "x");
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, "cudaMemcpy");
    build_module(b, 0x400000, 0x500000, "/opt/sample/train");
    build_stack(b, 1, (uint64_t[]){0x400100, 0x400200}, 2);
    build_events(b, 0, 0, events, 20);
    size_t events_end = b->size;
    build_plain_segment(b, XFT_SEG_META, 0, "a\0b", how == 6 ? 3 : 4, how == 7 ? 5 : 4);
    build_lanes(b, 1);
    build_slab(b, 0, XFT_SLAB_ACTIVE, 0, how == 8 ? 0 : 20, events, 30);
    build_close(b, XFT_STATE_RECORDING, 0);
    struct xft_slab *slab = (struct xft_slab *)(b->bytes + 2 * XFT_HEADER_BYTES);
    if (slab->magic != XFT_SLAB_MAGIC)
        abort();
    break_slab(slab, how);
    struct xft_file_header *header = (struct xft_file_header *)b->bytes;
    header->file_bytes = how == 9 ? b->size : how == 10 ? events_end : 0;
    header->damaged_places = header->damaged_events = how == 11;
    if (how == 12)
        b->bytes[events_end - 9] ^= 1;
    b->size = 2 * XFT_HEADER_BYTES + sizeof(struct xft_slab) + 30 * sizeof *events;
}

static bool make_ill_room(struct trace_builder *b, const char *how)
{
    unsigned long i = strtoul(how, NULL, 10);
    if (i >= ILL_ROOMS)
        return false;
    build_ill_room(b, (unsigned)i);
    return true;
}

/* NAME[:BYTES] */
static bool make_attack(struct trace_builder *b, const char *what)
{
    char name[64];
    size_t bytes = strcspn(what, ":");
    snprintf(name, sizeof name, "%.*s", (int)bytes, what);
    return build_attack(b, name, what[bytes] ? strtoul(what + bytes + 1, NULL, 10) : 16384);
}

int main(int argc, char **argv)
{
    struct trace_builder b = {0};
    if (argc < 3)
        return 2;
    const char *what = argv[1], *path = argv[2], *argument = argc > 3 ? argv[3] : "";
    if (strcmp(what, "profile") == 0) {
        make_profile(path, argument);
        return 0;
    }
    if (strcmp(what, "sparse") == 0 && strtoul(argument, NULL, 10) < SPARSE_HOWS) {
        make_sparse(path, (enum sparse)strtoul(argument, NULL, 10), UINT64_C(1) << 40);
        return 0;
    }
    if (strcmp(what, "mixed") == 0)
        scenario_mixed(&b);
    else if (strcmp(what, "indexed") == 0)
        make_indexed(&b);
    else if (strcmp(what, "killed") == 0)
        scenario_killed(&b);
    else if (strcmp(what, "simulated") == 0)
        make_simulated(&b);
    else if (strcmp(what, "quoted") == 0)
        make_quoted(&b, argument);
    else if (strcmp(what, "overlapping") == 0)
        make_overlapping(&b);
    else if (strcmp(what, "many") == 0)
        scenario_many(&b, strtoul(argument, NULL, 10));
    else if (strcmp(what, "replay") == 0 && strcmp(argument, "two") == 0)
        scenario_replay_two(&b);
    else if (strcmp(what, "replay") == 0)
        scenario_replay(&b, strcmp(argument, "simulated") == 0);
    else if (strcmp(what, "unresolved") == 0)
        make_unresolved(&b, argument);
    else if (strcmp(what, "hostile") == 0)
        scenario_hostile(&b);
    else if (strcmp(what, "markup") == 0)
        scenario_markup(&b);
    else if (strcmp(what, "ill") == 0)
        make_ill(&b, (unsigned)strtoul(argument, NULL, 10));
    else if (strcmp(what, "ill-room") == 0 && make_ill_room(&b, argument))
        ;
    else if (strcmp(what, "attack") == 0 && make_attack(&b, argument))
        ;
    else if (strcmp(what, "lossy") == 0)
        make_lossy(&b, argument);
    else if (strcmp(what, "newer") == 0)
        make_newer(&b);
    else if (!scenario_report(&b, what, argument))
        return 2;
    build_save(&b, path);
    build_free(&b);
    return 0;
}
