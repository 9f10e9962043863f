/*
 * The ways into counted functions (writes.h): the n-th counts, and jumps to the n-th of
 * xfs_writes_real. 16 count launches, 112 other writes; each takes 32 bytes.
 */
    .text
    .globl xfs_writes_counted_code
    .hidden xfs_writes_counted_code
    .type xfs_writes_counted_code, @function
    .p2align 5
xfs_writes_counted_code:
    .cfi_startproc
    .set n, 0
    .rept 16
    endbr64
    lock incq xfs_writes_launched(%rip)
    jmp *xfs_writes_real + 8 * n(%rip)
    .p2align 5
    .set n, n + 1
    .endr
    .rept 112
    endbr64
    lock incq xfs_writes_unplaced(%rip)
    jmp *xfs_writes_real + 8 * n(%rip)
    .p2align 5
    .set n, n + 1
    .endr
    .cfi_endproc
    .size xfs_writes_counted_code, .-xfs_writes_counted_code

    .section .note.GNU-stack, "", @progbits
