#include "preload/unwind/unwind.h"

#include <stddef.h>

#include "preload/base/attributes.h"
#include "preload/base/own_stack.h"
#include "preload/base/unloads.h"
#include "preload/unwind/module.h"
#include "preload/unwind/rule.h"
#include "preload/unwind/rules.h"

#define LEAST_ADDRESS 4096 /* of code */
/* Largest frame that is accepted without proof: where the kernel may not be queried, or there is no
 * rule. */
#define MOST_TRUSTED ((uintptr_t)1 << 20)

/* In place of the word of a frame pointer: it is the first one; it has been noted. */
#define FIRST_FP ((uintptr_t)0)
#define NOTED_FP ((uintptr_t)1)

void xfs_unwind_init(void)
{
    static _Atomic bool done;
    if (atomic_exchange(&done, true))
        return;
    xfs_known_init();
    xfs_module_init();
    xfs_rules_init();
    xfs_unloads_watch_forks();
}

void xfs_unwind_begin(struct xfs_walk *walk, const struct xfs_registers *from,
                      struct xfs_reads *reads)
{
    walk->at = *from;
    walk->first_sp = from->sp;
    walk->reads = reads;
    walk->fp_word = FIRST_FP;
    if (reads) {
        reads->whole = true;
        reads->of_first_fp = false;
        reads->count = 0;
    }
    walk->interrupted = true; /* these registers are of this very instruction */
    walk->stamp = xfs_rules_stamp();
    xfs_known_begin(&walk->stack, from->sp);
}

/* ---- reading the stack ------------------------------------------------------------------- */

/* Words between the variables of a function, which sanitizers watch. */
#define OF_THE_STACK __attribute__((no_sanitize("address", "thread", "undefined")))

OF_THE_STACK static inline uintptr_t load(uintptr_t word)
{
    return *(const volatile uintptr_t *)word;
}

/* The walk went by this word's value. */
static inline void note(struct xfs_walk *walk, uintptr_t word, uintptr_t value)
{
    uintptr_t at = (word - walk->first_sp) / sizeof(uintptr_t);
    struct xfs_reads *reads = walk->reads;
    if (reads && reads->count < XFS_READS && at <= UINT16_MAX) {
        reads->at[reads->count] = (uint16_t)at;
        reads->value[reads->count++] = value;
    } else if (reads) {
        reads->whole = false;
    }
}

/* A frame is found by the frame pointer. */
static void note_fp(struct xfs_walk *walk)
{
    if (walk->fp_word == FIRST_FP && walk->reads)
        walk->reads->of_first_fp = true;
    else if (walk->fp_word != NOTED_FP)
        note(walk, walk->fp_word, walk->at.fp);
    walk->fp_word = NOTED_FP;
}

/* What the walk does next does not follow from words alone. */
static void depends_on_more(struct xfs_walk *walk)
{
    if (walk->reads)
        walk->reads->whole = false;
}

/* The end, for a reason that may not be there the next time. */
static uintptr_t gives_up(struct xfs_walk *walk)
{
    depends_on_more(walk);
    return 0;
}

static inline bool is_known(const struct xfs_walk *walk, uintptr_t word)
{
    return word >= walk->stack.low && word < walk->stack.high && (word & 7) == 0;
}

/* `by_rule`: the address comes from a function's description, and is more likely right. */
static XFS_COLD bool may_load(struct xfs_walk *walk, uintptr_t word, bool by_rule)
{
    if (is_known(walk, word))
        return true;
    enum xfs_reach reach = xfs_known_reach(&walk->stack, word);
    return reach == XFS_REACHED || (reach == XFS_NOT_ASKED && by_rule && (word & 7) == 0 &&
                                    word - walk->at.sp < MOST_TRUSTED);
}

/* ---- frames ------------------------------------------------------------------------------ */

static uintptr_t step_to(struct xfs_walk *walk, uintptr_t ra, uintptr_t cfa, uintptr_t fp)
{
    walk->at = (struct xfs_registers){ra, cfa, fp};
    return ra >= LEAST_ADDRESS ? ra : 0;
}

static uintptr_t base_of(const struct xfs_walk *walk, enum xfs_base base, uintptr_t cfa)
{
    return base == XFS_OF_CFA ? cfa : base == XFS_OF_FP ? walk->at.fp : walk->at.sp;
}

static inline bool is_by_fp(uint64_t rule, unsigned at)
{
    return xfs_rule_base(rule, at) == XFS_OF_FP;
}

/* What this rule made of the frame. */
static void note_by_rule(struct xfs_walk *walk, uint64_t rule, uintptr_t cfa_at, uintptr_t cfa,
                         uintptr_t ra_at, uintptr_t ra, uintptr_t fp_at)
{
    bool cfa_lies = rule & XFS_RULE_CFA_LIES,
         has_fp = xfs_rule_base(rule, XFS_RULE_FP_BASE) != XFS_UNCHANGED;
    if (rule & XFS_RULE_SIGNAL || cfa <= walk->at.sp || (cfa_lies && !is_known(walk, cfa_at)) ||
        !is_known(walk, ra_at) || (has_fp && !is_known(walk, fp_at)))
        depends_on_more(walk);
    if (is_by_fp(rule, XFS_RULE_CFA_BASE) || is_by_fp(rule, XFS_RULE_RA_BASE) ||
        is_by_fp(rule, XFS_RULE_FP_BASE))
        note_fp(walk);
    if (cfa_lies)
        note(walk, cfa_at, cfa);
    note(walk, ra_at, ra);
    if (has_fp)
        walk->fp_word = fp_at;
}

/* The general case: any rule, and memory not known to be readable. */
static XFS_COLD uintptr_t next_by_rule(struct xfs_walk *walk, uint64_t rule)
{
    struct xfs_registers *at = &walk->at;
    uintptr_t cfa = base_of(walk, xfs_rule_base(rule, XFS_RULE_CFA_BASE), 0) +
                    (uintptr_t)xfs_rule_cfa_offset(rule),
              cfa_at = cfa;
    if (rule & XFS_RULE_ENDS)
        return 0;
    if (rule & XFS_RULE_CFA_LIES) {
        if (!may_load(walk, cfa, true))
            return gives_up(walk);
        cfa = load(cfa);
    }
    if (cfa <= at->sp && at->pc != (uintptr_t)xfs_stack_switch_returned)
        return gives_up(walk);
    uintptr_t ra_at = base_of(walk, xfs_rule_base(rule, XFS_RULE_RA_BASE), cfa) +
                      (uintptr_t)xfs_rule_ra_offset(rule);
    enum xfs_base of_fp = xfs_rule_base(rule, XFS_RULE_FP_BASE);
    uintptr_t fp_at = base_of(walk, of_fp, cfa) + (uintptr_t)xfs_rule_fp_offset(rule);
    if (!may_load(walk, ra_at, true))
        return gives_up(walk);
    uintptr_t ra = load(ra_at), fp = at->fp;
    if (of_fp != XFS_UNCHANGED) /* many callers do not need it */
        fp = may_load(walk, fp_at, true) ? load(fp_at) : 0;
    note_by_rule(walk, rule, cfa_at, cfa, ra_at, ra, fp_at);
    walk->interrupted = rule & XFS_RULE_SIGNAL;
    return step_to(walk, ra, cfa, fp);
}

/* ---- frames that nobody describes -------------------------------------------------------- */

/* Whether the address follows a call instruction: e8, or ff /2 with its operand. True for code
 * outside modules. */
static bool follows_call(uintptr_t ra)
{
    struct xfs_module module;
    if (!xfs_module_of(ra, &module))
        return true;
    if (xfs_module_rest(&module, ra - 8) < 8)
        return false;
    const unsigned char *code = (const unsigned char *)ra;
    for (int n = 2; n <= 7; n++)
        if (code[-n] == 0xff && (code[1 - n] & 0x38) == 0x10)
            return true;
    return code[-5] == 0xe8;
}

static XFS_COLD uintptr_t next_by_frame_pointer(struct xfs_walk *walk)
{
    uintptr_t fp = walk->at.fp;
    if (fp - walk->at.sp >= MOST_TRUSTED || !may_load(walk, fp, false) ||
        !may_load(walk, fp + 8, false))
        return 0;
    uintptr_t outer = load(fp), ra = load(fp + 8);
    if (ra < LEAST_ADDRESS || !follows_call(ra))
        return 0;
    walk->interrupted = false;
    return step_to(walk, ra, fp + 16, outer);
}

/* No function contains the call. A return address at a function's start was set by hand, as below a
 * coroutine's first function: there is no caller. */
static XFS_COLD uintptr_t next_without_rule(struct xfs_walk *walk)
{
    depends_on_more(walk);
    bool made = !walk->interrupted && xfs_rule_of(walk->at.pc, walk->stamp) != 0;
    return made ? 0 : next_by_frame_pointer(walk);
}

uintptr_t xfs_unwind_next(struct xfs_walk *walk)
{
    uintptr_t pc = walk->at.pc - !walk->interrupted;
    uint64_t rule = xfs_rule_of(pc, walk->stamp);
    if (__builtin_expect(rule == 0, 0))
        return next_without_rule(walk);
    bool by_fp = rule >> XFS_RULE_CFA_BASE & 1;
    uintptr_t cfa = (by_fp ? walk->at.fp : walk->at.sp) + (uintptr_t)xfs_rule_cfa_offset(rule);
    bool has_fp = xfs_rule_base(rule, XFS_RULE_FP_BASE) != XFS_UNCHANGED;
    uintptr_t fp_at = cfa + (uintptr_t)xfs_rule_fp_offset(rule);
    if (!xfs_rule_is_plain(rule) || cfa <= walk->at.sp || !is_known(walk, cfa - 8) ||
        (has_fp && !is_known(walk, fp_at)))
        return next_by_rule(walk, rule);
    walk->interrupted = false;
    uintptr_t ra = load(cfa - 8), fp = has_fp ? load(fp_at) : walk->at.fp;
    if (by_fp)
        note_fp(walk);
    note(walk, cfa - 8, ra);
    if (has_fp)
        walk->fp_word = fp_at;
    return step_to(walk, ra, cfa, fp);
}
