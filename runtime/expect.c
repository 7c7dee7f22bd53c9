// See expect.h.
#include "runtime/expect.h"

#include <string.h>

#include "ir/graph/op.h"

// Regions that begin with products call for them what a product by itself does. *done: that is known already.
static void expect_products(const Dp__Instruction *region, const dp_backend *backend, bool *done) {
  for (size_t m = 0; m < region->n_members && !*done; m++) {
    const dp_op *op = dp_op_find(region->members[m]->domain, region->members[m]->op);
    *done = op && dp_op_is(op, DP_OP_PRODUCT);
    for (const dp_kernel *const *k = backend->target->kernels; *done && *k; k++)
      if ((*k)->expect && dp_kernel_computes(*k, op)) backend->expect(*k);
  }
}

static void expect_stream(const Dp__Stream *stream, const dp_backend *backend, bool *products) {
  const char *last = "";
  for (size_t i = 0; i < stream->n_instructions; i++) {
    const char *name = stream->instructions[i]->kernel;
    expect_products(stream->instructions[i], backend, products);
    if (!strcmp(name, last)) continue;
    last = name;
    const dp_kernel *kernel = dp_kernel_find(backend->target, name);
    if (kernel) backend->expect(kernel);
  }
}

void dp_expect(const Dp__Plan *plan, const dp_backend *backend) {
  bool products = false;
  for (size_t r = 0; r < plan->n_roles && backend->expect; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        expect_stream(plan->roles[r]->programs[p]->streams[s], backend, &products);
}
