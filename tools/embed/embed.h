// Compiles and runs models inside another program's process: libdpc.so, for callers in any language that can call C.
//
// All types are plain C, so that a foreign-function interface can name them. A function returns 0 or an exit code of
// <sysexits.h>, such as EX_DATAERR (65, bad model or data) or EX_UNAVAILABLE (69, not supported; always found before
// anything runs), and then writes the reason to `message`, truncated if necessary. One thread at a time may use an
// object.
#ifndef DP_TOOLS_EMBED_EMBED_H
#define DP_TOOLS_EMBED_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DP_EMBED_API __attribute__((visibility("default")))

enum { DP_EMBED_MAX_RANK = 8 };

// A model that is ready to run on one device.
typedef struct dp_embed dp_embed;

// An input or output. Its memory, dense and row-major, belongs to the dp_embed.
typedef struct {
  const char *name;
  int32_t dtype;  // ONNX's TensorProto.DataType
  int32_t rank;
  int64_t extents[DP_EMBED_MAX_RANK];
  uint64_t bytes;
  void *data;
} dp_embed_tensor;

// Finds which of the n_inputs inputs of an ONNX model must be replaced by a Constant before it can be compiled.
DP_EMBED_API int dp_embed_needs(const void *model, size_t bytes, const char *path, size_t n_inputs, bool *needed,
                                char *message, size_t room);
// Whether models can be compiled for `device` and run here: a backend's name, with its device after a colon if it has
// several, as in dprun's --device ("cpu", "cuda", "cuda:1"). NULL: the default. EX_USAGE: there is no such backend, or
// that is no device of it; EX_UNAVAILABLE: this machine lacks it.
DP_EMBED_API int dp_embed_open(const char *device, char *message, size_t room);
// Compiles an ONNX model of fixed shapes for inference on `device`. path: where the model comes from, or could be;
// external data is read below its folder. threads: of the device. While a model on one GPU lives, none can be made on
// another one (EX_UNAVAILABLE).
DP_EMBED_API int dp_embed_compile(const void *model, size_t bytes, const char *path, const char *device, int threads,
                                  dp_embed **embed, char *message, size_t room);
DP_EMBED_API void dp_embed_destroy(dp_embed *embed);  // NULL is allowed

// The inputs that the outputs depend on, and the outputs, in the model's order; false if there is no i-th. An output's
// data is valid after a run, until the next one.
DP_EMBED_API bool dp_embed_input(const dp_embed *embed, size_t i, dp_embed_tensor *tensor);
DP_EMBED_API bool dp_embed_output(const dp_embed *embed, size_t i, dp_embed_tensor *tensor);
DP_EMBED_API int dp_embed_run(dp_embed *embed, char *message, size_t room);

#ifdef __cplusplus
}
#endif
#endif
