// dpc's subcommands. Each gets its own command line, with "dpc <name>" as argv[0], and writes its result to stdout.
// --help and --version print and end the process.
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
// Reads a model of any form. A path that ends with .onnx is ONNX; the other forms, and standard input, are told by
// their content.
dp_status dp_dpc_import_read(dp_arena *arena, const char *path, dp_model **model) DP_MUST_USE;
// The same with options for ONNX. EX_USAGE: there are options, but the file is not ONNX.
dp_status dp_dpc_import_read_with(dp_arena *arena, const char *path, const dp_onnx_options *options,
                                  dp_model **model) DP_MUST_USE;
// The same with the options of a compilation that concern the file.
dp_status dp_dpc_import_read_asked(dp_arena *arena, const char *path, const dp_options *options,
                                   dp_model **model) DP_MUST_USE;
// What commands take about an ONNX file: --train and --dim. The parser's input is a dp_dpc_onnx.
typedef struct {
  dp_arena *arena;  // the caller's
  dp_onnx_options onnx;
  const char **train;  // the same as the options'
  dp_status status;    // of the first mistake
} dp_dpc_onnx;
extern const struct argp dp_dpc_onnx_argp;
// Adds a dim, from the "NAME=N" of --dim. EX_USAGE.
dp_status dp_dpc_import_dim(dp_arena *arena, const char *text, dp_onnx_options *options) DP_MUST_USE;
// Refuses an output that would, itself or by its tensors file, replace the model or a file beside it. EX_CONFIG.
dp_status dp_dpc_check_files(dp_arena *arena, const char *model, const char *output) DP_MUST_USE;

#endif
