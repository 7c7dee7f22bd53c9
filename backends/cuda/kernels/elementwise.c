// Runs of elementwise nodes as one launch. See elementwise.h.
//
// A function's arguments are words of 8 bytes: the count of elements, where to report, the count of vectors, then the
// addresses of operands and results, then the extents of the dims and for each operand its strides. Dims that are
// contiguous in all operands are merged. An operand that is dense, or a single element, needs no strides, and most
// functions need no dims at all.
//
// Elements are numbered as they lie in the last result: where that is NHWC, dims are walked in this order. Operands and
// results that lie otherwise have the strides of their own layout.
//
// A thread takes as many neighbouring elements as 16 bytes hold of the widest type, and reads and writes those of each
// operand and result at once; where addresses are not aligned for that, and at the end, it takes them one by one.
#include "backends/cuda/kernels/elementwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/fault.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/expressions.h"
#include "backends/cuda/kernels/strided.h"
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

// MAX_VECTOR: elements of a thread. MAX_VECTOR_PORTS: operands and results that are kept in registers for it.
enum { MAX_VECTOR = 8, MAX_VECTOR_PORTS = 12 };
enum { HEAD = 5, MAX_WORDS = HEAD + DP_CUDA_MAX_ELEMENTWISE * (DP_MAX_RANK + 1) + DP_MAX_RANK };

struct dp_cuda_elementwise {
  const dp_cuda_function *function;
  int64_t count;
  int rank;  // merged dims; 0 where no operand is strided
  int64_t extents[DP_MAX_RANK];
  int vector;  // elements that a thread takes at once; 1: no more than one
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

static int64_t stride_in(const dp_kernel_operand *x, const dp_local *frame, int d) {
  const int own = d - (frame->rank - x->local.rank);
  if (own < 0 || x->local.extents[own] == 1) return 0;
  int64_t strides[DP_MAX_RANK];
  dp_cuda_strides_in(x->layout, x->local.rank, x->local.extents, strides);
  return strides[own];
}

static bool continues(const dp_cuda_elementwise *e, const dp_kernel_region *r, const dp_local *frame, int d) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].strides[e->rank - 1] != stride_in(&r->values[e->ports[p].value], frame, d) * frame->extents[d])
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

// Whether a member reports places.
static bool reports(const dp_kernel_region *r, int first, int end) {
  for (int m = first; m < end; m++) {
    dp_member_spec made;
    dp_member_spec_make(r, m, r->values, &made);
    if (dp_cuda_expression_of(&made.spec)->refused) return true;
  }
  return false;
}

// The order in which the dims are walked, the last one fastest. Places are reported as they are in the plain layout.
static const int *order_of(const dp_kernel_region *r, int first, int end) {
  static const int plain[DP_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7}, nhwc[DP_MAX_RANK] = {0, 2, 3, 1};
  const bool last = r->values[r->members[end - 1].outputs[0]].layout == DP_LAYOUT_NHWC;
  return last && !reports(r, first, end) ? nhwc : plain;
}

static void set_dims(dp_cuda_elementwise *e, const dp_kernel_region *r, const dp_local *frame, const int *order) {
  for (int i = 0; i < frame->rank; i++) {
    const int d = order[i];
    if (frame->extents[d] == 1) continue;
    const bool same = e->rank && continues(e, r, frame, d);
    if (!same) e->rank++;
    e->extents[e->rank - 1] = (same ? e->extents[e->rank - 1] : 1) * frame->extents[d];
    for (int p = 0; p < e->n_ports; p++)
      e->ports[p].strides[e->rank - 1] = stride_in(&r->values[e->ports[p].value], frame, d);
  }
  bool strided = false;
  for (int p = 0; p < e->n_ports; p++) {
    e->ports[p].form = form_of(e, &e->ports[p]);
    strided |= e->ports[p].form == STRIDED;
  }
  if (!strided) e->rank = 0;
}

// Whether vectors of so many elements lie along the last merged dim, at offsets that are multiples of them.
static bool is_in_vectors(const dp_cuda_elementwise *e, const port *p, int vector) {
  if (p->form != STRIDED) return true;
  if (p->strides[e->rank - 1] > 1) return false;
  for (int d = 0; d < e->rank - 1 && p->strides[e->rank - 1]; d++)
    if (p->strides[d] % vector) return false;
  return true;
}

// Whether the operand's elements differ within a vector.
static bool varies(const dp_cuda_elementwise *e, int p) {
  return e->ports[p].form == DENSE || (e->ports[p].form == STRIDED && e->ports[p].strides[e->rank - 1]);
}

static int vector_of(const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  int bytes = 1, count = 0;
  for (int p = 0; p < e->n_ports; p++) {
    if (!varies(e, p)) continue;
    bytes = (int)dp_max_i64(bytes, (int64_t)dp_type_bytes(r->values[e->ports[p].value].dtype));
    count++;
  }
  const int vector = (int)dp_min_i64(MAX_VECTOR, DP_VECTOR_BYTES / bytes);
  if (count > MAX_VECTOR_PORTS || (e->rank && e->extents[e->rank - 1] % vector)) return 1;
  for (int p = 0; p < e->n_ports; p++)
    if (!is_in_vectors(e, &e->ports[p], vector)) return 1;
  return reports(r, first, end) ? 1 : vector;  // places one by one
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

// in_vector: from the operand's vector, at place l.
static void write_operand(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p, bool in_vector) {
  const dp_cuda_type *type = type_in(e, r->values[e->ports[p].value].dtype);
  fprintf(to, "    const %s v%d = %s%s(", type->computed, e->ports[p].value, is_half(type) ? type->stored : "",
          is_half(type) ? "_get" : "");
  if (in_vector) {
    fprintf(to, "x%d.e[l]);\n", p);
    return;
  }
  fprintf(to, "((const %s *)a.at[%d])[", type->stored, p);
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
    fprintf(to, "    v%d = %s_round(v%d);\n", member->outputs[0], to_type->stored, member->outputs[0]);
  else if (strcmp(to_type->stored, to_type->computed))
    fprintf(to, "    v%d = (%s)v%d;\n", member->outputs[0], to_type->stored, member->outputs[0]);
}

static void write_result(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p, bool in_vector) {
  const int32_t value = e->ports[p].value;
  const dp_cuda_type *type = type_in(e, r->values[value].dtype);
  if (in_vector) {
    fprintf(to, "    y%d.e[l] = ", p);
  } else {
    fprintf(to, "    ((%s *)a.at[%d])[", type->stored, p);
    write_offset(to, e, p);
    fputs("] = ", to);
  }
  fprintf(to, is_half(type) ? "%s_put(v%d);\n" : "(%s)v%d;\n", type->stored, value);
}

static void write_one_by_one(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to, "  for (dp_i64 i = a.vectors * %d + dp_index(); i < a.count; i += dp_stride()) {\n", e->vector);
  write_offsets(to, e);
  for (int p = 0; p < e->n_ports; p++)
    if (!is_made(r, first, end, e->ports[p].value)) write_operand(to, e, r, p, false);
  for (int m = first; m < end; m++) write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) write_result(to, e, r, p, false);
  fputs("  }\n", to);
}

// Vectors of operands are x0, x1 .., by the number of the port, those of results y2 ..; l is the place in them.
static void write_vectors(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to,
          "  for (dp_i64 t = dp_index(); t < a.vectors; t += dp_stride()) {\n"
          "    const dp_i64 i = t * %d;\n",
          e->vector);
  write_offsets(to, e);
  for (int p = 0; p < e->n_ports; p++) {
    const char *stored = type_in(e, r->values[e->ports[p].value].dtype)->stored;
    if (is_made(r, first, end, e->ports[p].value)) {
      fprintf(to, "    LOCAL(vector%d) y%d;\n", p, p);
    } else if (varies(e, p)) {
      fprintf(to, "    const LOCAL(vector%d) x%d = *(const LOCAL(vector%d) *)((const %s *)a.at[%d] + ", p, p, p, stored,
              p);
      write_offset(to, e, p);
      fputs(");\n", to);
    } else {
      write_operand(to, e, r, p, false);
    }
  }
  fprintf(to, "    DP_UNROLL\n    for (int l = 0; l < %d; l++) {\n", e->vector);
  for (int p = 0; p < e->n_ports; p++)
    if (!is_made(r, first, end, e->ports[p].value) && varies(e, p)) write_operand(to, e, r, p, true);
  for (int m = first; m < end; m++) write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) write_result(to, e, r, p, true);
  fputs("    }\n", to);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) {
      fprintf(to, "    *(LOCAL(vector%d) *)((%s *)a.at[%d] + ", p,
              type_in(e, r->values[e->ports[p].value].dtype)->stored, p);
      write_offset(to, e, p);
      fprintf(to, ") = y%d;\n", p);
    }
  fputs("  }\n", to);
}

static void write_function(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to, "typedef struct {\n  dp_i64 count;\n  dp_cuda_reporter reporter;\n  dp_i64 vectors;\n  void *at[%d];\n",
          e->n_ports);
  if (e->rank) fprintf(to, "  dp_i64 narrow, extents[%d], strides[%d][%d];\n", e->rank, e->n_ports, e->rank);
  fputs("} LOCAL(arguments);\n\n", to);
  for (int p = 0; p < e->n_ports && e->vector > 1; p++) {
    const dp_dtype dtype = r->values[e->ports[p].value].dtype;
    fprintf(to, "typedef struct DP_ALIGNED(%d) {\n  %s e[%d];\n} LOCAL(vector%d);\n",
            e->vector * (int)dp_type_bytes(dtype), type_in(e, dtype)->stored, e->vector, p);
  }
  fputs("DP_KERNEL(LOCAL(arguments)) {\n", to);
  if (e->vector > 1) write_vectors(to, e, r, first, end);
  write_one_by_one(to, e, r, first, end);
  fputs("}\n", to);
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
    set_dims(e, region, frame, order_of(region, first, end));
    e->vector = vector_of(e, region, first, end);
    status = add_function(e, region, first, end);
  }
  if (status)
    free(e);
  else
    *made = e;
  return status;
}

// How many vectors there are: none where one of them would not be aligned.
static int64_t count_vectors(const dp_cuda_elementwise *e, const dp_cuda_values *values) {
  if (e->vector == 1) return 0;
  for (int p = 0; p < e->n_ports; p++)
    if (varies(e, p) && (uintptr_t)dp_cuda_value_at(values, e->ports[p].value) % DP_VECTOR_BYTES) return 0;
  return e->count / e->vector;
}

dp_status dp_cuda_elementwise_enqueue(const dp_cuda_elementwise *e, dp_queue *queue, const dp_cuda_values *values) {
  uint64_t words[MAX_WORDS];
  size_t n = 0;
  if (!e->count) return DP_OK;
  words[n++] = (uint64_t)e->count;
  words[n++] = (uint64_t)(uintptr_t)dp_cuda_queue_fault(queue);
  words[n++] = dp_cuda_queue_instruction(queue);
  const int64_t vectors = count_vectors(e, values);
  words[n++] = (uint64_t)vectors;
  for (int p = 0; p < e->n_ports; p++) words[n++] = (uint64_t)(uintptr_t)dp_cuda_value_at(values, e->ports[p].value);
  if (e->rank) words[n++] = e->count <= UINT32_MAX;
  for (int d = 0; d < e->rank; d++) words[n++] = (uint64_t)e->extents[d];
  for (int p = 0; p < e->n_ports; p++)
    for (int d = 0; d < e->rank; d++) words[n++] = (uint64_t)e->ports[p].strides[d];
  const int64_t threads = dp_max_i64(vectors, e->count - vectors * e->vector);
  return dp_cuda_launch(queue, e->function, dp_cuda_blocks(threads), DP_CUDA_THREADS, words, n * sizeof *words);
}

void dp_cuda_elementwise_free(dp_cuda_elementwise *elementwise) { free(elementwise); }
