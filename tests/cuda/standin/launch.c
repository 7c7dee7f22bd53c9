// Launches: all blocks of a function, all threads of a block, one after another or as fibers.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/fiber.h"
#include "tests/cuda/standin/module.h"

// The size of a stack is no power of two, or all would be in the same few lines of the cache.
enum { MOST_THREADS = 1024, STACK_BYTES = (64 << 10) + 5 * 64 };

typedef struct {
  CUfunction function;
  uint64_t blocks;
  int threads;
  _Alignas(16) char arguments[];
} launch;

// Where the function that runs is.
static struct {
  const launch *launch;
  uint64_t block;
  int thread;
  bool returned;  // the thread has
} now;

static standin_fiber scheduler, fibers[MOST_THREADS];
static char *stacks;

// ---- what functions call: backends/cuda/device/prelude.h
// --------------------------------------------------------------------------

DP_STANDIN_EXPORT int dp_thread(void);
DP_STANDIN_EXPORT int dp_threads(void);
DP_STANDIN_EXPORT long long dp_block(void);
DP_STANDIN_EXPORT long long dp_blocks(void);
DP_STANDIN_EXPORT void dp_barrier(void);

int dp_thread(void) { return now.thread; }
int dp_threads(void) { return now.launch->threads; }
long long dp_block(void) { return (long long)now.block; }
long long dp_blocks(void) { return (long long)now.launch->blocks; }

STANDIN_LEFT void dp_barrier(void) {
  if (!now.launch->function->together) {
    standin_say("%s has a barrier, so it must be a DP_BLOCK_KERNEL", now.launch->function->name);
    standin_abandon(CUDA_ERROR_LAUNCH_FAILED);
  }
  standin_fiber_switch(&fibers[now.thread], &scheduler);
}

// ---- running --------------------------------------------------------------------------------------------------------

STANDIN_LEFT static void thread_main(void) {
  now.launch->function->entry(now.launch->arguments);
  now.returned = true;
  standin_fiber_switch(&fibers[now.thread], &scheduler);
}

// Lets all threads that are left run to their next barrier, again and again. Those that have returned do not count.
static void run_together(int *order) {
  for (int i = 0; i < now.launch->threads; i++)
    standin_fiber_start(&fibers[i], stacks + (size_t)i * STACK_BYTES, STACK_BYTES, thread_main);
  for (int left = now.launch->threads; left;) {
    int stay = 0;
    standin_shuffle(order, left);
    for (int i = 0; i < left; i++) {
      now.thread = order[i];
      now.returned = false;
      standin_fiber_switch(&scheduler, &fibers[now.thread]);
      if (!now.returned) order[stay++] = order[i];
    }
    left = stay;
  }
}

static void run_apart(const int *order) {
  for (int i = 0; i < now.launch->threads; i++) {
    now.thread = order[i];
    now.launch->function->entry(now.launch->arguments);
  }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

// Blocks in the order begin, begin + step, ... modulo their number.
static void run(void *context) {
  const launch *l = now.launch = context;
  bool together = l->function->together;
  if (together && !stacks) stacks = standin_stack((size_t)MOST_THREADS * STACK_BYTES);
  size_t shared_bytes;
  void *shared = standin_shared(l->function->module, &shared_bytes);
  int order[MOST_THREADS];
  for (int i = 0; i < l->threads; i++) order[i] = i;
  standin_shuffle(order, l->threads);
  uint64_t step = 1 + standin_draw(l->blocks);
  while (common_divisor(step, l->blocks) != 1) step++;
  now.block = standin_draw(l->blocks);
  for (uint64_t i = 0; i < l->blocks; i++) {
    now.block = (now.block + step) % l->blocks;
    if (shared) memset(shared, 0xff, shared_bytes);
    if (together) {
      run_together(order);
      for (int j = 0; j < l->threads; j++) order[j] = j;
    } else {
      run_apart(order);
    }
  }
}

// A function may be unloaded before it has run.
static void run_if_loaded(void *context) {
  const launch *l = context;
  if (standin_is_function(l->function)) {
    run(context);
    return;
  }
  standin_say("a function runs whose module was unloaded");
  standin_abandon(CUDA_ERROR_LAUNCH_FAILED);
}

// A word that outlives the module that it comes from.
static const char *word(const char *text) {
  static char **words;
  static size_t count;
  for (size_t i = 0; i < count; i++)
    if (!strcmp(words[i], text)) return words[i];
  words = realloc(words, (count + 1) * sizeof *words);
  if (!words || !(words[count] = strdup(text))) abort();
  return words[count++];
}

// The virtual clock: a begin, and a thread's share of the memory's speed.
static double duration_ns(uint64_t threads) { return 2000 + (double)threads * 0.01; }

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **arguments,
                        void **extra) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  if (!standin_is_function(function) || !standin_is_stream(stream)) return standin_leave(STANDIN_INVALID_HANDLE);
  if (standin_function_device(function) != standin_current || standin_device_of(stream) != standin_current)
    return standin_leave(STANDIN_INVALID_HANDLE);
  if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || shared_bytes || extra)
    return standin_leave(STANDIN_NOT_SUPPORTED);  // nor has the prelude words for it
  bool fits = grid_x && grid_x <= 0x7fffffff && block_x && block_x <= MOST_THREADS;
  if (!fits || !arguments || !arguments[0]) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  launch *l = aligned_alloc(16, (sizeof *l + function->argument_bytes + 15) / 16 * 16);
  if (!l) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *l = (launch){.function = function, .blocks = grid_x, .threads = (int)block_x};
  memcpy(l->arguments, arguments[0], function->argument_bytes);
  standin_call(word(function->name));
  CUresult result = standin_enqueue(stream, run_if_loaded, l, free, duration_ns((uint64_t)grid_x * block_x));
  if (result) free(l);
  return standin_leave(result);
}
