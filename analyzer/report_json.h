/* Parts of the JSON report that have files of their own; the caller owns what they return. */
#ifndef XFA_REPORT_JSON_H
#define XFA_REPORT_JSON_H

#include <jansson.h>

struct xfa_report;

json_t *xfa_phases_json(const struct xfa_report *report);

#endif
