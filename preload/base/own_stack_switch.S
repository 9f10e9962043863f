/*
 * void xfs_stack_switch(void (*work)(void *), void *argument, void *top)
 *
 * Calls work(argument) with the stack pointer at `top`, a multiple of 16. The frame stays on the
 * caller's stack and is found through rbp, by unwinders too. Calls and returns are in pairs, as
 * shadow stacks want them.
 */
    .text
    .globl xfs_stack_switch
    .hidden xfs_stack_switch
    .type xfs_stack_switch, @function
xfs_stack_switch:
    .cfi_startproc
    endbr64
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsp
    call *%rax
    .globl xfs_stack_switch_returned
    .hidden xfs_stack_switch_returned
xfs_stack_switch_returned:
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size xfs_stack_switch, .-xfs_stack_switch

    .section .note.GNU-stack, "", @progbits
