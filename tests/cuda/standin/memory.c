// Memory of the device and pinned memory of the host. Each allocation has pages of its own between pages that nobody
// can access, and ends at the end of its pages (but for the driver's alignment). Addresses are not used again.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/standin/state.h"

enum { PAGE = 4096, GUARD = 1 << 20, ALIGNMENT = 256 };  // the driver aligns to 256 bytes

static standin_block *blocks;  // in the order of allocation
static size_t n_blocks, room_for_blocks;
static uint64_t open;  // devices, a bit for each
static ptrdiff_t last_opened = -1;

static size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

const standin_block *standin_block_at(const void *address) {
  const char *at = address;
  for (size_t i = 0; i < n_blocks; i++)
    if (at >= blocks[i].map && at < blocks[i].map + blocks[i].map_bytes) return &blocks[i];
  return NULL;
}

CUresult standin_span(const void *address, size_t bytes, const standin_block **block) {
  const standin_block *found = standin_block_at(address);
  *block = found;
  if (!found) return CUDA_SUCCESS;
  const char *at = address;
  bool inside = at >= found->data && bytes <= found->bytes && at - found->data <= (ptrdiff_t)(found->bytes - bytes);
  if (!found->freed && inside) return CUDA_SUCCESS;
  standin_say("%zu bytes at %p are not those of %s %zu bytes at %p", bytes, address, found->freed ? "the freed" : "the",
              found->bytes, (void *)found->data);
  return CUDA_ERROR_INVALID_VALUE;
}

static void protect(const standin_block *block, int protection) {
  if (mprotect(block->map + GUARD, block->map_bytes - 2 * GUARD, protection)) abort();
}

// Where the processor has protection keys, one of them opens and closes all memory of a device at once, for this
// thread. -1: it has none, or too few.
static int device_key(int device) {
  static int keys[STANDIN_MOST_DEVICES];
  static enum { NEW, KEYS, NO_KEYS } state;
  if (state == NEW) {
    state = KEYS;
    for (int d = 0; d < STANDIN_MOST_DEVICES; d++)
      if ((keys[d] = pkey_alloc(0, PKEY_DISABLE_ACCESS)) < 0) state = NO_KEYS;
  }
  return state == KEYS ? keys[device] : -1;
}

void standin_open(uint64_t devices) {
  // Also where it is open: a signal's handler closes the keys.
  for (int d = 0; d < STANDIN_MOST_DEVICES && device_key(d) >= 0; d++)
    if (devices >> d & 1) pkey_set(device_key(d), 0);
  open = devices;
}

// Without keys, opening takes as long as the device has pages, so a block is opened when an operation first touches it.
bool standin_open_block(const void *address) {
  const standin_block *found = open && device_key(0) < 0 ? standin_block_at(address) : NULL;
  if (!found || found->kind != STANDIN_DEVICE || found->freed || found->open) return false;
  if (!(open >> found->device & 1)) return false;
  standin_block *block = &blocks[found - blocks];
  protect(block, PROT_READ | PROT_WRITE);
  block->open = true;
  block->opened_before = last_opened;
  last_opened = found - blocks;
  return true;
}

void standin_close(void) {
  for (int d = 0; d < STANDIN_MOST_DEVICES && device_key(d) >= 0; d++) pkey_set(device_key(d), PKEY_DISABLE_ACCESS);
  for (; last_opened >= 0; last_opened = blocks[last_opened].opened_before) {
    blocks[last_opened].open = false;
    if (!blocks[last_opened].freed) protect(&blocks[last_opened], PROT_NONE);
  }
  open = 0;
}

// Makes new memory the device's alone.
static void close_block(const standin_block *block) {
  const int key = device_key(block->device);
  if (key < 0)
    protect(block, PROT_NONE);
  else if (pkey_mprotect(block->map + GUARD, block->map_bytes - 2 * GUARD, PROT_READ | PROT_WRITE, key))
    abort();
}

// NULL: there is no memory, on this machine either.
static standin_block *allocate(standin_kind kind, size_t bytes) {
  if (bytes / PAGE >= (size_t)sysconf(_SC_PHYS_PAGES)) return NULL;
  if (n_blocks == room_for_blocks) {
    size_t more = room_for_blocks ? 2 * room_for_blocks : 64;
    standin_block *grown = realloc(blocks, more * sizeof *blocks);
    if (!grown) return NULL;
    blocks = grown;
    room_for_blocks = more;
  }
  standin_block block = {
      .kind = kind, .device = standin_current, .bytes = bytes, .map_bytes = round_up(bytes, PAGE) + 2 * GUARD};
  void *map = mmap(NULL, block.map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return NULL;
  block.map = map;
  block.data = block.map + block.map_bytes - GUARD - round_up(bytes, ALIGNMENT);
  protect(&block, PROT_READ | PROT_WRITE);
  memset(block.map + GUARD, 0xff, block.map_bytes - 2 * GUARD);
  if (kind == STANDIN_DEVICE) close_block(&block);
  blocks[n_blocks] = block;
  return &blocks[n_blocks++];
}

// Frees the block that begins here. Its addresses stay reserved, without memory behind them.
static CUresult release(standin_kind kind, const void *address, int64_t *allocations, int64_t *bytes) {
  for (size_t i = 0; i < n_blocks; i++) {
    standin_block *block = &blocks[i];
    if (block->data != address || block->kind != kind) continue;
    if (block->freed) {
      standin_say("%zu bytes at %p are freed twice", block->bytes, address);
      return CUDA_ERROR_INVALID_VALUE;
    }
    block->freed = true;
    *allocations -= 1;
    *bytes -= (int64_t)block->bytes;
    void *map =
        mmap(block->map, block->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return map == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

size_t dp_standin_allocations(dp_standin_allocation *to, size_t room) {
  standin_lock();
  size_t count = n_blocks;
  for (size_t i = 0; i < count && i < room; i++)
    to[i] =
        (dp_standin_allocation){blocks[i].bytes, blocks[i].kind == STANDIN_PINNED, blocks[i].freed, blocks[i].device};
  standin_unlock();
  return count;
}

// Of the current context's device.
static size_t room(void) {
  size_t used = 0;
  for (size_t i = 0; i < n_blocks; i++)
    if (blocks[i].kind == STANDIN_DEVICE && blocks[i].device == standin_current && !blocks[i].freed)
      used += blocks[i].bytes;
  return used > standin_set.memory_bytes ? 0 : standin_set.memory_bytes - used;
}

CUresult cuMemGetInfo_v2(size_t *room_bytes, size_t *total) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  *room_bytes = room();
  *total = standin_set.memory_bytes;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  if (!memory || !bytes) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  standin_block *block = bytes <= room() ? allocate(STANDIN_DEVICE, bytes) : NULL;
  if (!block) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  standin_counts.device_allocations++;
  standin_counts.device_bytes += (int64_t)bytes;
  *memory = (CUdeviceptr)(uintptr_t)block->data;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr memory) {
  CUresult result = standin_enter(__func__, STANDIN_UNCAPTURED);
  CUresult freed = CUDA_SUCCESS;
  if (memory)
    freed = release(STANDIN_DEVICE, (void *)(uintptr_t)memory, &standin_counts.device_allocations,
                    &standin_counts.device_bytes);
  return standin_leave(result ? result : freed);
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_UNCAPTURED);
  if (refused) return standin_leave(refused);
  if (!memory || !bytes || flags > 7) return standin_leave(CUDA_ERROR_INVALID_VALUE);
  // Other contexts might not reach it.
  if (standin_set.devices > 1 && !(flags & CU_MEMHOSTALLOC_PORTABLE)) return standin_leave(STANDIN_NOT_SUPPORTED);
  standin_block *block = allocate(STANDIN_PINNED, bytes);
  if (!block) return standin_leave(CUDA_ERROR_OUT_OF_MEMORY);
  standin_counts.host_allocations++;
  standin_counts.host_bytes += (int64_t)bytes;
  *memory = block->data;
  return standin_leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *memory) {
  CUresult result = standin_enter(__func__, STANDIN_UNCAPTURED);
  CUresult freed = memory
                       ? release(STANDIN_PINNED, memory, &standin_counts.host_allocations, &standin_counts.host_bytes)
                       : CUDA_ERROR_INVALID_VALUE;
  return standin_leave(result ? result : freed);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned flags) {
  CUresult refused = standin_enter(__func__, STANDIN_CONTEXT);
  if (refused) return standin_leave(refused);
  const standin_block *block;
  CUresult result = standin_span(host, 1, &block);
  if (!result && (flags || !block || block->kind != STANDIN_PINNED)) result = CUDA_ERROR_INVALID_VALUE;
  if (!result) *device = (CUdeviceptr)(uintptr_t)host;
  return standin_leave(result);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  CUresult refused = standin_enter(__func__, STANDIN_INITIALIZED);
  if (refused) return standin_leave(refused);
  const standin_block *block;
  CUresult result = standin_span((void *)(uintptr_t)pointer, 1, &block);
  if (!result && (!value || !block)) result = CUDA_ERROR_INVALID_VALUE;
  if (result) return standin_leave(result);
  switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *(unsigned *)value = block->kind == STANDIN_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return standin_leave(CUDA_SUCCESS);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *(int *)value = block->device;
      return standin_leave(CUDA_SUCCESS);
    default:
      return standin_leave(CUDA_ERROR_INVALID_VALUE);
  }
}
