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
// Where rows are no multiples of a vector, so that one may lie across their ends, an operand that is broadcast is
// stepped through: it is read element by element, from offsets that are counted on, not divided out for each.
// Floats of 16 bits among them are computed with in pairs (backends/cuda/device/pairs.h).
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
enum { MAX_VECTOR = 16, MAX_VECTOR_PORTS = 12 };
enum { HEAD = 5, MAX_WORDS = HEAD + DP_CUDA_MAX_ELEMENTWISE * (DP_MAX_RANK + 1) + DP_MAX_RANK };

struct dp_cuda_elementwise {
  const dp_cuda_function *function;
  int64_t count;
  int rank;  // merged dims; 0 where no operand is strided
  int64_t extents[DP_MAX_RANK];
  int vector;  // elements that a thread takes at once; 1: no more than one
  bool steps;  // vectors lie across the ends of rows: operands that are strided are stepped through
  bool moves;  // no member computes: elements keep their bits, whatever their type
  bool pairs;  // a vector is gone through by two elements, since there are floats of 16 bits
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

static bool is_floating(const dp_cuda_expression *x, dp_dtype from) { return dp_type_is_float(from) && x->floating; }

// Whether a member reports places: floats may be divided by 0.
static bool reports(const dp_kernel_region *r, int first, int end) {
  for (int m = first; m < end; m++) {
    dp_member_spec made;
    dp_member_spec_make(r, m, r->values, &made);
    const dp_cuda_expression *x = dp_cuda_expression_of(&made.spec);
    if (x->refused && !is_floating(x, made.inputs[0].dtype)) return true;
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

// ---- vectors --------------------------------------------------------------------------------------------------------

// Whether the operand or result is read or written by vectors.
static bool in_vectors(const dp_cuda_elementwise *e, int p) {
  return e->ports[p].form == DENSE || (e->ports[p].form == STRIDED && !e->steps && e->ports[p].strides[e->rank - 1]);
}

static bool is_stepped(const dp_cuda_elementwise *e, int p) { return e->steps && e->ports[p].form == STRIDED; }

// Whether the operand's elements differ within a vector.
static bool varies(const dp_cuda_elementwise *e, int p) { return in_vectors(e, p) || is_stepped(e, p); }

// The most elements of a vector; 1 where too many operands and results vary to be held in registers.
static int most_of(const dp_cuda_elementwise *e, const dp_kernel_region *r) {
  int64_t bytes = 1;
  int count = 0;
  for (int p = 0; p < e->n_ports; p++) {
    if (!varies(e, p)) continue;
    bytes = dp_max_i64(bytes, (int64_t)dp_type_bytes(r->values[e->ports[p].value].dtype));
    count++;
  }
  return count > MAX_VECTOR_PORTS ? 1 : (int)dp_min_i64(MAX_VECTOR, DP_VECTOR_BYTES / bytes);
}

// Whether neighbours along the last merged dim are neighbours in every operand, or the same element.
static bool runs_along(const dp_cuda_elementwise *e) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form == STRIDED && e->ports[p].strides[e->rank - 1] > 1) return false;
  return true;
}

// Whether vectors of so many elements lie within rows, at offsets that are multiples of them.
static bool is_whole(const dp_cuda_elementwise *e, int vector) {
  if (e->rank && e->extents[e->rank - 1] % vector) return false;
  for (int p = 0; p < e->n_ports; p++)
    for (int d = 0; d < e->rank - 1 && in_vectors(e, p); d++)
      if (e->ports[p].form == STRIDED && e->ports[p].strides[d] % vector) return false;
  return true;
}

static bool results_are_dense(const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form != DENSE && is_made(r, first, end, e->ports[p].value)) return false;
  return true;
}

static void choose_vector(dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  const int most = most_of(e, r);
  e->vector = 1;
  if (most == 1 || reports(r, first, end) || !runs_along(e)) return;  // places are reported one by one
  for (int vector = most; vector > 1 && vector >= most / 2 && e->vector == 1; vector /= 2)
    if (is_whole(e, vector)) e->vector = vector;
  if (e->vector > 1 || !results_are_dense(e, r, first, end)) return;
  e->steps = true;
  e->steps = most_of(e, r) > 1;  // what is stepped through varies too
  e->vector = e->steps ? most : 1;
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

// counted: coordinates are kept, to be counted on by write_step.
static void write_offsets(FILE *to, const dp_cuda_elementwise *e, bool counted) {
  if (!e->rank) return;
  fprintf(to, "    dp_i64 rest = i, at%s;\n", e->rank > 1 ? ", before" : "");
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form == STRIDED) fprintf(to, "    dp_i64 o%d = 0;\n", p);
  for (int d = e->rank - 1; d >= 0; d--) {
    if (d > 0)
      fprintf(to,
              "    before = a.narrow ? (dp_i64)((dp_u32)rest / (dp_u32)a.extents[%d]) : rest / a.extents[%d];\n"
              "    at = rest - before * a.extents[%d];\n"
              "    rest = before;\n",
              d, d, d);
    else
      fputs("    at = rest;\n", to);
    if (d > 0 && counted) fprintf(to, "    dp_i64 c%d = at;\n", d);
    for (int p = 0; p < e->n_ports; p++)
      if (e->ports[p].form == STRIDED && e->ports[p].strides[d])
        fprintf(to, "    o%d += at * a.strides[%d][%d];\n", p, p, d);
  }
}

// Goes on to the next element: along dim d and, at its end, along the one before.
static void write_step(FILE *to, const dp_cuda_elementwise *e, int d) {
  for (int p = 0; p < e->n_ports; p++)
    if (is_stepped(e, p) && e->ports[p].strides[d]) fprintf(to, "      o%d += a.strides[%d][%d];\n", p, p, d);
  if (!d) return;
  fprintf(to, "      if (++c%d == a.extents[%d]) {\n      c%d = 0;\n", d, d, d);
  for (int p = 0; p < e->n_ports; p++)
    if (is_stepped(e, p) && e->ports[p].strides[d])
      fprintf(to, "      o%d -= a.extents[%d] * a.strides[%d][%d];\n", p, d, p, d);
  write_step(to, e, d - 1);
  fputs("      }\n", to);
}

static const dp_cuda_type *type_in(const dp_cuda_elementwise *e, dp_dtype dtype) {
  return e->moves ? dp_cuda_type_moved(dtype) : dp_cuda_type_of(dtype);
}

// A float of 16 bits, whose functions are named after it.
static bool is_half(const dp_cuda_type *type) {
  return type == dp_cuda_type_of(DP_FLOAT16) || type == dp_cuda_type_of(DP_BFLOAT16);
}

// ELEMENT: the operand or result in memory at its offset. OF_VECTOR: of its vector, at place l. OF_PAIRS: the same,
// where l counts pairs; a value is then two elements. REPEATED: such a pair, of one element in memory.
typedef enum { ELEMENT, OF_VECTOR, OF_PAIRS, REPEATED } source;

static void write_element(FILE *to, const dp_cuda_elementwise *e, int p, const dp_cuda_type *type) {
  fprintf(to, "((const %s *)a.at[%d])[", type->stored, p);
  write_offset(to, e, p);
  fputc(']', to);
}

static void write_pair_operand(FILE *to, const dp_cuda_elementwise *e, int32_t value, int p, const dp_cuda_type *type,
                               bool repeated) {
  if (is_half(type) && !repeated) {
    fprintf(to, "    const dp_u32 v%d = x%d.e[l];\n", value, p);
  } else if (is_half(type)) {
    fprintf(to, "    const dp_u32 v%d = DP_PAIR_OF(", value);
    write_element(to, e, p, type);
    fputs(");\n", to);
  } else if (!repeated) {
    fprintf(to, "    const %s v%d[2] = {x%d.e[2 * l], x%d.e[2 * l + 1]};\n", type->computed, value, p, p);
  } else {
    fprintf(to, "    const %s s%d = ", type->computed, value);
    write_element(to, e, p, type);
    fprintf(to, ", v%d[2] = {s%d, s%d};\n", value, value, value);
  }
}

static void write_operand(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p, source from) {
  const dp_cuda_type *type = type_in(e, r->values[e->ports[p].value].dtype);
  if (from == OF_PAIRS || from == REPEATED) {
    write_pair_operand(to, e, e->ports[p].value, p, type, from == REPEATED);
    return;
  }
  fprintf(to, "    const %s v%d = %s%s(", type->computed, e->ports[p].value, is_half(type) ? type->stored : "",
          is_half(type) ? "_get" : "");
  if (from == OF_VECTOR)
    fprintf(to, "x%d.e[l]", p);
  else
    write_element(to, e, p, type);
  fputs(");\n", to);
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

// What a member is written with.
typedef struct {
  const dp_kernel_member *member;
  const dp_cuda_expression *x;
  const dp_cuda_type *t, *to_type, *of[DP_MAX_OPERANDS];  // of operand 0, of the result, of each operand
  const char *expression;
  bool checked;
  dp_dtype from, result;
} writing;

static writing writing_of(const dp_cuda_elementwise *e, const dp_kernel_region *r, int m) {
  dp_member_spec made;
  dp_member_spec_make(r, m, r->values, &made);
  writing w = {.member = &r->members[m],
               .x = dp_cuda_expression_of(&made.spec),
               .from = made.inputs[0].dtype,
               .result = made.outputs[0].dtype};
  w.t = type_in(e, w.from), w.to_type = type_in(e, w.result);
  for (int i = 0; i < w.member->n_inputs; i++) w.of[i] = type_in(e, made.inputs[i].dtype);
  const bool floating = is_floating(w.x, w.from);
  w.checked = w.x->refused && !floating;
  w.expression = floating ? w.x->floating : w.x->integer;
  if (floating && w.x->half && is_half(w.t) && is_half(w.to_type)) w.expression = w.x->half;
  return w;
}

// The types and constants that expressions use.
static void write_names(FILE *to, const writing *w) {
  fprintf(to, "      typedef %s T; typedef %s U; typedef %s R;\n", w->t->computed, w->t->wrapped, w->to_type->computed);
  write_constant(to, w->expression, "IS_FLOAT", dp_type_is_float(w->from));
  write_constant(to, w->expression, "TO_FLOAT", dp_type_is_float(w->result));
  write_constant(to, w->expression, "TO_HALF", is_half(w->to_type));
  write_constant(to, w->expression, "FROM_UNSIGNED", w->from == DP_UINT64);
  write_constant(to, w->expression, "TO_UNSIGNED", w->result == DP_UINT64);
  write_constant(to, w->expression, "TO_BOOL", w->result == DP_BOOL);
  for (int k = 0; k < 2 && w->x->parameters[k].name; k++) {
    fprintf(to, "      const double p%d = ", k);
    write_number(to, dp_cuda_parameter_of(&w->x->parameters[k], w->member->node));
    fputs(";\n", to);
  }
}

static void write_member(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int m) {
  const writing w = writing_of(e, r, m);
  const int32_t value = w.member->outputs[0];
  fprintf(to, "    %s v%d;\n    {\n", w.to_type->computed, value);
  write_names(to, &w);
  for (int i = 0; i < w.member->n_inputs; i++)
    fprintf(to, "      const %s %c = v%d;\n", w.of[i]->computed, "xyz"[i], w.member->inputs[i]);
  if (w.checked) {
    fprintf(to, "      if (%s) dp_report(a.reporter, DP_FAULT_DIVISOR, ", w.x->refused);
    write_place(to, e, w.member->inputs[1]);
    fprintf(to, ", 0, 0);\n      v%d = %s ? (R)0 : (R)(%s);\n    }\n", value, w.x->refused, w.expression);
  } else {
    fprintf(to, "      v%d = (R)(%s);\n    }\n", value, w.expression);
  }
  // Small integers wrap in their own type, and floats are rounded to it, as if the result had been in memory.
  if (is_half(w.to_type))
    fprintf(to, "    v%d = %s_round(v%d);\n", value, w.to_type->stored, value);
  else if (strcmp(w.to_type->stored, w.to_type->computed))
    fprintf(to, "    v%d = (%s)v%d;\n", value, w.to_type->stored, value);
}

// Of two elements: by one instruction, or one after the other.
static void write_pair_member(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int m) {
  const writing w = writing_of(e, r, m);
  const int32_t value = w.member->outputs[0];
  if (w.x->pair && is_half(w.t) && w.from == w.result) {
    fprintf(to, "    const dp_u32 v%d = %s_pair_%s(v%d, v%d);\n", value, w.t->stored, w.x->pair, w.member->inputs[0],
            w.member->inputs[1]);
    return;
  }
  fprintf(to, is_half(w.to_type) ? "    dp_u32 v%d;\n    {\n" : "    %2$s v%1$d[2];\n    {\n", value,
          w.to_type->computed);
  write_names(to, &w);
  fputs("      R r[2];\n      DP_UNROLL\n      for (int h = 0; h < 2; h++) {\n", to);
  for (int i = 0; i < w.member->n_inputs; i++)
    if (is_half(w.of[i]))
      fprintf(to, "        const float %c = %s_of_pair(v%d, h);\n", "xyz"[i], w.of[i]->stored, w.member->inputs[i]);
    else
      fprintf(to, "        const %s %c = v%d[h];\n", w.of[i]->computed, "xyz"[i], w.member->inputs[i]);
  fprintf(to, "        r[h] = (R)(%s);\n      }\n", w.expression);
  if (is_half(w.to_type))
    fprintf(to, "      v%d = %s_pair(r[0], r[1]);\n    }\n", value, w.to_type->stored);
  else
    fprintf(to, "      v%d[0] = (%s)r[0];\n      v%d[1] = (%s)r[1];\n    }\n", value, w.to_type->stored, value,
            w.to_type->stored);
}

static void write_result(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p, source as) {
  const int32_t value = e->ports[p].value;
  const dp_cuda_type *type = type_in(e, r->values[value].dtype);
  if (as == OF_PAIRS && is_half(type)) {
    fprintf(to, "    y%d.e[l] = v%d;\n", p, value);
    return;
  }
  if (as == OF_PAIRS) {
    for (int h = 0; h < 2; h++) fprintf(to, "    y%d.e[2 * l + %d] = (%s)v%d[%d];\n", p, h, type->stored, value, h);
    return;
  }
  if (as == OF_VECTOR) {
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
  write_offsets(to, e, false);
  for (int p = 0; p < e->n_ports; p++)
    if (!is_made(r, first, end, e->ports[p].value)) write_operand(to, e, r, p, ELEMENT);
  for (int m = first; m < end; m++) write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) write_result(to, e, r, p, ELEMENT);
  fputs("  }\n", to);
}

// Reads the vectors that are stepped through, element by element. The last step's offsets are not used, nor read.
static void write_stepped(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r) {
  for (int p = 0; p < e->n_ports; p++)
    if (is_stepped(e, p)) fprintf(to, "    LOCAL(vector%d) x%d;\n", p, p);
  fprintf(to, "    DP_UNROLL\n    for (int l = 0; l < %d; l++) {\n", e->vector);
  for (int p = 0; p < e->n_ports; p++) {
    const dp_cuda_type *type = type_in(e, r->values[e->ports[p].value].dtype);
    if (!is_stepped(e, p)) continue;
    if (e->pairs && is_half(type))
      fprintf(to, "      x%d.e[l / 2] = (l %% 2 ? x%d.e[l / 2] : 0) | (dp_u32)", p, p);
    else
      fprintf(to, "      x%d.e[l] = ", p);
    write_element(to, e, p, type);
    fputs(e->pairs && is_half(type) ? ".bits << l % 2 * 16;\n" : ";\n", to);
  }
  write_step(to, e, e->rank - 1);
  fputs("    }\n", to);
}

// Vectors of operands are x0, x1 .., by the number of the port, those of results y2 ..
static void write_loads(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  for (int p = 0; p < e->n_ports; p++) {
    const char *stored = type_in(e, r->values[e->ports[p].value].dtype)->stored;
    if (is_made(r, first, end, e->ports[p].value)) {
      fprintf(to, "    LOCAL(vector%d) y%d;\n", p, p);
    } else if (in_vectors(e, p)) {
      fprintf(to, "    const LOCAL(vector%d) x%d = *(const LOCAL(vector%d) *)((const %s *)a.at[%d] + ", p, p, p, stored,
              p);
      write_offset(to, e, p);
      fputs(");\n", to);
    } else if (!is_stepped(e, p)) {
      write_operand(to, e, r, p, e->pairs ? REPEATED : ELEMENT);
    }
  }
  if (e->steps) write_stepped(to, e, r);
}

// l is the place in vectors.
static void write_vectors(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to,
          "  for (dp_i64 t = dp_index(); t < a.vectors; t += dp_stride()) {\n"
          "    const dp_i64 i = t * %d;\n",
          e->vector);
  write_offsets(to, e, e->steps);
  write_loads(to, e, r, first, end);
  const source as = e->pairs ? OF_PAIRS : OF_VECTOR;
  fprintf(to, "    DP_UNROLL\n    for (int l = 0; l < %d; l++) {\n", e->pairs ? e->vector / 2 : e->vector);
  for (int p = 0; p < e->n_ports; p++)
    if (!is_made(r, first, end, e->ports[p].value) && varies(e, p)) write_operand(to, e, r, p, as);
  for (int m = first; m < end; m++)
    if (e->pairs)
      write_pair_member(to, e, r, m);
    else
      write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (is_made(r, first, end, e->ports[p].value)) write_result(to, e, r, p, as);
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
    const dp_cuda_type *type = type_in(e, dtype);
    const bool pairs = e->pairs && is_half(type);
    fprintf(to, "typedef struct DP_ALIGNED(%d) {\n  %s e[%d];\n} LOCAL(vector%d);\n",
            e->vector * (int)dp_type_bytes(dtype), pairs ? "dp_u32" : type->stored, pairs ? e->vector / 2 : e->vector,
            p);
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

static bool has_halves(const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  for (int m = first; m < end; m++) {
    if (is_half(type_in(e, r->values[r->members[m].outputs[0]].dtype))) return true;
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (is_half(type_in(e, r->values[r->members[m].inputs[i]].dtype))) return true;
  }
  return false;
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
    choose_vector(e, region, first, end);
    e->pairs = e->vector > 1 && has_halves(e, region, first, end);
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
    if (in_vectors(e, p) && (uintptr_t)dp_cuda_value_at(values, e->ports[p].value) % DP_VECTOR_BYTES) return 0;
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
