// The threads of a block as fibers. They run in rounds: each that may goes on until it stops at a barrier, meets its
// warp, or returns.
#include "tests/cuda/standin/block.h"

#include <string.h>

#include "tests/cuda/standin/fiber.h"

// The size of a stack is no power of two, or all would be in the same few lines of the cache.
enum { STACK_BYTES = (64 << 10) + 5 * 64, WARP = 32 };

// What a thread does, or where it has stopped.
typedef enum { RUNS, AT_BARRIER, MEETS_WARP, RETURNED } stop;

static standin_fiber scheduler, fibers[STANDIN_MOST_THREADS];
static stop stops[STANDIN_MOST_THREADS];
static int lines[STANDIN_MOST_THREADS];  // of the function's text, where they are at a barrier or meet their warp
// What the threads of a warp share. Whoever is ahead writes the other half: it comes back to the first when all have
// read it.
static double shared[2][STANDIN_MOST_THREADS];
static unsigned meetings[STANDIN_MOST_THREADS];

static void refuse(const char *what) {
  standin_say("%s %s", standin_now.launch->function->name, what);
  standin_abandon(CUDA_ERROR_LAUNCH_FAILED);
}

// ---- what functions call: backends/cuda/device/prelude.h ------------------------------------------------------------

DP_STANDIN_EXPORT void dp_barrier_at(int line);
DP_STANDIN_EXPORT void dp_warp_share(double value, double *all, int line);

STANDIN_LEFT static void stop_at(stop where, int line) {
  stops[standin_now.thread] = where;
  lines[standin_now.thread] = line;
  standin_fiber_switch(&fibers[standin_now.thread], &scheduler);
}

STANDIN_LEFT void dp_barrier_at(int line) {
  if (!standin_now.launch->function->together) refuse("has a barrier, so it must be a DP_BLOCK_KERNEL");
  stop_at(AT_BARRIER, line);
}

STANDIN_LEFT void dp_warp_share(double value, double *all, int line) {
  const int thread = standin_now.thread;
  if (!standin_now.launch->function->together) refuse("has a warp's work, so it must be a DP_BLOCK_KERNEL");
  if (standin_now.launch->threads % WARP) refuse("has a warp's work, and a block of it has a part of a warp");
  double *half = shared[meetings[thread]++ % 2];
  half[thread] = value;
  stop_at(MEETS_WARP, line);
  memcpy(all, &half[thread - thread % WARP], WARP * sizeof *all);
}

// ---- running --------------------------------------------------------------------------------------------------------

STANDIN_LEFT static void thread_main(void) {
  standin_now.launch->function->entry(standin_now.launch->arguments);
  stop_at(RETURNED, 0);
}

// How many of the threads from `first` on have stopped there.
static int count(int first, int threads, stop where) {
  int n = 0;
  for (int t = first; t < first + threads; t++) n += stops[t] == where;
  return n;
}

// Lets those go on that have stopped so, all of them in the same line.
static void release(int first, int threads, stop from, const char *otherwise) {
  int line = 0;
  for (int t = first; t < first + threads; t++) {
    if (stops[t] != from) continue;
    if (line && lines[t] != line) refuse(otherwise);
    line = lines[t];
    stops[t] = RUNS;
  }
}

// Lets those go on whom nothing holds: whole warps that have met, and all that are left if they are at a barrier. No
// thread runs.
static void release_all(int threads) {
  bool waiting = true;
  for (int t = 0; t < threads && threads % WARP == 0; t += WARP) {
    const int met = count(t, WARP, MEETS_WARP);
    if (met && met < WARP) refuse("has a warp's work that some threads of the warp do not come to");
    if (met) release(t, WARP, MEETS_WARP, "has warps' work of which threads of a warp come to different lines");
    waiting &= !met;
  }
  if (waiting) release(0, threads, AT_BARRIER, "has barriers of which threads of a block come to different ones");
}

// Those that have returned do not count.
void standin_run_block(int *order) {
  static char *stacks;
  const int threads = standin_now.launch->threads;
  if (!stacks) stacks = standin_stack((size_t)STANDIN_MOST_THREADS * STACK_BYTES);
  for (int t = 0; t < threads; t++) {
    standin_fiber_start(&fibers[t], stacks + (size_t)t * STACK_BYTES, STACK_BYTES, thread_main);
    stops[t] = RUNS;
    meetings[t] = 0;
  }
  while (count(0, threads, RETURNED) < threads) {
    standin_shuffle(order, threads);
    for (int i = 0; i < threads; i++) {
      standin_now.thread = order[i];
      if (stops[order[i]] == RUNS) standin_fiber_switch(&scheduler, &fibers[order[i]]);
    }
    release_all(threads);
  }
}
