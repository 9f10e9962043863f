/*
 * The simulated machine's clock.
 *
 * XFERSCOPE_SIMGPU_CLOCK=virtual (default): starts at one second and advances only by what is
 * simulated: the host time of calls, and waits. Runs are exactly repeatable. All threads share it,
 * as if they took turns on one processor, but for those that have clocks of their own.
 *
 * XFERSCOPE_SIMGPU_CLOCK=host: CLOCK_MONOTONIC, with the real time spent inside the simulation
 * taken out and the simulated time put in. Nothing ever sleeps for it.
 *
 * XFERSCOPE_SIMGPU_CLOCK=real: CLOCK_MONOTONIC. A call lasts, in real time, what it is simulated to
 * take, or what simulating it takes if that is longer: for processes that wait for each other.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/simgpu/simgpu.h"

/* Chooses the clock by its word; false when there is no such clock. */
int sim_clock_choose(const char *word);

/* XFERSCOPE_SIMGPU_CLOCK=real. */
bool sim_clock_is_real(void);

/* ns. */
uint64_t sim_now(void);

void sim_advance(uint64_t ns);

/* Jumps to a time, if that is ahead. */
void sim_wait_until(uint64_t ns);

/*
 * Under the virtual clock: the calling thread has a clock of its own, as on a processor of its own,
 * until it ends. It is number `number` of `of` such threads: begins once all of them are there,
 * where the common clock is. Before each call a thread waits, in real time, until no other one's
 * clock is behind its own, so that calls are made in the order of the clocks and runs are
 * repeatable. False: too many threads, a number that is taken, or the host's clock: nothing has
 * changed.
 */
bool sim_clock_begin_own(unsigned number, unsigned of);
void sim_clock_end_own(void);
void sim_clock_take_turn(void);

/* How long it neither slept nor waited for another thread, since it began; and all such threads
 * together, or each, by its time, which a call is made at. 0: it has no such clock. */
uint64_t sim_clock_worked_ns(void);
uint64_t sim_clock_worked_by_all_ns(void);
unsigned sim_clock_worked_by_each(struct xferscope_simgpu_thread *threads, unsigned most);

/* Advances the clock, without work. */
void sim_clock_sleep(uint64_t ns);

/* Such a thread takes a lock, by its address, and gives it up; it has one at most. It waits as long
 * as another one has it; of several that wait the first to come is next. Else nothing. */
void sim_clock_lock(const void *lock);
void sim_clock_unlock(const void *lock);

/* The same with a semaphore, a count in memory of the caller's: takes one, and waits for one if
 * there is none; adds one. */
void sim_clock_take(unsigned *semaphore);
void sim_clock_post(unsigned *semaphore);

/*
 * Under the virtual clock, around a function of the host that a stream calls: the driver's thread
 * calls it, whose clock is the calling thread's until _back(), which returns what that has come to.
 * False: the host's clock, nothing has changed.
 */
bool sim_clock_go_away(uint64_t ns);
uint64_t sim_clock_come_back(void);

/* Around the time spent inside the simulation; calls do not nest. Under the simulation's lock. */
void sim_clock_stop(void);
void sim_clock_go_on(void);

#endif
