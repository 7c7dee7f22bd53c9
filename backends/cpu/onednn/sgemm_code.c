// See sgemm_code.h.
#include "backends/cpu/onednn/sgemm_code.h"

#include <pthread.h>

#include "backends/cpu/onednn/primitive.h"

// Products in which nothing is read but zeros, of which oneDNN generates the same code as of all others.
static dp_status multiply_zeros(void) {
  enum { N = 64 };
  static const float zeros[N * N];
  float y[N * N];
  for (int trans = 0; trans < 4; trans++)
    DP_TRY(dp_primitive_sgemm(trans & 1, trans & 2, N, N, N, 1, zeros, N, zeros, N, 0, y, N, 1));
  return DP_OK;
}

dp_status dp_sgemm_code_prepare(void) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
  static bool ready;
  pthread_mutex_lock(&one);
  dp_status status = ready ? DP_OK : multiply_zeros();
  ready = !status;
  pthread_mutex_unlock(&one);
  return status;
}

// ---- ahead ----------------------------------------------------------------------------------------------------------

// The thread, which a process starts once.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static bool begun, running;

static void *generate(void *none) {
  dp_status_free(dp_sgemm_code_prepare());  // whoever needs it fails likewise
  return none;
}

static void end(void) {
  if (running) pthread_join(thread, NULL);
  running = false;
}

// A process that forks has no such thread, so the child need not wait for one that it does not have.
static void before_fork(void) {
  pthread_mutex_lock(&lock);
  end();
}
static void after_fork(void) { pthread_mutex_unlock(&lock); }

void dp_sgemm_code_expect(void) {
  pthread_mutex_lock(&lock);
  if (!begun && !pthread_atfork(before_fork, after_fork, after_fork))
    running = !pthread_create(&thread, NULL, generate, NULL);
  begun = true;
  pthread_mutex_unlock(&lock);
}

void dp_sgemm_code_settle(void) {
  pthread_mutex_lock(&lock);
  end();
  pthread_mutex_unlock(&lock);
}
