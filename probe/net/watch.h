/*
 * Rank 0 keeps what was measured, whatever happens: the profile so far is in OUTPUT.partial, and a
 * thread waits for SIGINT, SIGTERM and SIGHUP (launchers send SIGTERM when another rank has ended),
 * and for a round that does not end. Then the partial file becomes the output, one line says so,
 * and the process ends.
 */
#ifndef XFP_NET_WATCH_H
#define XFP_NET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfp_profile;

/* Before MPI and the driver start threads: signals are for the watching thread alone. */
void xfp_net_block_signals(void);

/* output: NULL or "-": nothing is kept. Others than rank 0 end in silence. */
void xfp_net_watch(int rank, const char *output);

/* Rank 0 writes the partial file; measured and planned are pairs, for the line. */
void xfp_net_watch_keep(const struct xfp_profile *profile, int measured, int planned);

/* If nothing comes until then, `whom` ("rank 1 (b) and rank 2 (c)") does not answer. 0: no limit.
 */
void xfp_net_watch_until(uint64_t wall_ns, const char *whom);

/* From now on signals have their default effect; removes the partial file if the output was written
 * (whole). */
void xfp_net_watch_end(bool whole);

/* Ends the process as a signal would, with that line instead. */
void xfp_net_watch_fail(const char *why) __attribute__((noreturn));

#endif
