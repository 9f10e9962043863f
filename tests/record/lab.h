/*
 * What the tests of the recorder share: running subject.c in a scratch directory and reading what
 * it left. Everything asserts for itself.
 */
#ifndef LAB_H
#define LAB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/record/decode.h"

#define LAB_MOST_TRACES 8

extern char place[64];    /* scratch directory of this run */
extern char run_dir[128]; /* XFERSCOPE_OUTPUT */
extern char said[8192];   /* stderr of the last subject */
extern const char *subject;

/* What the last run left: one trace per process, in the order of their names. */
extern struct decoded *traces[LAB_MOST_TRACES];
extern char paths[LAB_MOST_TRACES][512];
extern size_t trace_count;

/* Group set-up and tear-down: makes and removes the scratch directory. */
int lab_make_place(void **state);
int lab_remove_place(void **state);

/* Empties the scratch directory. */
void lab_clean(void);

/* Starts the subject: NAME=VALUE settings first, then the mode and its arguments, then NULL. */
pid_t lab_start(char **words);

/* Waits for it and reads its traces; its exit status, or minus the signal. */
int lab_finish(pid_t child);

#define RUN(...) (lab_clean(), lab_finish(lab_start((char *[]){__VA_ARGS__, NULL})))

void lab_read_traces(void);

/* Completes traces[i] as `xferscope record` does for dead processes, and reads again. */
void lab_complete(size_t i);

/* Events with this aux: which thread or process they are from. */
size_t lab_count_aux(const struct decoded *trace, uint64_t aux);

/* A closed file with this many events, none lost, none missing, nothing left over. */
void lab_check_closed(const struct decoded *trace, size_t events);

#endif
