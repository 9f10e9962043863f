/*
 * Recording a program, for the subcommands that do (record, run, again): their options, and the
 * program run under the recorder. docs/record.md says what each option does.
 */
#ifndef XFERSCOPE_RECORD_H
#define XFERSCOPE_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/xferscope/child.h"
#include "tools/xferscope/preloaded.h"
#include "tools/xferscope/rundir.h"

enum { RECORD_OWN_ERROR = PRELOADED_OWN_ERROR };

/* Between the parts of META's `started`, and between the words of one. */
#define RECORD_PART "\x1e"
#define RECORD_WORD "\x1f"

/* Lines of the usage: the options that say what is recorded. */
#define RECORD_WHAT_USAGE                                                                          \
    "      --no-stacks        record no call stacks\n"                                             \
    "      --no-sources       keep no lines of source with the call sites\n"                       \
    "      --stack-depth N    frames kept per stack, 1 to 64; default: 32\n"                       \
    "      --timing SOURCE    device times: auto, cupti, event or host; default: auto\n"           \
    "      --budget PERCENT   of the time that recording may cost; device times give way;\n"       \
    "                         default: 0, no bound\n"                                              \
    "      --content[=HOW]    hash what transfers move: auto, off, sampled or whole; alone: \n"    \
    "                         sampled; default: auto\n"                                            \
    "      --host-access      find out whether the host reads what large copies bring, and "       \
    "writes\n"                                                                                     \
    "                         what they send; the program is slower\n"                             \
    "      --verify           find out which kernels change what was copied; the program is "      \
    "much\n"                                                                                       \
    "                         slower\n"                                                            \
    "      --no-kernels       record no kernels\n"                                                 \
    "      --delay SECONDS    begin that long after a process's first CUDA call\n"                 \
    "      --duration SECONDS record for that long\n"                                              \
    "      --phase NAME       record only while an NVTX range of this name is open\n"              \
    "      --max-size BYTES   stop recording at this size (K, M, G; at least 1M)\n"                \
    "      --apply PLAN       carry out a plan that xferscope analyze wrote, too\n"                \
    "      --no-managed       record no migrations and faults of managed memory\n"

/* Texts are argv's. */
struct record_options {
    const char *output; /* as given; NULL = PROGRAM-PID.xft */
    const char *stack_depth;
    const char *timing;
    const char *content;
    const char *profile;
    const char *budget;
    const char *delay, *duration, *phase, *max_size;
    const char *apply; /* a plan; NULL: none */
    bool no_summary;
    bool no_stacks;
    bool no_sources;
    bool no_kernels;
    bool host_access;
    bool verify;
    bool no_managed;
    bool force;
    bool quiet;
    bool no_probe, no_page; /* of run: make no profile, write no page */
    bool led;               /* more is said after it: of the run one line, what was recorded */
    char **program;
    char **given; /* the options as they stand in argv */
    size_t given_count;
};

struct recorded {
    char path[PATH_MAX]; /* of the run */
    int rank;            /* of this process in its launch; -1: there is none */
    struct child_result result;
    struct rundir_totals totals; /* processes is 0: nothing was recorded, which has been said */
};

/* Prints "xferscope COMMAND: ..." on standard error, with the command that was parsed last. Returns
 * RECORD_OWN_ERROR. */
int record_own_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Parses the options of `command`, which end at the program's name, so that the program's own are
 * not parsed. 0; -1 for --help; or an exit status after a line on standard error.
 */
int record_parse(const char *command, int argc, char **argv, struct record_options *options);

/* Runs the program under the recorder, and says what record says at the end. 0, and how it ended;
 * or an exit status after a line on standard error: the program was not run. */
int record_program(const struct record_options *options, struct recorded *recorded);

#endif
