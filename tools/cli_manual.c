// Manual pages and completion, from the tables that the command line is parsed by. See cli.h.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"

// The text of an option, as --help shows it; from malloc if it is not `text`.
static char *filtered(const struct argp *argp, int key, const char *text) {
  return argp->help_filter && text ? argp->help_filter(key, text, NULL) : (char *)(uintptr_t)text;
}

static const struct argp_option *next(const struct argp_option *o) {
  return o->name || o->key || o->doc || o->group ? o : NULL;
}

static bool is_shown(const struct argp_option *o) { return o->name && !(o->flags & OPTION_HIDDEN); }

// ---- manual pages, in the macros of man(7) --------------------------------------------------------------------------

static void put_text(const char *text, size_t length, FILE *out) {
  bool begins = true;  // a line that begins with a dot would be a macro
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    if (begins && (c == '.' || c == '\'')) fputs("\\&", out);
    if (c == '-')
      fputs("\\-", out);
    else if (c == '\\')
      fputs("\\e", out);
    else
      fputc(c, out);
    begins = c == '\n';
  }
}

static void put_string(const char *text, FILE *out) { put_text(text, strlen(text), out); }

static void print_option(const struct argp *argp, const struct argp_option *o, FILE *out) {
  char *doc = filtered(argp, o->key, o->doc);
  fputs(".TP\n", out);
  if (o->key > 0 && o->key < 128) fprintf(out, "\\fB\\-%c\\fR, ", o->key);
  fputs("\\fB\\-\\-", out);
  put_string(o->name, out);
  fputs("\\fR", out);
  if (o->arg) {
    fputs(o->flags & OPTION_ARG_OPTIONAL ? "[=\\fI" : "=\\fI", out);
    put_string(o->arg, out);
    fputs(o->flags & OPTION_ARG_OPTIONAL ? "\\fR]" : "\\fR", out);
  }
  fputc('\n', out);
  if (doc) put_string(doc, out);
  fputc('\n', out);
  if (doc != o->doc) free(doc);
}

static void print_options(const struct argp *argp, FILE *out) {
  for (const struct argp_option *o = argp->options; o && next(o); o++)
    if (is_shown(o)) {
      print_option(argp, o, out);
    } else if (!o->name && o->doc) {
      fputs(".SS ", out);
      put_string(o->doc, out);
      fputc('\n', out);
    }
  for (const struct argp_child *c = argp->children; c && c->argp; c++) print_options(c->argp, out);
}

// What argp and dp_cli_parse add.
static const struct {
  const char *letter, *name, *doc;
} common[] = {{"\\fB\\-h\\fR, ", "help", "Print this list of options"},
              {"", "usage", "Print a short usage message"},
              {"", "version", "Print the version"}};

// A usage on each line of args_doc. A word in small letters names a command, whose options follow it.
static void print_usages(const char *usages, const char *command, FILE *out) {
  for (bool first = true; first || *usages; first = false) {
    const size_t length = strcspn(usages, "\n"), word = islower((unsigned char)*usages) ? strcspn(usages, " \n") : 0;
    fprintf(out, "%s\\fB%s%s%.*s\\fR [\\fIOPTION\\fR...] ", first ? "" : ".br\n", command, word ? " " : "", (int)word,
            usages);
    const size_t rest = word + strspn(usages + word, " ");
    put_text(usages + rest, length - rest, out);
    fputc('\n', out);
    usages += length + (usages[length] == '\n');
  }
}

void dp_cli_manual_print(const struct argp *argp, const char *command, FILE *out) {
  const char *doc = argp->doc ? argp->doc : "", *more = strchr(doc, '\v');
  const size_t length = more ? (size_t)(more - doc) : strlen(doc), sentence = strcspn(doc, ".\v");
  fputs(".TH \"", out);
  for (const char *c = command; *c; c++) fputc(*c == ' ' ? '-' : *c, out);
  fprintf(out, "\" 1 \"\" \"dpc and dprun " DP_VERSION "\"\n.SH NAME\n");
  for (const char *c = command; *c; c++) fputs(*c == ' ' ? "\\-" : (char[]){*c, 0}, out);
  fputs(" \\- ", out);
  put_text(doc, sentence < length ? sentence : length, out);
  fputs("\n.SH SYNOPSIS\n", out);
  print_usages(argp->args_doc ? argp->args_doc : "", command, out);
  fputs(".SH DESCRIPTION\n", out);
  put_text(doc, length, out);
  fputs("\n.SH OPTIONS\n", out);
  print_options(argp, out);
  fputs(".SS Other\n", out);
  for (size_t i = 0; i < DP_COUNT(common); i++)
    fprintf(out, ".TP\n%s\\fB\\-\\-%s\\fR\n%s\n", common[i].letter, common[i].name, common[i].doc);
  if (!more) return;
  const char *examples = !strncmp(more + 1, "Examples:\n", 10) ? more + 11 : more + 1;
  fputs(".SH EXAMPLES\n.nf\n", out);
  put_string(examples, out);
  fputs("\n.fi\n", out);
}

// ---- completion -----------------------------------------------------------------------------------------------------

static void print_words(const struct argp *argp, FILE *out) {
  for (const struct argp_option *o = argp->options; o && next(o); o++)
    if (is_shown(o)) fprintf(out, "--%s%s\n", o->name, o->arg && !(o->flags & OPTION_ARG_OPTIONAL) ? "=" : "");
  for (const struct argp_child *c = argp->children; c && c->argp; c++) print_words(c->argp, out);
}

void dp_cli_words_print(const struct argp *argp, FILE *out) {
  print_words(argp, out);
  for (size_t i = 0; i < DP_COUNT(common); i++) fprintf(out, "--%s\n", common[i].name);
}
