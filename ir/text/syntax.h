// How each element of the text form is read and printed. Private to ir/text, except for what plan listings print.
#ifndef DP_IR_TEXT_SYNTAX_H
#define DP_IR_TEXT_SYNTAX_H

#include <stdio.h>

#include "ir/graph/op.h"
#include "ir/text/lex.h"
#include "ir/text/text.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- reading: each goes past what it reads --------------------------------------------------------------------------

dp_status dp_text_type_parse(dp_text_lex *lex, dp_type *type) DP_MUST_USE;    // float32[N,3]
dp_status dp_text_type_parse_dim(dp_text_lex *lex, dp_dim *dim) DP_MUST_USE;  // 3, N, 2*N, 2*N+1
dp_status dp_text_type_parse_placement(dp_text_lex *lex,
                                       dp_placement *placement) DP_MUST_USE;  // R, S(1), S(1,4,2), P(sum)
// A tensor of that type: a number (rank 0), [1, 2, 3] (row-major), base64 "...", hex "...", or elided "XXH3" of "FILE".
dp_status dp_text_data_parse(dp_text_lex *lex, const dp_type *type, const dp_tensor **tensor) DP_MUST_USE;
// name=value, ... up to and including `close`. op: its schema settles kinds; NULL: none. close "": the end of the text.
dp_status dp_text_attr_parse(dp_text_lex *lex, const dp_op *op, const char *close, int *count,
                             dp_attr **attrs) DP_MUST_USE;

// Notes in brackets, [at=..., offset=...], after values, nodes and variables. Absent ones are NULL, 0, or -1 where 0
// has a meaning (device, stage, signal, n_placements).
typedef struct {
  const char *name, *kernel, *logical, *stream;
  int64_t device, stage, signal, threads;
  dp_placement *placements;  // n_placements of them
  int64_t n_placements;
  int64_t space, layout;
  uint64_t offset, bytes, scratch_offset, scratch_bytes, packed_offset, packed_bytes;
  int n_waits;
  int *waits;
  int n_stages;
  int *stages;
  int micro[2];  // the first and how many
  int n_constraints;
  dp_constraint *constraints;
} dp_text_notes;
typedef enum { DP_TEXT_OF_VALUE = 1, DP_TEXT_OF_NODE = 2, DP_TEXT_OF_VARIABLE = 4 } dp_text_of;
dp_status dp_text_notes_parse(dp_text_lex *lex, dp_text_of of,
                              dp_text_notes *notes) DP_MUST_USE;  // reads nothing when there is no [

// (AXIS=PLACEMENT, ...), checked against the value's shape. shape NULL: not known yet.
dp_status dp_text_constraints_parse(dp_text_lex *lex, const dp_shape *shape, int *count,
                                    dp_constraint **constraints) DP_MUST_USE;
dp_status dp_text_constraints_check(const dp_text_lex *lex, dp_text_location location, const dp_shape *shape, int count,
                                    const dp_constraint *constraints) DP_MUST_USE;

// Copies the notes' placements to a value or variable of that shape, all Replicate when there are none.
dp_status dp_text_notes_set_placements(const dp_text_lex *lex, dp_text_location location, const dp_text_notes *notes,
                                       const dp_type *type, const dp_mesh *mesh,
                                       dp_placement placements[DP_MAX_MESH]) DP_MUST_USE;

// The state of a graph while its statements are read.
typedef struct {
  dp_graph *graph;
  struct dp_names *outputs, *updates;  // names already given
  bool nested;                         // it is the logical graph of another
} dp_text_graph;
dp_text_graph dp_text_graph_begin(dp_graph *graph);
dp_status dp_text_graph_statement(dp_text_lex *lex, dp_text_graph *reader) DP_MUST_USE;
dp_status dp_text_graph_block(dp_text_lex *lex,
                              dp_text_graph *reader) DP_MUST_USE;  // { statements }; then dp_graph_verify
// A node: results = operator(operands) {attributes} [notes].
dp_status dp_text_node_parse(dp_text_lex *lex, dp_graph *graph) DP_MUST_USE;
// The value of that name; variables and per-step scalars are added to the graph on first use.
dp_status dp_text_node_operand(dp_text_lex *lex, dp_graph *graph, dp_value **value) DP_MUST_USE;
// Refuses a name that is used by a value of the graph or, in "main", by a variable.
dp_status dp_text_node_new_name(const dp_text_lex *lex, dp_text_location location, const dp_graph *graph,
                                const char *name) DP_MUST_USE;
// Notes after a value.
dp_status dp_text_node_value_notes(dp_text_lex *lex, dp_value *value, dp_graph *graph) DP_MUST_USE;

// ---- printing -------------------------------------------------------------------------------------------------------

void dp_text_print_name(FILE *out, const char *name);                  // quoted where necessary
void dp_text_print_string(FILE *out, const char *string);              // always quoted
void dp_text_print_number(FILE *out, double number, bool with_point);  // with enough digits to read back exactly
void dp_text_print_dim(FILE *out, dp_dim dim, const char *symbol);
void dp_text_print_type(FILE *out, const dp_type *type, const char *symbol);
// Whether the tensor is printed without its data. held NULL: no tensor is.
bool dp_text_data_is_elided(const dp_tensor *tensor, const dp_text_held *held);
void dp_text_data_print(FILE *out, const dp_tensor *tensor, const dp_text_held *held);
void dp_text_print_placements(FILE *out, const dp_placement *placements, int count);     // [S(0),R]
bool dp_text_print_are_placed(const dp_placement *placements, int count);                // whether any is not Replicate
void dp_text_constraints_print(FILE *out, int count, const dp_constraint *constraints);  // nothing when there are none
void dp_text_print_attr(FILE *out, const dp_attr *attr, const char *symbol);
void dp_text_print_graph(FILE *out, const dp_graph *graph, const char *indent,
                         const dp_text_held *held);  // its statements
extern const char *const dp_text_layouts[];          // dp_layout's names, NULL-ended
extern const char *const dp_text_spaces[];           // dp_space's names, NULL-ended

#ifdef __cplusplus
}
#endif
#endif
