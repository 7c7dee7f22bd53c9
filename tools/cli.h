// What dpc and dprun share at the command line: errors as one block, mistyped options, lists of NAME=FILE.
#ifndef DP_TOOLS_CLI_H
#define DP_TOOLS_CLI_H

#include <argp.h>

#include "ir/base/base.h"

#define DP_VERSION "0.1"

// The first thing that a program does: standard input, output and error are open, so that no file takes their place.
void dp_cli_begin(void);

// Prints "program: message" on stderr and frees the status. Returns its exit code, 0 for success. What was printed on stdout
// must have got there: EX_IOERR.
int dp_cli_finish(const char *program, dp_status status);

// argp_parse, but a mistyped long option is answered with the nearest one (EX_USAGE).
dp_status dp_cli_parse(const struct argp *argp, int argc, char **argv, void *input) DP_MUST_USE;

// "NAME=FILE" split at the first '='. EX_USAGE when there is no name or no file. The parts live in `arena`.
typedef struct {
  const char *name, *file;
} dp_cli_pair;
dp_status dp_cli_pair_parse(dp_arena *arena, const char *option, const char *text, dp_cli_pair *pair) DP_MUST_USE;

// A whole number in [low, high]. EX_USAGE.
dp_status dp_cli_int(const char *option, const char *text, int64_t low, int64_t high, int64_t *number) DP_MUST_USE;
// A count of bytes, 1 or more: a whole number, and K, M, G or T behind it for powers of 1024. EX_USAGE.
dp_status dp_cli_bytes(const char *option, const char *text, int64_t *bytes) DP_MUST_USE;

// ---- cli_files.c: what is read and written --------------------------------------------------------------------------

// A file that an option names, or that goes beside one.
typedef struct {
  const char *option;  // as messages say it: "--save"
  const char *path;    // NULL: not given; "-": standard input or output
  bool written;
} dp_cli_file;

// No file is written twice, nor read and written; standard input is read once. EX_CONFIG.
dp_status dp_cli_files_check(const dp_cli_file *files, int n_files) DP_MUST_USE;
// Whether a file can be written there at all, before hours of work depend on it. EX_CANTCREAT; EX_USAGE: standard output is
// a terminal, and what is written is no text.
dp_status dp_cli_check_writable(const char *option, const char *path, bool text) DP_MUST_USE;
// A path whose ending promises another form than `form`, which has one of the endings (a list like ".json .jsonl"), is
// refused: EX_USAGE. only: so is every other ending.
dp_status dp_cli_check_ending(const char *option, const char *path, const char *form, const char *endings,
                              bool only) DP_MUST_USE;

#endif
