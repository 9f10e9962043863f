/*
 * Signals that ask to stop: xfp_interrupted() (session.h) is true after the first one.
 */
#ifndef XFP_INTERRUPT_H
#define XFP_INTERRUPT_H

/* Signals are caught between these two calls. A signal that was ignored before (nohup, a shell's
 * background job) stays ignored. */
void xfp_catch_signals(void);
void xfp_release_signals(void);

#endif
