// What an exchange is made of, for those that watch it.
#ifndef DP_BACKENDS_CUDA_NCCL_EXCHANGE_STATE_H
#define DP_BACKENDS_CUDA_NCCL_EXCHANGE_STATE_H

#include <stdint.h>

#include "backends/cuda/nccl/calls.h"
#include "backends/cuda/nccl/exchange.h"
#include "backends/cuda/nccl/group.h"

enum { DP_NCCL_SLOTS = 2 };

struct dp_nccl_exchange {
  char *what;  // "AllReduce of 'x'"
  dp_nccl_group *group;
  const int *devices;  // (group->n), the plan's
  dp_nccl_call_list list;
  // For each slot:
  uint64_t issued[DP_NCCL_SLOTS];  // when, counted over all exchanges from 1; 0: never
  CUevent *come[DP_NCCL_SLOTS];    // (group->n) the rank's stream has come to it
  CUevent *over[DP_NCCL_SLOTS];    // (group->n) the rank has done its part
  dp_nccl_exchange *next;          // of all that live
};

#endif
