/* Runs of one program before and after a change, and their repetitions. */
#include <stdlib.h>
#include <string.h>

#include "tests/analyzer/traces/play.h"
#include "tests/analyzer/traces/scenario_report.h"

enum { SITE_FRAME = 30, SITE_GAINS, SITE_SAVE, SITE_CHECK, SITE_LAST };

#define FRAMES 24
#define FRAME_BYTES ((uint64_t)4 << 20)

/* From -2 % to 2 %, the same for the same copy of the same repetition. */
static uint64_t about(uint64_t ns, unsigned repetition, unsigned i)
{
    unsigned step = (i * 7 + repetition * 5 + i * repetition * 3) % 11;
    return ns + ns * step / 250 - ns / 50;
}

struct version {
    const char *name;
    unsigned memory; /* of the frames */
    uint64_t frame_ns;
    unsigned moved; /* lines, of what lies behind the change */
    bool saves;
};

static void frame(struct play *play, const struct version *version, unsigned repetition, unsigned i)
{
    uint64_t ns = about(version->frame_ns, repetition, i);
    struct xft_event *call =
        play_copy(play, SITE_FRAME, XFT_DIR_H2D, version->memory, FRAME_BYTES, ns);
    if (version->memory == XFT_MEM_PINNED)
        play_device_copy(play, call, ns - 2000);
    call =
        play_copy(play, SITE_GAINS, XFT_DIR_H2D, XFT_MEM_PINNED, 65536, about(5000, repetition, i));
    play_device_copy(play, call, about(3300, repetition, i));
    play->now += about(60000, repetition, i); /* the program's own time */
}

static const struct version *version_of(const char *variant)
{
    static const struct version versions[] = {
        {"before", XFT_MEM_PAGEABLE, 400000, 0, true},
        {"after", XFT_MEM_PINNED, 86000, 3, false},
        {"slow", XFT_MEM_PAGEABLE, 800000, 0, true},
    };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strncmp(variant, versions[i].name, strlen(versions[i].name)) == 0)
            return &versions[i];
    return &versions[0];
}

void scenario_compare(struct trace_builder *b, const char *variant)
{
    const struct version *version = version_of(variant);
    const char *number = strchr(variant, ':');
    unsigned repetition = number ? (unsigned)strtoul(number + 1, NULL, 10) : 0;
    struct play play;
    play_start(&play, b, (int)(4800 + repetition));
    play_site(&play, SITE_FRAME, "upload_frame", 20 + version->moved);
    play_site(&play, SITE_GAINS, "upload_frame", 27 + version->moved);
    play_site(&play, SITE_SAVE, "save", 50);
    play_site(&play, SITE_CHECK, "check", 60);
    play_site(&play, SITE_LAST, "finish", 70 + version->moved);
    for (unsigned i = 0; i < FRAMES; i++)
        frame(&play, version, repetition, i);
    for (unsigned i = 0; i < 6 && version->saves; i++)
        play_copy(&play, SITE_SAVE, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 65536,
                  about(30000, repetition, i));
    if (!version->saves)
        play_copy(&play, SITE_CHECK, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 64, 9000);
    play_copy(&play, SITE_LAST, XFT_DIR_D2H, XFT_MEM_PAGEABLE, 128, about(12000, repetition, 3));
    play_end(&play, XFT_STATE_CLOSED);
}
