// The command-line code that dpc and dprun share: error reports, suggestions for mistyped options, lists of NAME=FILE.
#ifndef DP_TOOLS_CLI_H
#define DP_TOOLS_CLI_H

#include <argp.h>
#include <stdio.h>

#include "ir/base/base.h"

#define DP_VERSION "0.1"

// Call this first. It opens standard input, output and error if they are closed, so that no other file takes their
// place.
void dp_cli_begin(void);

// Prints a message on stderr. What a terminal would obey is escaped, very long words are shortened.
void dp_cli_print_message(const char *text);

// Prints "program: message" on stderr and frees the status. Returns the exit code, 0 for success. If standard output
// could not be written, that is an EX_IOERR.
int dp_cli_finish(const char *program, dp_status status);

// argp_parse, except that a mistyped long option gets a suggestion (EX_USAGE). A single argument --print-manual or
// --print-words prints the manual page or the options, one in a line, and ends the process: what the build makes manual
// pages and completion from (tools/manuals).
dp_status dp_cli_parse(const struct argp *argp, int argc, char **argv, void *input) DP_MUST_USE;

// "NAME=FILE", split as by dp_pair_split. EX_USAGE: the name or the file is missing. The parts live in `arena`.
typedef struct {
  const char *name, *file;
} dp_cli_pair;
dp_status dp_cli_pair_parse(dp_arena *arena, const char *option, const char *text, dp_cli_pair *pair) DP_MUST_USE;

// Parses a whole number in [low, high]. EX_USAGE.
dp_status dp_cli_int(const char *option, const char *text, int64_t low, int64_t high, int64_t *number) DP_MUST_USE;
// Parses a number of bytes, 1 or more; the suffixes K, M, G and T stand for powers of 1024. EX_USAGE.
dp_status dp_cli_bytes(const char *option, const char *text, int64_t *bytes) DP_MUST_USE;

// ---- cli_manual.c: what is made from a table of options -------------------------------------------------------------

// Prints a manual page in the macros of man(7). command: "dpc compile".
void dp_cli_manual_print(const struct argp *argp, const char *command, FILE *out);
// Prints the long options, with "=" behind those that need a value.
void dp_cli_words_print(const struct argp *argp, FILE *out);

// ---- cli_files.c: the files that a command reads and writes ---------------------------------------------------------

// A file that an option names, or that goes beside one.
typedef struct {
  const char *option;  // as in messages: "--save"
  const char *path;    // NULL: not given; "-": standard input or output
  bool written;
} dp_cli_file;

// Refuses to write a file twice, to write a file that is also read or lies in a folder that is, and to read standard
// input or another pipe twice. EX_CONFIG.
dp_status dp_cli_files_check(const dp_cli_file *files, int n_files) DP_MUST_USE;
// The same for each of some files with each of others.
dp_status dp_cli_files_check_between(const dp_cli_file *some, int n_some, const dp_cli_file *others,
                                     int n_others) DP_MUST_USE;
// Checks that a file can be written, before hours of work depend on it. text: it may go to a terminal. EX_CANTCREAT;
// EX_USAGE: binary output would go to a terminal.
dp_status dp_cli_check_writable(const char *option, const char *path, bool text) DP_MUST_USE;
// Refuses a folder without a name, or called "-", which is standard input or output elsewhere. EX_USAGE.
dp_status dp_cli_check_folder(const char *option, const char *path) DP_MUST_USE;
// Refuses a path whose ending belongs to another format (EX_USAGE). `form` describes the format, `endings` lists its
// endings, such as ".json .jsonl". only: also refuses unknown endings.
dp_status dp_cli_check_ending(const char *option, const char *path, const char *form, const char *endings,
                              bool only) DP_MUST_USE;

#endif
