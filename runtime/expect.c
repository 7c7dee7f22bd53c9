// See expect.h.
#include "runtime/expect.h"

#include <string.h>

static void expect_stream(const Dp__Stream *stream, const dp_backend *backend) {
  const char *last = "";
  for (size_t i = 0; i < stream->n_instructions; i++) {
    const char *name = stream->instructions[i]->kernel;
    if (!strcmp(name, last)) continue;
    last = name;
    const dp_kernel *kernel = dp_kernel_find(backend->target, name);
    if (kernel) backend->expect(kernel);
  }
}

void dp_expect(const Dp__Plan *plan, const dp_backend *backend) {
  for (size_t r = 0; r < plan->n_roles && backend->expect; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++)
      for (size_t s = 0; s < plan->roles[r]->programs[p]->n_streams; s++)
        expect_stream(plan->roles[r]->programs[p]->streams[s], backend);
}
