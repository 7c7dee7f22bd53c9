// See expect.h.
#include "runtime/expect.h"

#include <string.h>

#include "ir/graph/op.h"

// Regions that begin with products or convolutions call for them what these do by themselves. done: the kinds of which
// that is known already.
static void expect_members(const Dp__Instruction *region, const dp_backend *backend, uint32_t *done) {
  for (size_t m = 0; m < region->n_members; m++) {
    const dp_op *op = dp_op_find(region->members[m]->domain, region->members[m]->op);
    const uint32_t kind = op ? op->flags & (uint32_t)(DP_OP_PRODUCT | DP_OP_CONVOLUTION) & ~*done : 0;
    *done |= kind;
    for (const dp_kernel *const *k = backend->target->kernels; kind && *k; k++)
      if ((*k)->expect && dp_kernel_computes(*k, op)) backend->expect(*k);
  }
}

static void expect_stream(const Dp__Stream *stream, const dp_backend *backend, uint32_t *done) {
  const char *last = "";
  for (size_t i = 0; i < stream->n_instructions; i++) {
    const char *name = stream->instructions[i]->kernel;
    expect_members(stream->instructions[i], backend, done);
    if (!strcmp(name, last)) continue;
    last = name;
    const dp_kernel *kernel = dp_kernel_find(backend->target, name);
    if (kernel) backend->expect(kernel);
  }
}

void dp_expect(const Dp__Plan *plan, const dp_backend *backend) {
  uint32_t done = 0;
  for (size_t r = 0; r < plan->n_roles && backend->expect; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        expect_stream(plan->roles[r]->programs[p]->streams[s], backend, &done);
}
