#include "preload/unwind/expression.h"

#include <dwarf.h>

#define DEPTH 8

struct machine {
    struct xfs_term stack[DEPTH];
    unsigned depth;
    bool failed;
    uintptr_t pc;
};

static void push(struct machine *machine, struct xfs_term term)
{
    if (machine->depth == DEPTH)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = term;
}

static struct xfs_term pop(struct machine *machine)
{
    if (machine->depth == 0) {
        machine->failed = true;
        return (struct xfs_term){.base = XFS_UNCHANGED};
    }
    return machine->stack[--machine->depth];
}

static void push_number(struct machine *machine, int64_t number)
{
    push(machine, (struct xfs_term){.base = XFS_UNCHANGED, .offset = number});
}

static int64_t pop_number(struct machine *machine)
{
    struct xfs_term term = pop(machine);
    if (term.base != XFS_UNCHANGED || term.lies_there)
        machine->failed = true;
    return term.offset;
}

static void push_register(struct machine *machine, uint64_t number, int64_t offset)
{
    if (number == XFS_REGISTER_RIP)
        push_number(machine, (int64_t)(machine->pc + (uint64_t)offset));
    else if (number == XFS_REGISTER_RSP)
        push(machine, (struct xfs_term){.base = XFS_OF_SP, .offset = offset});
    else if (number == XFS_REGISTER_RBP)
        push(machine, (struct xfs_term){.base = XFS_OF_FP, .offset = offset});
    else
        machine->failed = true;
}

static void add(struct machine *machine, int64_t number)
{
    struct xfs_term term = pop(machine);
    if (term.lies_there && number != 0)
        machine->failed = true;
    term.offset = (int64_t)((uint64_t)term.offset + (uint64_t)number);
    push(machine, term);
}

/* One of the two is a number, either one. */
static void add_both(struct machine *machine)
{
    struct xfs_term upper = pop(machine);
    if (upper.base == XFS_UNCHANGED && !upper.lies_there) {
        add(machine, upper.offset);
    } else {
        int64_t number = pop_number(machine);
        push(machine, upper);
        add(machine, number);
    }
}

static void dereference(struct machine *machine)
{
    struct xfs_term term = pop(machine);
    if (term.base == XFS_UNCHANGED || term.lies_there)
        machine->failed = true;
    term.lies_there = true;
    push(machine, term);
}

/* An operation on two numbers. */
static void reckon(struct machine *machine, uint64_t op)
{
    int64_t second = pop_number(machine), first = pop_number(machine);
    switch (op) {
    case DW_OP_and:
        push_number(machine, first & second);
        break;
    case DW_OP_ge:
        push_number(machine, first >= second);
        break;
    case DW_OP_shl:
        push_number(machine, second < 64 ? (int64_t)((uint64_t)first << (second & 63)) : 0);
        break;
    default:
        machine->failed = true;
    }
}

static void step(struct machine *machine, struct xfs_reader *code)
{
    uint64_t op = xfs_read(code, 1);
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        push_number(machine, (int64_t)(op - DW_OP_lit0));
    else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        push_register(machine, op - DW_OP_breg0, xfs_read_sleb(code));
    else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u)
        push_number(machine, (int64_t)xfs_read(code, 1u << (op - DW_OP_const1u) / 2));
    else if (op == DW_OP_const1s || op == DW_OP_const2s || op == DW_OP_const4s)
        push_number(machine, xfs_read_signed(code, 1u << (op - DW_OP_const1s) / 2));
    else if (op == DW_OP_plus_uconst)
        add(machine, (int64_t)xfs_read_uleb(code));
    else if (op == DW_OP_minus)
        add(machine, (int64_t)(0 - (uint64_t)pop_number(machine)));
    else if (op == DW_OP_plus)
        add_both(machine);
    else if (op == DW_OP_deref)
        dereference(machine);
    else if (op != DW_OP_nop)
        reckon(machine, op);
}

bool xfs_expression(struct xfs_reader code, uintptr_t pc, const struct xfs_term *on_top,
                    struct xfs_term *value)
{
    struct machine machine = {.pc = pc};
    if (on_top)
        push(&machine, *on_top);
    while (!xfs_reader_is_done(&code) && !machine.failed)
        step(&machine, &code);
    *value = pop(&machine);
    return !machine.failed && !code.failed;
}
