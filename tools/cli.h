// What dpc and dprun share at the command line: errors as one block, mistyped options, lists of NAME=FILE.
#ifndef DP_TOOLS_CLI_H
#define DP_TOOLS_CLI_H

#include <argp.h>

#include "ir/base/base.h"

#define DP_VERSION "0.1"

// Prints "program: message" on stderr and frees the status. Returns its exit code, 0 for success.
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

// Whether both paths name one file, there already or not.
bool dp_cli_same_file(const char *a, const char *b);
// Whether a file can be written there at all, before hours of work depend on it. EX_CANTCREAT.
dp_status dp_cli_check_writable(const char *path) DP_MUST_USE;

#endif
