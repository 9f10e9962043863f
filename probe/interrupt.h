/*
 * Signals that ask to stop: the first is a request, which xfp_interrupted() (session.h) tells of.
 */
#ifndef XFP_INTERRUPT_H
#define XFP_INTERRUPT_H

/* Between the two, signals are caught; what was ignored (nohup, a shell's background) stays so. */
void xfp_catch_signals(void);
void xfp_release_signals(void);

#endif
