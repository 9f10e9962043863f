/*
 * dlsym, as the program sees it. Look-ups that this library does not answer leave by a jump, so that libc still sees the program as the caller: RTLD_NEXT and RTLD_DEFAULT depend on it.
 */
#if !defined(__x86_64__)
#error "dlsym.S is written for x86-64"
#endif

    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp /* calls want the stack at a multiple of 16 */
    .cfi_adjust_cfa_offset 8
    call xfs_dlsym_is_ours
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    test %eax, %eax
    jz 1f
    mov (%rsp), %rdx /* the caller */
    jmp xfs_dlsym_answer
1:
    mov xfs_dlsym_address(%rip), %rax
    jmp *%rax
    .cfi_endproc
    .size dlsym, .-dlsym

    .section .note.GNU-stack, "", @progbits
