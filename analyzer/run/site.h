/*
 * Call sites: which line of the program asked for a transfer.
 *
 * The site of a stack is its innermost frame that belongs to the program: not the recorder, not
 * CUDA's libraries, not a framework's core (libtorch and friends), not what starts threads. When
 * every frame is such, the innermost one of a framework; failing that, of CUDA's libraries; failing
 * that, the innermost (layer.h).
 *
 * A stack with Python frames has its site among these: the innermost one that is neither of an
 * installed package nor of the standard library; of such, when there is no other.
 *
 * A helper that several functions call has a site for each of these, since what they call it for
 * may differ: the same frame with callers in different functions is different sites. The caller is
 * the next frame outwards that could be a site, too. It is named where a run has several.
 */
#ifndef XFA_SITE_H
#define XFA_SITE_H

#include <stdbool.h>

#include "analyzer/read/read.h"

/*
 * Texts of frames, each kept once, and how many frames are kept: what a trace says about its
 * stacks may be far larger than the trace. Outlives the sites made with it.
 */
struct xfa_shelf {
    struct xfa_table texts;
    size_t frames;
};
void xfa_shelf_init(struct xfa_shelf *shelf);
void xfa_shelf_free(struct xfa_shelf *shelf);

/* What a call site is written with, by the innermost frame of its stack that shows it: advice uses
 * its terms. */
enum xfa_dialect {
    XFA_DIALECT_CUDA, /* also what is not known */
    XFA_DIALECT_PYTORCH,
    XFA_DIALECT_CUPY,
    XFA_DIALECT_JAX,
    XFA_DIALECT_NUMBA,
    XFA_DIALECTS
};

struct xfa_frame {
    uint64_t address;
    const char *function; /* NULL = not known, as are file, module and build id; the shelf's */
    const char *file;
    uint32_t line;        /* 0 = not known */
    const char *module;   /* path */
    const char *build_id; /* of the module, hexadecimal */
    uint64_t offset;      /* of the address in the module's ELF file */
};

struct xfa_site {
    uint32_t number;   /* in the run: run.h */
    uint64_t identity; /* the same for the same site, also in another process */
    uint64_t line;     /* the same of its chosen frame, whoever calls that */
    struct xfa_frame *frames;
    size_t frame_count;
    int chosen;         /* index into frames; -1: no call stack was recorded */
    bool autograd;      /* PyTorch's own thread for backward passes made the call */
    const char *within; /* "MPI", "NCCL": made the call for its own ends; a function of a library of
                           CUDA's that makes or destroys a plan or handle; NULL: none of them.
                           Static, or the shelf's */
    bool makes;         /* within is the latter */
    const char *runtime_function; /* of the CUDA runtime, on the way to the driver: layer.h */
    enum xfa_dialect dialect;
    /* The line of the chosen frame with up to two before and after it, as the shelf keeps them,
     * separated by \n; the number of the first. NULL: the trace does not have it. */
    const char *source;
    uint32_t source_line;
    const char *text; /* one line: function, file:line, or module+offset; and its caller, if that is
                         to be named */
    char *short_text, *long_text; /* without, and with; NULL: it has none */
};

/* Once a shelf holds XFA_MAX_FRAMES, further sites keep only the chosen frame of their stack. */
#define XFA_MAX_FRAMES 65536
struct xfa_site *xfa_site_new(struct xfa_shelf *shelf, const struct xfa_trace *trace,
                              uint32_t stack);
void xfa_site_free(struct xfa_site *site);
/* Its text names its caller, if it has one. */
void xfa_site_name_caller(struct xfa_site *site);

/* Index of the frame that calls the chosen one, where both are the program's; -1: there is none. */
int xfa_site_caller(const struct xfa_site *site);

/* The line and identity that the site of a stack would have. */
struct xfa_site_identity {
    uint64_t line, identity;
};
struct xfa_site_identity xfa_site_identify(struct xfa_shelf *shelf, const struct xfa_trace *trace,
                                           uint32_t stack);

/* Whose code a frame is, as a reader calls it: "PyTorch", "CUDA", "Python" (its interpreter and
 * standard library), "installed packages", "MPI", "the system"; NULL: the program's own, or not
 * known to be another's. Static. */
const char *xfa_frame_of(const struct xfa_frame *frame);

/* One line about a frame; the caller frees it. */
char *xfa_frame_text(const struct xfa_frame *frame);

/* ---- sites by a user's pattern --------------------------------------------------------------- */

/* Call sites by a pattern that a user gave (--site, --assume). */

/* Is the pattern a glob (*, ?, [])? Without, it is looked for anywhere in a text. */
bool xfa_is_glob(const char *pattern);

/* Matches the site's text, the function, or file and line, with or without the directories. */
bool xfa_site_matches(const char *pattern, const struct xfa_site *site);

#endif
