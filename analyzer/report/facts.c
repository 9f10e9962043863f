#include "analyzer/report/facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"

/* ---- how wide a text is ---------------------------------------------------------------------- */

size_t xfa_character(const char *text, size_t *width)
{
    wchar_t code;
    mbstate_t state = {0};
    size_t bytes = mbrtowc(&code, text, strlen(text), &state);
    if (bytes == 0 || bytes > strlen(text) || !iswprint((wint_t)code)) {
        *width = strlen("\\x00");
        return 1;
    }
    int columns = wcwidth(code);
    *width = columns > 0 ? (size_t)columns : 0;
    return bytes;
}

size_t xfa_columns(const char *text)
{
    size_t columns = 0, width;
    for (; *text; columns += width)
        text += xfa_character(text, &width);
    return columns;
}

/* The bytes of the text's first `columns` columns. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t bytes = 0, width;
    while (text[bytes]) {
        size_t more = xfa_character(text + bytes, &width);
        if (width > columns)
            break;
        columns -= width;
        bytes += more;
    }
    return bytes;
}

char *xfa_shortened(const char *text, size_t columns)
{
    static const char gap[] = "...";
    char *shown = xfa_clean(text, strlen(text));
    size_t wide = xfa_columns(shown), left = columns - strlen(gap);
    if (wide <= columns)
        return shown;
    const char *place = strstr(shown, " (");
    size_t tail = place ? xfa_columns(place + 1) : 0;
    if (tail == 0 || tail > left * 2 / 3)
        tail = left / 2;
    size_t head = bytes_of(shown, left - tail), from = bytes_of(shown, wide - tail);
    char *shorter = xfa_print("%.*s%s%s", (int)head, shown, gap, shown + from);
    free(shown);
    return shorter;
}

char *xfa_source_text(const struct xfa_site *site)
{
    static const char blanks[] = " \t\r\f\v";
    const struct xfa_frame *frame = site->chosen < 0 ? NULL : &site->frames[site->chosen];
    const char *line = site->source;
    if (!line || !frame || !frame->file)
        return NULL;
    for (uint32_t number = site->source_line; line && number < frame->line; number++) {
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
    if (!line)
        return NULL;
    line += strspn(line, blanks);
    size_t bytes = strcspn(line, "\n");
    while (bytes && strchr(blanks, line[bytes - 1]))
        bytes--;
    if (!bytes)
        return NULL;
    char *text = xfa_kept(line, bytes);
    for (char *tab = text; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    char *clean = xfa_clean(text, strlen(text));
    free(text);
    return clean;
}

/* ---- the run in a few words ------------------------------------------------------------------ */

char *xfa_argument_text(const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_-+=:,./";
    bool bare = *argument;
    size_t bytes = sizeof "''";
    for (const char *at = argument; *at; at++) {
        bare = bare && (strchr(plain, *at) || *at & 0x80);
        bytes += *at == '\'' ? strlen("'\\''") : 1;
    }
    if (bare)
        return xfa_text(argument);
    char *text = xfa_alloc(bytes), *end = text;
    *end++ = '\'';
    for (const char *at = argument; *at; at++) {
        if (*at == '\'')
            end = stpcpy(end, "'\\''");
        else
            *end++ = *at;
    }
    *end = '\'';
    return text;
}

char *xfa_command_text(const struct xfa_run *run, size_t columns)
{
    char *text = xfa_text(run->program && run->argument_count == 0 ? run->program : "");
    for (size_t i = 0; i < run->argument_count && strlen(text) < 8 * columns; i++) {
        char *word = xfa_argument_text(run->arguments[i]);
        text = xfa_append(text, "%s%s", i ? " " : "", word);
        free(word);
    }
    char *shown = xfa_shortened(*text ? text : "not recorded", columns);
    free(text);
    return shown;
}

char *xfa_gpus_text(const struct xfa_run *run)
{
    const char *name = run->gpu_count ? run->gpus[0].name : NULL;
    for (size_t i = 1; i < run->gpu_count; i++)
        if (!name || !run->gpus[i].name || strcmp(name, run->gpus[i].name) != 0)
            name = NULL;
    if (run->gpu_count == 0)
        return xfa_text(run->simulated ? "simulated GPU" : "GPU not recorded");
    if (run->gpu_count == 1)
        return xfa_text(name ? name : "1 GPU");
    return xfa_print("%zu GPUs%s%s%s", run->gpu_count, name ? " (" : "", name ? name : "",
                     name ? ")" : "");
}

char *xfa_host_text(const struct xfa_run *run)
{
    if (run->host_count > 1)
        return xfa_print(" on %zu hosts", run->host_count);
    return run->hostname ? xfa_print(" on %s", run->hostname) : xfa_text("");
}

char *xfa_moved_text(const struct xfa_analysis *analysis)
{
    char bytes[XFA_UNIT_CHARS];
    char *text = xfa_text("");
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        const struct xfa_sum *sum = &analysis->directions[d];
        if (sum->transfers == 0)
            continue;
        text = xfa_append(text, "%s%s %s in %" PRIu64, *text ? ", " : "", xft_direction_word(d),
                          xfa_bytes_text(bytes, sum->bytes), sum->transfers);
    }
    if (!*text) {
        free(text);
        return xfa_text("nothing by explicit transfers");
    }
    return text;
}
