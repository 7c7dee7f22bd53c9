// The text form of models, .dpt: docs/text-form.md is its reference.
//
// Every point of the pipeline can be printed, device form too, and reads back: print(parse(print(m))) is print(m), byte
// for byte. Reading checks everything that it says, gives every node its types by dp_op_infer and holds dp_graph_verify of
// every graph. Failures are EX_DATAERR and begin with file:line:column.
#ifndef DP_IR_TEXT_TEXT_H
#define DP_IR_TEXT_TEXT_H

#include <stdio.h>

#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_TEXT_MAX_BYTES = 1 << 30 };

// file_name: for messages only. text: need not end with NUL; not used after the call.
dp_status dp_text_parse(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                        dp_model **model) DP_MUST_USE;
void dp_text_print(const dp_model *model, FILE *out);

// "float32[N,3], int64[N]": types, a comma between. An empty item is one with dtype DP_NO_TYPE; an empty text has none.
dp_status dp_text_parse_types(dp_arena *arena, const char *text, int *count, dp_type **types) DP_MUST_USE;
// "axis=1, pads=[0,0,1,1]": attributes, of the kinds that they have as written (an operator's schema may ask for others,
// which dp_op_infer sees to).
dp_status dp_text_parse_attrs(dp_arena *arena, const char *text, int *count, dp_attr **attrs) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
