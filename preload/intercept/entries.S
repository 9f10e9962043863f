/*
 * Where the wrappers of XFS_CALL_ENTERED (calls.def) are entered.
 *
 * UCX puts a jump of 5 or 12 bytes at the beginning of the functions that allocate and free device
 * memory, to keep track of it, and what it overwrites elsewhere. It moves few kinds of instructions;
 * with one of these functions that begins otherwise it does without all of them, and then registers
 * the memory of each message anew. So these begin with instructions that it moves, and that do
 * nothing: eax is nobody's at that point.
 */
#if !defined(__x86_64__)
#error "entries.S is written for x86-64"
#endif

    .text

.macro ENTRY name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    mov $0, %eax
    mov $0, %eax
    mov $0, %eax
    jmp xfs_behind_\name
    .cfi_endproc
    .size \name, .-\name
.endm

    ENTRY cuMemAlloc_v2
    ENTRY cuMemAllocPitch_v2
    ENTRY cuMemAllocManaged
    ENTRY cuMemAllocAsync
    ENTRY cuMemAllocFromPoolAsync
    ENTRY cuMemFree_v2
    ENTRY cuMemFreeHost
    ENTRY cuMemFreeAsync
    ENTRY cuMemHostUnregister

    .section .note.GNU-stack, "", @progbits
