/*
 * What the hostile programs share: a GPU by the driver's calls of whatever libcuda.so.1 is found
 * (the simulated one or a real one), copies that are verified byte for byte and counted, and a few
 * words to say so.
 *
 * A program prints what a recorder could disturb, and nothing that differs from run to run. Each
 * process that copies ends with moved() or, where copies are under way as it ends,
 * moved_at_least(): what its trace must have. `run` compares both.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/programs/driver_api.h"

enum { SLOTS = 256, SLOT_BYTES = 4096 };

extern struct driver_calls cu;
extern xcu_deviceptr on_device; /* SLOTS * SLOT_BYTES, once begin() has returned */

/* Is the GPU simulated? Looks for the driver, and calls nothing of it. */
bool simulated(void);
void *driver_function(const char *name);

/* The first CUDA calls: a context, current in the calling thread, and memory. */
void begin(void);
/* Makes the context current in another thread. */
void use_gpu(void);
/* False where the driver has ended already. */
bool try_gpu(void);
/* Up and down again, verified: two copies. Threads and handlers have slots of their own. */
void round_trip(unsigned slot, size_t bytes);
void round_trips(unsigned slot, unsigned times);
/* Copies that were made by other means. */
void count_copy(size_t bytes);

/* One line, by one write(); it needs about 2 KiB of stack. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "moved N copies B bytes" of this process, all of which its trace must have. */
void moved(void);
/* Its trace may have more, since threads go on copying. */
void moved_at_least(void);
/* Of a child that is to count anew. */
void forget_moved(void);
/* Says why this machine cannot run the program, and ends it. */
void skip(const char *why) __attribute__((noreturn));
/* Ends the program with a line unless it is so; errno is said, too. */
void must(bool so, const char *what);

/* Waits for it, and says how it ended; -1: any child. */
void await(pid_t child, const char *name);
/* Runs `work` in so many threads, numbered from 0, and waits for them. stack: 0 for the usual size.
 */
void in_threads(unsigned count, size_t stack, void (*work)(unsigned number));
/* This program itself, to be executed. */
const char *own_path(void);
/* Its neighbour in the build folder. */
const char *beside(const char *name);
/* Writes a text to a file of the program's own; reads one and says its bytes and their sum. */
void write_file(const char *path, const char *text, int times);
void say_file(const char *path);
/* Closes what the program has not opened itself: all descriptors from 3 up, but those of a real
 * driver. */
void close_foreign(void);
/* The lowest descriptor that a real driver leaves alone. */
int free_descriptors(void);

#endif
