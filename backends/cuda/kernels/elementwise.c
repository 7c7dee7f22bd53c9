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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/device/fault.h"
#include "backends/cuda/device/sources.h"
#include "backends/cuda/device/vectors.h"
#include "backends/cuda/kernels/elementwise_run.h"
#include "backends/cuda/kernels/strided.h"
#include "ir/kernel/extents.h"

// MAX_VECTOR: elements of a thread. MAX_VECTOR_PORTS: operands and results that are kept in registers for it.
enum { MAX_VECTOR = 16, MAX_VECTOR_PORTS = 12 };
enum { HEAD = 5, MAX_WORDS = HEAD + DP_CUDA_MAX_ELEMENTWISE * (DP_MAX_RANK + 1) + DP_MAX_RANK };

// ---- operands, results, dims ----------------------------------------------------------------------------------------

static dp_status add_port(dp_cuda_elementwise *e, int32_t value) {
  if (dp_cuda_run_port(e, value) >= 0) return DP_OK;
  if (e->n_ports == DP_CUDA_MAX_ELEMENTWISE)
    return dp_fail(EX_SOFTWARE, "a run of elementwise nodes with more than %d operands", DP_CUDA_MAX_ELEMENTWISE);
  e->ports[e->n_ports++] = (dp_cuda_port){.value = value};
  return DP_OK;
}

static dp_status add_ports(dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end, const bool *kept) {
  for (int m = first; m < end; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (!dp_cuda_run_makes(r, first, end, r->members[m].inputs[i])) DP_TRY(add_port(e, r->members[m].inputs[i]));
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

static dp_cuda_port_form form_of(const dp_cuda_elementwise *e, const dp_cuda_port *p) {
  int64_t dense = 1;
  bool is_dense = true, is_single = true;
  for (int d = e->rank - 1; d >= 0; d--) {
    is_dense = is_dense && p->strides[d] == dense;
    is_single = is_single && !p->strides[d];
    dense *= e->extents[d];
  }
  return is_single ? DP_CUDA_SINGLE : is_dense ? DP_CUDA_DENSE : DP_CUDA_STRIDED;
}

// Whether a member reports places: floats may be divided by 0.
static bool reports(const dp_kernel_region *r, int first, int end) {
  for (int m = first; m < end; m++) {
    dp_member_spec made;
    dp_member_spec_make(r, m, r->values, &made);
    const dp_cuda_expression *x = dp_cuda_expression_of(&made.spec);
    if (x->refused && !dp_cuda_run_is_floating(x, made.inputs[0].dtype)) return true;
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
    strided |= e->ports[p].form == DP_CUDA_STRIDED;
  }
  if (!strided) e->rank = 0;
}

// ---- vectors --------------------------------------------------------------------------------------------------------

// The most elements of a vector; 1 where too many operands and results vary to be held in registers.
static int most_of(const dp_cuda_elementwise *e, const dp_kernel_region *r) {
  int64_t bytes = 1;
  int count = 0;
  for (int p = 0; p < e->n_ports; p++) {
    if (!dp_cuda_run_varies(e, p)) continue;
    bytes = dp_max_i64(bytes, (int64_t)dp_type_bytes(r->values[e->ports[p].value].dtype));
    count++;
  }
  return !count || count > MAX_VECTOR_PORTS ? 1 : (int)dp_min_i64(MAX_VECTOR, DP_VECTOR_BYTES / bytes);
}

// Whether neighbours along the last merged dim are neighbours in every operand, or the same element.
static bool runs_along(const dp_cuda_elementwise *e) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form == DP_CUDA_STRIDED && e->ports[p].strides[e->rank - 1] > 1) return false;
  return true;
}

// Whether vectors of so many elements lie within rows, at offsets that are multiples of them.
static bool is_whole(const dp_cuda_elementwise *e, int vector) {
  if (e->rank && e->extents[e->rank - 1] % vector) return false;
  for (int p = 0; p < e->n_ports; p++)
    for (int d = 0; d < e->rank - 1 && dp_cuda_run_in_vectors(e, p); d++)
      if (e->ports[p].form == DP_CUDA_STRIDED && e->ports[p].strides[d] % vector) return false;
  return true;
}

static bool results_are_dense(const dp_cuda_elementwise *e, const dp_kernel_region *r, int first, int end) {
  for (int p = 0; p < e->n_ports; p++)
    if (e->ports[p].form != DP_CUDA_DENSE && dp_cuda_run_makes(r, first, end, e->ports[p].value)) return false;
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
    dp_cuda_run_write(to, e, r, first, end);
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
    if (dp_cuda_run_is_half(dp_cuda_run_type(e, r->values[r->members[m].outputs[0]].dtype))) return true;
    for (int i = 0; i < r->members[m].n_inputs; i++)
      if (dp_cuda_run_is_half(dp_cuda_run_type(e, r->values[r->members[m].inputs[i]].dtype))) return true;
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
    if (dp_cuda_run_in_vectors(e, p) && (uintptr_t)dp_cuda_value_at(values, e->ports[p].value) % DP_VECTOR_BYTES)
      return 0;
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
