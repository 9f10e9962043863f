#include "tools/xferscope/record_end.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "tools/xferscope/record_summary.h"

const char *record_short_path(const char *path)
{
    char folder[PATH_MAX];
    size_t length;

    if (!getcwd(folder, sizeof folder))
        return path;
    length = strlen(folder);
    if (strncmp(path, folder, length) == 0 && path[length] == '/' && path[length + 1])
        return path + length + 1;
    return path;
}

static const char *processes(size_t count)
{
    return count == 1 ? "process" : "processes";
}

/* ---- nothing was recorded --------------------------------------------------------------- */

static void say_nothing_recorded(const char *program, const char *name,
                                 const struct run_reported *reported)
{
    const char *enable = getenv("XFERSCOPE_ENABLE");

    if (reported->refused)
        xfc_print(stderr, "xferscope: nothing was recorded: %s (%u %s)\n", reported->why,
                  reported->refused, processes(reported->refused));
    if (reported->begun)
        xfc_print(stderr,
                  "xferscope: nothing is left of the %u %s that recorded: %s was deleted or moved\n"
                  "xferscope: while the program ran\n",
                  reported->begun, processes(reported->begun), name);
    if (reported->refused || reported->begun)
        return;
    if (enable && strcmp(enable, "0") == 0) {
        fputs("xferscope: nothing was recorded: XFERSCOPE_ENABLE=0 is set\n", stderr);
        return;
    }
    fprintf(
        stderr,
        "xferscope: no CUDA call was seen (unless a line above names one), no trace was\n"
        "xferscope: written. Programs that use CUDA escape when they are static or setuid, and\n"
        "xferscope: those that '%s' starts in another container or on another machine;\n"
        "xferscope: `xferscope doctor` checks this machine\n",
        program);
}

/* ---- something was ---------------------------------------------------------------------- */

static void say_what_is_missing(const struct rundir_totals *totals, const char *name,
                                const struct run_reported *reported)
{
    size_t there = totals->processes + totals->failed;

    if (totals->failed)
        xfc_print(stderr, "xferscope: %zu of the traces could not be completed: %s\n",
                  totals->failed, totals->error);
    if (totals->processes && reported->refused)
        xfc_print(stderr, "xferscope: %u %s could not be recorded: %s\n", reported->refused,
                  processes(reported->refused), reported->why);
    if (there && reported->begun > there)
        xfc_print(stderr, "xferscope: %zu of the traces are missing in %s: deleted or moved\n",
                  reported->begun - there, name);
    if (totals->lost)
        xfc_print(stderr, "xferscope: %llu events were lost, the report will say so\n",
                  (unsigned long long)totals->lost);
    if (totals->strangers)
        xfc_print(stderr, "xferscope: %zu of the traces in %s are of other runs, and not counted\n",
                  totals->strangers, name);
}

/* True for text with characters that are shown differently or are hard to see, and so hard to copy.
 */
static bool has_hidden(const char *word)
{
    size_t left = strlen(word), bytes;
    uint32_t code;

    for (; left > 0; word += bytes, left -= bytes) {
        bytes = xfc_utf8(word, left, &code);
        if (bytes == 0 || xfc_hidden(code))
            return true;
    }
    return false;
}

/* As $'...', which bash, zsh, ksh and others support. */
static void say_escaped(const char *word)
{
    fputs("$'", stderr);
    for (; *word; word++) {
        if (*word == '\'' || *word == '\\')
            fprintf(stderr, "\\%c", *word);
        else if (*word == '\n')
            fputs("\\n", stderr);
        else if (*word >= ' ' && *word <= '~')
            fputc(*word, stderr);
        else
            fprintf(stderr, "\\%03o", (unsigned char)*word);
    }
    fputc('\'', stderr);
}

void record_say_quoted(const char *word)
{
    if (*word == '-') /* a path that is not an option */
        fputs("./", stderr);
    record_say_argument(word);
}

void record_say_argument(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_+=:,./-";

    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, stderr);
        return;
    }
    if (has_hidden(word)) {
        say_escaped(word);
        return;
    }
    fputc('\'', stderr);
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1)
        xfc_print(stderr, "%.*s'\\''", (int)(quote - word), word);
    xfc_print(stderr, "%s'", word);
}

/* NAME.rank0.xft: the directories of all of them. */
static void say_all_ranks(const char *name)
{
    char stem[PATH_MAX];
    size_t bytes = strlen(name) - strlen("0.xft");

    snprintf(stem, sizeof stem, "%.*s", (int)bytes, name);
    record_say_quoted(stem);
    fputs("*.xft", stderr);
}

static void say_what_was_recorded(const struct rundir *dir, const struct rundir_totals *totals,
                                  const struct record_words *words)
{
    const char *name = record_short_path(dir->path);
    char profile[PATH_MAX] = "";

    if (totals->running)
        xfc_print(stderr, "xferscope: %zu of the processes still run and go on recording\n",
                  totals->running);
    if (!words->brief && !words->led)
        record_summary(dir, totals, words, profile);
    xfc_print(stderr, "xferscope: %zu %s, %llu events in %s", totals->processes,
              processes(totals->processes), (unsigned long long)totals->events, name);
    if (words->led) {
        fputc('\n', stderr);
        return;
    }
    fputs(words->brief ? "; next: " : "\nxferscope: next: ", stderr);
    record_say_quoted(program_invocation_name); /* analyze finds it in the same way */
    fputs(" analyze ", stderr);
    if (words->ranked)
        say_all_ranks(name);
    else
        record_say_quoted(name);
    if (*profile) {
        fputs(" --profile ", stderr);
        record_say_quoted(profile);
    }
    fputc('\n', stderr);
}

void record_end(struct rundir *dir, const struct run_notes *notes, const struct record_words *words,
                struct rundir_totals *totals)
{
    const char *name = record_short_path(dir->path);
    char error[2 * PATH_MAX];
    struct run_reported reported;
    bool earlier = dir->earlier_waits, recorded;

    run_notes_read(notes, &reported); /* first: a trace may be begun meanwhile */
    rundir_complete(dir, notes->run, reported.begun > 0 || reported.refused == 0, totals);
    recorded = totals->processes > 0;
    say_what_is_missing(totals, name, &reported);
    if (rundir_release(dir, recorded, error, sizeof error) != 0)
        xfc_print(stderr, "xferscope: %s\n", error);
    else if (earlier && !recorded)
        xfc_print(stderr, "xferscope: %s still holds the earlier run\n", name);
    if (!recorded && totals->failed == 0)
        say_nothing_recorded(words->program, name, &reported);
    else if (recorded && !words->quiet)
        say_what_was_recorded(dir, totals, words);
}

void record_undo(struct rundir *dir)
{
    char error[2 * PATH_MAX];

    if (rundir_release(dir, false, error, sizeof error) != 0)
        xfc_print(stderr, "xferscope record: %s\n", error);
}
