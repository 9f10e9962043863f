/* Blocks within the limit of size, and text without meaning in Markdown. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/facts.h"
#include "analyzer/report/markdown/markdown.h"

static const char fold_end[] = "\n</details>\n";
static const char cut_line[] = "\n*Cut here: GitHub takes no more than 65,536 characters. "
                               "`xferscope analyze` has all of it.*\n";
#define RESERVE (sizeof fold_end + sizeof cut_line)

static void put(struct xfa_markdown *md, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, md->out);
    md->written += bytes;
}

FILE *xfa_markdown_begin(struct xfa_markdown *md)
{
    md->block = open_memstream(&md->text, &md->bytes);
    if (!md->block)
        abort(); /* no memory */
    return md->block;
}

void xfa_markdown_end(struct xfa_markdown *md)
{
    fclose(md->block);
    md->block = NULL;
    md->cut = md->cut || md->written + md->bytes + RESERVE > XFA_MARKDOWN_MOST;
    if (!md->cut)
        put(md, md->text, md->bytes);
    free(md->text);
    md->text = NULL;
}

void xfa_markdown_fold(struct xfa_markdown *md, const char *title)
{
    fprintf(xfa_markdown_begin(md), "\n<details><summary>%s</summary>\n\n", title);
    xfa_markdown_end(md);
    md->folded = !md->cut;
}

void xfa_markdown_unfold(struct xfa_markdown *md)
{
    if (md->folded)
        put(md, fold_end, strlen(fold_end));
    md->folded = false;
}

void xfa_markdown_close(struct xfa_markdown *md)
{
    xfa_markdown_unfold(md);
    if (md->cut)
        put(md, cut_line, strlen(cut_line));
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters, digits, characters of file names, and all that is not ASCII. */
static bool is_plain(char c)
{
    return is_word(c) || c & 0x80 || strchr(" .,:;/()%+=-", c) != NULL;
}

void xfa_markdown_text(FILE *out, const char *text)
{
    char *shown = xfa_clean(text, strlen(text));
    for (const char *at = shown; *at; at++) {
        bool within = at > shown && *at == '_' && is_word(at[-1]) && is_word(at[1]);
        if (is_plain(*at) || within)
            fputc(*at, out);
        else
            fprintf(out, "&#%d;", *at);
    }
    free(shown);
}

void xfa_markdown_code(FILE *out, const char *text, size_t columns)
{
    char *shown = xfa_shortened(text, columns);
    fputs("<code>", out);
    xfa_markdown_text(out, shown);
    fputs("</code>", out);
    free(shown);
}
