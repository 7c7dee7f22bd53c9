// Runs of elementwise nodes as one launch. See elementwise.h.
//
// A function's arguments are words of 8 bytes: the count of elements, where to report, then the addresses of operands
// and results, then the extents of the dims and for each operand its strides. Dims that are contiguous in all operands
// are merged. An operand that is dense, or a single element, needs no strides, and most functions need no dims at all.
#include "backends/cuda/kernels/elementwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/fault.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/kernels/expressions.h"
#include "backends/cuda/kernels/types.h"
#include "ir/kernel/extents.h"
#include "ir/kernel/member.h"

typedef enum { DENSE, SINGLE, STRIDED } form;

// An operand or a result in memory.
typedef struct {
  int32_t value;
  form form;
  int64_t strides[DP_MAX_RANK];  // by the merged dims
} port;

enum { HEAD = 3, MAX_WORDS = HEAD + DP_CUDA_MAX_ELEMENTWISE * (DP_MAX_RANK + 1) + DP_MAX_RANK };

struct dp_cuda_elementwise {
  const dp_cuda_function *function;
  int64_t count;
  int rank;  // merged dims; 0 where no operand is strided
  int64_t extents[DP_MAX_RANK];
  bool moves;  // no member computes: elements keep their bits, whatever their type
  int n_ports;
  port ports[DP_CUDA_MAX_ELEMENTWISE];
};

// ---- operands, results, dims ----------------------------------------------------------------------------------------

static int port_of(const dp_cuda_elementwise *e, int32_t value) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].value == value) return p;
  return -1;
}

static bool is_made(const dp_kernel_region *r, int first, int end, int32_t value) {
  for (int m = first; m < end; m++)
    if (r->members[m].outputs[0] == value) return true;
  return false;
}

static dp_status add_port(dp_cuda_elementwise *e, int32_t value) {
  if (port_of(e, value) >= 0) return DP_OK;
  if (e->n_ports == DP_CUDA_MAX_ELEMENTWISE)
    return dp_fail(EX_SOFTWARE, "a run of elementwise nodes with more than %d operands", DP_CUDA_MAX_ELEMENTWISE);
  e->ports[e->n_ports++] = (port){.value = value};
  return DP_OK;
}

static dp_status add_ports(dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end, const bool *kept) {
  for (int m = first; m < end; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (!is_made(r, first, end, r->members[m].inputs[i])) DP_TRY(add_port(e, r->members[m].inputs[i]));
  for (int m = first; m < end; m++)
    if (kept[r->members[m].outputs[0]]) DP_TRY(add_port(e, r->members[m].outputs[0]));
  return DP_OK;
}

static int64_t stride_in(const dp_local *x, const dp_local *frame, int d) {
  const int own = d - (frame->rank - x->rank);
  return own < 0 || x->extents[own] == 1 ? 0 : dp_product(x->extents, own + 1, x->rank);
}

static bool continues(const dp_cuda_elementwise *e, const dp_kernel_region *r, const dp_local *frame, int d) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].strides[e->rank - 1] !=
        stride_in(&r->values[e->ports[p].value].local, frame, d) * frame->extents[d])
      return false;
  return true;
}

static form form_of(const dp_cuda_elementwise *e, const port *p) {
  int64_t dense = 1;
  bool is_dense = true, is_single = true;
  for (int d = e->rank - 1; d >= 0; d--) {
    is_dense = is_dense && p->strides[d] == dense;
    is_single = is_single && !p->strides[d];
    dense *= e->extents[d];
  }
  return is_single ? SINGLE : is_dense ? DENSE : STRIDED;
}

static void set_dims(dp_cuda_elementwise *e, const dp_kernel_region *r, const dp_local *frame) {
  for (int d = 0; d < frame->rank; d++) {
    if (frame->extents[d] == 1) continue;
    const bool same = e->rank && continues(e, r, frame, d);
    if (!same) e->rank++;
    e->extents[e->rank - 1] = (same ? e->extents[e->rank - 1] : 1) * frame->extents[d];
    for (int p = 0; p < e->n_ports; p++)
      e->ports[p].strides[e->rank - 1] = stride_in(&r->values[e->ports[p].value].local, frame, d);
  }
  bool strided = false;
  for (int p = 0; p < e->n_ports; p++) {
    e->ports[p].form = form_of(e, &e->ports[p]);
    strided |= e->ports[p].form == STRIDED;
  }
  if (!strided) e->rank = 0;
}

// ---- the function's text --------------------------------------------------------------------------------------------

static void write_number(FILE *to, double x) {
  if (isnan(x))
    fputs("DP_NAN", to);
  else if (isinf(x))
    fputs(x < 0 ? "-DP_INFINITY" : "DP_INFINITY", to);
  else
    fprintf(to, "%.17e", x);
}

static void write_offset(FILE *to, const dp_cuda_elementwise *e, int p) {
  if (e->ports[p].form == STRIDED)
    fprintf(to, "o%d", p);
  else
    fputs(e->ports[p].form == DENSE ? "i" : "0", to);
}

static void write_offsets(FILE *to, const dp_cuda_elementwise *e) {
  if (!e->rank) return;
  fputs("    dp_i64 rest = i, at;\n", to);
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form == STRIDED) fprintf(to, "    dp_i64 o%d = 0;\n", p);
  for (int d = e->rank - 1; d >= 0; d--) {
    if (d > 0)
      fprintf(to,
              "    at = a.narrow ? (dp_i64)((dp_u32)rest %% (dp_u32)a.extents[%d]) : rest %% a.extents[%d];\n"
              "    rest = a.narrow ? (dp_i64)((dp_u32)rest / (dp_u32)a.extents[%d]) : rest / a.extents[%d];\n",
              d, d, d, d);
    else
      fputs("    at = rest;\n", to);
    for (int p = 0; p < e->n_ports; p++)
      if (e->ports[p].form == STRIDED && e->ports[p].strides[d])
        fprintf(to, "    o%d += at * a.strides[%d][%d];\n", p, p, d);
  }
}

static const dp_cuda_type *type_in(const dp_cuda_elementwise *e, dp_dtype dtype) {
  return e->moves ? dp_cuda_type_moved(dtype) : dp_cuda_type_of(dtype);
}

// A float of 16 bits, whose functions are named after it.
static bool is_half(const dp_cuda_type *type) {
  return type == dp_cuda_type_of(DP_FLOAT16) || type == dp_cuda_type_of(DP_BFLOAT16);
}

static void write_operand(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p) {
  const dp_cuda_type *type = type_in(e, r->values[e->ports[p].value].dtype);
  fprintf(to, "    const %s v%d = ", type->computed, e->ports[p].value);
  if (is_half(type)) fprintf(to, "%s_get", type->stored);
  fprintf(to, "(((const %s *)a.at[%d])[", type->stored, p);
  write_offset(to, e, p);
  fputs("]);\n", to);
}

// The offset of a member's operand 1, for reports: its own in memory, or the result's.
static void write_place(FILE *to, const dp_cuda_elementwise *e, int32_t value) {
  const int p = port_of(e, value);
  if (p < 0)
    fputc('i', to);
  else
    write_offset(to, e, p);
}

static void write_constant(FILE *to, const char *expression, const char *name, bool value) {
  if (strstr(expression, name)) fprintf(to, "      const bool %s = %d;\n", name, value);
}

static void write_member(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int m) {
  const dp_kernel_member *member = &r->members[m];
  dp_member_spec made;
  dp_member_spec_make(r, m, r->values, &made);
  const dp_cuda_expression *x = dp_cuda_expression_of(&made.spec);
  const dp_dtype from = made.inputs[0].dtype, result = made.outputs[0].dtype;
  const dp_cuda_type *t = type_in(e, from), *to_type = type_in(e, result);
  fprintf(to, "    %s v%d;\n    {\n", to_type->computed, member->outputs[0]);
  fprintf(to, "      typedef %s T; typedef %s U; typedef %s R;\n", t->computed, t->wrapped, to_type->computed);
  const bool floating = dp_type_is_float(from) && x->floating, checked = x->refused && !floating;
  const char *expression = floating ? x->floating : x->integer;
  write_constant(to, expression, "IS_FLOAT", dp_type_is_float(from));
  write_constant(to, expression, "TO_FLOAT", dp_type_is_float(result));
  write_constant(to, expression, "TO_HALF", is_half(to_type));
  write_constant(to, expression, "FROM_UNSIGNED", from == DP_UINT64);
  write_constant(to, expression, "TO_UNSIGNED", result == DP_UINT64);
  write_constant(to, expression, "TO_BOOL", result == DP_BOOL);
  for (int i = 0; i < member->n_inputs; i++)
    fprintf(to, "      const %s %c = v%d;\n", type_in(e, made.inputs[i].dtype)->computed, "xyz"[i],
            member -> inputs[i]);
  for (int k = 0; k < 2 && x->parameters[k].name; k++) {
    fprintf(to, "      const double p%d = ", k);
    write_number(to, dp_cuda_parameter_of(&x->parameters[k], member->node));
    fputs(";\n", to);
  }
  if (checked) {
    fprintf(to, "      if (%s) dp_report(a.reporter, DP_FAULT_DIVISOR, ", x->refused);
    write_place(to, e, member->inputs[1]);
    fprintf(to, ", 0, 0);\n      v%d = %s ? (R)0 : (R)(%s);\n    }\n", member->outputs[0], x->refused, expression);
  } else {
    fprintf(to, "      v%d = (R)(%s);\n    }\n", member->outputs[0], expression);
  }
  // Small integers wrap in their own type, and floats are rounded to it, as if the result had been in memory.
  if (is_half(to_type))
    fprintf(to, "    v%d = %s_get(%s_put(v%d));\n", member->outputs[0], to_type->stored, to_type->stored,
            member->outputs[0]);
  else if (strcmp(to_type->stored, to_type->computed))
    fprintf(to, "    v%d = (%s)v%d;\n", member->outputs[0], to_type->stored, member->outputs[0]);
}

static void write_result(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p) {
  const int32_t value = e->ports[p].value;
  const dp_cuda_type *type = type_in(e, r->values[value].dtype);
  fprintf(to, "    ((%s *)a.at[%d])[i] = ", type->stored, p);
  fprintf(to, is_half(type) ? "%s_put(v%d);\n" : "(%s)v%d;\n", type->stored, value);
}

static void write_function(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to, "typedef struct {\n  dp_i64 count;\n  dp_cuda_reporter reporter;\n  void *at[%d];\n", e->n_ports);
  if (e->rank) fprintf(to, "  dp_i64 narrow, extents[%d], strides[%d][%d];\n", e->rank, e->n_ports, e->rank);
  fputs(
      "} LOCAL(arguments);\n\nDP_KERNEL(LOCAL(arguments)) {\n"
      "  for (dp_i64 i = dp_index(); i < a.count; i += dp_stride()) {\n",
      to);
  write_offsets(to, e);
  for (int p = 0; p < e->n_ports; p++)
    if (!is_made(r, first, end, e->ports[p].value)) write_operand(to, e, r, p);
  for (int m = first; m < end; m++) write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) write_result(to, e, r, p);
  fputs("  }\n}\n", to);
}

// "Add_Relu": the first few members.
static void name_of(const dp_kernel_region *r, int first, int end, char name[64]) {
  size_t length = 0;
  for (int m = first; m < end && length < 40; m++)
    length += (size_t)snprintf(name + length, 64 - length, "%s%.20s", m > first ? "_" : "", r->members[m].op->name);
}

static dp_status add_function(dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  char *text = NULL, name[64] = "";
  size_t bytes;
  FILE *to = open_memstream(&text, &bytes);
  if (to) {
    fputs(dp_cuda_source_elementwise, to);
    write_function(to, e, r, first, end);
  }
  dp_status status = DP_OK;
  if (!to || fclose(to)) status = dp_fail(DP_EX_MEMORY, "out of memory for a function of elementwise nodes");
  name_of(r, first, end, name);
  if (!status) status = dp_cuda_function_add(name, "", text, &e->function);
  free(text);
  return status;
}

// ---- make, enqueue --------------------------------------------------------------------------------------------------

static bool only_moves(const dp_kernel_region *r, int first, int end) {
  for (int m = first; m < end; m++) {
    dp_member_spec made;
    dp_member_spec_make(r, m, r->values, &made);
    if (!dp_cuda_expression_of(&made.spec)->moves) return false;
  }
  return true;
}

dp_status dp_cuda_elementwise_make(const dp_kernel_region *region, int first, int end, const bool *kept,
                                   dp_cuda_elementwise **made) {
  dp_cuda_elementwise *e = calloc(1, sizeof *e);
  if (!e) return dp_fail(DP_EX_MEMORY, "out of memory for a function of elementwise nodes");
  const dp_local *frame = &region->values[region->members[end - 1].outputs[0]].local;
  e->count = dp_local_count(frame);
  e->moves = only_moves(region, first, end);
  dp_status status = add_ports(e, region, first, end, kept);
  if (!status) {
    set_dims(e, region, frame);
    status = add_function(e, region, first, end);
  }
  if (status)
    free(e);
  else
    *made = e;
  return status;
}

dp_status dp_cuda_elementwise_enqueue(const dp_cuda_elementwise *e, dp_queue *queue, const dp_cuda_values *values) {
  uint64_t words[MAX_WORDS];
  size_t n = 0;
  if (!e->count) return DP_OK;
  words[n++] = (uint64_t)e->count;
  words[n++] = (uint64_t)(uintptr_t)dp_cuda_queue_fault(queue);
  words[n++] = dp_cuda_queue_instruction(queue);
  for (int p = 0; p < e->n_ports; p++) words[n++] = (uint64_t)(uintptr_t)dp_cuda_value_at(values, e->ports[p].value);
  if (e->rank) words[n++] = e->count <= UINT32_MAX;
  for (int d = 0; d < e->rank; d++) words[n++] = (uint64_t)e->extents[d];
  for (int p = 0; p < e->n_ports; p++)
    for (int d = 0; d < e->rank; d++) words[n++] = (uint64_t)e->ports[p].strides[d];
  return dp_cuda_launch(queue, e->function, dp_cuda_blocks(e->count), DP_CUDA_THREADS, words, n * sizeof *words);
}

void dp_cuda_elementwise_free(dp_cuda_elementwise *elementwise) { free(elementwise); }
