/*
 * Runs a program with libxferscope.so preloaded, for the subcommands that do.
 */
#ifndef XFERSCOPE_PRELOADED_H
#define XFERSCOPE_PRELOADED_H

#include <stddef.h>

#include "tools/xferscope/child.h"

/* The exit status where a subcommand itself failed; 126 and 127 as a shell's, where the program
 * could not be run. */
enum { PRELOADED_OWN_ERROR = 125 };

/* Prints a line on standard error, in the name of the subcommand; returns PRELOADED_OWN_ERROR. */
typedef int preloaded_refuse(const char *format, ...);

/* The library's path. 0, or an exit status after a line. */
int preloaded_library(char *path, size_t bytes, preloaded_refuse *refuse);

/*
 * Runs the program with the library first in LD_PRELOAD and these settings in its environment. 0,
 * and how it ended; or an exit status after a line: the program was not run.
 */
int preloaded_run(char **program, const char *library, const struct child_setting *settings,
                  size_t count, struct child_result *result, preloaded_refuse *refuse);

#endif
