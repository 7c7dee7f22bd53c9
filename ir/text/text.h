// The text form of models, .dpt: docs/text-form.md is its reference.
//
// A model can be printed and read back at every point of the pipeline, in device form too: print(parse(print(m))) is
// print(m), byte for byte. Reading checks everything that the text declares, types every node with dp_op_infer and runs
// dp_graph_verify on every graph. Failures are EX_DATAERR and begin with file:line:column.
#ifndef DP_IR_TEXT_TEXT_H
#define DP_IR_TEXT_TEXT_H

#include <stdio.h>

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_TEXT_MAX_BYTES = 1 << 30 };

// Where to find the data that a text omits: `elided "XXH3" of "FILE"`.
typedef struct dp_text_sources {
  void *context;
  // Finds a tensor of that type whose bytes have that XXH3. file: as the text names it, "" where it names none. The
  // message need not name the position in the text. The tensor must outlive the model.
  dp_status (*find)(void *context, const char *file, uint64_t xxh3, const dp_type *type, const dp_tensor **tensor);
} dp_text_sources;

// file_name: for messages only. text: need not end with NUL; not used after the call. sources NULL: omitted data is an
// error.
dp_status dp_text_parse_with(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                             const dp_text_sources *sources, dp_model **model) DP_MUST_USE;
dp_status dp_text_parse(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                        dp_model **model) DP_MUST_USE;
void dp_text_print(const dp_model *model, FILE *out);
// The tensors of a model as it was read from a file, by the addresses of their data.
typedef struct dp_text_held {
  const char *file;  // its name, in the folder of the text; NULL: the model comes from no file
  int count;
  const void **data;   // (count) ascending
  const char *option;  // prints all data; for the comment
} dp_text_held;
dp_text_held dp_text_hold(const dp_model *model, const char *file, const char *option);
// Omits the data of variables and constants with more than 64 elements if the file holds it; data computed since is
// printed. A comment before the text says where the data is. Without a file all such data is omitted, so the text
// cannot be read back.
void dp_text_print_elided(const dp_model *model, const dp_text_held *held, FILE *out);

// "float32[N,3], int64[N]": types separated by commas. An empty item has dtype DP_NO_TYPE; an empty text has no items.
dp_status dp_text_parse_types(dp_arena *arena, const char *text, int *count, dp_type **types) DP_MUST_USE;
// "axis=1, pads=[0,0,1,1]": attributes, with the kinds that their syntax gives (an operator's schema may need others:
// dp_op_infer converts them).
dp_status dp_text_parse_attrs(dp_arena *arena, const char *text, int *count, dp_attr **attrs) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
