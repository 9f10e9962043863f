#include "analyzer/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"

json_t *xfa_json_text(const char *value)
{
    json_t *string = value ? json_string(value) : NULL;
    if (value && !string) {
        char *valid = xfc_valid(value, strlen(value));
        string = valid ? json_string(valid) : NULL;
        free(valid);
    }
    return string ? string : json_null();
}

json_t *xfa_json_count(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *xfa_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *xfa_json_seconds(double ns)
{
    return xfa_json_number(ns / 1e9);
}

json_t *xfa_json_gpu(int gpu)
{
    return gpu >= 0 ? json_integer(gpu) : json_null();
}

json_t *xfa_json_moment(uint64_t real_ns)
{
    char buffer[40];
    time_t at = (time_t)(real_ns / 1000000000u);
    struct tm utc;
    if (real_ns == 0 || !gmtime_r(&at, &utc) ||
        !strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(buffer);
}

/* Pieces are a few bytes each, and collected. */
struct writer {
    FILE *out;
    size_t used;
    size_t deeper; /* spaces more in each line of the layout */
    char room[4096];
};

static void flush(struct writer *writer)
{
    fwrite_unlocked(writer->room, 1, writer->used, writer->out);
    writer->used = 0;
}

static void put(struct writer *writer, const char *bytes, size_t n)
{
    if (n > sizeof writer->room - writer->used)
        flush(writer);
    if (n > sizeof writer->room) {
        fwrite_unlocked(bytes, 1, n, writer->out);
        return;
    }
    memcpy(writer->room + writer->used, bytes, n);
    writer->used += n;
}

static void put_escaped(struct writer *writer, uint32_t code)
{
    char text[16]; /* a pair of surrogates */
    int n = code >= 0x10000 ? snprintf(text, sizeof text, "\\u%04x\\u%04x",
                                       0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff))
                            : snprintf(text, sizeof text, "\\u%04x", code);
    put(writer, text, (size_t)n);
}

/* A line end of the layout: one of a text would be escaped. */
static void put_line_end(struct writer *writer)
{
    put(writer, "\n", 1);
    for (size_t i = 0; i < writer->deeper; i++)
        put(writer, " ", 1);
}

/* Characters below space are escaped already, or line ends of the layout. Of ASCII only DEL is
 * hidden. */
static int write_piece(const char *piece, size_t n, void *self)
{
    const unsigned char hidden_from = 0x7f;
    struct writer *writer = self;
    size_t done = 0;
    for (size_t i = 0, length = 0; i < n; i += length ? length : 1) {
        uint32_t code = 0;
        length = 1;
        if (piece[i] == '\n' && writer->deeper > 0) {
            put(writer, piece + done, i - done);
            put_line_end(writer);
            done = i + 1;
        }
        if ((unsigned char)piece[i] < hidden_from)
            continue;
        length = xfc_utf8(piece + i, n - i, &code);
        if (length == 0 || !xfc_hidden(code))
            continue;
        put(writer, piece + done, i - done);
        put_escaped(writer, code);
        done = i + length;
    }
    put(writer, piece + done, n - done);
    return ferror_unlocked(writer->out) ? -1 : 0;
}

int xfa_json_write(const json_t *json, FILE *out, size_t flags)
{
    return xfa_json_write_in(json, out, flags, 0);
}

int xfa_json_write_in(const json_t *json, FILE *out, size_t flags, size_t deeper)
{
    struct writer writer = {.out = out, .used = 0, .deeper = deeper};
    int result = json_dump_callback(json, write_piece, &writer, flags);
    flush(&writer);
    return ferror_unlocked(out) ? -1 : result;
}

char *xfa_json_literal(const char *text)
{
    char *literal = NULL;
    size_t bytes = 0;
    json_t *json = xfa_json_text(text);
    FILE *out = open_memstream(&literal, &bytes);
    if (out) {
        xfa_json_write(json, out, JSON_ENCODE_ANY);
        fclose(out);
    }
    json_decref(json);
    return literal ? literal : xfa_text("null");
}
