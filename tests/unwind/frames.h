/*
 * Functions with frames of all sorts; frames.c is compiled in several ways.
 */
#ifndef FRAMES_H
#define FRAMES_H

typedef void frames_leaf(void *);
typedef int frames_function(int depth, frames_leaf *leaf, void *argument);

/* Calls itself so often, by frames that differ, then the leaf. */
frames_function frames_without_pointer, frames_with_pointer, frames_unoptimised;

/* Calls the leaf and does not come back: nothing follows the call. The leaf does not return. */
__attribute__((noreturn)) void frames_end_without_pointer(frames_leaf *leaf, void *argument);
__attribute__((noreturn)) void frames_end_with_pointer(frames_leaf *leaf, void *argument);
__attribute__((noreturn)) void frames_end_unoptimised(frames_leaf *leaf, void *argument);

#endif
