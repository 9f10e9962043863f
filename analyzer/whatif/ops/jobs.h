/*
 * Work that functions of the host hand on (cudaLaunchHostFunc()): the function that a stream calls
 * gives a thread of the program's own something to do and returns; the thread makes no call of
 * CUDA, and whoever waits for it does so in its own time. So a thread's own time behind a wait for
 * the stream may be its work, or be spent waiting. Private to whatif/.
 *
 * As recorded: a job begins when its function was called and the job before it is done, since one
 * thread does them one after the other, and each takes as long. Own time behind the waits of one
 * call site for the functions of another is compared with both: does it always take as long behind
 * the wait, or end where such jobs do? What else the thread does is known from the same call
 * where no such wait is before it. Functions that work themselves have none. Jobs are believed
 * where they explain it as well or better: a function that returns at once is there to let somebody
 * know. Once for a process, when all of it has been seen.
 *
 * Then also how long functions work that nobody had to wait for: as usual for their call site, as
 * far as they were done by the host's next wait.
 *
 * Split: a function then has a job (job_ns), and the op behind such a wait begins behind that job
 * (for_job), and its own time is what is left. Of ops that are kept alone: not where ranks are
 * played together, nor where ops are played as they come.
 */
#ifndef XFW_JOBS_H
#define XFW_JOBS_H

#include "analyzer/whatif/op/op.h"

struct xfw_jobs;
struct xfw_jobs *xfw_jobs_new(void);
void xfw_jobs_free(struct xfw_jobs *jobs); /* NULL is allowed */

/* The process's next op, as recorded, in the order of calls. */
void xfw_jobs_note(struct xfw_jobs *jobs, const struct xfw_op *op);
/* All have come. False: nobody waits for jobs. */
bool xfw_jobs_decide(struct xfw_jobs *jobs);

/* From the process's first op on once more, after xfw_jobs_decide(): op gets what is known. */
void xfw_jobs_again(struct xfw_jobs *jobs);
void xfw_jobs_split(struct xfw_jobs *jobs, struct xfw_op *op);

#endif
