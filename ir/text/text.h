// The text form of models, .dpt: docs/text-form.md is its reference.
//
// Every point of the pipeline can be printed, device form too, and reads back: print(parse(print(m))) is print(m), byte
// for byte. Reading checks everything that it says, gives every node its types by dp_op_infer and holds dp_graph_verify
// of every graph. Failures are EX_DATAERR and begin with file:line:column.
#ifndef DP_IR_TEXT_TEXT_H
#define DP_IR_TEXT_TEXT_H

#include <stdio.h>

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_TEXT_MAX_BYTES = 1 << 30 };

// Where data is that a text leaves out: `elided "XXH3" of "FILE"`.
typedef struct dp_text_sources {
  void *context;
  // A tensor of that type whose bytes have that XXH3. file: as the text names it, "" where it names none. The message
  // need not name the place in the text. The tensor outlives the model.
  dp_status (*find)(void *context, const char *file, uint64_t xxh3, const dp_type *type, const dp_tensor **tensor);
} dp_text_sources;

// file_name: for messages only. text: need not end with NUL; not used after the call. sources NULL: what leaves data
// out is refused.
dp_status dp_text_parse_with(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                             const dp_text_sources *sources, dp_model **model) DP_MUST_USE;
dp_status dp_text_parse(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                        dp_model **model) DP_MUST_USE;
void dp_text_print(const dp_model *model, FILE *out);
// Leaves out the data of variables and constants of more than 64 elements, and says in a comment ahead of the text
// where it is: in the file `source`, beside the text. source NULL: in no file, so that the text does not read back.
void dp_text_print_elided(const dp_model *model, const char *source, FILE *out);

// "float32[N,3], int64[N]": types, a comma between. An empty item is one with dtype DP_NO_TYPE; an empty text has none.
dp_status dp_text_parse_types(dp_arena *arena, const char *text, int *count, dp_type **types) DP_MUST_USE;
// "axis=1, pads=[0,0,1,1]": attributes, of the kinds that they have as written (an operator's schema may ask for
// others, which dp_op_infer sees to).
dp_status dp_text_parse_attrs(dp_arena *arena, const char *text, int *count, dp_attr **attrs) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
