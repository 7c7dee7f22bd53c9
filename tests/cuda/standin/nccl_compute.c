// What ranks get, computed from what all have given.
#include <stdint.h>
#include <string.h>

#include "tests/cuda/standin/nccl.h"

static float from_bfloat16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest even.
static uint16_t to_bfloat16(float value) {
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  return value != value ? 0x7fc0 : (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

// One element of two ranks; op 0 adds, 2 takes the larger one.
static void combine(int type, int op, char *sum, const char *next) {
#define COMBINE(NUMBER, TYPE)                            \
  if (type == NUMBER) {                                  \
    TYPE a, b;                                           \
    memcpy(&a, sum, sizeof a);                           \
    memcpy(&b, next, sizeof b);                          \
    a = op == ncclMax ? (b > a ? b : a) : (TYPE)(a + b); \
    memcpy(sum, &a, sizeof a);                           \
  }
  COMBINE(ncclInt8, int8_t)
  COMBINE(ncclUint8, uint8_t)
  COMBINE(ncclInt32, int32_t)
  COMBINE(ncclUint32, uint32_t)
  COMBINE(ncclInt64, int64_t)
  COMBINE(ncclUint64, uint64_t)
  COMBINE(ncclFloat32, float)
  COMBINE(ncclFloat64, double)
#ifdef __FLT16_MAX__
  COMBINE(ncclFloat16, _Float16)
#endif
#undef COMBINE
  if (type == ncclBfloat16) {
    uint16_t a, b;
    memcpy(&a, sum, sizeof a);
    memcpy(&b, next, sizeof b);
    const float x = from_bfloat16(a), y = from_bfloat16(b);
    a = to_bfloat16(op == ncclMax ? (y > x ? y : x) : x + y);
    memcpy(sum, &a, sizeof a);
  }
}

// The same call of another rank.
static const nccl_call *same_of(const nccl_job *job, const nccl_call *call, int rank) {
  for (int i = 0; i < job->n_calls; i++)
    if (job->calls[i].rank == rank && job->calls[i].kind == call->kind && job->calls[i].among == call->among)
      return &job->calls[i];
  return NULL;
}

// As a ring does it: of `whole` elements, part c is begun by the rank after c, and c adds to it last.
static void reduce(const nccl_job *job, const nccl_call *call, size_t first, size_t whole, char *to) {
  const size_t bytes = nccl_type_bytes(call->type);
  for (size_t e = 0; e < call->count; e++) {
    const int part = (int)((first + e) * (size_t)job->n / whole);
    for (int k = 1; k <= job->n; k++) {
      const char *given = same_of(job, call, (part + k) % job->n)->taken + (first + e) * bytes;
      if (k == 1)
        memcpy(to + e * bytes, given, bytes);
      else
        combine(call->type, call->op, to + e * bytes, given);
    }
  }
}

void nccl_job_compute(const nccl_job *job, const nccl_call *call, char *to) {
  const size_t bytes = call->count * nccl_type_bytes(call->type);
  switch (call->kind) {
    case NCCL_ALL_REDUCE:
    case NCCL_REDUCE:
      reduce(job, call, 0, call->count, to);
      break;
    case NCCL_REDUCE_SCATTER:
      reduce(job, call, (size_t)call->rank * call->count, (size_t)job->n * call->count, to);
      break;
    case NCCL_ALL_GATHER:
      for (int rank = 0; rank < job->n; rank++)
        memcpy(to + (size_t)rank * bytes, same_of(job, call, rank)->taken, bytes);
      break;
    case NCCL_BROADCAST:
      memcpy(to, same_of(job, call, call->other)->taken, bytes);
      break;
    case NCCL_RECEIVE:
      memcpy(to, job->calls[call->pair].taken, bytes);
      break;
    case NCCL_SEND:
      break;
  }
}
