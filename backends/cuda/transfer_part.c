// See transfer_part.h.
#include "backends/cuda/transfer_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/staging.h"
#include "backends/cuda/kernels/types.h"

static dp_status no_memory(void) { return dp_fail(DP_EX_MEMORY, "no memory for the tables of a collective"); }

// ---- making ---------------------------------------------------------------------------------------------------------

dp_status dp_cuda_transfer_function(const char *name, const char *defines, const char *source, dp_region_action action,
                                    dp_dtype dtype, const dp_cuda_function **function) {
  static const char *const combine[] = {
      [DP_REGION_COPY] = "(s)",
      [DP_REGION_SUM] = "PUT(GET(t) + GET(s))",
      [DP_REGION_MAX] = "PUT(GET(s) > GET(t) || GET(s) != GET(s) ? GET(s) : GET(t))",
  };
  const dp_cuda_type *type = action ? dp_cuda_type_of(dtype) : dp_cuda_type_moved(dtype);
  char all[384];
  snprintf(all, sizeof all, "%s#define COMBINE(t, s) %s\n%s", type->defines, combine[action], defines);
  return dp_cuda_function_add(name, all, source, function);
}

dp_status dp_cuda_part_holding(int n_parts, const void *address, const dp_cuda_gpu **gpu) {
  *gpu = NULL;
  return n_parts > 1 ? dp_cuda_gpu_holding(address, gpu) : DP_OK;
}

dp_status dp_cuda_part_add(dp_cuda_part *part, const dp_cuda_step *step) {
  if (part->n_steps == part->room) {
    const int room = 2 * part->room + 4;
    dp_cuda_step *steps = realloc(part->steps, (size_t)room * sizeof *steps);
    if (!steps) return no_memory();
    part->steps = steps;
    part->room = room;
  }
  part->steps[part->n_steps++] = *step;
  return DP_OK;
}

dp_status dp_cuda_part_put(dp_cuda_part *part, const void *bytes, size_t count, size_t *at) {
  char *table = realloc(part->table, part->table_bytes + count + 1);
  if (!table) return no_memory();
  part->table = table;
  memcpy(table + part->table_bytes, bytes, count);
  *at = part->table_bytes;
  part->table_bytes += count;
  return DP_OK;
}

dp_status dp_cuda_part_stage(dp_cuda_part *part) {
  return part->staging ? DP_OK : dp_cuda_staging_hold(part->gpu, &part->staging);
}

dp_status dp_cuda_part_finish(dp_cuda_part *part) {
  char *host = part->table;
  dp_status status = DP_OK;
  part->finished = true;
  part->table = NULL;
  if (part->gpu && part->table_bytes) {
    void *table = NULL;
    status = dp_cuda_gpu_allocate(part->gpu, part->table_bytes, &table);
    part->table = table;
    status = status ? dp_status_context(status, "GPU %d, the tables of a collective", part->gpu->ordinal)
                    : dp_cuda_gpu_upload(part->gpu, part->table, host, part->table_bytes);
  }
  free(host);
  return status;
}

void dp_cuda_part_release(dp_cuda_part *part) {
  if (part->staging) dp_cuda_staging_drop(part->gpu);
  if (!part->finished)
    free(part->table);
  else if (part->table)
    dp_cuda_gpu_release(part->gpu, part->table);
  free(part->steps);
}

// ---- the calls ------------------------------------------------------------------------------------------------------

static dp_status enqueue_sum(const dp_cuda_part *part, const dp_cuda_step *s, dp_queue *queue) {
  const uint64_t *at = (const uint64_t *)(const void *)(part->table + s->table);
  const int64_t sources = s->tensors * s->sources, targets = s->tensors * s->targets;
  const dp_cuda_all_reduce arguments = {(const void *const *)at,
                                        (void *const *)(at + sources),
                                        (const long long *)(at + sources + targets),
                                        s->tensors,
                                        s->sources,
                                        s->targets};
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(s->elements), DP_CUDA_THREADS, &arguments, sizeof arguments);
}

static dp_status enqueue_boxes(const dp_cuda_part *part, const dp_cuda_step *s, dp_queue *queue, ptrdiff_t distance) {
  const dp_cuda_boxes arguments = {.boxes = (const dp_cuda_box *)(const void *)(part->table + s->table),
                                   .apart = (const long long *)(const void *)(part->table + s->apart),
                                   .spread = (const long long *)(const void *)(part->table + s->spread),
                                   .chunks = s->elements,
                                   .count = s->count,
                                   .sources = s->sources,
                                   .targets = s->targets,
                                   .adds = s->adds,
                                   .source_distance = distance};
  return dp_cuda_launch(queue, s->function, dp_cuda_blocks(s->elements * DP_CUDA_BOX_LANES), DP_CUDA_THREADS,
                        &arguments, sizeof arguments);
}

static dp_status enqueue_step(const dp_cuda_part *part, const dp_cuda_step *s, dp_queue *queue, ptrdiff_t distance) {
  const CUstream stream = dp_cuda_queue_stream(queue);
  const CUdeviceptr to = (CUdeviceptr)(uintptr_t)s->to, from = (CUdeviceptr)(uintptr_t)s->from;
  switch (s->kind) {
    case DP_CUDA_STEP_SUM:
      return enqueue_sum(part, s, queue);
    case DP_CUDA_STEP_BOXES:
      return enqueue_boxes(part, s, queue, distance);
    case DP_CUDA_STEP_UPLOAD:
      return dp_cuda_check(dp_cu.cuMemcpyAsync(to, from + (CUdeviceptr)distance, s->bytes, stream),
                           "copying between host and device");
    default:
      return dp_cuda_check(
          dp_cu.cuMemcpyPeerAsync(to, s->to_gpu->context, from, s->from_gpu->context, s->bytes, stream),
          "copying between GPUs");
  }
}

dp_status dp_cuda_part_enqueue(const dp_cuda_part *part, dp_queue *queue, ptrdiff_t distance) {
  DP_TRY(dp_cuda_gpu_enter(part->gpu));
  if (part->staging) DP_TRY(dp_cuda_staging_claim(queue));
  for (int i = 0; i < part->n_steps; i++) DP_TRY(enqueue_step(part, &part->steps[i], queue, distance));
  return part->staging ? dp_cuda_staging_leave(queue) : DP_OK;
}
