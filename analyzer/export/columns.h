/*
 * The columns of a transfer, or of any event: one table for the formats that have lines or rows
 * (docs/export.md explains each; a test compares its table with columns.def).
 *
 * Names end in the unit: _ns, _gb_s (10^9 bytes a second); bytes are bytes. Moments are ns of the
 * wall clock since 1970. What is not known has no value.
 */
#ifndef XFA_COLUMNS_H
#define XFA_COLUMNS_H

#include "analyzer/base/line.h"
#include "analyzer/export/export.h"

enum xfa_value_kind {
    XFA_VALUE_NONE,
    XFA_VALUE_INTEGER,
    XFA_VALUE_MOMENT, /* an integer */
    XFA_VALUE_REAL,
    XFA_VALUE_TRUTH,
    XFA_VALUE_WORD, /* one of ours: ASCII, without quotes */
    XFA_VALUE_TEXT, /* of export->words, in its form */
};

struct xfa_value {
    enum xfa_value_kind kind;
    union {
        int64_t integer; /* sticks at the largest; truth: 0, 1 */
        double real;
        const char *text;
    };
};

struct xfa_transfer_column {
    const char *name;
    enum xfa_value_kind kind; /* when it has a value */
    struct xfa_value (*get)(struct xfa_export *export, const struct xfa_event *event);
};
extern const struct xfa_transfer_column xfa_transfer_columns[];
extern const size_t xfa_transfer_column_count;

/* The same of an event that is no transfer; text is good until the next column. */
struct xfa_event_column {
    const char *name;
    struct xfa_value (*get)(struct xfa_export *export, const struct xfa_event *event);
};
extern const struct xfa_event_column xfa_event_columns[];
extern const size_t xfa_event_column_count;

/* Those of a call of MPI or NCCL, and of a request that a call found complete; before them a format
 * may have xfa_message_event(). */
struct xfa_message_column {
    const char *name; /* of an event's column */
    bool text;        /* when it has a value */
};
extern const struct xfa_message_column xfa_message_columns[];
extern const size_t xfa_message_column_count;
struct xfa_value xfa_message_value(size_t column, struct xfa_export *export,
                                   const struct xfa_event *event);
/* "message" or "message-end"; NULL: an event that is neither. */
const char *xfa_message_event(const struct xfa_event *event);

/* ---- values ---------------------------------------------------------------------------------- */

struct xfa_value xfa_value_count(uint64_t count);
struct xfa_value xfa_value_if(bool known, int64_t integer);
struct xfa_value xfa_value_moment(const struct xfa_process *process, uint64_t ns);
struct xfa_value xfa_value_real(double value);     /* NAN: none */
struct xfa_value xfa_value_word(const char *word); /* NULL: none */
struct xfa_value xfa_value_text(const char *text); /* the same */
struct xfa_value xfa_value_truth(bool value);
struct xfa_value xfa_value_memory(unsigned memory); /* unknown: none */

/* Appends it as digits, word or text, nothing for none; reals with 15 digits, whole ones as such.
 */
void xfa_value_write(const struct xfa_value *value, struct xfa_line *line);
/* The same as a field of CSV: text in quotes where it needs them. */
void xfa_value_write_csv(const struct xfa_value *value, struct xfa_line *line);

#endif
