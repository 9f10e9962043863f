#include "analyzer/findings/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/files.h"
#include "analyzer/findings/finding.h"
#include "analyzer/run/site.h"
#include "common/nearest.h"

#define MOST_FILE_BYTES (1u << 20)

/* How long the part before "=yes" or "=no" is; 0: the text does not end so. */
static size_t question_length(const char *text, bool *yes)
{
    static const char *const ends[] = {"=no", "=yes"};
    size_t length = strlen(text);
    for (int i = 0; i < 2; i++) {
        size_t end = strlen(ends[i]);
        *yes = i;
        if (length > end && strcmp(text + length - end, ends[i]) == 0)
            return length - end;
    }
    return 0;
}

/* "/H2D" or "/D2H" at the end of so many bytes: 4; else 0, and both are meant. */
static size_t direction_length(const char *text, size_t length, bool *to_host, bool *to_device)
{
    const char *end = length >= 4 ? text + length - 4 : "";
    bool up = strncmp(end, "/H2D", 4) == 0, down = strncmp(end, "/D2H", 4) == 0;
    *to_host = !up;
    *to_device = !down;
    return up || down ? 4 : 0;
}

static unsigned kind_of(const char *word, size_t length)
{
    unsigned id = 0;
    while (id < XFA_FINDINGS && (strlen(xfa_finding_word(id)) != length ||
                                 strncmp(xfa_finding_word(id), word, length) != 0))
        id++;
    return id;
}

#define NEAREST_CHARS 80

/* "; did you mean round-trip?"; "": no kind is near. */
static void near_kind(char hint[NEAREST_CHARS], const char *word, size_t length)
{
    const char *words[XFA_FINDINGS];
    char *kind = xfa_kept(word, length);
    for (unsigned id = 0; id < XFA_FINDINGS; id++)
        words[id] = xfa_finding_word(id);
    xfc_did_you_mean(hint, NEAREST_CHARS, "", xfc_nearest(kind, words, XFA_FINDINGS));
    free(kind);
}

static int take_answer(struct xfa_answers *answers, const char *text, char *error,
                       size_t error_bytes)
{
    bool yes, to_host, to_device;
    size_t length = question_length(text, &yes);
    length -= direction_length(text, length, &to_host, &to_device);
    const char *at = memchr(text, '@', length);
    unsigned id = kind_of(text, at ? (size_t)(at - text) : length);
    if (length == 0 || id == XFA_FINDINGS || (at && at + 1 == text + length)) {
        char hint[NEAREST_CHARS] = "";
        if (id == XFA_FINDINGS)
            near_kind(hint, text, at ? (size_t)(at - text) : length);
        snprintf(error, error_bytes,
                 "--assume takes KIND[@SITE]=yes|no with a kind of finding, or a file of such "
                 "lines, not: %s%s",
                 text, hint);
        return -1;
    }
    answers->items =
        xfa_room(answers->items, &answers->capacity, answers->count + 1, sizeof *answers->items);
    answers->items[answers->count++] = (struct xfa_answer_given){
        .id = id,
        .site = at ? xfa_kept(at + 1, (size_t)(text + length - at - 1)) : NULL,
        .yes = yes,
        .to_host = to_host,
        .to_device = to_device,
        .text = xfa_text(text),
    };
    return 0;
}

/* Without what follows #, and blanks around it. */
static char *trimmed(char *line)
{
    static const char blanks[] = " \t\r";
    line[strcspn(line, "#")] = 0;
    line += strspn(line, blanks);
    size_t length = strlen(line);
    while (length > 0 && strchr(blanks, line[length - 1]))
        line[--length] = 0;
    return line;
}

static int take_file(struct xfa_answers *answers, const char *path, char *error, size_t error_bytes)
{
    const char *why = NULL;
    size_t bytes;
    char *read = xfa_read_whole(path, MOST_FILE_BYTES, &bytes, &why);
    if (!read) {
        snprintf(error, error_bytes,
                 "--assume takes KIND[@SITE]=yes|no, or a file of such lines: cannot read %s: %s",
                 path, why);
        return -1;
    }
    char *lines = xfa_kept(read, bytes), *rest = lines, *line;
    int failed = 0;
    free(read);
    while (failed == 0 && (line = strsep(&rest, "\n"))) {
        line = trimmed(line);
        failed = *line ? take_answer(answers, line, error, error_bytes) : 0;
    }
    free(lines);
    return failed;
}

int xfa_answers_take(struct xfa_answers *answers, const char *text, char *error, size_t error_bytes)
{
    bool yes;
    return question_length(text, &yes) ? take_answer(answers, text, error, error_bytes)
                                       : take_file(answers, text, error, error_bytes);
}

void xfa_answers_free(struct xfa_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++) {
        free(answers->items[i].site);
        free(answers->items[i].text);
    }
    free(answers->items);
    *answers = (struct xfa_answers){0};
}

/* The pattern, or one of several. */
static bool is_at(const char *pattern, const struct xfa_site *site)
{
    if (!strchr(pattern, XFA_ANSWER_OR) || xfa_site_matches(pattern, site))
        return xfa_site_matches(pattern, site);
    const char separator[] = {XFA_ANSWER_OR, 0};
    char *patterns = xfa_text(pattern), *rest = patterns, *one;
    bool found = false;
    while (!found && (one = strsep(&rest, separator)))
        found = *one && xfa_site_matches(one, site);
    free(patterns);
    return found;
}

enum xfa_answer xfa_answer_of(struct xfa_answers *answers, unsigned id, const struct xfa_site *site,
                              bool to_host)
{
    for (size_t i = answers ? answers->count : 0; i > 0; i--) {
        struct xfa_answer_given *given = &answers->items[i - 1];
        if (given->id != id || !(to_host ? given->to_host : given->to_device) ||
            (given->site && !is_at(given->site, site)))
            continue;
        given->met = true;
        return given->yes ? XFA_ANSWER_YES : XFA_ANSWER_NO;
    }
    return XFA_ANSWER_NONE;
}
