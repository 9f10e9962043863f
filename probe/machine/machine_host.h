/*
 * Reads facts about the host from the system's files.
 */
#ifndef XFP_MACHINE_HOST_H
#define XFP_MACHINE_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "xferscope/profile.h"

/* First line of ROOT/path without its end; "" when there is none. */
void xfp_first_line(const char *root, const char *path, char *line, size_t bytes);

/* A copy in printable ASCII, since names come from firmware. */
char *xfp_clean_text(const char *text);

/* Fills kernel, governor, huge_pages, hypervisor, driver_release (unless it is there),
 * toolkit_version, memlock_bytes. root: "" for this machine; tests have trees of their own. */
void xfp_read_host(const char *root, struct xfp_machine *machine);

/* Conditions that make host times vary, one line each; the lines are constant or in `text`. Returns
 * how many. */
#define XFP_HOST_TROUBLES 4
#define XFP_TROUBLE_BYTES 160
size_t xfp_host_troubles(const char *root, const struct xfp_machine *machine,
                         char text[XFP_HOST_TROUBLES][XFP_TROUBLE_BYTES]);

/* Bytes that may still be allocated, by the system and a container's limits; UINT64_MAX when not
 * known. */
uint64_t xfp_available_memory(const char *root);

#endif
