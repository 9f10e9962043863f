#include "tests/analyzer/traces/hostile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVIL(name) name HOSTILE NO_UTF8
#define BASE 0x7f5000000000

enum { TEXT_DOMAIN = 1, TEXT_RANGE, TEXT_KERNEL };

static void names(struct trace_builder *b)
{
    static const char *const keys[] = {"exe",
                                       "hostname",
                                       "exit",
                                       "timing",
                                       "timing.why",
                                       "content.why",
                                       "extra" HOSTILE,
                                       "gpu.0.name",
                                       "gpu.0.uuid",
                                       "machine_id",
                                       "xferscope.version",
                                       "run",
                                       "cwd",
                                       "cuda.driver_version",
                                       "gpu.0.pci",
                                       "arguments.why",
                                       "managed.why",
                                       "nvtx.why",
                                       "python.version",
                                       "python.frames.why"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        build_meta(b, keys[i], EVIL("value"));
    build_meta(b, "cmdline", EVIL("./train") "\x1f" EVIL("--steps"));
    build_meta(b, "content", "sampled");
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, EVIL("cudaMemcpy"));
    build_module(b, BASE, BASE + 0x100000, EVIL("/opt/train"));
    build_symbol(b, BASE + 0x1100, 0, EVIL("upload"), EVIL("/src/train.c"), 42, EVIL("/opt/train"));
    build_symbol(b, BASE + 0x1200, 0, EVIL("main"), "", 0, EVIL("/opt/train"));
    build_stack(b, 1, (uint64_t[]){BASE + 0x1100, BASE + 0x1200, BASE + 0x1300}, 3);
    build_stack(b, 2, (uint64_t[]){BASE + 0x1200}, 1);
    build_stack(b, 3, (uint64_t[]){BASE + 0x1300}, 1);
    build_text(b, TEXT_DOMAIN, EVIL("domain"));
    build_text(b, TEXT_RANGE, EVIL("range"));
    build_text(b, TEXT_KERNEL, EVIL("kernel"));
}

static struct xft_event event_of(enum xft_event_kind kind, uint64_t at, unsigned stack)
{
    return (struct xft_event){.kind = (uint8_t)kind,
                              .start_ns = TEST_START_NS + at,
                              .end_ns = TEST_START_NS + at + 500,
                              .call = CALL_MEMCPY,
                              .stack = stack};
}

static struct xft_event range_of(enum xft_event_kind kind, uint64_t at)
{
    struct xft_event event = event_of(kind, at, 0);
    event.src = TEXT_DOMAIN;
    event.aux = kind == XFT_EVENT_RANGE_BEGIN ? TEXT_RANGE : 0;
    return event;
}

/* Managed memory that a kernel and a line of the host's program fault on. */
static struct xft_event managed_of(enum xft_event_kind kind, uint64_t at, unsigned stack)
{
    struct xft_event event = event_of(kind, at, stack);
    event.src = event.dst = 0x1000000;
    event.bytes = 1 << 20;
    event.dst_mem = XFT_MEM_MANAGED;
    event.direction = XFT_DIR_H2D;
    event.count = 3;
    return event;
}

void scenario_hostile(struct trace_builder *b)
{
    struct xft_event events[16];
    size_t n = 0;
    build_start(b, 4715);
    names(b);
    events[n++] = managed_of(XFT_EVENT_ALLOC, 1000, 2);
    events[n++] = range_of(XFT_EVENT_RANGE_BEGIN, 2000);
    for (unsigned stack = 1; stack <= 3; stack++)
        events[n++] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 16 << 20,
                                    TEST_START_NS + 3000000 * stack, 2500000);
    for (unsigned stack = 1; stack <= 3; stack++)
        events[n - 4 + stack].stack = stack;
    events[n++] = event_of(XFT_EVENT_KERNEL, 20000000, 0);
    events[n - 1].end_ns += 1000000;
    events[n - 1].src = TEXT_KERNEL;
    events[n++] = managed_of(XFT_EVENT_MIGRATION, 20000100, 0);
    events[n++] = managed_of(XFT_EVENT_FAULT, 20000200, 0);
    events[n++] = managed_of(XFT_EVENT_FAULT, 20000300, 1);
    events[n - 1].device = XFT_PLACE_UNKNOWN;
    events[n - 1].end_ns = 0;
    events[n++] = range_of(XFT_EVENT_RANGE_END, 30000000);
    build_events(b, 0, 0, events, n);
    build_close(b, XFT_STATE_RECORDING, 0); /* "unfinished", with the name of the file */
}

static void spoil(char **text)
{
    char *longer;
    if (asprintf(&longer, "%s%s", *text ? *text : "", INVISIBLE) < 0)
        abort();
    free(*text);
    *text = longer;
}

void hostile_profile(struct xfp_profile *profile)
{
    spoil(&profile->producer);
    spoil(&profile->machine.hostname);
    spoil(&profile->machine.machine_id);
    spoil(&profile->machine.cpu);
    spoil(&profile->machine.gpus[0].name);
    spoil(&profile->machine.gpus[0].uuid);
    profile->warnings = calloc(1, sizeof *profile->warnings);
    if (!profile->warnings)
        abort();
    profile->warning_count = 1;
    spoil(&profile->warnings[0]);
}

/* ---- markup ---------------------------------------------------------------------------------- */

#define TAGS(name) "<b>" name MARKUP NO_UTF8

void scenario_markup(struct trace_builder *b)
{
    struct xft_event events[5];
    build_start(b, 4716);
    build_meta(b, "exe", TAGS("/opt/train"));
    build_meta(b, "cmdline", TAGS("./train"));
    build_meta(b, "hostname", TAGS("host"));
    build_meta(b, "gpu.0.name", TAGS("GPU"));
    build_meta(b, "gpu.0.uuid", TAGS("uuid"));
    build_call(b, CALL_MEMCPY, XFT_LEVEL_RUNTIME, TAGS("cudaMemcpy"));
    build_module(b, BASE, BASE + 0x100000, "/opt/train");
    build_symbol(b, BASE + 0x1100, 0, TAGS("upload"), TAGS("/src/train.c"), 42, "/opt/train");
    build_stack(b, 1, (uint64_t[]){BASE + 0x1100}, 1);
    build_text(b, TEXT_KERNEL, TAGS("kernel"));
    events[0] = managed_of(XFT_EVENT_ALLOC, 1000, 1);
    events[1] = test_transfer(CALL_MEMCPY, XFT_DIR_H2D, XFT_MEM_PAGEABLE, 16 << 20,
                              TEST_START_NS + 3000000, 2500000);
    events[1].stack = 1;
    events[2] = event_of(XFT_EVENT_SYNC, 6000000, 1);
    events[3] = event_of(XFT_EVENT_KERNEL, 7000000, 0);
    events[3].src = TEXT_KERNEL;
    events[4] = managed_of(XFT_EVENT_MIGRATION, 8000000, 0);
    build_events(b, 0, 0, events, 5);
    build_close(b, XFT_STATE_CLOSED, TEST_START_NS + 10000000);
}
