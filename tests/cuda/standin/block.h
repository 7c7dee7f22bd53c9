// The threads of a block that work together, as fibers.
#ifndef DP_TESTS_CUDA_STANDIN_BLOCK_H
#define DP_TESTS_CUDA_STANDIN_BLOCK_H

#include "tests/cuda/standin/module.h"

enum { STANDIN_MOST_THREADS = 1024 };

typedef struct {
  CUfunction function;
  uint64_t blocks;
  int threads;
  _Alignas(16) char arguments[];
} standin_launch;

// Where the function that runs is.
typedef struct {
  const standin_launch *launch;
  uint64_t block;
  int thread;
} standin_place;
extern standin_place standin_now;

// Runs all threads of a block of standin_now.launch. order: (threads), the threads' numbers in any order. It is drawn
// anew for each round.
void standin_run_block(int *order);

#endif
