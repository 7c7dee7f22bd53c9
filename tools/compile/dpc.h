// dpc's subcommands. Each takes its own command line, argv[0] being "dpc <name>", writes its result on stdout and answers
// with a status; --help and --version print and end the process.
#ifndef DP_TOOLS_COMPILE_DPC_H
#define DP_TOOLS_COMPILE_DPC_H

#include "frontends/onnx/onnx.h"
#include "ir/graph/graph.h"
#include "passes/base/pass.h"
#include "tools/cli.h"

dp_status dp_dpc_compile_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_show_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_verify_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_ops_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_import_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
dp_status dp_dpc_export_run(dp_arena *arena, int argc, char **argv) DP_MUST_USE;
// A model of any form: ONNX by its name, which ends with .onnx, the others by content; of standard input all by content.
dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// The same; EX_USAGE when something is said of a file that is no ONNX.
dp_status dp_dpc_import_read_with(dp_arena *arena, const char *path, const dp_onnx_options *options,
                                  dp_model **model) DP_MUST_USE;
// As dp_dpc_import_read_with what the options say of the file.
dp_status dp_dpc_import_read_asked(dp_arena *arena, const char *path, const dp_options *options,
                                   dp_model **model) DP_MUST_USE;
// "NAME=N" of --dim, and one dim more. EX_USAGE.
dp_status dp_dpc_import_dim(dp_arena *arena, const char *text, dp_onnx_options *options) DP_MUST_USE;
// Whether the output, and the tensors that go beside it, would replace the model or what lies beside that. EX_CONFIG.
dp_status dp_dpc_check_files(dp_arena *arena, const char *model, const char *output) DP_MUST_USE;

#endif
