#include "analyzer/report/html/html.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/compared.h"
#include "analyzer/report/headline.h"
#include "analyzer/report/html/page_bytes.h"
#include "analyzer/report/json/json.h"

/* ---- escaping -------------------------------------------------------------------------------- */

struct escaping {
    FILE *out;
    unsigned char held[2]; /* the beginning of what may be a line separator: E2 80 A8, or A9 */
    size_t held_count;
};

static void release(struct escaping *escaping)
{
    fwrite(escaping->held, 1, escaping->held_count, escaping->out);
    escaping->held_count = 0;
}

static void put(struct escaping *escaping, unsigned char byte)
{
    static const unsigned char separator[2] = {0xe2, 0x80};
    if (escaping->held_count == 2 && (byte == 0xa8 || byte == 0xa9)) {
        escaping->held_count = 0;
        fprintf(escaping->out, "\\u20%x", byte - 0x80);
        return;
    }
    if (escaping->held_count < 2 && byte == separator[escaping->held_count]) {
        escaping->held[escaping->held_count++] = byte;
        return;
    }
    release(escaping);
    if (byte == separator[0])
        escaping->held[escaping->held_count++] = byte;
    else if (byte == '<' || byte == '>' || byte == '&')
        fprintf(escaping->out, "\\u%04x", byte);
    else
        putc(byte, escaping->out);
}

static ssize_t write_escaped(void *cookie, const char *bytes, size_t count)
{
    struct escaping *escaping = cookie;
    for (size_t i = 0; i < count; i++)
        put(escaping, (unsigned char)bytes[i]);
    return (ssize_t)count; /* an error of `out` is reported when it is closed */
}

static int close_escaping(void *cookie)
{
    release(cookie);
    free(cookie);
    return 0;
}

FILE *xfa_html_escaping(FILE *out)
{
    const cookie_io_functions_t functions = {.write = write_escaped, .close = close_escaping};
    struct escaping *escaping = xfa_alloc(sizeof *escaping);
    escaping->out = out;
    FILE *stream = fopencookie(escaping, "w", functions);
    if (!stream) {
        fprintf(stderr, "xferscope: out of memory\n");
        exit(1);
    }
    return stream;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What a page is of: a report, or a comparison. */
struct content {
    const struct xfa_report *report;
    const struct xfa_comparison *comparison; /* NULL: a report */
    const struct xfa_view *view;
};

static void write_report_block(const struct content *content, FILE *out)
{
    FILE *escaping = xfa_html_escaping(out);
    json_t *json = content->comparison ? xfa_comparison_json(content->comparison, content->view)
                                       : xfa_report_json(content->report, content->view);
    xfa_json_write(json, escaping, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(json);
    fclose(escaping);
}

static void write_timeline_block(const struct content *content, FILE *out)
{
    FILE *escaping = xfa_html_escaping(out);
    const struct xfa_report *report = content->report;
    const char *phase = content->view->filter ? content->view->filter->phase : NULL;
    if (content->comparison)
        fputs("null", escaping);
    else
        xfa_timeline_write(
            report->timeline,
            xfa_headline_of(report->analysis, report->findings, report->timeline, phase).phase,
            escaping);
    fclose(escaping);
}

/* The text as the value of an attribute in double quotes. */
static void write_attribute(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '<' || *text == '>' || *text == '&')
            fprintf(out, "&#%d;", *text);
        else
            putc(*text, out);
    }
}

static void write_headline(const struct content *content, FILE *out)
{
    const struct xfa_report *report = content->report; /* NULL: it is a comparison */
    const char *phase = content->view->filter ? content->view->filter->phase : NULL;
    char *line = report ? xfa_headline_line(report->analysis, report->findings, phase)
                        : xfa_compared_headline_text(content->comparison);
    char *shown = line ? xfa_clean(line, strlen(line)) : xfa_text("");
    write_attribute(shown, out);
    free(line);
    free(shown);
}

static void write_page(const struct content *content, FILE *out)
{
    static const struct {
        const char *mark;
        void (*write)(const struct content *content, FILE *out);
    } parts[] = {{"@HEADLINE@", write_headline},
                 {"@REPORT@", write_report_block},
                 {"@TIMELINE@", write_timeline_block}};
    const unsigned char *at = xfa_page_bytes, *end = at + xfa_page_length;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t length = strlen(parts[i].mark);
        const unsigned char *mark = memmem(at, (size_t)(end - at), parts[i].mark, length);
        if (!mark)
            break;
        fwrite(at, 1, (size_t)(mark - at), out);
        parts[i].write(content, out);
        at = mark + length;
    }
    fwrite(at, 1, (size_t)(end - at), out);
}

static void write_html(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    write_page(&(struct content){.report = report, .view = view}, out);
}

static void compare_html(const struct xfa_comparison *comparison, const struct xfa_view *view,
                         FILE *out)
{
    write_page(&(struct content){.comparison = comparison, .view = view}, out);
}

static const char *lacks(void)
{
    return xfa_page_length ? NULL
                           : "this build has no HTML report: npm was not there, or could not "
                             "install what its page is made with";
}

const struct xfa_format xfa_format_html = {
    .name = "html", .write = write_html, .compare = compare_html, .lacks = lacks, .timeline = true};
