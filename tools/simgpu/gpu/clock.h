/*
 * The simulated machine's clock.
 *
 * XFERSCOPE_SIMGPU_CLOCK=virtual (default): starts at one second and advances only by what is
 * simulated: the host time of calls, and waits. Runs are exactly repeatable. All threads share it,
 * as if they took turns on one processor.
 *
 * XFERSCOPE_SIMGPU_CLOCK=host: CLOCK_MONOTONIC, with the real time spent inside the simulation
 * taken out and the simulated time put in. Nothing ever sleeps for it.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

/* Chooses the clock by its word; false when there is no such clock. */
int sim_clock_choose(const char *word);

/* ns. */
uint64_t sim_now(void);

void sim_advance(uint64_t ns);

/* Jumps to a time, if that is ahead. */
void sim_wait_until(uint64_t ns);

/* Around the time spent inside the simulation; calls do not nest. Under the simulation's lock. */
void sim_clock_stop(void);
void sim_clock_go_on(void);

#endif
