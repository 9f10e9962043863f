/* What the formats of a verdict share; the caller frees texts that are not const. */
#ifndef XFA_GATE_FORMATS_H
#define XFA_GATE_FORMATS_H

#include "analyzer/gate/gate.h"

const char *xfa_gated_site(const struct xfa_gated *row);
/* "H2D pageable, 70 transfers, 945 MiB" */
char *xfa_gated_text(const struct xfa_gated *row);
/* The source file, from the checkout's root on ($GITHUB_WORKSPACE, else the working directory)
 * where it lies there; NULL: not known. */
char *xfa_gated_file(const struct xfa_gated *row);
uint32_t xfa_gated_line(const struct xfa_gated *row); /* 0: not known */

void xfa_gate_write_json(const struct xfa_gate_verdict *verdict, const char *path, FILE *out);
/* SARIF 2.1.0 (OASIS). */
void xfa_gate_write_sarif(const struct xfa_gate_verdict *verdict, const char *path, FILE *out);

#endif
