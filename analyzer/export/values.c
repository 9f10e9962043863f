#include <math.h>

#include "analyzer/export/columns.h"

#define WHOLE 9007199254740992.0 /* up to here each whole number is a double */

static const struct xfa_value none;

struct xfa_value xfa_value_count(uint64_t count)
{
    return (struct xfa_value){XFA_VALUE_INTEGER,
                              {.integer = count > INT64_MAX ? INT64_MAX : (int64_t)count}};
}

struct xfa_value xfa_value_if(bool known, int64_t integer)
{
    return known ? (struct xfa_value){XFA_VALUE_INTEGER, {.integer = integer}} : none;
}

struct xfa_value xfa_value_moment(const struct xfa_process *process, uint64_t ns)
{
    uint64_t wall = xfa_process_wall_ns(process, ns);
    struct xfa_value value = xfa_value_count(wall);
    value.kind = XFA_VALUE_MOMENT;
    return wall ? value : none;
}

struct xfa_value xfa_value_real(double value)
{
    return isfinite(value) ? (struct xfa_value){XFA_VALUE_REAL, {.real = value}} : none;
}

struct xfa_value xfa_value_word(const char *word)
{
    return word ? (struct xfa_value){XFA_VALUE_WORD, {.text = word}} : none;
}

struct xfa_value xfa_value_text(const char *text)
{
    return text ? (struct xfa_value){XFA_VALUE_TEXT, {.text = text}} : none;
}

struct xfa_value xfa_value_truth(bool value)
{
    return (struct xfa_value){XFA_VALUE_TRUTH, {.integer = value}};
}

struct xfa_value xfa_value_memory(unsigned memory)
{
    return xfa_value_word(memory == XFT_MEM_UNKNOWN ? NULL : xft_memory_word(memory));
}

static void write_real(double value, struct xfa_line *line)
{
    if (fabs(value) < WHOLE && value == nearbyint(value))
        xfa_line_signed(line, (int64_t)value);
    else
        xfa_line_real(line, value, XFA_LINE_DIGITS);
}

void xfa_value_write(const struct xfa_value *value, struct xfa_line *line)
{
    switch (value->kind) {
    case XFA_VALUE_NONE:
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_MOMENT:
        xfa_line_signed(line, value->integer);
        break;
    case XFA_VALUE_REAL:
        write_real(value->real, line);
        break;
    case XFA_VALUE_TRUTH:
        xfa_line_text(line, value->integer ? "true" : "false");
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        xfa_line_text(line, value->text);
        break;
    }
}
