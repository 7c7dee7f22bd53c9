// Launches: all blocks of a function, all threads of a block, one after another or as fibers.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/block.h"

standin_place standin_now;

// ---- what functions call: backends/cuda/device/prelude.h ------------------------------------------------------------

DP_STANDIN_EXPORT int dp_thread(void);
DP_STANDIN_EXPORT int dp_threads(void);
DP_STANDIN_EXPORT long long dp_block(void);
DP_STANDIN_EXPORT long long dp_blocks(void);

int dp_thread(void) { return standin_now.thread; }
int dp_threads(void) { return standin_now.launch->threads; }
long long dp_block(void) { return (long long)standin_now.block; }
long long dp_blocks(void) { return (long long)standin_now.launch->blocks; }

// ---- running --------------------------------------------------------------------------------------------------------

static void run_apart(const int *order) {
  for (int i = 0; i < standin_now.launch->threads; i++) {
    standin_now.thread = order[i];
    standin_now.launch->function->entry(standin_now.launch->arguments);
  }
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

// Blocks in the order begin, begin + step, ... modulo their number.
static void run(void *context) {
  const standin_launch *l = standin_now.launch = context;
  bool together = l->function->together;
  size_t shared_bytes;
  void *shared = standin_shared(l->function->module, &shared_bytes);
  int order[STANDIN_MOST_THREADS];
  for (int i = 0; i < l->threads; i++) order[i] = i;
  standin_shuffle(order, l->threads);
  uint64_t step = 1 + standin_draw(l->blocks);
  while (common_divisor(step, l->blocks) != 1) step++;
  standin_now.block = standin_draw(l->blocks);
  for (uint64_t i = 0; i < l->blocks; i++) {
    standin_now.block = (standin_now.block + step) % l->blocks;
    if (shared) memset(shared, 0xff, shared_bytes);
    if (together) {
      standin_run_block(order);
      for (int j = 0; j < l->threads; j++) order[j] = j;
    } else {
      run_apart(order);
    }
  }
}

// A function may be unloaded before it has run.
static void run_if_loaded(void *context) {
  const standin_launch *l = context;
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
  bool fits = grid_x && grid_x <= 0x7fffffff && block_x && block_x <= (unsigned)function->most_threads;
  if (!fits || !arguments || !arguments[0]) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  standin_launch *l = aligned_alloc(16, (sizeof *l + function->argument_bytes + 15) / 16 * 16);
  if (!l) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  *l = (standin_launch){.function = function, .blocks = grid_x, .threads = (int)block_x};
  memcpy(l->arguments, arguments[0], function->argument_bytes);
  standin_call(word(function->name));
  CUresult result = standin_enqueue(stream, run_if_loaded, l, free, duration_ns((uint64_t)grid_x * block_x));
  if (result) free(l);
  return standin_leave(result);
}
