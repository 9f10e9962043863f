#include <inttypes.h>
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

/* printf takes five times as long, and most of a line is digits. */
static void write_integer(int64_t integer, FILE *out)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (integer < 0)
        *--at = '-';
    fwrite_unlocked(at, 1, (size_t)(digits + sizeof digits - at), out);
}

static void write_real(double value, FILE *out)
{
    if (fabs(value) < WHOLE && value == nearbyint(value))
        write_integer((int64_t)value, out);
    else
        fprintf(out, "%.15g", value);
}

void xfa_value_write(const struct xfa_value *value, FILE *out)
{
    switch (value->kind) {
    case XFA_VALUE_NONE:
        break;
    case XFA_VALUE_INTEGER:
    case XFA_VALUE_MOMENT:
        write_integer(value->integer, out);
        break;
    case XFA_VALUE_REAL:
        write_real(value->real, out);
        break;
    case XFA_VALUE_TRUTH:
        fputs_unlocked(value->integer ? "true" : "false", out);
        break;
    case XFA_VALUE_WORD:
    case XFA_VALUE_TEXT:
        fputs_unlocked(value->text, out);
        break;
    }
}
