/*
 * Programs some of whose transfers could go, played in a few words, and what is found in them.
 * expect() and nothing() fail where that is something else.
 */
#ifndef LEFT_OUT_RUN_H
#define LEFT_OUT_RUN_H

#define XXH_INLINE_ALL
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "tests/analyzer/lab/analyzed.h"
#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/measured.h"

#define MIB ((uint64_t)1 << 20)
#define PLACE(letter) (0x7f0000000000 + ((uint64_t)(letter) - 'A') * 16 * MIB)
#define HOST(letter) (0x7e0000000000 + ((uint64_t)(letter) - 'A') * 16 * MIB)

enum { ROUNDS = 20, COPY_NS = 60000, SUBMIT = 1000, SAMPLE = 4096 };
enum { SLOW_NS = 400000, WAY_NS = 5000 };
enum { READS = 1, WRITES, UNNAMED, DEEP, READS_AND_WRITES };
enum { GIVEN_A = 1, GIVEN_B, GIVEN_NONE, GIVEN_BEHIND, GIVEN_A_AND_B };

/*
 * A program: what each of its rounds does, in words one behind the other.
 *
 *   uA1 uAzero  sends content 1 (or zeros, ...) from the host's memory A to the device's buffer A,
 *               of 1 MiB at the begin of an allocation of 4
 *   uAfresh     another content each time
 *   UA          the same, not waited for and not hashed
 *   dA1 DA      fetches the same
 *   rA wA xA    launches a kernel that is given A to read, to write, or not known what for
 *   bA          one that is given A to read and B to write
 *   tA          one that is given a table of pointers, which is A
 *   w-          one that is given what lies behind buffer A in its allocation; w<: before buffer Z
 *   r.          one that is given nothing
 *   ?           one of which it is not known what it was given
 *   g           launches a graph
 *   mA fA       sets A; frees and allocates it
 *   MA NA       sets the first, the second half of A
 *   cAB         copies A to B on the device
 *   s           waits
 *   aA1         sends as uA1 does, in SLOW_NS and without waiting
 *   h           has the stream call a function of the host, and goes on WAY_NS behind that
 */
struct program {
    const char *round;
    const char *arguments; /* META; NULL: on */
    bool whole;            /* hashed, not samples */
    bool unhashed;
    const char *assume; /* the user's answer; NULL: none */
    unsigned alike;     /* rounds in which B gets the same fresh bytes as A; 0: all */
};

/* ---- contents -------------------------------------------------------------------------------- */

static uint64_t hash_of_filled(const char *word, bool whole)
{
    static const float ones = 1;
    const bool one = strncmp(word, "one", 3) == 0;
    unsigned char *bytes = calloc(1, MIB), sample[SAMPLE];
    for (size_t i = 0; one && i < MIB; i += sizeof ones)
        memcpy(bytes + i, &ones, sizeof ones);
    if (strncmp(word, "seven", 5) == 0)
        memset(bytes, 7, MIB);
    for (size_t i = 0; i < 64; i++) /* docs/trace-format.md */
        memcpy(sample + 64 * i, bytes + i * (MIB - 64) / 63, 64);
    uint64_t hash = whole ? XXH3_64bits(bytes, MIB) : XXH3_64bits(sample, SAMPLE);
    free(bytes);
    return hash;
}

static uint64_t hash_of(const struct program *program, const char *word, unsigned round)
{
    if (strncmp(word, "fresh", 5) == 0 && word[-1] == 'B' && program->alike &&
        round >= program->alike)
        return 2000 + round;             /* no longer what A got */
    if (strncmp(word, "seldom", 6) == 0) /* zeros in a few rounds */
        return round < program->alike ? hash_of_filled("zero", program->whole) : 1000 + round;
    if (strncmp(word, "fresh", 5) == 0)
        return 1000 + round;
    if (*word >= '0' && *word <= '9')
        return (uint64_t)*word;
    return hash_of_filled(word, program->whole);
}

static void hash(struct play *play, const struct program *program, const struct xft_event *call,
                 const char *word, unsigned round)
{
    if (program->unhashed)
        return;
    struct xft_event content = {
        .kind = XFT_EVENT_CONTENT,
        .bytes = call->bytes,
        .src = call->src,
        .dst = call->dst,
        .aux = hash_of(program, word, round),
        .width = program->whole ? call->bytes : SAMPLE,
        .count = 10,
    };
    uint64_t start = call->start_ns, now = play->now;
    play->lane = LANE_OTHER;
    play->now = start;
    play_event(play, content, 0);
    play->now = now;
    play->lane = LANE_MAIN;
}

/* ---- what a round does ----------------------------------------------------------------------- */

static struct xft_event memory(enum xft_event_kind kind, uint64_t address, uint64_t bytes)
{
    return (struct xft_event){
        .kind = (uint8_t)kind,
        .dst = address,
        .bytes = bytes,
        .width = bytes,
        .dst_mem = XFT_MEM_DEVICE,
    };
}

static void copy(struct play *play, const struct program *program, const char *word, unsigned round)
{
    bool up = strchr("uv2UPa", *word), waited = strchr("uv2d", *word);
    bool slow = *word == 'a';
    unsigned stack = up ? STACK_UPLOAD : STACK_RESULTS;
    enum xft_direction direction = up ? XFT_DIR_H2D : XFT_DIR_D2H;
    struct xft_event *call =
        waited ? play_copy(play, stack, direction, XFT_MEM_PINNED, MIB, COPY_NS)
               : play_async(play, stack, direction, XFT_MEM_PINNED, MIB, slow ? SLOW_NS : COPY_NS);
    uint64_t host = HOST(word[1]);
    call->src = up ? host : PLACE(word[1]);
    call->dst = up ? PLACE(word[1]) : host;
    if (word[1] == 'B' && !waited) /* it goes through the same memory of the host as A */
        *(up ? &call->src : &call->dst) = HOST('A');
    call->width = *word == '2' ? 4096 : call->width;
    call->count = *word == 'P' ? 2 : 1;
    if (*word == 'v')
        call->dst_mem = XFT_MEM_MANAGED;
    if (waited || slow)
        hash(play, program, call, word + 2, round);
}

static void launch(struct play *play, const char *word)
{
    static const char kernels[] = "rwxtb";
    struct xft_event event = {.kind = XFT_EVENT_LAUNCH, .dst = 32, .src = READS};
    if (*word != '?') {
        event.src = (uint64_t)(strchr(kernels, *word) - kernels) + 1;
        event.aux = word[1] == 'A'   ? GIVEN_A
                    : word[1] == 'B' ? GIVEN_B
                    : word[1] == '-' ? GIVEN_BEHIND
                                     : GIVEN_NONE;
        if (*word == 'b')
            event.aux = word[1] == 'N' ? GIVEN_A : GIVEN_A_AND_B;
    }
    play_event(play, event, 100);
}

static void between(struct play *play, const char *word)
{
    struct xft_event event =
        test_transfer(CALL_MEMCPY_ASYNC, XFT_DIR_D2D, XFT_MEM_DEVICE, MIB, 0, 0);
    event.src = PLACE(word[1]);
    event.dst = PLACE(word[2]);
    event.src_mem = event.dst_mem = XFT_MEM_DEVICE;
    event.flags = XFT_ASYNC;
    play_event(play, event, 100);
}

static void woken_by_stream(struct play *play)
{
    const struct play_lane *device = &play->lanes[LANE_DEVICE];
    play_event(play, (struct xft_event){.kind = XFT_EVENT_HOST_FUNCTION}, 1000);
    if (device->count > 0)
        play->now = device->events[device->count - 1].end_ns + WAY_NS;
}

static void other(struct play *play, const char *word)
{
    if (*word == 'm') {
        play_event(play, memory(XFT_EVENT_SET, PLACE(word[1]), MIB), 100);
    } else if (*word == 'M') {
        play_event(play, memory(XFT_EVENT_SET, PLACE(word[1]), MIB / 2), 100);
    } else if (*word == 'N') {
        play_event(play, memory(XFT_EVENT_SET, PLACE(word[1]) + MIB / 2, MIB / 2), 100);
    } else if (*word == 'f') {
        play_event(play, memory(XFT_EVENT_FREE, PLACE(word[1]), 4 * MIB), 100);
        play_event(play, memory(XFT_EVENT_ALLOC, PLACE(word[1]), 4 * MIB), 100);
    } else if (*word == 'c') {
        between(play, word);
    } else if (*word == 'h') {
        woken_by_stream(play);
    } else if (*word == 'g') {
        play_event(play, (struct xft_event){.kind = XFT_EVENT_GRAPH_LAUNCH, .src = 1}, 100);
    } else {
        play_event(play, (struct xft_event){.kind = XFT_EVENT_SYNC, .aux = XFT_SYNC_CONTEXT}, 100);
    }
}

static void play_round(struct play *play, const struct program *program, unsigned round)
{
    const char *word = program->round;
    while (*word) {
        if (strchr("uv2UPdDa", *word))
            copy(play, program, word, round);
        else if (strchr("rwxtb?", *word))
            launch(play, word);
        else
            other(play, word);
        word += strcspn(word, " ");
        word += strspn(word, " ");
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void names(struct trace_builder *b, const struct program *program)
{
    build_meta(b, "content", program->whole ? "whole" : "sampled");
    build_meta(b, "arguments", program->arguments ? program->arguments : "on");
    build_text(b, READS, "_Z4readPKfm");
    build_text(b, WRITES, "_Z5writePfm");
    build_text(b, UNNAMED, "plain");
    build_text(b, DEEP, "_Z5tablePKPf");
    build_text(b, READS_AND_WRITES, "_Z4bothPKfPf");
    if (program->arguments)
        return;
    build_arguments(b, GIVEN_A, (uint64_t[]){PLACE('A')}, 1);
    build_arguments(b, GIVEN_B, (uint64_t[]){PLACE('B')}, 1);
    build_arguments(b, GIVEN_NONE, NULL, 0);
    build_arguments(b, GIVEN_BEHIND, (uint64_t[]){PLACE('A') + 2 * MIB}, 1);
    build_arguments(b, GIVEN_A_AND_B, (uint64_t[]){PLACE('A'), PLACE('B')}, 2);
}

static struct xfp_profile *machine(void)
{
    struct measured_text text;
    measured_begin(&text, &(struct measured_machine){.id = "", .gpus = 1});
    fputs(", \"paths\": [{\"name\": \"copy/device/d2d/gpu0\", \"method\": \"copy\","
          " \"direction\": \"D2D\", \"src\": {\"memory\": \"device\", \"device\": 0, \"numa\": -1},"
          " \"dst\": {\"memory\": \"device\", \"device\": 0, \"numa\": -1}, \"device_timed\": true,"
          " \"fit\": null, \"points\": [{\"bytes\": 1048576, \"median_ns\": 5000,"
          " \"host_ns\": 1000}]}]",
          text.out);
    return measured_end(&text);
}

static void build(struct trace_builder *b, const struct program *program)
{
    struct play play;
    play_start(&play, b, 1);
    names(b, program);
    for (char letter = 'A'; letter <= 'C'; letter++)
        play_event(&play, memory(XFT_EVENT_ALLOC, PLACE(letter), 4 * MIB), 100);
    for (unsigned round = 0; round < ROUNDS; round++)
        play_round(&play, program, round);
    play_end(&play, XFT_STATE_CLOSED);
}

static struct analyzed run(const struct program *program)
{
    struct xfp_profile *profile = machine();
    struct trace_builder b;
    build(&b, program);
    return analyzed_answered(&b, profile, program->assume);
}

static bool of_this_test(enum xfa_finding_id id)
{
    return id == XFA_FINDING_REPEATED || id == XFA_FINDING_RETURNED ||
           id == XFA_FINDING_DUPLICATE || id == XFA_FINDING_CONSTANT || id == XFA_FINDING_UNUSED;
}

static const struct xfa_finding *only_finding(const struct analyzed *a, const char *round)
{
    const struct xfa_finding *found = NULL;
    for (size_t i = 0; i < a->findings->count; i++) {
        const struct xfa_finding *finding = &a->findings->items[i];
        if (!of_this_test(finding->id))
            continue;
        if (found)
            fail_msg("%s: %s in addition to %s", round, xfa_finding_word(finding->id),
                     xfa_finding_word(found->id));
        found = finding;
    }
    return found;
}

/* Transfers of that kind, and what the run saves for each of them: at worst, as is likely, at best.
 * What the best case is widened by ends where work has to be done (whatif/schedule/left.h). */
static void expect_of(const struct program *program, enum xfa_finding_id id, unsigned transfers,
                      double low, double likely, double high)
{
    struct analyzed a = run(program);
    const struct xfa_finding *found = only_finding(&a, program->round);
    if (!found || found->id != id || found->transfers != transfers)
        fail_msg("%s: %s %lu times", program->round, found ? xfa_finding_word(found->id) : "none",
                 found ? (unsigned long)found->transfers : 0);
    double unsure = xfw_unsure_ns(a.findings->whatif, likely * transfers) / transfers;
    double most = fmin(high + unsure, fmax(high, a.findings->whatif->span.alone_ns / transfers));
    const double wanted[] = {low - unsure, likely, most}, off = 0.02 * COPY_NS * transfers;
    const double given[] = {found->saving.low, found->saving.likely, found->saving.high};
    bool within = given[2] > high * transfers - off && given[2] < most * transfers + off;
    for (unsigned i = 0; i < 3; i++)
        if (i < 2 ? fabs(given[i] - wanted[i] * transfers) > off : !within)
            fail_msg("%s: saving %g, %g, %g of each", program->round, given[0] / transfers,
                     given[1] / transfers, given[2] / transfers);
    analyzed_free(&a);
}

static void expect(const char *round, enum xfa_finding_id id, unsigned transfers, double low,
                   double likely, double high)
{
    expect_of(&(struct program){.round = round}, id, transfers, low, likely, high);
}

static void nothing_of(const struct program *program)
{
    struct analyzed a = run(program);
    const struct xfa_finding *found = only_finding(&a, program->round);
    if (found)
        fail_msg("%s: %s %lu times", program->round, xfa_finding_word(found->id),
                 (unsigned long)found->transfers);
    analyzed_free(&a);
}

static void nothing(const char *round)
{
    nothing_of(&(struct program){.round = round});
}

#define ALL COPY_NS, COPY_NS, COPY_NS
#define AT_BEST 0, 0, COPY_NS

#endif
