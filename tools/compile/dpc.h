// dpc's subcommands. Each takes its own command line, argv[0] being "dpc <name>", writes its result on stdout and answers
// with a status; --help and --version print and end the process.
#ifndef DP_TOOLS_COMPILE_DPC_H
#define DP_TOOLS_COMPILE_DPC_H

#include "ir/graph/graph.h"
#include "tools/cli.h"

dp_status dp_dpc_compile_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_show_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_verify_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_ops_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_import_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_export_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
// A model of any form: .onnx by its name, the others by content.
dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// The same; globs: float initializers of an ONNX file that are parameters whatever the file says.
dp_status dp_dpc_import_read_trained(dp_arena *arena, const char *path, int n_globs, const char *const *globs,
                                     dp_model **model) DP_MUST_USE;

#endif
