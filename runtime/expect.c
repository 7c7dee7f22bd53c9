// See expect.h.
#include "runtime/expect.h"

#include <string.h>

#include "ir/graph/op.h"

// Kernels that regions may call for, and that none has called for yet; those behind them are called for at once.
enum { MOST_WAITING = 64 };

typedef struct {
  const dp_backend *backend;
  int n_waiting;
  const dp_kernel *waiting[MOST_WAITING];
} expecting;

static void find_waiting(expecting *e) {
  for (const dp_kernel *const *k = e->backend->target->kernels; *k; k++) {
    if (!(*k)->expect) continue;
    if (e->n_waiting < MOST_WAITING)
      e->waiting[e->n_waiting++] = *k;
    else
      e->backend->expect(*k);
  }
}

// A member calls for what its operator calls for by itself: of each kernel, once.
static void expect_members(expecting *e, const Dp__Instruction *region) {
  for (size_t m = 0; m < region->n_members && e->n_waiting; m++) {
    const dp_op *op = dp_op_find(region->members[m]->domain, region->members[m]->op);
    int left = 0;
    for (int i = 0; op && i < e->n_waiting; i++) {
      if (dp_kernel_computes(e->waiting[i], op))
        e->backend->expect(e->waiting[i]);
      else
        e->waiting[left++] = e->waiting[i];
    }
    if (op) e->n_waiting = left;
  }
}

static void expect_stream(expecting *e, const Dp__Stream *stream) {
  const char *last = "";
  for (size_t i = 0; i < stream->n_instructions; i++) {
    const char *name = stream->instructions[i]->kernel;
    expect_members(e, stream->instructions[i]);
    if (!strcmp(name, last)) continue;
    last = name;
    const dp_kernel *kernel = dp_kernel_find(e->backend->target, name);
    if (kernel) e->backend->expect(kernel);
  }
}

void dp_expect(const Dp__Plan *plan, const dp_backend *backend) {
  expecting e = {.backend = backend};
  if (!backend->expect) return;
  find_waiting(&e);
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        expect_stream(&e, plan->roles[r]->programs[p]->streams[s]);
}
