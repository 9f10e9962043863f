/*
 * Runs the program under record as the shell would run it: it has the same standard input and
 * output, process group, terminal, signal mask and dispositions.
 */
#ifndef XFERSCOPE_CHILD_H
#define XFERSCOPE_CHILD_H

#include <stddef.h>

struct child_setting {
    const char *name;
    const char *value;
};

struct child_result {
    int wait_status; /* as waitpid gives it */
    int exec_error;  /* errno when the program could not be started, else 0 */
};

/*
 * Runs argv with the settings added to its environment and waits for it. Signals that other
 * processes send to this one (kill) are passed on; those from the terminal reach the program
 * anyway, and do not end this process before it. Returns 0, or -1 with errno when no process could
 * be made.
 */
int child_run(char **argv, const struct child_setting *settings, size_t count,
              struct child_result *result);

/* Ends this process as the program ended: with its status or by its signal (without a second core
 * file). Returns the status to exit with. */
int child_reproduce(int wait_status);

#endif
