/*
 * long syscall(long number, ...): libc's, which libraries use to install a filter (libseccomp);
 * xfs_sandbox_call() looks at such calls before. Nothing is pushed or changed for libc's: what a
 * child of a clone finds on its stack is as without this.
 */
#include <asm/unistd.h>

    .text
    .globl syscall
    .type syscall, @function
syscall:
    .cfi_startproc
    endbr64
    cmp $__NR_seccomp, %rdi
    je look
    cmp $__NR_prctl, %rdi
    je look
known:
    mov xfs_real_syscall(%rip), %rax
    test %rax, %rax
    je early
    jmp *%rax
look:
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    push %rdx
    .cfi_adjust_cfa_offset 8
    push %rcx
    .cfi_adjust_cfa_offset 8
    push %r8
    .cfi_adjust_cfa_offset 8
    push %r9
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call xfs_sandbox_call
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %r9
    .cfi_adjust_cfa_offset -8
    pop %r8
    .cfi_adjust_cfa_offset -8
    pop %rcx
    .cfi_adjust_cfa_offset -8
    pop %rdx
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    jmp known
early: /* before libc's is known: as it does it */
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    mov %r8, %r10
    mov %r9, %r8
    mov 8(%rsp), %r9
    syscall
    cmp $-4095, %rax
    jae failed
    ret
failed:
    mov %rax, %rdi
    jmp xfs_sandbox_failed
    .cfi_endproc
    .size syscall, .-syscall

    .section .note.GNU-stack, "", @progbits
