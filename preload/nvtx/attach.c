#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/own_stack.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/unloads.h"
#include "preload/nvtx/nvtx.h"
#include "preload/nvtx/parts.h"
#include "preload/record/record.h"
#include "preload/base/settings.h"

#define EXPORTED __attribute__((visibility("default")))
#define PATH_VARIABLE "NVTX_INJECTION64_PATH"

EXPORTED int InitializeInjectionNvtx2(xnv_export_table export_table);

static atomic_bool attached;

/* ---- attaching ------------------------------------------------------------------------------- */

/* False when only NVTX has opened this library, without LD_PRELOAD: then it intercepts no CUDA
 * call. */
static bool is_preloaded(void)
{
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *found = program ? xfs_real_dlsym(program, "InitializeInjectionNvtx2") : NULL;
    if (program)
        xfs_unload(program, NULL);
    if (found == NULL)
        dlerror(); /* no message of ours for the program */
    return found == (void *)(uintptr_t)InitializeInjectionNvtx2;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

/* Bad settings are not reported here, but at the first CUDA call. */
static bool is_wanted(void)
{
    struct xfs_settings settings;
    xfs_settings_parse(&settings, from_environment);
    bool wanted = settings.enable && settings.nvtx && !getauxval(AT_SECURE);
    if (wanted)
        xfs_phase_set(settings.phase);
    return wanted;
}

static void fill(const struct xnv_callbacks *callbacks, enum xnv_module module,
                 const xnv_function *functions, unsigned places)
{
    xnv_function **table = NULL;
    unsigned size = 0;
    if (!callbacks->module_table(module, &table, &size) || table == NULL)
        return;
    for (unsigned i = 0; i < places && i < size; i++)
        if (functions[i] && table[i])
            *table[i] = functions[i];
}

static void ask(void *answer)
{
    *(bool *)answer = is_preloaded() && is_wanted();
}

/* Runs in the program's thread that makes the first range. */
EXPORTED int InitializeInjectionNvtx2(xnv_export_table export_table)
{
    int saved = errno;
    bool attach = false;
    if (!xfs_on_large_stack(ask, &attach))
        ask(&attach);
    const struct xnv_callbacks *callbacks = attach ? export_table(XNV_TABLE_CALLBACKS) : NULL;
    errno = saved;
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks)
        return 0;
    fill(callbacks, XNV_MODULE_CORE, xfs_nvtx_core, XFS_CORE_PLACES);
    fill(callbacks, XNV_MODULE_CORE2, xfs_nvtx_core2, XFS_CORE2_PLACES);
    if (!atomic_exchange(&attached, true))
        xfs_meta_set("nvtx", "on"); /* ranges are ignored while recording is off */
    errno = saved;
    return 1;
}

/* ---- what META says -------------------------------------------------------------------------- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool names_this_library(const char *path)
{
    Dl_info own;
    return dladdr((void *)(uintptr_t)names_this_library, &own) && own.dli_fname &&
           strcmp(file_name(path), file_name(own.dli_fname)) == 0;
}

/* Why no ranges will be recorded; NULL: they will. */
static const char *why_not(void)
{
    const char *path = getenv(PATH_VARIABLE);
    if (!xfs_settings()->nvtx)
        return "XFERSCOPE_NVTX=0";
    if (atomic_load(&attached) || (path && names_this_library(path)))
        return NULL;
    return path && *path ? "another tool is attached: " PATH_VARIABLE
                         : PATH_VARIABLE " is not set; xferscope record sets it";
}

void xfs_nvtx_session_start(void)
{
    const char *why = why_not();
    xfs_meta_set("nvtx", why ? "off" : "on");
    if (why)
        xfs_meta_set("nvtx.why", why);
    xfs_ranges_begin_recording();
}
