// The text of a function of elementwise members. See elementwise.c.
#include <math.h>
#include <stdio.h>

#include "backends/cuda/kernels/elementwise_run.h"

static void write_number(FILE *to, double x) {
  if (isnan(x))
    fputs("DP_NAN", to);
  else if (isinf(x))
    fputs(x < 0 ? "-DP_INFINITY" : "DP_INFINITY", to);
  else
    fprintf(to, "%.17e", x);
}

static void write_offset(FILE *to, const dp_cuda_elementwise *e, int p) {
  if (e->ports[p].form == DP_CUDA_STRIDED)
    fprintf(to, "o%d", p);
  else
    fputs(e->ports[p].form == DP_CUDA_DENSE ? "i" : "0", to);
}

// counted: coordinates are kept, to be counted on by write_step.
static void write_offsets(FILE *to, const dp_cuda_elementwise *e, bool counted) {
  if (!e->rank) return;
  fprintf(to, "    dp_i64 rest = i, at%s;\n", e->rank > 1 ? ", before" : "");
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form == DP_CUDA_STRIDED) fprintf(to, "    dp_i64 o%d = 0;\n", p);
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
      if (e->ports[p].form == DP_CUDA_STRIDED && e->ports[p].strides[d])
        fprintf(to, "    o%d += at * a.strides[%d][%d];\n", p, p, d);
  }
}

// Goes on to the next element: along dim d and, at its end, along the one before.
static void write_step(FILE *to, const dp_cuda_elementwise *e, int d) {
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_steps(e, p) && e->ports[p].strides[d]) fprintf(to, "      o%d += a.strides[%d][%d];\n", p, p, d);
  if (!d) return;
  fprintf(to, "      if (++c%d == a.extents[%d]) {\n      c%d = 0;\n", d, d, d);
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_steps(e, p) && e->ports[p].strides[d])
      fprintf(to, "      o%d -= a.extents[%d] * a.strides[%d][%d];\n", p, d, p, d);
  write_step(to, e, d - 1);
  fputs("      }\n", to);
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
  if (dp_cuda_run_is_half(type) && !repeated) {
    fprintf(to, "    const dp_u32 v%d = x%d.e[l];\n", value, p);
  } else if (dp_cuda_run_is_half(type)) {
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
  const dp_cuda_type *type = dp_cuda_run_type(e, r->values[e->ports[p].value].dtype);
  if (from == OF_PAIRS || from == REPEATED) {
    write_pair_operand(to, e, e->ports[p].value, p, type, from == REPEATED);
    return;
  }
  fprintf(to, "    const %s v%d = %s%s(", type->computed, e->ports[p].value,
          dp_cuda_run_is_half(type) ? type->stored : "", dp_cuda_run_is_half(type) ? "_get" : "");
  if (from == OF_VECTOR)
    fprintf(to, "x%d.e[l]", p);
  else
    write_element(to, e, p, type);
  fputs(");\n", to);
}

// The offset of a member's operand 1, for reports: its own in memory, or the result's.
static void write_place(FILE *to, const dp_cuda_elementwise *e, int32_t value) {
  const int p = dp_cuda_run_port(e, value);
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
  w.t = dp_cuda_run_type(e, w.from), w.to_type = dp_cuda_run_type(e, w.result);
  for (int i = 0; i < w.member->n_inputs; i++) w.of[i] = dp_cuda_run_type(e, made.inputs[i].dtype);
  const bool floating = dp_cuda_run_is_floating(w.x, w.from);
  w.checked = w.x->refused && !floating;
  w.expression = floating ? w.x->floating : w.x->integer;
  if (floating && w.x->half && dp_cuda_run_is_half(w.t) && dp_cuda_run_is_half(w.to_type)) w.expression = w.x->half;
  return w;
}

// The types and constants that expressions use.
static void write_names(FILE *to, const writing *w) {
  fprintf(to, "      typedef %s T; typedef %s U; typedef %s R;\n", w->t->computed, w->t->wrapped, w->to_type->computed);
  write_constant(to, w->expression, "IS_FLOAT", dp_type_is_float(w->from));
  write_constant(to, w->expression, "TO_FLOAT", dp_type_is_float(w->result));
  write_constant(to, w->expression, "TO_HALF", dp_cuda_run_is_half(w->to_type));
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
  if (dp_cuda_run_is_half(w.to_type))
    fprintf(to, "    v%d = %s_round(v%d);\n", value, w.to_type->stored, value);
  else if (strcmp(w.to_type->stored, w.to_type->computed))
    fprintf(to, "    v%d = (%s)v%d;\n", value, w.to_type->stored, value);
}

// Of two elements: by one instruction, or one after the other.
static void write_pair_member(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int m) {
  const writing w = writing_of(e, r, m);
  const int32_t value = w.member->outputs[0];
  if (w.x->pair && dp_cuda_run_is_half(w.t) && w.from == w.result) {
    fprintf(to, "    const dp_u32 v%d = %s_pair_%s(v%d, v%d);\n", value, w.t->stored, w.x->pair, w.member->inputs[0],
            w.member->inputs[1]);
    return;
  }
  fprintf(to, dp_cuda_run_is_half(w.to_type) ? "    dp_u32 v%d;\n    {\n" : "    %2$s v%1$d[2];\n    {\n", value,
          w.to_type->computed);
  write_names(to, &w);
  fputs("      R r[2];\n      DP_UNROLL\n      for (int h = 0; h < 2; h++) {\n", to);
  for (int i = 0; i < w.member->n_inputs; i++)
    if (dp_cuda_run_is_half(w.of[i]))
      fprintf(to, "        const float %c = %s_of_pair(v%d, h);\n", "xyz"[i], w.of[i]->stored, w.member->inputs[i]);
    else
      fprintf(to, "        const %s %c = v%d[h];\n", w.of[i]->computed, "xyz"[i], w.member->inputs[i]);
  fprintf(to, "        r[h] = (R)(%s);\n      }\n", w.expression);
  if (dp_cuda_run_is_half(w.to_type))
    fprintf(to, "      v%d = %s_pair(r[0], r[1]);\n    }\n", value, w.to_type->stored);
  else
    fprintf(to, "      v%d[0] = (%s)r[0];\n      v%d[1] = (%s)r[1];\n    }\n", value, w.to_type->stored, value,
            w.to_type->stored);
}

static void write_result(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int p, source as) {
  const int32_t value = e->ports[p].value;
  const dp_cuda_type *type = dp_cuda_run_type(e, r->values[value].dtype);
  if (as == OF_PAIRS && dp_cuda_run_is_half(type)) {
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
  fprintf(to, dp_cuda_run_is_half(type) ? "%s_put(v%d);\n" : "(%s)v%d;\n", type->stored, value);
}

static void write_one_by_one(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to, "  for (dp_i64 i = a.vectors * %d + dp_index(); i < a.count; i += dp_stride()) {\n", e->vector);
  write_offsets(to, e, false);
  for (int p = 0; p < e->n_ports; p++)
    if (!dp_cuda_run_makes(r, first, end, e->ports[p].value)) write_operand(to, e, r, p, ELEMENT);
  for (int m = first; m < end; m++) write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_makes(r, first, end, e->ports[p].value)) write_result(to, e, r, p, ELEMENT);
  fputs("  }\n", to);
}

// Reads the vectors that are stepped through, element by element. The last step's offsets are not used, nor read.
static void write_stepped(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r) {
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_steps(e, p)) fprintf(to, "    LOCAL(vector%d) x%d;\n", p, p);
  fprintf(to, "    DP_UNROLL\n    for (int l = 0; l < %d; l++) {\n", e->vector);
  for (int p = 0; p < e->n_ports; p++) {
    const dp_cuda_type *type = dp_cuda_run_type(e, r->values[e->ports[p].value].dtype);
    if (!dp_cuda_run_steps(e, p)) continue;
    if (e->pairs && dp_cuda_run_is_half(type))
      fprintf(to, "      x%d.e[l / 2] = (l %% 2 ? x%d.e[l / 2] : 0) | (dp_u32)", p, p);
    else
      fprintf(to, "      x%d.e[l] = ", p);
    write_element(to, e, p, type);
    fputs(e->pairs && dp_cuda_run_is_half(type) ? ".bits << l % 2 * 16;\n" : ";\n", to);
  }
  write_step(to, e, e->rank - 1);
  fputs("    }\n", to);
}

// Vectors of operands are x0, x1 .., by the number of the port, those of results y2 ..
static void write_loads(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  for (int p = 0; p < e->n_ports; p++) {
    const char *stored = dp_cuda_run_type(e, r->values[e->ports[p].value].dtype)->stored;
    if (dp_cuda_run_makes(r, first, end, e->ports[p].value)) {
      fprintf(to, "    LOCAL(vector%d) y%d;\n", p, p);
    } else if (dp_cuda_run_in_vectors(e, p)) {
      fprintf(to, "    const LOCAL(vector%d) x%d = *(const LOCAL(vector%d) *)((const %s *)a.at[%d] + ", p, p, p, stored,
              p);
      write_offset(to, e, p);
      fputs(");\n", to);
    } else if (!dp_cuda_run_steps(e, p)) {
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
    if (!dp_cuda_run_makes(r, first, end, e->ports[p].value) && dp_cuda_run_varies(e, p))
      write_operand(to, e, r, p, as);
  for (int m = first; m < end; m++)
    if (e->pairs)
      write_pair_member(to, e, r, m);
    else
      write_member(to, e, r, m);
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_makes(r, first, end, e->ports[p].value)) write_result(to, e, r, p, as);
  fputs("    }\n", to);
  for (int p = 0; p < e->n_ports; p++)
    if (dp_cuda_run_makes(r, first, end, e->ports[p].value)) {
      fprintf(to, "    *(LOCAL(vector%d) *)((%s *)a.at[%d] + ", p,
              dp_cuda_run_type(e, r->values[e->ports[p].value].dtype)->stored, p);
      write_offset(to, e, p);
      fprintf(to, ") = y%d;\n", p);
    }
  fputs("  }\n", to);
}

void dp_cuda_run_write(FILE *to, const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  fprintf(to, "typedef struct {\n  dp_i64 count;\n  dp_cuda_reporter reporter;\n  dp_i64 vectors;\n  void *at[%d];\n",
          e->n_ports);
  if (e->rank) fprintf(to, "  dp_i64 narrow, extents[%d], strides[%d][%d];\n", e->rank, e->n_ports, e->rank);
  fputs("} LOCAL(arguments);\n\n", to);
  for (int p = 0; p < e->n_ports && e->vector > 1; p++) {
    const dp_dtype dtype = r->values[e->ports[p].value].dtype;
    const dp_cuda_type *type = dp_cuda_run_type(e, dtype);
    const bool pairs = e->pairs && dp_cuda_run_is_half(type);
    fprintf(to, "typedef struct DP_ALIGNED(%d) {\n  %s e[%d];\n} LOCAL(vector%d);\n",
            e->vector * (int)dp_type_bytes(dtype), pairs ? "dp_u32" : type->stored, pairs ? e->vector / 2 : e->vector,
            p);
  }
  fputs("DP_KERNEL(LOCAL(arguments)) {\n", to);
  if (e->vector > 1) write_vectors(to, e, r, first, end);
  write_one_by_one(to, e, r, first, end);
  fputs("}\n", to);
}
