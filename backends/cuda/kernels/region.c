// dp.Region with any members: region_layout.h says what is a launch, and members that are not elementwise are computed
// by their own kernels. Values that are made by one launch and used by another are in scratch, or where results go.
#include "backends/cuda/kernels/region.h"

#include <stdlib.h>

#include "backends/cuda/kernels/elementwise.h"
#include "backends/cuda/kernels/member.h"
#include "backends/cuda/kernels/region_layout.h"

// kernel: of a launch that is not elementwise; else NULL. A convolution whose kernel does not compute what follows it
// is followed by `elementwise`.
typedef struct {
  const dp_kernel *kernel;
  dp_member_spec *spec;  // what it computes
  void *state;
  dp_cuda_elementwise *elementwise;
} launch;

// ---- match, scratch -------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) {
  if (!spec->region || !spec->region->n_members) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (!dp_cuda_member_kernel(&member)) return false;
  }
  return true;
}

// What the launch's kernel is told: of its member, or of a product with its sum, of a convolution with what follows
// it, or of a normalization or its gradient with what stands around it, of rows or of a batch.
static void spec_of(const dp_kernel_spec *spec, const dp_cuda_region_launch *l, dp_member_spec *made) {
  if (l->sum.add >= 0)
    dp_cuda_region_sum_spec(spec, l->first, &l->sum, made);
  else if (l->is_convolution)
    dp_cuda_region_convolution_spec(spec->region, l->first, &l->convolution, made);
  else if (l->is_normalization)
    dp_cuda_region_normalization_spec(spec->region, l->first, &l->normalization, made);
  else if (l->is_gradient)
    dp_cuda_region_gradient_spec(spec->region, l->first, &l->gradient, made);
  else if (l->is_batch)
    dp_cuda_region_batch_spec(spec->region, l->first, &l->batch, made);
  else
    dp_member_spec_make(spec->region, l->first, spec->region->values, made);
  if (l->is_attention) made->spec.pitches = l->attention.pitches;
  made->spec.tf32 = spec->tf32;
  made->spec.winograd = spec->winograd;
}

// The same of the launch's first member alone.
static void spec_of_first(const dp_kernel_spec *spec, const dp_cuda_region_launch *l, dp_member_spec *made) {
  dp_cuda_region_launch alone = *l;
  alone.is_convolution = false;
  spec_of(spec, &alone, made);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_cuda_region_layout layout;
  dp_status status = dp_cuda_region_layout_make(spec, &layout);
  if (status) {
    dp_status_free(status);
    return UINT64_MAX;
  }
  uint64_t most = 0;
  for (int i = 0; i < layout.n_launches; i++) {
    if (layout.launches[i].elementwise) continue;
    dp_member_spec member;
    spec_of(spec, &layout.launches[i], &member);
    const dp_kernel *kernel = dp_cuda_member_kernel(&member);
    const uint64_t bytes = kernel && kernel->scratch_bytes ? kernel->scratch_bytes(&member.spec) : 0;
    if (bytes > most) most = bytes;
  }
  const uint64_t inside = layout.bytes;
  dp_cuda_region_layout_free(&layout);
  return inside + most;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_cuda_region_layout layout;  // the scratch of the current member comes after its values
  launch *launches;
} region_state;

static void release(void *state) {
  region_state *s = state;
  if (!s) return;
  for (int i = 0; s->launches && i < s->layout.n_launches; i++) {
    launch *l = &s->launches[i];
    if (l->kernel && l->kernel->release && l->state) l->kernel->release(l->state);
    free(l->spec);
    dp_cuda_elementwise_free(l->elementwise);
  }
  free(s->launches);
  dp_cuda_region_layout_free(&s->layout);
  free(s);
}

// The members behind a convolution, over its result.
static dp_status make_following(const dp_kernel_spec *spec, const dp_cuda_region_launch *of, bool *kept,
                                dp_cuda_elementwise **made) {
  dp_cuda_region_kept(spec, of, kept);
  return dp_cuda_elementwise_make(spec->region, of->first + 1, of->end, kept, made);
}

static dp_status prepare_launch(const dp_kernel_spec *spec, const dp_cuda_region_launch *of, launch *l, bool *kept) {
  const dp_kernel_region *r = spec->region;
  if (of->elementwise) {
    dp_cuda_region_kept(spec, of, kept);
    return dp_cuda_elementwise_make(r, of->first, of->end, kept, &l->elementwise);
  }
  l->spec = malloc(sizeof *l->spec);
  if (!l->spec) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", r->n_members);
  spec_of(spec, of, l->spec);
  l->kernel = dp_cuda_member_kernel(l->spec);
  if (!l->kernel->prepare) return DP_OK;
  DP_TRY(l->kernel->prepare(&l->spec->spec, &l->state));
  if (!of->is_convolution || l->state) return DP_OK;
  spec_of_first(spec, of, l->spec);
  l->kernel = dp_cuda_member_kernel(l->spec);
  DP_TRY(make_following(spec, of, kept, &l->elementwise));
  return l->kernel->prepare(&l->spec->spec, &l->state);
}

static dp_status prepare_all(const dp_kernel_spec *spec, region_state *s, bool *kept) {
  DP_TRY(dp_cuda_region_layout_make(spec, &s->layout));
  s->launches = calloc((size_t)s->layout.n_launches + 1, sizeof *s->launches);
  if (!s->launches) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  for (int i = 0; i < s->layout.n_launches; i++)
    DP_TRY(prepare_launch(spec, &s->layout.launches[i], &s->launches[i], kept));
  return DP_OK;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  region_state *s = calloc(1, sizeof *s);
  bool *kept = calloc((size_t)spec->region->n_values + 1, sizeof *kept);
  dp_status status = DP_OK;
  if (!s || !kept) status = dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  if (!status) status = prepare_all(spec, s, kept);
  free(kept);
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status add_launch(const dp_kernel_spec *spec, const dp_cuda_region_launch *l, bool *kept,
                            dp_status (*add)(const dp_kernel *, const dp_kernel_spec *)) {
  dp_cuda_elementwise *elementwise = NULL;
  dp_member_spec member;
  if (l->elementwise) {
    dp_cuda_region_kept(spec, l, kept);
    DP_TRY(dp_cuda_elementwise_make(spec->region, l->first, l->end, kept, &elementwise));
    dp_cuda_elementwise_free(elementwise);
    return DP_OK;
  }
  if (l->is_convolution) {
    DP_TRY(make_following(spec, l, kept, &elementwise));
    dp_cuda_elementwise_free(elementwise);
    spec_of_first(spec, l, &member);
  } else {
    spec_of(spec, l, &member);
  }
  return add(dp_cuda_member_kernel(&member), &member.spec);
}

dp_status dp_cuda_region_add(const dp_kernel_spec *spec,
                             dp_status (*add)(const dp_kernel *kernel, const dp_kernel_spec *spec)) {
  dp_cuda_region_layout layout;
  DP_TRY(dp_cuda_region_layout_make(spec, &layout));
  bool *kept = calloc((size_t)spec->region->n_values + 1, sizeof *kept);
  dp_status status = kept ? DP_OK : dp_fail(DP_EX_MEMORY, "out of memory for a region's functions");
  for (int i = 0; i < layout.n_launches && !status; i++) status = add_launch(spec, &layout.launches[i], kept, add);
  free(kept);
  dp_cuda_region_layout_free(&layout);
  return status;
}

// ---- enqueue --------------------------------------------------------------------------------------------------------

static dp_status enqueue(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                         void *const *out, void *scratch) {
  const region_state *s = state;
  const dp_cuda_values values = {spec->n_inputs,  spec->n_outputs, in, out, scratch, s->layout.offsets,
                                 s->layout.homes, s->layout.inner};
  for (int i = 0; i < s->layout.n_launches; i++) {
    const dp_cuda_region_launch *of = &s->layout.launches[i];
    const launch *l = &s->launches[i];
    if (of->elementwise) {
      DP_TRY(dp_cuda_elementwise_enqueue(l->elementwise, queue, &values));
      continue;
    }
    int32_t taken[DP_MAX_OPERANDS], made[DP_MAX_OPERANDS];
    const void *from[DP_MAX_OPERANDS];
    void *to[DP_MAX_OPERANDS];
    dp_cuda_region_launch_values(spec->region, of, taken, made);
    for (int k = 0; k < DP_MAX_OPERANDS; k++) {
      from[k] = taken[k] < 0 ? NULL : dp_cuda_value_at(&values, taken[k]);
      to[k] = made[k] < 0 ? NULL : dp_cuda_value_at(&values, made[k]);
    }
    DP_TRY(l->kernel->enqueue(&l->spec->spec, l->state, queue, from, to, (char *)scratch + s->layout.bytes));
    if (l->elementwise) DP_TRY(dp_cuda_elementwise_enqueue(l->elementwise, queue, &values));
  }
  return DP_OK;
}

const dp_kernel dp_kernel_cuda_Region = {
    .name = "cuda.device.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .channels_last = true,
    .shares_state = true,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = release,
    .enqueue = enqueue,
};
