/* Transfers that could go: which, how sure that is by what kernels were given, and what the run
 * would save without them. */
#define XXH_INLINE_ALL
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "analyzer/report/summary.h"
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

/* A program: what each of its rounds does, in words one behind the other.
 *
 *     uA1 uAzero  sends content 1 (or zeros, ...) from the host's memory A to the device's buffer
 * A, of 1 MiB at the begin of an allocation of 4; uAfresh: another content each time UA the same,
 * not waited for and not hashed dA1 DA      fetches the same rA wA xA    launches a kernel that is
 * given A to read, to write, or not known what for bA          one that is given A to read and B to
 * write tA          one that is given a table of pointers, which is A w-          one that is given
 * what lies behind buffer A in its allocation; w<: before buffer Z r.          one that is given
 * nothing ?           one of which it is not known what it was given g           launches a graph
 *     mA fA       sets A; frees and allocates it
 *     MA NA       sets the first, the second half of A
 *     cAB         copies A to B on the device
 *     s           waits
 *     aA1         sends as uA1 does, in SLOW_NS and without waiting; h: has the stream call a
 * function of the host, and goes on WAY_NS behind that
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
 */
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
    const double wanted[] = {low - unsure, likely, most};
    const double given[] = {found->saving.low, found->saving.likely, found->saving.high};
    for (unsigned i = 0; i < 3; i++)
        if (fabs(given[i] - wanted[i] * transfers) > 0.02 * COPY_NS * transfers)
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

/* ---- tests ----------------------------------------------------------------------------------- */

/* What a kernel was given, and what its name says of that, decides. */
static void test_repeated(void **state)
{
    (void)state;
    expect("uA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("uA1 wA");
    nothing("uA1 rA wA rA");
    expect("uA1 xA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA wB", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    expect("uA1 bA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    expect("uA1 bN", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* which of the two is it? */
    expect("uA1 rA w-", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);  /* behind the buffer */
    expect("uA1 rA ?", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA g", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    expect("uA1 rA tB", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* pointers to pointers */
    nothing("uA1 wA rA mA wA");
    expect("vA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST); /* the host may have written */
    expect("2A1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("2A1 rA w-"); /* who knows how far the rows go */
    nothing("uAfresh rA");
    expect("dA1 rA", XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    nothing("dA1 wA");
    expect("dA1 xA", XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
}

/* Where one thing decides that the record does not show, it is a question; answered it is a finding
 * or none. */
static void test_questions(void **state)
{
    (void)state;
    struct program program = {.round = "uA1 xA"};
    struct analyzed a = run(&program);
    const struct xfa_finding *found = only_finding(&a, program.round);
    assert_true(found->asked && found->idle && found->order == 0);
    char *question = xfa_finding_question(found);
    assert_string_equal(question,
                        "no kernel changes what upload (train.c:42) has copied, before it "
                        "copies it again");
    free(question);
    analyzed_free(&a);
    a = run(&(struct program){.round = "uA1 rA"});
    assert_false(only_finding(&a, "uA1 rA")->asked);
    analyzed_free(&a);
    program.assume = "repeated-transfer=yes";
    expect_of(&program, XFA_FINDING_REPEATED, ROUNDS - 1, ALL);
    a = run(&program);
    found = only_finding(&a, program.round);
    assert_true(!found->asked && !found->idle && found->order == 1);
    char *assumed = xfa_finding_assumed(found);
    assert_non_null(strstr(assumed, "(by --assume)"));
    free(assumed);
    analyzed_free(&a);
    program.assume = "repeated-transfer@nowhere=yes";
    expect_of(&program, XFA_FINDING_REPEATED, ROUNDS - 1, AT_BEST);
    program.assume = "repeated-transfer@upload=no";
    nothing_of(&program);
    program = (struct program){.round = "wA dAfresh xA uBfresh rB", .assume = "round-trip=yes"};
    expect_of(&program, XFA_FINDING_RETURNED, ROUNDS, 2 * COPY_NS - SUBMIT, 2 * COPY_NS - SUBMIT,
              2 * COPY_NS);
}

/* The line of `record` asks, too, where nothing is certain. */
static void test_question_of_the_summary(void **state)
{
    char path[] = "/tmp/xferscope-test-XXXXXX.trace", machine_path[] = "/tmp/xferscope-test-XXXXXX";
    char error[256], *text = NULL;
    size_t bytes;
    struct xfp_profile *profile = machine();
    struct trace_builder b;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    close(mkstemps(path, 6));
    close(mkstemp(machine_path));
    build(&b, &(struct program){.round = "uA1 xA"});
    build_save(&b, path);
    assert_int_equal(xfp_save(profile, machine_path, error, sizeof error), 0);
    const struct xfa_summary_request request = {
        .run = path, .profile = machine_path, .make_profile = "probe"};
    assert_true(xfa_summarize(&request, out));
    fclose(out);
    assert_non_null(strstr(text, "; up to "));
    assert_non_null(strstr(text, " if no kernel changes what upload (train.c:42) has copied"));
    free(text);
    unlink(path);
    unlink(machine_path);
    build_free(&b);
    xfp_free(profile);
}

/* The host learns that the device is done by a function that the stream calls. */
static void test_called_back(void **state)
{
    (void)state;
    const double slow = SLOW_NS + 500; /* behind its call */
    expect("aA1 rA h s", XFA_FINDING_REPEATED, ROUNDS - 1, slow, slow, slow);
    /* Without a call behind the last one nobody knows when it went on. */
    const double seen = slow * (ROUNDS - 2) / (ROUNDS - 1);
    const double way = WAY_NS - 1000; /* which the call takes that gives the stream the function */
    expect("aA1 rA h", XFA_FINDING_REPEATED, ROUNDS - 1, seen, seen, seen + way);
    struct analyzed a = run(&(struct program){.round = "aA1 rA h"});
    char *assumed = xfa_finding_assumed(only_finding(&a, "aA1 rA h"));
    assert_non_null(strstr(assumed, "given; at best, the thread's own work"));
    free(assumed);
    analyzed_free(&a);
}

/* Other copies and frees have written there: the device could keep the bytes elsewhere. */
static void test_overwritten(void **state)
{
    (void)state;
    expect("uA1 rA mA rA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    expect("uA1 rA cBA rA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    expect("uA1 rA fA", XFA_FINDING_DUPLICATE, ROUNDS - 1, 0, 0, COPY_NS);
    nothing("uA1 wA cBA rA");
}

/* Without arguments nothing is known of kernels: likely, and what is assumed is said. */
static void test_unseen(void **state)
{
    (void)state;
    const struct program off = {.round = "uA1 ?", .arguments = "off"};
    expect_of(&off, XFA_FINDING_REPEATED, ROUNDS - 1, 0, COPY_NS, COPY_NS);
    struct analyzed a = run(&off);
    const struct xfa_finding *found = only_finding(&a, off.round);
    assert_non_null(strstr(found->assumed, "was not recorded"));
    assert_non_null(strstr(xfa_reckoning_text(found->reckoning, false), "may have changed"));
    analyzed_free(&a);
    a = run(&(struct program){.round = "uA1 rA"});
    found = only_finding(&a, "uA1 rA");
    assert_non_null(strstr(found->assumed, "only by pointers"));
    assert_null(strstr(xfa_reckoning_text(found->reckoning, false), "may have changed"));
    analyzed_free(&a);
}

/* The device copies it from where it is, as long as it is there. */
static void test_duplicate(void **state)
{
    (void)state;
    expect("uAfresh uBfresh rA wB", XFA_FINDING_DUPLICATE, ROUNDS, COPY_NS - SUBMIT,
           COPY_NS - SUBMIT, COPY_NS);
    nothing("uAfresh wA uBfresh wB");
    expect("uAfresh xA uBfresh wB", XFA_FINDING_DUPLICATE, ROUNDS, AT_BEST);
}

/* The rounds' bytes are fresh, each at one place; only in so many rounds two places get the same.
 */
static void expect_seldom(unsigned rounds, double likely)
{
    struct analyzed a = run(&(struct program){.round = "uAfresh rA uBfresh wB", .alike = rounds});
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_DUPLICATE, NULL);
    assert_non_null(found);
    assert_int_equal(found->transfers, rounds);
    assert_true(fabs(found->saving.likely - rounds * likely) < 0.02 * COPY_NS * rounds);
    assert_true(found->saving.high > rounds * (COPY_NS - SUBMIT) * 0.98);
    assert_int_equal(found->idle, likely == 0);
    assert_int_equal(found->asked, likely == 0);
    if (likely == 0)
        assert_non_null(strstr(found->question, "in each run"));
    analyzed_free(&a);
}

/* Seen once or twice it may be by chance, as an initial state is that two buffers begin with: then
 * it is a question, and no advice. */
static void test_duplicate_by_chance(void **state)
{
    (void)state;
    expect_seldom(1, 0);
    expect_seldom(2, 0);
    expect_seldom(3, COPY_NS - SUBMIT);
}

/* The same of a value that few of a site's copies have. */
static void test_constant_by_chance(void **state)
{
    (void)state;
    for (unsigned alike = 1; alike <= 3; alike++) {
        struct analyzed a = run(&(struct program){.round = "uAseldom wA", .alike = alike});
        const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_CONSTANT, NULL);
        assert_non_null(found);
        assert_int_equal(found->idle, alike < 3);
        assert_int_equal(found->asked, alike < 3);
        assert_int_equal(found->saving.likely > 0, alike == 3);
        analyzed_free(&a);
    }
}

/* Sent back to another place: both copies go, if the host does not look. Sent back to where it is:
 * what was fetched is for the host. */
static void test_round_trip(void **state)
{
    (void)state;
    const double copied = COPY_NS - SUBMIT;
    expect("wA dAfresh uBfresh rB", XFA_FINDING_RETURNED, ROUNDS, copied, copied + COPY_NS,
           2 * COPY_NS);
    expect("wA dAfresh uAfresh rA", XFA_FINDING_RETURNED, ROUNDS, COPY_NS, COPY_NS, 2 * COPY_NS);
    nothing("wA dAfresh wA uBfresh rB");
    nothing("wA dAfresh wA uAfresh rA");
    expect("wA dAfresh xA uBfresh rB", XFA_FINDING_RETURNED, ROUNDS, 0, 0, 2 * COPY_NS);
    expect("uAfresh rA dAfresh", XFA_FINDING_RETURNED, ROUNDS, ALL);
}

/* Behind each other in a stream, through the same memory of the host: no hash is needed. */
static void test_round_trip_on_its_way(void **state)
{
    (void)state;
    struct analyzed a = run(&(struct program){.round = "wA DA UB rB s", .unhashed = true});
    const struct xfa_finding *found = only_finding(&a, "on its way");
    assert_non_null(found);
    assert_int_equal(found->id, XFA_FINDING_RETURNED);
    assert_int_equal(found->transfers, ROUNDS);
    analyzed_free(&a);
    /* It has just arrived, and the host had no time to change it. */
    struct analyzed after = run(&(struct program){.round = "wA DA s UB rB s", .unhashed = true});
    const struct xfa_finding *straight = only_finding(&after, "just arrived");
    assert_non_null(straight);
    assert_int_equal(straight->id, XFA_FINDING_RETURNED);
    assert_true(straight->saving.low <= 0 && straight->saving.likely > 0);
    analyzed_free(&after);
    nothing_of(&(struct program){.round = "wA DA wA UB rB s", .unhashed = true});
    nothing_of(&(struct program){.round = "wA DA PB rB s", .unhashed = true});
}

static void test_constant(void **state)
{
    (void)state;
    const double set = COPY_NS - 2000; /* submitting it, as long as nobody has measured that */
    for (unsigned whole = 0; whole < 2; whole++) {
        const char *const rounds[] = {"uAzero wA", "uAone wA"};
        for (unsigned i = 0; i < 2; i++) {
            const struct program program = {.round = rounds[i], .whole = whole};
            expect_of(&program, XFA_FINDING_CONSTANT, ROUNDS, set, set, set);
        }
    }
    expect("uAseven wA", XFA_FINDING_CONSTANT, ROUNDS, set, set, set);
    nothing_of(
        &(struct program){.round = "uAseven wA", .whole = true}); /* of large ones the usual */
    nothing("uA1 wA");
    /* What is there already is better left out. */
    struct analyzed a = run(&(struct program){.round = "uAzero rA"});
    const struct xfa_finding *found = analyzed_finding(&a, XFA_FINDING_REPEATED, NULL);
    assert_non_null(found);
    assert_int_equal(found->transfers, ROUNDS - 1);
    analyzed_free(&a);
}

static void unused(const char *round, unsigned transfers)
{
    const struct program program = {.round = round, .unhashed = true};
    expect_of(&program, XFA_FINDING_UNUSED, transfers, 0, COPY_NS, COPY_NS);
}

static void used(const char *round)
{
    nothing_of(&(struct program){.round = round, .unhashed = true});
}

static void test_unused(void **state)
{
    (void)state;
    unused("uA1 wB", ROUNDS); /* the last one goes with the process */
    unused("uA1 mA wA", ROUNDS);
    unused("uA1 fA", ROUNDS);
    unused("uA1 MA", ROUNDS); /* the rest by the next one */
    unused("uA1 NA MA wA", ROUNDS);
    used("uA1 MA rA");
    unused("uA1 cBA rA", ROUNDS);
    unused("uA1 w-", ROUNDS);
    used("uA1 rA");
    used("uA1 wA");
    used("uA1 xA");
    used("uA1 dA1");
    used("uA1 cAB");
    used("uA1 ?");
    used("uA1 g");
    used("uA1 tB");
    used("uZ1 wB"); /* in no allocation: perhaps a constant */
    nothing_of(&(struct program){.round = "uA1 ?", .arguments = "off", .unhashed = true});
    nothing_of(&(struct program){.round = "uA1", .arguments = "off", .unhashed = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_question_of_the_summary),
        cmocka_unit_test(test_called_back),
        cmocka_unit_test(test_overwritten),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_duplicate),
        cmocka_unit_test(test_duplicate_by_chance),
        cmocka_unit_test(test_constant_by_chance),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_on_its_way),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_unused),
    };
    return cmocka_run_group_tests_name("left out", tests, NULL, NULL);
}
