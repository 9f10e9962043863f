/*
 * "Did you mean": the known word that a mistyped one is nearest to.
 */
#ifndef XFC_NEAREST_H
#define XFC_NEAREST_H

#include <getopt.h>
#include <stddef.h>

/* Of `count` words the one with the least edit distance (Levenshtein) from `word`, at most 3 and
 * less than its own length; the first of several. NULL: none is near, or `word` has over 32 bytes.
 */
const char *xfc_nearest(const char *word, const char *const *words, size_t count);

/* The same of the names of options, for an argument that getopt_long() refused: "--ouptut=x" is
 * nearest to "output", which is returned without dashes. The list ends with a name of NULL. */
const char *xfc_nearest_option(const char *argument, const struct option *options);

/* `nearest`, as the end of a sentence: "; did you mean --output?", "" for NULL. `dashes`: what
 * stands before the word. Returns text. */
const char *xfc_did_you_mean(char *text, size_t bytes, const char *dashes, const char *nearest);

/* Both write one line to standard error, and return -1. "xferscope COMMAND: no such format: jsno;
 * did you mean json?; see xferscope COMMAND --help": `nearest` may be NULL. */
int xfc_wrong_word(const char *command, const char *what, const char *word, const char *nearest);
/* What getopt_long() returned: '?' for an unknown option, ':' for one whose value is missing. To be
 * called before the next one is asked for. `options` as it got them. */
int xfc_refused_option(const char *command, int option, char **argv, const struct option *options);

#endif
