// Copies and fills.
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/standin/state.h"

typedef struct {
  char *target;
  const char *source;
  size_t bytes;
  unsigned char value;
  char staged[];  // of a copy from pageable memory
} copy;

// The virtual clock: a begin, and the bytes at PCIe's speed or the memory's.
static double duration_ns(size_t bytes, bool host) { return 2000 + (double)bytes / (host ? 50 : 2000); }

static void move(void *context) {
  const copy *c = context;
  standin_check(c->target);
  standin_check(c->source);
  memmove(c->target, c->source, c->bytes);
}

static void fill(void *context) {
  const copy *c = context;
  standin_check(c->target);
  memset(c->target, c->value, c->bytes);
}

// everywhere: it may go from one device to another.
static CUresult enqueue_copy(char *target, const char *source, size_t bytes, CUstream stream, bool everywhere,
                             bool *pageable_target) {
  const standin_block *to, *from;
  CUresult result = standin_span(target, bytes, &to);
  if (!result) result = standin_span(source, bytes, &from);
  if (!result && !standin_is_stream(stream)) result = STANDIN_INVALID_HANDLE;
  // A graph reads and writes pageable memory whenever it runs: nothing that the stand-in has a use for.
  if (!result && standin_captured(stream) && (!to || !from))
    result = standin_capture_refuse(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (result || !bytes) return result;
  const bool between = to && from && to->kind == STANDIN_DEVICE && from->kind == STANDIN_DEVICE;
  if (between && to->device != from->device && !everywhere) return CUDA_ERROR_INVALID_VALUE;
  copy *c = malloc(sizeof *c + (from ? 0 : bytes));
  if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
  *c = (copy){.target = target, .source = source, .bytes = bytes};
  if (!from) {
    memcpy(c->staged, source, bytes);
    c->source = c->staged;
  }
  bool host = !to || !from || to->kind == STANDIN_PINNED || from->kind == STANDIN_PINNED;
  *pageable_target = !to;
  const char *what = !from || from->kind == STANDIN_PINNED ? "upload" : host ? "download" : "copy";
  if (everywhere)
    standin_call_everywhere("peer copy");
  else
    standin_call(what);
  result = standin_enqueue(stream, move, c, free, duration_ns(bytes, host));
  if (result) free(c);
  return result;
}

// The address must be the current device's.
static CUresult of_device(CUdeviceptr address) {
  const standin_block *block = standin_block_at((void *)(uintptr_t)address);
  const bool is = block && block->kind == STANDIN_DEVICE && block->device == standin_current;
  return is ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  bool pageable;
  CUresult result = bytes ? of_device(target) : CUDA_SUCCESS;
  if (!result) result = enqueue_copy((char *)(uintptr_t)target, source, bytes, NULL, false, &pageable);
  // Only from pinned memory does the driver wait. What it has staged may still be under way.
  if (!result && standin_block_at(source)) standin_drain(NULL);
  return standin_leave(result);
}

CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  bool pageable;
  CUresult result = bytes ? of_device(source) : CUDA_SUCCESS;
  if (!result) result = enqueue_copy(target, (const char *)(uintptr_t)source, bytes, NULL, false, &pageable);
  if (!result) standin_drain(NULL);
  return standin_leave(result);
}

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  bool pageable = false;
  CUresult result =
      enqueue_copy((char *)(uintptr_t)target, (const char *)(uintptr_t)source, bytes, stream, false, &pageable);
  if (!result && pageable) standin_drain(stream);
  return standin_leave(result);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source, CUcontext source_context,
                           size_t bytes, CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  const standin_block *to = standin_block_at((void *)(uintptr_t)target);
  const standin_block *from = standin_block_at((void *)(uintptr_t)source);
  const bool fits = to && from && to->kind == STANDIN_DEVICE && from->kind == STANDIN_DEVICE &&
                    to->device == standin_context_device(target_context) &&
                    from->device == standin_context_device(source_context);
  if (!fits) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  bool pageable;
  return standin_leave(
      enqueue_copy((char *)(uintptr_t)target, (const char *)(uintptr_t)source, bytes, stream, true, &pageable));
}

static CUresult enqueue_fill(CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream) {
  const standin_block *block;
  CUresult result = standin_span((void *)(uintptr_t)target, bytes, &block);
  if (!result && bytes && !block) result = CUDA_ERROR_INVALID_VALUE;
  if (!result && !standin_is_stream(stream)) result = STANDIN_INVALID_HANDLE;
  if (result || !bytes) return result;
  copy *c = malloc(sizeof *c);
  if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
  *c = (copy){.target = (char *)(uintptr_t)target, .bytes = bytes, .value = value};
  standin_call("fill");
  result = standin_enqueue(stream, fill, c, free, duration_ns(bytes, block->kind == STANDIN_PINNED));
  if (result) free(c);
  return result;
}

CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t bytes) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  CUresult result = enqueue_fill(target, value, bytes, NULL);
  const standin_block *block = standin_block_at((void *)(uintptr_t)target);
  if (!result && block && block->kind == STANDIN_PINNED) standin_drain(NULL);
  return standin_leave(result);
}

CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  return standin_leave(enqueue_fill(target, value, bytes, stream));
}
