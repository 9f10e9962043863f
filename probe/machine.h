/*
 * The machine that is measured: what it is, and what about it makes figures untrustworthy.
 */
#ifndef XFP_MACHINE_H
#define XFP_MACHINE_H

#include "session.h"

/* Fills the profile's machine and the session's NUMA nodes; adds warnings. 0, or -1. */
int xfp_describe_machine(struct xfp_session *s);

/*
 * NVML, loaded at run time; without it nothing is said. For the GPU of that PCI address: how many
 * other processes compute on it and the percentage of time it was busy; -1 = not known.
 */
void xfp_nvml_busy(const char *pci, int *processes, int *percent);

#endif
