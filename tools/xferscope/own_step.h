/*
 * Another subcommand as a step of this one, in a process of its own: when it crashes or is
 * interrupted, this one goes on, and the recorded program's status is not lost.
 */
#ifndef XFERSCOPE_OWN_STEP_H
#define XFERSCOPE_OWN_STEP_H

#include <stdbool.h>

enum own_output { OWN_TO_STDERR, OWN_TO_NOWHERE }; /* where its standard output goes */

struct own_step {
    int status;       /* its exit status; -1: it could not be started, or died by a signal */
    bool interrupted; /* Ctrl-C was typed meanwhile */
};

/*
 * Runs this program as `xferscope ARGUMENT...`; the list ends with NULL, without a name in front.
 * Ctrl-C and Ctrl-\ end the step alone; it is killed when this process ends. Returns how it ended.
 */
struct own_step own_step_run(const char *const *arguments, enum own_output output);

#endif
