/*
 * The layout of CPython's structs that a stack is made of: thread state, frames, code objects,
 * strings.
 *
 * Offsets are bytes from the start of the struct named, for 64-bit builds with a GIL. They are
 * fixed within a minor version. 3.10 to 3.12: taken from the headers of 3.10.13, 3.11.2, 3.11.7
 * and 3.12.1. From 3.13 on the interpreter describes itself in _PyRuntime (_Py_DebugOffsets).
 */
#ifndef XFS_PYTHON_OFFSETS_H
#define XFS_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

struct xfs_python_layout {
    uint16_t minor;
    uint16_t thread_frame;      /* PyThreadState: frame, cframe (3.11, 3.12), current_frame */
    bool by_cframe;             /* thread_frame leads to a _PyCFrame */
    uint16_t cframe_frame;      /* _PyCFrame.current_frame */
    uint16_t frame_previous;    /* _PyInterpreterFrame.previous; 3.10: PyFrameObject.f_back */
    uint16_t frame_code;        /* f_code, f_executable */
    uint64_t frame_code_mask;   /* takes off the tag bits of f_executable (3.14) */
    bool by_index;              /* 3.10: f_lasti, in code units; else a pointer into the code */
    uint16_t frame_position;    /* prev_instr, instr_ptr; 3.10: f_lasti */
    uint16_t frame_owner;       /* owner; 0: there is none */
    uint16_t code_instructions; /* PyCodeObject: co_code_adaptive; 3.10: unused */
    uint16_t code_first_line;   /* co_firstlineno */
    uint16_t code_version;      /* co_version, another one for each code object; 0: none */
    uint16_t code_file;         /* co_filename */
    uint16_t code_name;         /* co_qualname; 3.10: co_name */
    uint16_t code_lines;        /* co_linetable */
    uint16_t ascii_bytes;       /* sizeof(PyASCIIObject), sizeof(PyCompactUnicodeObject): the */
    uint16_t compact_bytes;     /* characters follow */
};

/* The same in all of them. */
#define XFS_PYTHON_TYPE 8        /* PyObject.ob_type */
#define XFS_PYTHON_SIZE 16       /* PyVarObject.ob_size */
#define XFS_PYTHON_BYTES 32      /* PyBytesObject.ob_sval */
#define XFS_PYTHON_LENGTH 16     /* PyASCIIObject.length */
#define XFS_PYTHON_STATE 32      /* PyASCIIObject.state: kind in bits 2 to 4, compact 5, ascii 6 */
#define XFS_PYTHON_OWNER_OTHER 3 /* owner from here on: no frame of a Python function */
#define XFS_PYTHON_FRAME_BYTES 128 /* all offsets in a frame, in a code object are below */
#define XFS_PYTHON_CODE_BYTES 256

/*
 * The layout of this interpreter: `version` is PY_VERSION_HEX as it reports it, `runtime` the
 * address of its _PyRuntime (read from 3.13 on; NULL when there is none). NULL when it is known,
 * else why not.
 */
const char *xfs_python_layout(uint32_t version, const void *runtime,
                              struct xfs_python_layout *layout);

#endif
