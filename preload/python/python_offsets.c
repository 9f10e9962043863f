#include "preload/python/python_offsets.h"

#include <stddef.h>
#include <string.h>

static const struct xfs_python_layout known[] = {
    {
        .minor = 10,
        .thread_frame = 24,   /* PyThreadState.frame */
        .frame_previous = 24, /* PyFrameObject.f_back */
        .frame_code = 32,     /* PyFrameObject.f_code */
        .frame_code_mask = UINT64_MAX,
        .by_index = true,
        .frame_position = 96,  /* PyFrameObject.f_lasti */
        .code_first_line = 40, /* PyCodeObject.co_firstlineno */
        .code_file = 104,      /* PyCodeObject.co_filename */
        .code_name = 112,      /* PyCodeObject.co_name */
        .code_lines = 120,     /* PyCodeObject.co_linetable */
        .ascii_bytes = 48,
        .compact_bytes = 72,
    },
    {
        .minor = 11,
        .thread_frame = 56, /* PyThreadState.cframe */
        .by_cframe = true,
        .cframe_frame = 8,    /* _PyCFrame.current_frame */
        .frame_previous = 48, /* _PyInterpreterFrame.previous */
        .frame_code = 32,     /* _PyInterpreterFrame.f_code */
        .frame_code_mask = UINT64_MAX,
        .frame_position = 56,     /* _PyInterpreterFrame.prev_instr */
        .frame_owner = 69,        /* _PyInterpreterFrame.owner */
        .code_instructions = 184, /* PyCodeObject.co_code_adaptive */
        .code_first_line = 72,
        .code_file = 112,
        .code_name = 128, /* PyCodeObject.co_qualname */
        .code_lines = 136,
        .ascii_bytes = 48,
        .compact_bytes = 72,
    },
    {
        .minor = 12,
        .thread_frame = 56, /* PyThreadState.cframe */
        .by_cframe = true,
        .cframe_frame = 0,
        .frame_previous = 8,
        .frame_code = 0,
        .frame_code_mask = UINT64_MAX,
        .frame_position = 56,
        .frame_owner = 70,
        .code_instructions = 192,
        .code_first_line = 68,
        .code_version = 92, /* PyCodeObject.co_version */
        .code_file = 112,
        .code_name = 128,
        .code_lines = 136,
        .ascii_bytes = 40,
        .compact_bytes = 56,
    },
};

/* ---- from 3.13 on ----------------------------------------------------------------------- */

/* _Py_DebugOffsets is a row of 64-bit numbers after its cookie. Which is which, by minor version:
 * the numbers are counted from the cookie, which is number 0. */
static const struct rows {
    uint16_t minor;
    uint8_t thread; /* thread_state.size; current_frame is 4 further */
    uint8_t frame;  /* interpreter_frame.size; previous, executable, instr_ptr, localsplus, owner */
    uint8_t code;   /* code_object.size; filename, name, qualname, linetable, firstlineno,
                       argcount, localsplusnames, localspluskinds, co_code_adaptive */
    uint8_t version; /* PyCodeObject.co_version, not among them; 0: not used */
} described[] = {{13, 19, 28, 34, 92}, {14, 22, 31, 39, 0}};
#define MOST_NUMBERS 64

/* True when the offsets are plausible: in a build with other structs the distances differ. */
static bool plausible(const uint64_t *thread, const uint64_t *frame, const uint64_t *code)
{
    bool in_thread = thread[0] < 65536 && thread[4] % 8 == 0 && thread[4] + 8 <= thread[0];
    bool in_frame = frame[0] <= XFS_PYTHON_FRAME_BYTES && frame[4] <= frame[0];
    bool in_code = code[0] <= XFS_PYTHON_CODE_BYTES && code[5] % 4 == 0 && code[5] < code[9] &&
                   code[9] % 2 == 0 && code[9] <= code[0];
    for (int i = 1; i <= 3; i++)
        in_frame = in_frame && frame[i] % 8 == 0 && frame[i] + 8 <= frame[4];
    for (int i = 1; i <= 4; i++)
        in_code = in_code && code[i] % 8 == 0 && code[i] + 8 <= code[9];
    return in_thread && in_frame && in_code && frame[5] < frame[4];
}

static const char *from_runtime(const struct rows *rows, uint32_t version, const void *runtime,
                                struct xfs_python_layout *layout)
{
    uint64_t at[MOST_NUMBERS];
    memcpy(at, runtime, sizeof at);
    const uint64_t *thread = at + rows->thread, *frame = at + rows->frame, *code = at + rows->code;
    if (memcmp(at, "xdebugpy", 8) != 0 || at[1] != version)
        return "_PyRuntime does not describe itself as expected";
    if (at[2] != 0)
        return "a build without GIL";
    if (!plausible(thread, frame, code))
        return "_PyRuntime describes structs that cannot be";
    *layout = (struct xfs_python_layout){
        .minor = rows->minor,
        .thread_frame = (uint16_t)thread[4],
        .frame_previous = (uint16_t)frame[1],
        .frame_code = (uint16_t)frame[2],
        .frame_code_mask = rows->minor >= 14 ? ~UINT64_C(3) : UINT64_MAX,
        .frame_position = (uint16_t)frame[3],
        .frame_owner = (uint16_t)frame[5],
        .code_instructions = (uint16_t)code[9],
        .code_first_line = (uint16_t)code[5],
        .code_version = rows->version,
        .code_file = (uint16_t)code[1],
        .code_name = (uint16_t)code[3],
        .code_lines = (uint16_t)code[4],
        .ascii_bytes = 40,
        .compact_bytes = 56,
    };
    return NULL;
}

const char *xfs_python_layout(uint32_t version, const void *runtime,
                              struct xfs_python_layout *layout)
{
    uint32_t minor = version >> 16 & 255;
    if (version >> 24 != 3)
        return "not Python 3";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].minor == minor) {
            *layout = known[i];
            return NULL;
        }
    for (size_t i = 0; i < sizeof described / sizeof *described; i++)
        if (described[i].minor == minor)
            return runtime ? from_runtime(&described[i], version, runtime, layout)
                           : "it has no _PyRuntime";
    return "a version whose frames are not known";
}
