// What one GPU does of a transfer: launches and copies, one after the other, on the queue of a device of that GPU.
// Private to the backend.
#ifndef DP_BACKENDS_CUDA_TRANSFER_PART_H
#define DP_BACKENDS_CUDA_TRANSFER_PART_H

#include "backends/cuda/device/all_reduce.h"
#include "backends/cuda/device/boxes.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/gpus.h"
#include "runtime/comm/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

// Tables are given by where they begin in the part's table.
typedef struct {
  enum { DP_CUDA_STEP_SUM, DP_CUDA_STEP_BOXES, DP_CUDA_STEP_UPLOAD, DP_CUDA_STEP_FETCH } kind;
  const dp_cuda_function *function;
  size_t table;
  int64_t elements;
  int64_t tensors, sources, targets;  // SUM
  int count;                          // BOXES, of which `elements` are chunks
  size_t apart, spread;               // BOXES: tables
  bool adds;                          // BOXES
  // UPLOAD (between host and device; of host input the source is in copy 0) and FETCH (from another GPU or to it).
  char *to;
  const char *from;
  const dp_cuda_gpu *to_gpu, *from_gpu;
  uint64_t bytes;
} dp_cuda_step;

typedef struct {
  const dp_cuda_gpu *gpu;  // NULL: there is none, and functions alone are asked for
  int member;              // of the transfer, whose queue it uses
  int n_steps, room;
  dp_cuda_step *steps;
  char *table;  // on the host until dp_cuda_part_finish, then on the GPU
  size_t table_bytes;
  bool finished;
  char *staging;  // NULL: it reaches all that it needs
} dp_cuda_part;

// Adds a step. DP_EX_MEMORY.
dp_status dp_cuda_part_add(dp_cuda_part *part, const dp_cuda_step *step) DP_MUST_USE;
// Adds to the table; *at: where.
dp_status dp_cuda_part_put(dp_cuda_part *part, const void *bytes, size_t count, size_t *at) DP_MUST_USE;
// The part needs staging memory from now on.
dp_status dp_cuda_part_stage(dp_cuda_part *part) DP_MUST_USE;
// Puts the table onto the GPU. No step may be added then.
dp_status dp_cuda_part_finish(dp_cuda_part *part) DP_MUST_USE;
void dp_cuda_part_release(dp_cuda_part *part);
// distance: bytes from where sources are to where they are in this run.
dp_status dp_cuda_part_enqueue(const dp_cuda_part *part, dp_queue *queue, ptrdiff_t distance) DP_MUST_USE;

// The two kinds of transfers. They divide it among the parts, whose GPUs are different ones.
dp_status dp_cuda_transfer_sum(const dp_transfer *transfer, dp_cuda_part *parts, int n_parts) DP_MUST_USE;
dp_status dp_cuda_transfer_boxes(const dp_transfer *transfer, dp_cuda_part *parts, int n_parts) DP_MUST_USE;

static inline int64_t dp_cuda_box_elements(const dp_cuda_box *box) {
  int64_t count = 1;
  for (int d = 0; d < box->rank; d++) count *= box->extents[d];
  return count;
}

// Boxes that are copied, or summed up, at once. All their targets are disjoint.
typedef struct {
  const dp_transfer *from;
  dp_region_action action;  // COPY: of one source, onto nothing
  bool adds;                // what the only target holds comes before the sources
  int64_t sources, targets, rows;
  const int64_t *apart;   // (rows, sources) bytes from a box's source to each of them
  const int64_t *spread;  // (rows, targets) and from its target
  int count;
  const dp_cuda_box *boxes;  // of units that are elements, of rank 0 too; `before` and `units` are not set
} dp_cuda_moves;
// Adds the launches.
dp_status dp_cuda_transfer_move(const dp_cuda_moves *moves, dp_cuda_part *part) DP_MUST_USE;

// How many sources each part of a list of copies sums up, all of the same region; 0: it does something else, or the
// copy engines are to do it.
int dp_cuda_transfer_addends(const dp_transfer *transfer);
// Whether copy number i of every part copies the same region of the same source, and copies of one part write apart, so
// that each source is read once and written to all targets.
bool dp_cuda_transfer_copies_alike(const dp_transfer *transfer);
// Whether copies of one part write apart from each other, as far as can be told, so that their order is free.
bool dp_cuda_transfer_writes_apart(const dp_transfer *transfer);

// The function that copies or reduces elements; `defines`: what its text needs besides. EX_UNAVAILABLE: not of that
// type.
dp_status dp_cuda_transfer_function(const char *name, const char *defines, const char *source, dp_region_action action,
                                    dp_dtype dtype, const dp_cuda_function **function) DP_MUST_USE;
// The GPU that holds an address, for parts of several GPUs; *gpu NULL: it is the host's, or there is only one part,
// which reaches everything.
dp_status dp_cuda_part_holding(int n_parts, const void *address, const dp_cuda_gpu **gpu) DP_MUST_USE;
// Whether the part's GPU reaches what that one holds.
static inline bool dp_cuda_part_reaches(const dp_cuda_part *part, const dp_cuda_gpu *gpu) {
  return !gpu || dp_cuda_gpu_reaches(part->gpu, gpu);
}

#ifdef __cplusplus
}
#endif
#endif
