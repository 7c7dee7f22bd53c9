// What the files of NCCL's stand-in share: calls, and the job that a group call makes of them.
#ifndef DP_TESTS_CUDA_STANDIN_NCCL_H
#define DP_TESTS_CUDA_STANDIN_NCCL_H

#include <stdbool.h>

#include "backends/cuda/api/nccl.h"
#include "tests/cuda/standin/standin.h"

typedef enum {
  NCCL_ALL_REDUCE,
  NCCL_REDUCE_SCATTER,
  NCCL_ALL_GATHER,
  NCCL_REDUCE,
  NCCL_BROADCAST,
  NCCL_SEND,
  NCCL_RECEIVE
} nccl_kind;

// A call of one rank.
typedef struct {
  nccl_kind kind;
  int rank, other;  // root or peer; -1: none
  const char *from;
  char *to;
  size_t count;  // as the caller gave it
  int type, op;
  CUstream stream;
  char *taken;      // what the rank gives, as it was when its stream came to the call; NULL: it gives nothing
  int among, pair;  // its number among calls that all ranks make alike; the call of the peer
} nccl_call;

typedef struct nccl_job nccl_job;
struct nccl_job {
  int references;
  int n;  // ranks
  int n_calls;
  nccl_call *calls;
  dp_standin_gate *gate;
  bool given_up;  // nobody gets anything
  nccl_job *next;
};

size_t nccl_type_bytes(int type);            // 0: no such type
const char *nccl_kind_name(nccl_kind kind);  // "nccl all-reduce"
// Says what is wrong with the calls, if they do not fit together, and matches those that do.
bool nccl_job_check(nccl_job *job);
// How many elements the call's rank gives, and gets.
size_t nccl_given(const nccl_call *call, int ranks);
size_t nccl_got(const nccl_call *call, int ranks);
// What a call's rank gets, from what all have given. Not in the order of ranks: it begins with another one in each
// part.
void nccl_job_compute(const nccl_job *job, const nccl_call *call, char *to);

// A call begins with this: whether it is told to fail. A call that fails in a group makes all of the group fail.
bool nccl_refused(const char *name);
ncclResult_t nccl_note(ncclResult_t result);
// A communicator's rank, how many ranks there are, and what they have in common; -1: it cannot be used now.
int nccl_rank_of(ncclComm_t comm, int *ranks, const void **set);

// ---- nccl_window.c --------------------------------------------------------------------------------------------------

// A group ends: whether what its ranks have registered fits together, or nothing is registered since it has failed.
bool nccl_windows_end(bool failed);
bool nccl_windows_wait(const void *set);  // whether ranks have registered what they have no windows of yet
void nccl_windows_give(const void *set);  // now they get them
// A communicator goes. An abort takes its windows with it.
void nccl_windows_leave(ncclComm_t comm, bool aborted);
// Whether an address is in a window of the communicator.
bool nccl_windows_hold(ncclComm_t comm, const void *address);

#endif
