// Weights in one safetensors file, or in several with an index: Hugging Face's model.safetensors.index.json, which maps
// each tensor to the file beside it that has it.
//
// The index is not trusted: it names files of its own folder alone, its tensors are exactly those of the files, and
// each is in the file that it says. So no tensor comes twice, and none is overlooked.
#ifndef DP_IR_FILE_SHARDS_H
#define DP_IR_FILE_SHARDS_H

#include "ir/file/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int count;
  dp_safetensors *files;  // (count)
} dp_shards;

// A path that ends with .json is an index. Names and tables live in `arena`. EX_NOINPUT: a file is missing; EX_DATAERR:
// not valid, or index and files disagree.
dp_status dp_shards_open(dp_arena *arena, const char *path, dp_shards *shards) DP_MUST_USE;
void dp_shards_close(dp_shards *shards);

#ifdef __cplusplus
}
#endif
#endif
