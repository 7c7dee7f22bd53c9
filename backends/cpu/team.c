// See team.h.
#include "backends/cpu/team.h"

#include <stdatomic.h>

#include "ir/base/tsan.h"

// OpenMP's declarations, and what libgomp has compilers call for a parallel block. clang would call another library,
// but oneDNN is linked with this one.
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);
extern void GOMP_parallel(void (*block)(void *), void *data, unsigned threads, unsigned flags);

typedef struct {
  const dp_kernel *kernel;
  const dp_kernel_spec *spec;
  void *state;
  const void *const *in;
  void *const *out;
  void *scratch;
  _Atomic(dp_status) failure;
} call;

// The team has fewer threads than were asked for where the system has no more.
static void run_parts(void *data) {
  dp_tsan_acquire(data);
  call *c = data;
  for (int part = omp_get_thread_num(); part < c->spec->threads; part += omp_get_num_threads()) {
    dp_status status = c->kernel->run(c->spec, c->state, c->in, c->out, c->scratch, part, c->spec->threads),
              none = DP_OK;
    if (status && !atomic_compare_exchange_strong(&c->failure, &none, status)) dp_status_free(status);
  }
  dp_tsan_release(data);
}

dp_status dp_team_run(const dp_kernel *kernel, const dp_kernel_spec *spec, void *state, const void *const *in,
                      void *const *out, void *scratch) {
  if (!kernel->parts || spec->threads <= 1) return kernel->run(spec, state, in, out, scratch, 0, 1);
  call c = {kernel, spec, state, in, out, scratch, DP_OK};
  dp_tsan_release(&c);
  GOMP_parallel(run_parts, &c, (unsigned)spec->threads, 0);
  dp_tsan_acquire(&c);
  return atomic_load(&c.failure);
}
