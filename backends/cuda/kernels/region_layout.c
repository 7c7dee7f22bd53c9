// See region_layout.h.
#include "backends/cuda/kernels/region_layout.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/alignment.h"
#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/expressions.h"
#include "backends/cuda/kernels/member.h"

enum { ITSELF = -1 };

// What the division is made from.
typedef struct {
  const dp_kernel_spec *spec;
  const dp_kernel_region *region;
  int n_ends;         // operands and results
  int *made_along;    // (members) the member whose launch makes it too; ITSELF: it has its own, or is in a run
  bool has_products;  // then no result lies on an operand (ir/verify/region.c)
} division;

static bool is_elementwise(const dp_kernel_region *r, int member) {
  dp_member_spec spec;
  dp_member_spec_make(r, member, r->values, &spec);
  return dp_cuda_expression_of(&spec.spec) != NULL;
}

static bool lie_alike(const dp_kernel_region *r, int32_t a, int32_t b) {
  return r->values[a].layout == r->values[b].layout;
}

// ---- launches -------------------------------------------------------------------------------------------------------

// Marks the Add of each product that a Gemm computes, and the Reshapes in between.
static void mark_sums(division *d) {
  for (int m = 0; m < d->region->n_members; m++) d->made_along[m] = ITSELF;
  for (int m = 0; m < d->region->n_members; m++) {
    dp_cuda_region_sum sum;
    dp_member_spec gemm;
    const dp_op *op = d->region->members[m].op;
    d->has_products |= dp_op_is(op, DP_OP_PRODUCT) || dp_op_is(op, DP_OP_CONVOLUTION);
    if (!dp_cuda_region_sum_of(d->spec, m, &sum) || d->made_along[sum.add] != ITSELF) continue;
    dp_cuda_region_sum_spec(d->spec, m, &sum, &gemm);
    if (!dp_cuda_member_kernel(&gemm)) continue;
    for (int at = m; at != sum.add;) {
      at = dp_cuda_region_user(d->spec, d->region->members[at].outputs[0]);
      d->made_along[at] = m;
    }
  }
}

static void mark(division *d, int m, const int *along, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (along[i] >= 0) d->made_along[along[i]] = m;
}

// Whether all of these that are there are made along by member m, or ITSELF.
static bool are_along(const division *d, int m, const int *along, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (along[i] >= 0 && d->made_along[along[i]] != m) return false;
  return true;
}

// The same of all that the normalization takes along.
static bool is_along(const division *d, const dp_cuda_region_normalization *n, int m) {
  const int along[] = {n->bias, n->before, n->add, n->after};
  return are_along(d, m, along, DP_COUNT(along));
}

static bool is_batch_along(const division *d, const dp_cuda_region_batch *b, int m) {
  const int along[] = {b->add, b->relu};
  return are_along(d, m, along, DP_COUNT(along));
}

// After all others: a normalization that would take what another launch makes along stays alone.
static void mark_normalizations(division *d) {
  for (int m = 0; m < d->region->n_members; m++) {
    dp_cuda_region_normalization n;
    if (!dp_cuda_region_normalization_of(d->spec, m, &n) || !is_along(d, &n, ITSELF)) continue;
    const int along[] = {n.bias, n.before, n.add, n.after};
    mark(d, m, along, DP_COUNT(along));
  }
}

static void mark_gradients(division *d) {
  for (int m = 0; m < d->region->n_members; m++) {
    dp_cuda_region_gradient g;
    if (!dp_cuda_region_gradient_of(d->spec, m, &g)) continue;
    const int along[] = {g.before, g.add, g.after};
    mark(d, m, along, DP_COUNT(along));
  }
}

static void mark_batches(division *d) {
  for (int m = 0; m < d->region->n_members; m++) {
    dp_cuda_region_batch b;
    if (!dp_cuda_region_batch_of(d->spec, m, &b) || !is_batch_along(d, &b, ITSELF)) continue;
    const int along[] = {b.add, b.relu};
    mark(d, m, along, DP_COUNT(along));
  }
}

// What the parts lie in makes no launch, nor do Reshapes of parts.
static void mark_parts(division *d, int m, const dp_cuda_attention_whole *w) {
  if (w->member < 0) return;
  mark(d, m, &w->member, 1);
  for (int p = 0; p < DP_CUDA_ATTENTION_PARTS; p++) mark(d, m, w->parts[p].views, (size_t)w->parts[p].n_views);
}

static void mark_attention(division *d) {
  for (int m = 0; m < d->region->n_members; m++) {
    dp_cuda_region_attention a;
    if (!dp_cuda_region_attention_of(d->spec, m, &a)) continue;
    mark_parts(d, m, &a.operands);
    mark_parts(d, m, &a.gradients);
  }
}

// The end of the run of elementwise members that starts at `first`, or of the single member.
static int end_of(const division *d, int first) {
  const dp_kernel_region *r = d->region;
  int end = first + 1, ports = r->members[first].n_inputs + 1;
  if (!is_elementwise(r, first)) return end;
  while (end < r->n_members && d->made_along[end] == ITSELF && is_elementwise(r, end) &&
         dp_cuda_region_alike(r, r->members[first].outputs[0], r->members[end].outputs[0])) {
    ports += r->members[end].n_inputs + 1;  // counts those twice that several members use
    if (ports > DP_CUDA_MAX_ELEMENTWISE) break;
    end++;
  }
  return end;
}

// Whether the launch is a convolution with what follows it, unless another launch makes that along; its end.
static bool find_convolution(const division *d, dp_cuda_region_launch *l) {
  if (!dp_cuda_region_convolution_of(d->spec, l->first, &l->convolution)) return false;
  const int end = dp_cuda_region_convolution_end(l->first, &l->convolution);
  for (int m = l->first; m < end; m++)
    if (d->made_along[m] != ITSELF) return false;
  l->end = end;
  return true;
}

static void add_launches(const division *d, dp_cuda_region_layout *layout) {
  for (int first = 0, end; first < d->region->n_members; first = end) {
    end = first + 1;
    if (d->made_along[first] != ITSELF) continue;
    end = end_of(d, first);
    dp_cuda_region_launch *l = &layout->launches[layout->n_launches++];
    *l = (dp_cuda_region_launch){
        .first = first, .end = end, .elementwise = is_elementwise(d->region, first), .sum = {-1, -1}};
    dp_cuda_region_sum sum;
    if (dp_cuda_region_sum_of(d->spec, first, &sum) && d->made_along[sum.add] == first) l->sum = sum;
    l->is_convolution = find_convolution(d, l);
    end = l->end;
    l->is_normalization =
        dp_cuda_region_normalization_of(d->spec, first, &l->normalization) && is_along(d, &l->normalization, first);
    l->is_gradient = dp_cuda_region_gradient_of(d->spec, first, &l->gradient);
    l->is_batch = dp_cuda_region_batch_of(d->spec, first, &l->batch) && is_batch_along(d, &l->batch, first);
    l->is_attention = dp_cuda_region_attention_of(d->spec, first, &l->attention);
  }
}

void dp_cuda_region_launch_values(const dp_kernel_region *r, const dp_cuda_region_launch *l, int32_t *in,
                                  int32_t *out) {
  const dp_kernel_member *member = &r->members[l->first];
  for (int k = 0; k < DP_MAX_OPERANDS; k++) {
    in[k] = k < member->n_inputs ? member->inputs[k] : -1;
    out[k] = k < member->n_outputs ? member->outputs[k] : -1;
  }
  if (l->sum.add >= 0) in[2] = l->sum.operand;
  if (l->sum.add >= 0) out[0] = r->members[l->sum.add].outputs[0];
  if (l->is_convolution) dp_cuda_region_convolution_values(r, l->first, &l->convolution, in, out);
  if (l->is_normalization) dp_cuda_region_normalization_values(r, l->first, &l->normalization, in, out);
  if (l->is_gradient) dp_cuda_region_gradient_values(r, l->first, &l->gradient, in, out);
  if (l->is_batch) dp_cuda_region_batch_values(r, l->first, &l->batch, in, out);
}

void dp_cuda_region_kept(const dp_kernel_spec *region, const dp_cuda_region_launch *l, bool *kept) {
  const dp_kernel_region *r = region->region;
  const int n_ends = region->n_inputs + region->n_outputs;
  for (int v = 0; v < r->n_values; v++) kept[v] = false;
  if (!l->elementwise) {  // it writes all its results, used or not
    int32_t in[DP_MAX_OPERANDS], out[DP_MAX_OPERANDS];
    dp_cuda_region_launch_values(r, l, in, out);
    for (int k = 0; k < DP_MAX_OPERANDS; k++)
      if (out[k] >= 0) kept[out[k]] = r->values[out[k]].present;
    return;
  }
  for (int m = l->first; m < l->end; m++)
    for (int k = 0; k < r->members[m].n_outputs; k++) {
      const int32_t value = r->members[m].outputs[k];
      if (value >= 0 && r->values[value].present) kept[value] = value < n_ends;
    }
  for (int m = l->end; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++) {
      const int32_t value = r->members[m].inputs[i];
      for (int p = l->first; p < l->end && value >= 0; p++)
        for (int k = 0; k < r->members[p].n_outputs; k++)
          if (r->members[p].outputs[k] == value) kept[value] = true;
    }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Whether the launch computes the member, by itself or along.
static bool computes(const division *d, const dp_cuda_region_launch *l, int member) {
  const int along = d->made_along[member];
  return along == ITSELF ? member >= l->first && member < l->end : along == l->first;
}

static bool makes(const division *d, const dp_cuda_region_launch *l, int32_t value) {
  const dp_kernel_region *r = d->region;
  for (int m = 0; m < r->n_members; m++)
    for (int k = 0; k < r->members[m].n_outputs && computes(d, l, m); k++)
      if (r->members[m].outputs[k] == value) return true;
  return false;
}

static bool is_used_by_it_alone(const division *d, const dp_cuda_region_launch *l, int32_t value) {
  const dp_kernel_region *r = d->region;
  bool used = false;
  for (int m = 0; m < r->n_members; m++)
    for (int i = 0; i < r->members[m].n_inputs; i++) {
      if (r->members[m].inputs[i] != value) continue;
      if (!computes(d, l, m)) return false;
      used = true;
    }
  return used;
}

// A launch that reads each element before the same thread writes it.
static bool works_in_place(const dp_cuda_region_launch *l) { return l->elementwise || l->is_normalization; }

// But a normalization reads its scale and bias when it has stored the sum.
static bool is_read_late(const division *d, const dp_cuda_region_launch *l, int32_t value) {
  const dp_kernel_member *member = &d->region->members[l->first];
  for (int i = 1; i < member->n_inputs && l->is_normalization; i++)
    if (member->inputs[i] == value) return true;
  return false;
}

// A value that only one such launch uses can be where that launch puts a result of the same extents. taken: (values)
static void share_with_result(const division *d, const dp_cuda_region_launch *l, int32_t value, bool *taken,
                              int32_t *homes) {
  const dp_kernel_region *r = d->region;
  if (!is_used_by_it_alone(d, l, value) || makes(d, l, value) || is_read_late(d, l, value)) return;
  for (int32_t y = d->spec->n_inputs; y < d->n_ends; y++) {
    if (taken[y] || !makes(d, l, y) || !dp_cuda_region_alike(r, value, y) ||
        r->values[value].dtype != r->values[y].dtype || !lie_alike(r, value, y))
      continue;
    homes[value] = y;
    taken[y] = true;
    return;
  }
}

static void find_homes(const division *d, dp_cuda_region_layout *layout, bool *taken) {
  const dp_kernel_region *r = d->region;
  for (int32_t v = 0; v < r->n_values; v++) layout->homes[v] = v;
  for (int i = 0; i < layout->n_launches && d->has_products; i++)
    for (int32_t v = d->n_ends; v < r->n_values && works_in_place(&layout->launches[i]); v++)
      share_with_result(d, &layout->launches[i], v, taken, layout->homes);
  // What is reshaped is where the result of that goes.
  for (int m = r->n_members; m-- > 0;) {
    const int32_t x = r->members[m].inputs[0];
    if (!dp_op_is(r->members[m].op, DP_OP_VIEW) || dp_cuda_region_user(d->spec, x) != m) continue;
    if (lie_alike(r, x, r->members[m].outputs[0])) layout->homes[x] = layout->homes[r->members[m].outputs[0]];
  }
}

// What a convolution's launch makes on its way, should it be several (region_convolution.h), is where its result goes.
static void share_on_the_way(const division *d, dp_cuda_region_layout *layout) {
  for (int i = 0; i < layout->n_launches; i++) {
    const dp_cuda_region_launch *l = &layout->launches[i];
    for (int m = l->first; l->is_convolution && m < l->end; m++)
      layout->homes[d->region->members[m].outputs[0]] = layout->homes[l->convolution.made];
  }
}

static void put_parts(const dp_kernel_region *r, const dp_cuda_attention_whole *w, dp_cuda_region_layout *layout) {
  for (int p = 0; p < DP_CUDA_ATTENTION_PARTS && w->member >= 0; p++)
    for (int i = 0; i <= w->parts[p].n_views; i++) {
      const int32_t value = w->parts[p].values[i];
      layout->homes[value] = w->whole;
      layout->inner[value] = (uint64_t)w->parts[p].start * dp_type_bytes(r->values[value].dtype);
    }
}

static void put_parts_of_attention(const division *d, dp_cuda_region_layout *layout) {
  for (int i = 0; i < layout->n_launches; i++) {
    const dp_cuda_region_launch *l = &layout->launches[i];
    if (!l->is_attention) continue;
    put_parts(d->region, &l->attention.operands, layout);
    put_parts(d->region, &l->attention.gradients, layout);
  }
}

// The launch that computes a member.
static int launch_of(const division *d, const dp_cuda_region_layout *layout, int member) {
  const int first = d->made_along[member] == ITSELF ? member : d->made_along[member];
  int i = 0;
  while (layout->launches[i].end <= first) i++;
  return i;
}

// The last launch that touches each memory. last: (values)
static void find_last_uses(const division *d, const dp_cuda_region_layout *layout, int *last) {
  for (int m = 0; m < d->region->n_members; m++) {
    const dp_kernel_member *member = &d->region->members[m];
    const int launch = launch_of(d, layout, m);
    for (int i = 0; i < member->n_inputs + member->n_outputs; i++) {
      const int32_t value = i < member->n_inputs ? member->inputs[i] : member->outputs[i - member->n_inputs];
      if (value >= 0) last[layout->homes[value]] = (int)dp_max_i64(last[layout->homes[value]], launch);
    }
  }
}

// A value in scratch that no launch from this one on touches, and which can be overwritten by `value`: its extents and
// type are the same, with any number of samples in all regions that dpc makes, so that a shorter batch needs no more
// scratch. Where it would, the plan is refused when the kernel is bound. -1: there is none.
static int32_t find_room(const division *d, int launch, int32_t value, const bool *in_scratch, const int *last) {
  for (int32_t old = d->n_ends; old < d->region->n_values; old++)
    if (in_scratch[old] && last[old] < launch && dp_cuda_region_alike(d->region, old, value) &&
        d->region->values[old].dtype == d->region->values[value].dtype)
      return old;
  return -1;
}

// kept, in_scratch: (values) not set yet. last: (values)
static void place(const division *d, dp_cuda_region_layout *layout, bool *kept, bool *in_scratch, const int *last) {
  const dp_kernel_region *r = d->region;
  for (int32_t v = 0; v < r->n_values; v++) in_scratch[v] = false;
  for (int i = 0; i < layout->n_launches; i++) {
    dp_cuda_region_kept(d->spec, &layout->launches[i], kept);
    for (int32_t v = d->n_ends; v < r->n_values; v++) {
      const int32_t home = layout->homes[v];
      if (!kept[v] || home < d->n_ends || in_scratch[home]) continue;
      const int32_t old = find_room(d, i, v, in_scratch, last);
      in_scratch[home] = true;
      layout->offsets[home] = old >= 0 ? layout->offsets[old] : layout->bytes;
      if (old >= 0)
        in_scratch[old] = false;
      else
        layout->bytes += dp_align_up((uint64_t)dp_local_count(&r->values[v].local) * dp_type_bytes(r->values[v].dtype),
                                     DP_CUDA_ALIGNMENT);
    }
  }
}

dp_status dp_cuda_region_layout_make(const dp_kernel_spec *region, dp_cuda_region_layout *layout) {
  const dp_kernel_region *r = region->region;
  const size_t n_values = (size_t)r->n_values + 1, n_members = (size_t)r->n_members + 1;
  division d = {.spec = region, .region = r, .n_ends = region->n_inputs + region->n_outputs};
  bool *marks = calloc(2 * n_values, sizeof *marks);
  int *last = calloc(n_values, sizeof *last);
  d.made_along = calloc(n_members, sizeof *d.made_along);
  *layout = (dp_cuda_region_layout){.launches = calloc(n_members, sizeof *layout->launches),
                                    .homes = calloc(n_values, sizeof *layout->homes),
                                    .inner = calloc(n_values, sizeof *layout->inner),
                                    .offsets = calloc(n_values, sizeof *layout->offsets)};
  const bool made =
      marks && last && d.made_along && layout->launches && layout->homes && layout->inner && layout->offsets;
  if (made) {
    mark_sums(&d);
    mark_gradients(&d);
    mark_batches(&d);
    mark_normalizations(&d);
    mark_attention(&d);
    add_launches(&d, layout);
    find_homes(&d, layout, marks);
    share_on_the_way(&d, layout);
    put_parts_of_attention(&d, layout);
    find_last_uses(&d, layout, last);
    place(&d, layout, marks, marks + n_values, last);
  } else {
    dp_cuda_region_layout_free(layout);
  }
  free(marks);
  free(last);
  free(d.made_along);
  return made ? DP_OK : dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
}

void dp_cuda_region_layout_free(dp_cuda_region_layout *layout) {
  free(layout->launches);
  free(layout->homes);
  free(layout->inner);
  free(layout->offsets);
  *layout = (dp_cuda_region_layout){0};
}
