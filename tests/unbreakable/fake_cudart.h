/* What fake_cudart.c does beyond nothing. */
#ifndef FAKE_CUDART_H
#define FAKE_CUDART_H

/* A kind of copy: raises SIGUSR1 in the midst of it. */
#define FAKE_COPY_RAISES 77

#endif
