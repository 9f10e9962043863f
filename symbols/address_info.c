#include "symbols/address_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/search.h"
#include "symbols/debug_files.h"
#include "xferscope/trace.h"

/* A function of the symbol table; the name lies in the mapped file. */
struct function {
    uint64_t start, bytes;
    const char *name;
    int rank; /* of two names for one address the lower wins: it is better known */
};

struct xfs_session {
    char *path;
    Dwfl *dwfl;
    Dwfl_Module *found;
    struct function *functions; /* by start; made when first asked for */
    size_t function_count;
    bool is_indexed;
};

/* ---- opening ---------------------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {
    .find_debuginfo = xfs_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static bool has_build_id(Dwfl_Module *found, const struct xfs_loaded_module *module)
{
    const unsigned char *id;
    GElf_Addr where;
    if (module->build_id_bytes == 0)
        return true;
    int bytes = dwfl_module_build_id(found, &id, &where);
    return bytes > 0 && (size_t)bytes == module->build_id_bytes &&
           memcmp(id, module->build_id, (size_t)bytes) == 0;
}

/* On success the module owns the descriptor; on failure it is closed here. */
static Dwfl_Module *report(Dwfl *dwfl, const char *path)
{
    struct stat info;
    int fd = xfs_elf_open(path, &info);
    if (fd < 0)
        return NULL;
    Dwfl_Module *found = dwfl_report_elf(dwfl, path, path, fd, 0, true);
    if (found == NULL)
        close(fd);
    dwfl_report_end(dwfl, NULL, NULL);
    return found;
}

struct xfs_session *xfs_session_open(const struct xfs_loaded_module *module)
{
    struct xfs_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->path = strdup(module->path);
    session->dwfl = dwfl_begin(&callbacks);
    if (session->path && session->dwfl)
        session->found = report(session->dwfl, module->path);
    if (session->found && has_build_id(session->found, module))
        return session;
    xfs_session_close(session);
    return NULL;
}

size_t xfs_session_functions(const struct xfs_session *session)
{
    return session->function_count;
}

void xfs_session_close(struct xfs_session *session)
{
    if (session && session->dwfl)
        dwfl_end(session->dwfl);
    if (session) {
        free(session->functions);
        free(session->path);
    }
    free(session);
}

/* ---- the symbol table ------------------------------------------------------------------- */

static int rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 0;
    case STB_WEAK:
        return 1;
    default:
        return 2;
    }
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1; /* the best comes last: the search ends there */
    return -strcmp(x->name, y->name);
}

/* libdwfl reads every symbol for every address, which takes seconds in libraries with a million
 * symbols. */
static void index_functions(struct xfs_session *session)
{
    int n = dwfl_module_getsymtab(session->found);
    session->is_indexed = true;
    if (n <= 0 || (session->functions = calloc((size_t)n, sizeof *session->functions)) == NULL)
        return;
    for (int i = 1; i < n; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        const char *name =
            dwfl_module_getsym_info(session->found, i, &symbol, &start, NULL, NULL, NULL);
        int type = GELF_ST_TYPE(symbol.st_info);
        if (name == NULL || *name == '\0' || symbol.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
            continue;
        session->functions[session->function_count++] =
            (struct function){start, symbol.st_size, name, rank_of(&symbol)};
    }
    qsort(session->functions, session->function_count, sizeof *session->functions,
          compare_functions);
}

static bool starts_by(const void *function, const void *pc)
{
    return ((const struct function *)function)->start <= *(const uint64_t *)pc;
}

/* The function whose extent holds the pc; one without an extent reaches to the next. */
static const char *function_at(struct xfs_session *session, uint64_t pc)
{
    if (!session->is_indexed)
        index_functions(session);
    size_t behind = xfc_partition(session->functions, session->function_count,
                                  sizeof *session->functions, starts_by, &pc);
    for (size_t tries = 0; behind-- > 0 && tries < 16; tries++) {
        const struct function *function = &session->functions[behind];
        if (pc - function->start < function->bytes || (function->bytes == 0 && tries == 0))
            return function->name;
    }
    return NULL;
}

/* ---- one address ------------------------------------------------------------------------ */

struct place {
    const char *file;
    uint32_t line;
};

void xfs_symbol_append(struct xfs_symbol_list *out, const void *bytes, size_t n)
{
    if (out->failed || n == 0)
        return;
    if (out->count + n > out->room) {
        size_t room = 2 * (out->count + n) + 4096;
        unsigned char *more = realloc(out->bytes, room);
        if (more == NULL) {
            out->failed = true;
            return;
        }
        out->bytes = more;
        out->room = room;
    }
    memcpy(out->bytes + out->count, bytes, n);
    out->count += n;
}

static void put(struct xfs_symbol_list *out, const char *path, struct xft_symbol symbol,
                const char *function, struct place place)
{
    const char *file = place.file ? place.file : "", *name = function ? function : "";
    symbol.line = place.file ? place.line : 0;
    symbol.function_bytes = (uint32_t)strlen(name);
    symbol.file_bytes = (uint32_t)strlen(file);
    symbol.module_bytes = (uint32_t)strlen(path);
    xfs_symbol_append(out, &symbol, sizeof symbol);
    xfs_symbol_append(out, name, symbol.function_bytes);
    xfs_symbol_append(out, file, symbol.file_bytes);
    xfs_symbol_append(out, path, symbol.module_bytes);
}

void xfs_symbol_unknown(const char *path, uint64_t address, struct xfs_symbol_list *out)
{
    put(out, path, (struct xft_symbol){.address = address}, NULL, (struct place){0});
}

/* The linkage name; C++ names stay mangled. */
static const char *function_name(Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dwarf_attr_integrate(die, names[i], &attribute))
            return dwarf_formstring(&attribute);
    return dwarf_diename(die);
}

/* Where an inlined function was called. */
static struct place call_place(Dwarf_Die *unit, Dwarf_Die *inlined)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Files *files;
    size_t count;
    struct place place = {0};
    if (dwarf_getsrcfiles(unit, &files, &count) == 0 &&
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0)
        place.file = dwarf_filesrc(files, number, NULL, NULL);
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0)
        place.line = (uint32_t)number;
    return place;
}

/* The compilation unit around a pc. Not every compiler writes the index (.debug_aranges) that
 * libdwfl uses. `bias` is that of the debug information against memory. */
static Dwarf_Die *find_unit(struct xfs_session *session, uint64_t pc, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(session->found, pc, bias);
    if (unit)
        return unit;
    while ((unit = dwfl_module_nextcu(session->found, unit, bias)) != NULL)
        if (dwarf_haspc(unit, pc - *bias) > 0)
            return unit;
    return NULL;
}

static struct place line_at(Dwarf_Die *unit, Dwarf_Addr pc)
{
    struct place place = {0};
    int number = 0;
    Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
    if (line == NULL || dwarf_lineno(line, &number) != 0)
        return place;
    place.file = dwarf_linesrc(line, NULL, NULL);
    place.line = number > 0 ? (uint32_t)number : 0;
    return place;
}

/* The functions around a pc of the unit, innermost first. Returns how many there were. */
static uint32_t put_scopes(struct xfs_session *session, Dwarf_Die *unit, Dwarf_Addr pc,
                           struct xfs_symbol_list *out)
{
    struct place place = line_at(unit, pc);
    Dwarf_Die *scopes = NULL, *chain = NULL;
    uint32_t depth = 0;
    int n = dwarf_getscopes(unit, pc, &scopes);
    n = n > 0 ? dwarf_getscopes_die(&scopes[0], &chain) : 0;
    for (int i = 0; i < n; i++) {
        int tag = dwarf_tag(&chain[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        put(out, session->path, (struct xft_symbol){.depth = depth++}, function_name(&chain[i]),
            place);
        if (tag == DW_TAG_subprogram)
            break;
        place = call_place(unit, &chain[i]);
    }
    free(scopes);
    free(chain);
    return depth;
}

void xfs_session_resolve(struct xfs_session *session, uint64_t address, struct xfs_symbol_list *out)
{
    struct place place = {0};
    Dwarf_Addr bias;
    Dwarf_Die *unit = find_unit(session, address - 1, &bias);
    if (unit && put_scopes(session, unit, address - 1 - bias, out) > 0)
        return;
    if (unit)
        place = line_at(unit, address - 1 - bias);
    put(out, session->path, (struct xft_symbol){0}, function_at(session, address - 1), place);
}
