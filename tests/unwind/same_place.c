/*
 * A library of which there are two that differ in nothing but how large one frame is (ROOM), so
 * that the loader puts the second one where the first one was.
 */
void (*same_place_at_end)(void);

__attribute__((destructor)) static void end(void)
{
    if (same_place_at_end)
        same_place_at_end();
}

#define TEXT(number) #number
#define ROOM_OF(number) TEXT(number)

/* void same_place_call(void (*leaf)(void *), void *argument): a frame of zeros, then the leaf. */
__asm__(
    ".text\n"
    ".globl same_place_call\n"
    ".type same_place_call, @function\n"
    "same_place_call:\n"
    "    .cfi_startproc\n"
    "    mov %rdi, %rdx\n"
    "    mov %rsi, %rdi\n"
    "    sub $" ROOM_OF(
        ROOM) ", %rsp\n"
              "    .cfi_adjust_cfa_offset " ROOM_OF(
                  ROOM) "\n"
                        "    mov $" ROOM_OF(
                            ROOM) ", %rcx\n"
                                  "    xor %eax, %eax\n"
                                  "    .zero_next:\n"
                                  "    movq $0, -8(%rsp, %rcx)\n"
                                  "    sub $8, %rcx\n"
                                  "    jnz .zero_next\n"
                                  "    call *%rdx\n"
                                  "    add $" ROOM_OF(
                                      ROOM) ", %rsp\n"
                                            "    .cfi_adjust_cfa_offset -" ROOM_OF(
                                                ROOM) "\n"
                                                      "    ret\n"
                                                      "    .cfi_endproc\n"
                                                      ".size same_place_call, .-same_place_call\n");
