/* Parts of the JSON report that have files of their own; the caller owns what they return. */
#ifndef XFA_REPORT_JSON_H
#define XFA_REPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>

struct xfa_report;
struct xfa_site;

json_t *xfa_phases_json(const struct xfa_report *report);
json_t *xfa_managed_json(const struct xfa_report *report);
json_t *xfa_site_json(const struct xfa_site *site, bool with_stack);

#endif
