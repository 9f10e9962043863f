#include "preload/unwind/row.h"

#include <dwarf.h>

#include "preload/unwind/expression.h"
#include "preload/unwind/rule.h"

#define DEPTH 8 /* of remembered rows */

/* Where the caller's register is. */
struct saved {
    enum { SAME, UNDEFINED, AT_CFA, BY_EXPRESSION, OTHERWISE } how;
    int64_t offset;
    struct xfs_reader expression;
};

struct row {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_by_expression;
    struct xfs_reader cfa_expression;
    struct saved fp, ra;
};

struct machine {
    const struct xfs_fde *fde;
    uintptr_t pc, at; /* the instruction wanted; the one reached */
    struct row row, first, remembered[DEPTH];
    unsigned depth;
    bool failed;
};

/* Without overflow, whatever a damaged file has. */
static int64_t in_units(int64_t count, int64_t unit)
{
    return (int64_t)((uint64_t)count * (uint64_t)unit);
}

/* ---- what an instruction changes ---------------------------------------------------------- */

static void save(struct machine *machine, uint64_t number, struct saved saved)
{
    if (number == XFS_REGISTER_RBP)
        machine->row.fp = saved;
    else if (number == XFS_REGISTER_RIP)
        machine->row.ra = saved;
}

static void save_at(struct machine *machine, uint64_t number, int64_t units)
{
    int64_t offset = in_units(units, machine->fde->data_unit);
    save(machine, number, (struct saved){.how = AT_CFA, .offset = offset});
}

static void restore(struct machine *machine, uint64_t number)
{
    save(machine, number, number == XFS_REGISTER_RIP ? machine->first.ra : machine->first.fp);
}

static void save_by(struct machine *machine, struct xfs_reader *program, bool is_place)
{
    uint64_t number = xfs_read_uleb(program);
    struct xfs_reader expression = xfs_read_part(program, xfs_read_uleb(program));
    save(machine, number,
         (struct saved){.how = is_place ? BY_EXPRESSION : OTHERWISE, .expression = expression});
}

static void remember(struct machine *machine)
{
    if (machine->depth == DEPTH)
        machine->failed = true;
    else
        machine->remembered[machine->depth++] = machine->row;
}

static void recall(struct machine *machine)
{
    if (machine->depth == 0)
        machine->failed = true;
    else
        machine->row = machine->remembered[--machine->depth];
}

static void define_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->row.cfa_register = number;
    machine->row.cfa_offset = offset;
    machine->row.cfa_by_expression = false;
}

/* ---- instructions ------------------------------------------------------------------------ */

static void advance(struct machine *machine, uint64_t units)
{
    machine->at += units * machine->fde->code_unit;
}

static bool follow_cfa(struct machine *machine, unsigned op, struct xfs_reader *program)
{
    int64_t unit = machine->fde->data_unit;
    uint64_t number;
    switch (op) {
    case DW_CFA_def_cfa:
        number = xfs_read_uleb(program);
        define_cfa(machine, number, (int64_t)xfs_read_uleb(program));
        return true;
    case DW_CFA_def_cfa_sf:
        number = xfs_read_uleb(program);
        define_cfa(machine, number, in_units(xfs_read_sleb(program), unit));
        return true;
    case DW_CFA_def_cfa_register:
        define_cfa(machine, xfs_read_uleb(program), machine->row.cfa_offset);
        return true;
    case DW_CFA_def_cfa_offset:
        machine->row.cfa_offset = (int64_t)xfs_read_uleb(program);
        return true;
    case DW_CFA_def_cfa_offset_sf:
        machine->row.cfa_offset = in_units(xfs_read_sleb(program), unit);
        return true;
    case DW_CFA_def_cfa_expression:
        machine->row.cfa_expression = xfs_read_part(program, xfs_read_uleb(program));
        machine->row.cfa_by_expression = true;
        return true;
    default:
        return false;
    }
}

static bool follow_place(struct machine *machine, unsigned op, struct xfs_reader *program)
{
    switch (op) {
    case DW_CFA_set_loc:
        machine->at = xfs_read_pointer(program, machine->fde->encoding);
        return true;
    case DW_CFA_advance_loc1:
        advance(machine, xfs_read(program, 1));
        return true;
    case DW_CFA_advance_loc2:
        advance(machine, xfs_read(program, 2));
        return true;
    case DW_CFA_advance_loc4:
        advance(machine, xfs_read(program, 4));
        return true;
    case DW_CFA_remember_state:
        remember(machine);
        return true;
    case DW_CFA_restore_state:
        recall(machine);
        return true;
    case DW_CFA_GNU_args_size:
        xfs_read_uleb(program);
        return true;
    default:
        return op == DW_CFA_nop;
    }
}

static void follow_register(struct machine *machine, unsigned op, struct xfs_reader *program)
{
    uint64_t number;
    if (op == DW_CFA_expression || op == DW_CFA_val_expression) {
        save_by(machine, program, op == DW_CFA_expression);
        return;
    }
    number = xfs_read_uleb(program);
    if (op == DW_CFA_offset_extended) {
        save_at(machine, number, (int64_t)xfs_read_uleb(program));
    } else if (op == DW_CFA_offset_extended_sf) {
        save_at(machine, number, xfs_read_sleb(program));
    } else if (op == DW_CFA_GNU_negative_offset_extended) {
        save_at(machine, number, (int64_t)(0 - xfs_read_uleb(program)));
    } else if (op == DW_CFA_restore_extended) {
        restore(machine, number);
    } else if (op == DW_CFA_undefined) {
        save(machine, number, (struct saved){.how = UNDEFINED});
    } else if (op == DW_CFA_same_value) {
        save(machine, number, (struct saved){.how = SAME});
    } else if (op == DW_CFA_register || op == DW_CFA_val_offset || op == DW_CFA_val_offset_sf) {
        xfs_read_uleb(program); /* signed or not, its encoding has the same length */
        save(machine, number, (struct saved){.how = OTHERWISE});
    } else {
        machine->failed = true;
    }
}

static void follow(struct machine *machine, struct xfs_reader program)
{
    while (!xfs_reader_is_done(&program) && !machine->failed) {
        unsigned op = (unsigned)xfs_read(&program, 1), low = op & 0x3f;
        if ((op & 0xc0) == DW_CFA_advance_loc)
            advance(machine, low);
        else if ((op & 0xc0) == DW_CFA_offset)
            save_at(machine, low, (int64_t)xfs_read_uleb(&program));
        else if ((op & 0xc0) == DW_CFA_restore)
            restore(machine, low);
        else if (!follow_cfa(machine, op, &program) && !follow_place(machine, op, &program))
            follow_register(machine, op, &program);
        if (machine->at > machine->pc)
            return;
    }
    machine->failed |= program.failed;
}

/* ---- the rule ---------------------------------------------------------------------------- */

static bool cfa_of(const struct machine *machine, struct xfs_frame_rule *rule)
{
    const struct row *row = &machine->row;
    struct xfs_term term;
    if (row->cfa_by_expression) {
        if (!xfs_expression(row->cfa_expression, machine->pc, NULL, &term))
            return false;
        rule->cfa = (struct xfs_place){term.base, term.offset};
        rule->cfa_lies_there = term.lies_there;
        return term.base == XFS_OF_SP || term.base == XFS_OF_FP;
    }
    rule->cfa.base = row->cfa_register == XFS_REGISTER_RBP ? XFS_OF_FP : XFS_OF_SP;
    rule->cfa.offset = row->cfa_offset;
    return row->cfa_register == XFS_REGISTER_RBP || row->cfa_register == XFS_REGISTER_RSP;
}

static bool place_of(const struct machine *machine, const struct saved *saved,
                     struct xfs_place *place)
{
    const struct xfs_term cfa = {.base = XFS_OF_CFA};
    struct xfs_term term;
    *place = (struct xfs_place){XFS_OF_CFA, saved->offset};
    if (saved->how == AT_CFA)
        return true;
    if (saved->how != BY_EXPRESSION ||
        !xfs_expression(saved->expression, machine->pc, &cfa, &term) || term.lies_there)
        return false;
    *place = (struct xfs_place){term.base, term.offset};
    return term.base != XFS_UNCHANGED;
}

/* ---- the packed rule ---------------------------------------------------------------------- */

static bool put_offset(uint64_t *packed, int64_t offset, unsigned from, unsigned to)
{
    uint64_t mask = (UINT64_C(1) << (to - from)) - 1;
    *packed |= ((uint64_t)(offset >> 3) & mask) << from;
    return xfs_rule_field(*packed, from, to) == offset;
}

/* XFS_RULE_LAST when it does not fit. */
static uint64_t pack(const struct xfs_frame_rule *rule)
{
    uint64_t packed = XFS_RULE_IS;
    packed |= (rule->ends ? XFS_RULE_ENDS : 0u) | (rule->is_signal ? XFS_RULE_SIGNAL : 0u) |
              (rule->cfa_lies_there ? XFS_RULE_CFA_LIES : 0u);
    packed |= (uint64_t)rule->cfa.base << XFS_RULE_CFA_BASE |
              (uint64_t)rule->ra.base << XFS_RULE_RA_BASE |
              (uint64_t)rule->fp.base << XFS_RULE_FP_BASE;
    bool fits = put_offset(&packed, rule->cfa.offset, XFS_RULE_CFA_AT, XFS_RULE_RA_AT) &&
                put_offset(&packed, rule->ra.offset, XFS_RULE_RA_AT, XFS_RULE_FP_AT) &&
                put_offset(&packed, rule->fp.offset, XFS_RULE_FP_AT, 64);
    return fits ? packed : XFS_RULE_LAST;
}

uint64_t xfs_row_rule(const struct xfs_fde *fde, uintptr_t pc)
{
    struct machine machine = {.fde = fde, .pc = pc, .at = fde->start};
    struct xfs_frame_rule rule = {.is_signal = fde->is_signal};
    follow(&machine, fde->common);
    machine.first = machine.row;
    follow(&machine, fde->program);
    const struct row *row = &machine.row;
    rule.ends = row->ra.how == UNDEFINED;
    if (machine.failed || !cfa_of(&machine, &rule) ||
        (!rule.ends && !place_of(&machine, &row->ra, &rule.ra)))
        return XFS_RULE_LAST;
    if (row->fp.how == SAME || row->fp.how == UNDEFINED)
        rule.fp.base = XFS_UNCHANGED;
    else if (!place_of(&machine, &row->fp, &rule.fp))
        return XFS_RULE_LAST;
    return pack(&rule);
}
