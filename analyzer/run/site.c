#include "analyzer/run/site.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/base/path.h"
#include "analyzer/run/function_name.h"
#include "analyzer/run/layer.h"

static bool interpreter(const struct xfa_frame *frame)
{
    const char *module = xfa_base_name(frame->module);
    return xfa_starts(module, "python") || xfa_starts(module, "libpython");
}

/* ---- Python frames ---------------------------------------------------------------------- */

static bool python_frame(const struct xfa_frame *frame)
{
    return frame->address & XFT_PYTHON_FRAME;
}

/* Whose code a Python frame is: the lower, the more likely the user's own. */
enum owner { OWNER_USER, OWNER_STRING, OWNER_LIBRARY, OWNER_NONE };

static enum owner owner_of(const struct xfa_frame *frame)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3.",
                                          "/lib64/python3."};
    const char *file = frame->file;
    if (!file)
        return OWNER_NONE;
    if (xfa_starts(file, "<string>")) /* python -c, but also what libraries generate */
        return OWNER_STRING;
    if (*file == '<')
        return xfa_starts(file, "<stdin>") || xfa_starts(file, "<ipython") ? OWNER_USER
                                                                           : OWNER_NONE;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(file, folders[i]))
            return OWNER_LIBRARY;
    return OWNER_USER;
}

/* Index of the innermost one, the user's own if there is any; -1: there are none. */
static int choose_python(const struct xfa_site *site)
{
    int chosen = -1;
    for (size_t i = 0; i < site->frame_count; i++)
        if (python_frame(&site->frames[i]) &&
            (chosen < 0 || owner_of(&site->frames[i]) < owner_of(&site->frames[chosen])))
            chosen = (int)i;
    return chosen;
}

/* ---- dialects --------------------------------------------------------------------------- */

static bool has(const char *path, const char *part)
{
    return path && strstr(path, part);
}

/* By its module, or by the file of a Python frame. */
static enum xfa_dialect dialect_of_frame(const struct xfa_frame *frame)
{
    static const struct {
        const char *folder; /* as installed: beside it lie others' that begin alike */
        enum xfa_dialect dialect;
    } folders[] = {
        {"/cupy/", XFA_DIALECT_CUPY},          {"/cupyx/", XFA_DIALECT_CUPY},
        {"/cupy_backends/", XFA_DIALECT_CUPY}, {"/jax/", XFA_DIALECT_JAX},
        {"/jaxlib/", XFA_DIALECT_JAX},         {"/jax_plugins/", XFA_DIALECT_JAX},
        {"/numba/", XFA_DIALECT_NUMBA},        {"/numba_cuda/", XFA_DIALECT_NUMBA},
    };
    bool python = python_frame(frame) && owner_of(frame) == OWNER_LIBRARY;
    const char *path = python ? frame->file : frame->module;
    if (xfa_starts(xfa_base_name(frame->module), "libtorch"))
        return XFA_DIALECT_PYTORCH;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (has(path, "-packages/") && has(path, folders[i].folder))
            return folders[i].dialect;
    return XFA_DIALECT_CUDA;
}

static enum xfa_dialect dialect_of(const struct xfa_site *site)
{
    enum xfa_dialect dialect = XFA_DIALECT_CUDA;
    for (size_t i = 0; i < site->frame_count && dialect == XFA_DIALECT_CUDA; i++)
        dialect = dialect_of_frame(&site->frames[i]);
    return dialect;
}

/* ---- whose code ------------------------------------------------------------------------- */

static const char *package_of(const struct xfa_frame *frame, const char *path)
{
    static const char *const names[XFA_DIALECTS] = {
        [XFA_DIALECT_PYTORCH] = "PyTorch",
        [XFA_DIALECT_CUPY] = "CuPy",
        [XFA_DIALECT_JAX] = "JAX",
        [XFA_DIALECT_NUMBA] = "Numba",
    };
    const char *name = names[dialect_of_frame(frame)];
    if (!name && has(path, "-packages/torch/"))
        return "PyTorch";
    return name || !has(path, "-packages/") ? name : "installed packages";
}

static const char *frame_of_library(const struct xfa_frame *frame)
{
    const char *messages = xfa_message_library(frame);
    return messages && strcmp(messages, "MPI") == 0 ? messages : "CUDA";
}

static const char *native_frame_of(const struct xfa_frame *frame)
{
    const char *package = package_of(frame, frame->module);
    switch (xfa_layer(frame)) {
    case XFA_LAYER_FRAMEWORK:
        return package                                              ? package
               : xfa_starts(xfa_base_name(frame->module), "libc10") ? "PyTorch"
                                                                    : "installed packages";
    case XFA_LAYER_LIBRARY:
    case XFA_LAYER_CUDA:
        return frame_of_library(frame);
    case XFA_LAYER_START:
        return "the system";
    case XFA_LAYER_PROGRAM:
    case XFA_LAYER_THREAD:
    case XFA_LAYER_TEMPLATE:
        break;
    }
    return !package && interpreter(frame) ? "Python" : package;
}

const char *xfa_frame_of(const struct xfa_frame *frame)
{
    if (!python_frame(frame))
        return native_frame_of(frame);
    if (xfa_starts(frame->file, "<frozen "))
        return "Python";
    if (owner_of(frame) != OWNER_LIBRARY)
        return NULL;
    const char *package = package_of(frame, frame->file);
    return package ? package : "Python";
}

/* ---- frames --------------------------------------------------------------------------- */

#define MAX_TEXT 1024 /* bytes of a name or path that are kept */

struct shelf_text {
    uint64_t hash; /* key */
    char *text;
};

void xfa_shelf_init(struct xfa_shelf *shelf)
{
    *shelf = (struct xfa_shelf){0};
    xfa_table_init(&shelf->texts, sizeof(uint64_t), sizeof(struct shelf_text));
}

void xfa_shelf_free(struct xfa_shelf *shelf)
{
    for (size_t i = 0; i < shelf->texts.count; i++)
        free(((struct shelf_text *)xfa_table_at(&shelf->texts, i))->text);
    xfa_table_free(&shelf->texts);
}

enum text_kind { TEXT_PLAIN, TEXT_FUNCTION };

static char *made_fit(const char *bytes, size_t n, enum text_kind kind)
{
    char *text = xfa_kept(bytes, n);
    if (kind != TEXT_FUNCTION)
        return text;
    char *readable = xfa_demangle(text);
    free(text);
    if (strlen(readable) > MAX_TEXT)
        readable[MAX_TEXT] = 0;
    return readable;
}

/* NULL for no bytes: not known. */
static const char *shelf_text(struct xfa_shelf *shelf, const char *bytes, size_t n,
                              enum text_kind kind)
{
    if (n == 0)
        return NULL;
    n = n < MAX_TEXT ? n : MAX_TEXT;
    uint64_t hash = XXH3_64bits_withSeed(bytes, n, kind);
    struct shelf_text *entry = xfa_table_put(&shelf->texts, &hash);
    if (!entry->text)
        entry->text = made_fit(bytes, n, kind);
    return entry->text;
}

static struct xfa_frame *frame_add(struct xfa_site *site, size_t *capacity)
{
    site->frames = xfa_room(site->frames, capacity, site->frame_count + 1, sizeof *site->frames);
    struct xfa_frame *frame = &site->frames[site->frame_count++];
    memset(frame, 0, sizeof *frame);
    return frame;
}

static void place(struct xfa_shelf *shelf, struct xfa_frame *frame, const struct xfa_trace *trace,
                  uint64_t address)
{
    frame->address = address;
    if (python_frame(frame))
        return;
    const struct xfa_module *module = xfa_trace_module(trace, address - 1);
    frame->offset = module ? address - module->bias : 0;
    if (module && !frame->module)
        frame->module = shelf_text(shelf, module->path, strlen(module->path), TEXT_PLAIN);
    if (module)
        frame->build_id = shelf_text(shelf, module->build_id, strlen(module->build_id), TEXT_PLAIN);
}

#define MAX_INLINED 64
#define MAX_DEPTH 256 /* frames of one stack, inlined ones included */

static void frames_of(struct xfa_shelf *shelf, struct xfa_site *site, size_t *capacity,
                      const struct xfa_trace *trace, uint64_t address)
{
    size_t count;
    const struct xfa_symbol *symbols = xfa_trace_symbols(trace, address, &count);
    if (count == 0)
        place(shelf, frame_add(site, capacity), trace, address);
    for (size_t i = 0; i < count && i < MAX_INLINED; i++) {
        const struct xfa_symbol *symbol = &symbols[i];
        struct xfa_frame *frame = frame_add(site, capacity);
        frame->function = shelf_text(shelf, symbol->function, symbol->function_bytes,
                                     address & XFT_PYTHON_FRAME ? TEXT_PLAIN : TEXT_FUNCTION);
        frame->file = shelf_text(shelf, symbol->file, symbol->file_bytes, TEXT_PLAIN);
        frame->module = shelf_text(shelf, symbol->module, symbol->module_bytes, TEXT_PLAIN);
        frame->line = symbol->line;
        place(shelf, frame, trace, address);
    }
}

/* The innermost frame of the least layer; of the innermost ones `runtime` are the CUDA runtime's.
 */
static int choose(const struct xfa_site *site, size_t runtime)
{
    int least = XFA_LAYER_START + 1, chosen = choose_python(site);
    if (chosen >= 0)
        return chosen;
    for (size_t i = 0; i < site->frame_count; i++) {
        int layer = i < runtime ? XFA_LAYER_CUDA : (int)xfa_layer(&site->frames[i]);
        if (layer < least) {
            least = layer;
            chosen = (int)i;
        }
    }
    return chosen;
}

/* The thread that PyTorch made for a device's backward passes. Without a device, or for what is
 * left to it, the calling thread does that work: its own code lies beyond then. */
static bool autograd_thread(const struct xfa_site *site)
{
    bool engine = false;
    for (size_t i = 0; i < site->frame_count; i++) {
        const struct xfa_frame *frame = &site->frames[i];
        if (xfa_starts(frame->function, "torch::autograd::Engine::thread_") ||
            xfa_starts(frame->function, "torch::autograd::python::PythonEngine::thread_init"))
            engine = true;
        else if (python_frame(frame) || interpreter(frame) || xfa_layer(frame) == XFA_LAYER_PROGRAM)
            engine = false;
    }
    return engine;
}

/* The function of a library that the program called, from that frame outwards: NULL where it does
 * not make or destroy something. */
static const char *maker_of(const struct xfa_site *site, size_t innermost)
{
    const char *maker = NULL;
    for (size_t i = innermost; i < site->frame_count; i++) {
        const struct xfa_frame *frame = &site->frames[i];
        if (python_frame(frame) || xfa_layer(frame) != XFA_LAYER_LIBRARY)
            break;
        maker = xfa_makes_for_library(frame) ? frame->function : NULL;
    }
    return maker;
}

/* By the innermost frame beyond CUDA's: what a function of the program does that MPI calls (an
 * operation, an error handler) is the program's. */
static void find_within(struct xfa_site *site, size_t runtime)
{
    size_t i = runtime;
    while (i < site->frame_count && !python_frame(&site->frames[i]) &&
           xfa_layer(&site->frames[i]) == XFA_LAYER_CUDA)
        i++;
    if (i == site->frame_count || python_frame(&site->frames[i]))
        return;
    site->within = xfa_message_library(&site->frames[i]);
    if (site->within)
        return;
    site->within = maker_of(site, i);
    site->makes = site->within != NULL;
}

char *xfa_frame_text(const struct xfa_frame *frame)
{
    if (frame->file && frame->line)
        return xfa_print("%s (%s:%u)", frame->function ? frame->function : "?",
                         xfa_base_name(frame->file), frame->line);
    const char *module = xfa_base_name(frame->module);
    if (frame->function)
        return xfa_print("%s (%s)", frame->function, *module ? module : "?");
    if (*module)
        return xfa_print("%s+0x%" PRIx64, module, frame->offset);
    return xfa_print("0x%" PRIx64, frame->address);
}

static uint64_t frame_hash(const struct xfa_frame *frame, uint64_t seed)
{
    char *text =
        xfa_print("%s|%s|%u|%s|%" PRIx64, frame->function ? frame->function : "",
                  frame->file ? frame->file : "", frame->line, frame->module ? frame->module : "",
                  frame->line     ? 0
                  : frame->module ? frame->offset
                                  : frame->address);
    uint64_t hash = XXH3_64bits_withSeed(text, strlen(text), seed);
    free(text);
    return hash;
}

/* Whether the frame could be a call site of its own: it is the program's, and has a name. */
static bool may_call(const struct xfa_frame *frame, bool python)
{
    if (python != python_frame(frame) || !frame->function)
        return false;
    return python ? owner_of(frame) <= OWNER_STRING
                  : xfa_layer(frame) == XFA_LAYER_PROGRAM && !interpreter(frame);
}

int xfa_site_caller(const struct xfa_site *site)
{
    bool python = site->chosen >= 0 && python_frame(&site->frames[site->chosen]);
    if (site->chosen < 0 || site->autograd || !may_call(&site->frames[site->chosen], python))
        return -1;
    for (size_t i = (size_t)site->chosen + 1; i < site->frame_count; i++)
        if (may_call(&site->frames[i], python))
            return (int)i;
    return -1;
}

/* Every line of a Python program reaches CUDA through the same line of the interpreter: there,
 * without Python frames, sites are distinguished by the whole stack. */
static uint64_t identity_of_line(const struct xfa_site *site)
{
    if (site->chosen < 0)
        return 0;
    const struct xfa_frame *chosen = &site->frames[site->chosen];
    uint64_t hash = frame_hash(chosen, 1 + site->autograd + 2 * (site->within != NULL));
    if (site->makes)
        hash = XXH3_64bits_withSeed(site->within, strlen(site->within), hash);
    bool whole = interpreter(chosen) && !python_frame(chosen);
    for (size_t i = 0; whole && i < site->frame_count; i++)
        hash = frame_hash(&site->frames[i], hash);
    return hash;
}

/* By function: the lines of one call a helper for the same purpose more often than not, as a step
 * that warms up and the loop behind it do. */
static uint64_t identity(const struct xfa_site *site)
{
    int caller = xfa_site_caller(site);
    if (caller < 0)
        return site->line;
    const struct xfa_frame *frame = &site->frames[caller];
    const char *where = frame->file ? frame->file : frame->module ? frame->module : "";
    uint64_t hash = XXH3_64bits_withSeed(frame->function, strlen(frame->function), site->line);
    return XXH3_64bits_withSeed(where, strlen(where), hash);
}

/* Of a Python program the interpreter's frame says little; what it called says which operation of
 * the framework this was: "torch::autograd::THPVariable_to (from python3.11)". */
static char *interpreter_text(const struct xfa_site *site)
{
    const struct xfa_frame *called = &site->frames[site->chosen - 1];
    const char *from = xfa_base_name(site->frames[site->chosen].module);
    if (!called->function)
        return xfa_print("%s+0x%" PRIx64 " (from %s)", xfa_base_name(called->module),
                         called->offset, from);
    const struct xfa_function_name name = xfa_function_name(called->function);
    return xfa_print("%.*s (from %s)", name.bytes, name.start, from);
}

static char *chosen_text(const struct xfa_site *site)
{
    const struct xfa_frame *frame = &site->frames[site->chosen];
    bool own_line = frame->file && frame->line;
    if (interpreter(frame) && !python_frame(frame) && !own_line && site->chosen > 0)
        return interpreter_text(site);
    if (!frame->function)
        return xfa_frame_text(frame);
    const struct xfa_function_name name = xfa_function_name(frame->function);
    enum xfa_layer layer = xfa_layer(frame);
    bool bare = !own_line && layer != XFA_LAYER_PROGRAM && layer != XFA_LAYER_THREAD;
    char *function =
        bare ? xfa_kept(name.start, (size_t)name.bytes) : xfa_function_short(frame->function);
    struct xfa_frame brief = *frame;
    brief.function = function;
    char *text = xfa_frame_text(&brief);
    free(function);
    return text;
}

static char *site_text(const struct xfa_site *site)
{
    if (site->chosen < 0)
        return xfa_text("(no call stack)");
    char *text = chosen_text(site);
    if (!site->autograd &&
        (!site->within || xfa_layer(&site->frames[site->chosen]) == XFA_LAYER_LIBRARY))
        return text;
    char *longer = site->autograd ? xfa_print("%s, autograd thread", text)
                                  : xfa_print("%s, within %s", text, site->within);
    free(text);
    return longer;
}

/* NULL: no caller is to be named. */
static char *text_with_caller(const struct xfa_site *site)
{
    int caller = xfa_site_caller(site);
    if (caller < 0)
        return NULL;
    const char *function = site->frames[caller].function;
    const struct xfa_function_name name = xfa_function_name(function);
    return xfa_print("%s, called by %.*s", site->short_text, name.bytes, name.start);
}

void xfa_site_name_caller(struct xfa_site *site)
{
    if (site->long_text)
        site->text = site->long_text;
}

/* It is better to have room for the chosen frames of all sites than for the whole stacks of some.
 */
static void keep_frames(struct xfa_shelf *shelf, struct xfa_site *site)
{
    if (shelf->frames + site->frame_count > XFA_MAX_FRAMES && site->chosen > 0) {
        site->frames[0] = site->frames[site->chosen];
        site->chosen = 0;
    }
    if (shelf->frames + site->frame_count > XFA_MAX_FRAMES && site->frame_count > 1) {
        size_t capacity = 0;
        struct xfa_frame *one = xfa_room(NULL, &capacity, 1, sizeof *one);
        *one = site->frames[0];
        free(site->frames);
        site->frames = one;
        site->frame_count = 1;
    }
    shelf->frames += site->frame_count;
}

/* ---- source ----------------------------------------------------------------------------- */

#define AROUND 2 /* lines */
_Static_assert((2 * AROUND + 1) * (XFT_SOURCE_LINE_MOST + 1) <= MAX_TEXT, "the shelf keeps all");

/* Lines longer than a recorder's are cut: between characters, as the recorder does. */
static size_t fitted(const char *line, size_t bytes)
{
    if (bytes <= XFT_SOURCE_LINE_MOST)
        return bytes;
    for (bytes = XFT_SOURCE_LINE_MOST; bytes > 0 && ((unsigned char)line[bytes] & 0xc0) == 0x80;)
        bytes--;
    return bytes;
}

static void find_source(struct xfa_shelf *shelf, struct xfa_site *site,
                        const struct xfa_trace *trace)
{
    char text[MAX_TEXT];
    size_t used = 0, bytes;
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    if (!frame || !frame->file || !frame->line ||
        !xfa_trace_source_line(trace, frame->file, strlen(frame->file), frame->line, &bytes))
        return;
    uint32_t first = frame->line > AROUND ? frame->line - AROUND : 1;
    uint32_t last = frame->line < UINT32_MAX - AROUND ? frame->line + AROUND : UINT32_MAX;
    for (uint32_t number = first;; number++) {
        const char *line =
            xfa_trace_source_line(trace, frame->file, strlen(frame->file), number, &bytes);
        if (line) {
            if (used)
                text[used++] = '\n';
            else
                site->source_line = number;
            bytes = fitted(line, bytes);
            memcpy(text + used, line, bytes);
            used += bytes;
        } else if (number > frame->line) {
            break;
        } else {
            used = 0;
        }
        if (number == last)
            break;
    }
    site->source = shelf_text(shelf, text, used, TEXT_PLAIN);
}

/* Its frames, and which of them is the site; no texts. */
static struct xfa_site *site_of(struct xfa_shelf *shelf, const struct xfa_trace *trace, uint32_t id)
{
    struct xfa_site *site = xfa_alloc(sizeof *site);
    const struct xfa_stack *stack = id ? xfa_trace_stack(trace, id) : NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; stack && i < stack->depth && site->frame_count < MAX_DEPTH; i++)
        frames_of(shelf, site, &capacity, trace, xfa_stack_address(stack, i));
    const char *function;
    size_t runtime = xfa_runtime_frames(trace, site->frames, site->frame_count, &function);
    site->runtime_function =
        shelf_text(shelf, function, function ? strlen(function) : 0, TEXT_PLAIN);
    site->chosen = choose(site, runtime);
    site->autograd = autograd_thread(site);
    find_within(site, runtime);
    site->line = identity_of_line(site);
    site->identity = identity(site);
    return site;
}

struct xfa_site *xfa_site_new(struct xfa_shelf *shelf, const struct xfa_trace *trace, uint32_t id)
{
    struct xfa_site *site = site_of(shelf, trace, id);
    site->dialect = dialect_of(site);
    site->text = site->short_text = site_text(site);
    site->long_text = text_with_caller(site);
    find_source(shelf, site, trace);
    keep_frames(shelf, site);
    return site;
}

struct xfa_site_identity xfa_site_identify(struct xfa_shelf *shelf, const struct xfa_trace *trace,
                                           uint32_t stack)
{
    struct xfa_site *site = site_of(shelf, trace, stack);
    struct xfa_site_identity identity = {site->line, site->identity};
    xfa_site_free(site);
    return identity;
}

void xfa_site_free(struct xfa_site *site)
{
    if (!site)
        return;
    free(site->frames);
    free(site->short_text);
    free(site->long_text);
    free(site);
}

/* ---- sites by a user's pattern --------------------------------------------------------------- */

bool xfa_is_glob(const char *pattern)
{
    return strpbrk(pattern, "*?[") != NULL;
}

static bool matches(const char *pattern, const char *text)
{
    if (!text)
        return false;
    return xfa_is_glob(pattern) ? fnmatch(pattern, text, 0) == 0 : strstr(text, pattern) != NULL;
}

bool xfa_site_matches(const char *pattern, const struct xfa_site *site)
{
    if (matches(pattern, site->text))
        return true;
    const struct xfa_frame *frame = site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
    if (!frame || !frame->file)
        return frame && matches(pattern, frame->function);
    char *line = xfa_print("%s:%u", frame->file, frame->line);
    bool found = matches(pattern, frame->function) || matches(pattern, line) ||
                 matches(pattern, frame->file) || matches(pattern, xfa_base_name(line)) ||
                 matches(pattern, xfa_base_name(frame->file));
    free(line);
    return found;
}
