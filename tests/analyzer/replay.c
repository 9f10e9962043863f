/*
 * The fuzz target without a fuzzer: sound traces, and a fixed number of mutations of them by a
 * generator that is the same everywhere; or the files named on the command line (what a fuzzer
 * found).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/fuzz_damage.h"
#include "tests/analyzer/fuzz_input.h"
#include "tests/analyzer/traces/scenario.h"

/* What a mutation breaks is a sanitizer's to see; without one a part shows that the form holds. */
#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 600
#else
#define ROUNDS 300
#endif

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_number(void) /* xorshift */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void mutate(uint8_t *bytes, size_t size)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
    for (uint64_t n = random_number() % 8 + 1; n > 0; n--) {
        size_t at = random_number() % size;
        /* most of the file's beginning is reserved: look elsewhere most of the time */
        if (at >= 128 && at < XFT_HEADER_BYTES && size > XFT_HEADER_BYTES + 1)
            at = XFT_HEADER_BYTES + random_number() % (size - XFT_HEADER_BYTES);
        bytes[at] = random_number() % 2 ? edges[random_number() % 5] : (uint8_t)random_number();
    }
}

static void rounds(const struct trace_builder *b)
{
    size_t size = b->size + 1;
    uint8_t *input = malloc(size);
    for (int i = 0; i < ROUNDS; i++) {
        input[0] = (uint8_t)((i & 1 ? 1 : i % 8 == 0) | (i % 16 == 5 ? 2 : 0));
        memcpy(input + 1, b->bytes, b->size);
        size_t cut = random_number() % 10 == 0 ? random_number() % size : size;
        if (i % 3 == 0) {
            input[0] = (uint8_t)(1 | (i % 12 == 9 ? 6 | random_number() << 4 : 0));
            cut = 1 + damage_unfinished(input + 1, b->size, random_number());
        } else {
            mutate(input + 1, b->size);
        }
        LLVMFuzzerTestOneInput(input, cut);
    }
    free(input);
}

/* A killed process's file without the megabyte of empty slabs, for speed. */
static void small_slabs(struct trace_builder *b)
{
    struct xft_event events[40];
    for (size_t i = 0; i < 40; i++)
        events[i] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 4096, i * 1000, 900);
    build_start(b, 99);
    scenario_names(b);
    build_events(b, 0, 0, events, 20);
    build_lanes(b, 1);
    build_slab(b, 0, XFT_SLAB_ACTIVE, 0, 10, events, 40);
    build_close(b, XFT_STATE_RECORDING, 0);
    b->size = XFT_HEADER_BYTES + 16384;
}

/* Ranges of threads and of the process, and contents, in columns and in a slab. */
static void ranges_and_contents(struct trace_builder *b)
{
    struct xft_event events[48];
    for (size_t i = 0; i < 48; i++) {
        struct xft_event *e = &events[i];
        *e = test_transfer(CALL_MEMCPY, i % 8 == 3 ? XFT_DIR_D2H : XFT_DIR_H2D, XFT_MEM_PINNED,
                           65536, TEST_START_NS + i / 2 * 1000, 900);
        if (i % 8 == 0 || i % 8 == 6) {
            e->kind = i % 8 ? XFT_EVENT_RANGE_END : XFT_EVENT_RANGE_BEGIN;
            e->src = i % 3;
            e->dst = i % 16 == 8 ? i / 16 + 1 : 0;
            e->aux = i % 5;
        } else if (i % 2 == 0) {
            e->kind = XFT_EVENT_CONTENT;
            e->aux = i % 4;
            e->width = 4096;
        } else if (i % 16 == 15) {
            e->kind = XFT_EVENT_FREE;
        }
    }
    build_start(b, 98);
    scenario_names(b);
    build_text(b, 1, "step");
    build_text(b, 2, "solver");
    build_text(b, 3, "");
    build_meta(b, "content", "sampled");
    build_events(b, 0, 0, events, 48);
    build_lanes(b, 1);
    build_slab(b, 0, XFT_SLAB_ACTIVE, 1, 0, events, 48);
    build_close(b, XFT_STATE_RECORDING, 0);
    b->size = XFT_HEADER_BYTES + 16384;
}

/* Launches with what they were given, and lanes that overlap, with an INDEX. */
static void launches_and_index(struct trace_builder *b)
{
    struct xft_event events[60];
    const uint64_t pointers[] = {0x7f0000001000, 0x7f0000002008};
    for (size_t i = 0; i < 60; i++) {
        struct xft_event *e = &events[i];
        *e = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PINNED, 4096,
                           TEST_START_NS + i * 100 + i % 7 * 30, 90);
        if (i % 3 == 0) {
            e->kind = XFT_EVENT_LAUNCH;
            e->aux = i % 4;
        }
    }
    build_start(b, 97);
    scenario_names(b);
    for (unsigned i = 0; i < 3; i++)
        build_arguments(b, i + 1, pointers, i);
    build_events(b, 0, 0, events, 30);
    build_index(b);
    build_events(b, 1, 0, events + 20, 20);
    build_events(b, 0, 30, events + 30, 30);
    build_index(b);
    build_lanes(b, 1);
    build_slab(b, 0, XFT_SLAB_ACTIVE, 1, 10, events + 30, 30);
    build_close(b, XFT_STATE_RECORDING, 0);
    b->size = XFT_HEADER_BYTES + 16384;
}

static int replay_file(const char *path)
{
    static uint8_t bytes[4 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    return 0;
}

static void replay_mutations(void)
{
    struct trace_builder b;
    scenario_mixed(&b);
    rounds(&b);
    build_free(&b);
    small_slabs(&b);
    rounds(&b);
    build_free(&b);
    ranges_and_contents(&b);
    rounds(&b);
    build_free(&b);
    launches_and_index(&b);
    rounds(&b);
    build_free(&b);
    printf("%d mutated traces read\n", 4 * ROUNDS);
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay_file(argv[i]);
    if (argc == 1)
        replay_mutations();
    return failed;
}
