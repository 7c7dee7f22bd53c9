// See gpus.h.
#include "backends/cuda/gpu/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/gpu/gpu_list.h"

enum { MOST_DEVICES = 1 << 20 };

// What was asked for.
static struct {
  int n_gpus;  // 0: nothing was chosen yet
  bool named;  // by the user, who wants all of them used
  const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS];
  int n_map;  // 0: none was given
  int *map;   // (n_map) places in `gpus`
} chosen;

// What sessions have.
static struct {
  int sessions, n_devices, n_gpus;
  const dp_cuda_gpu *gpus[DP_CUDA_MOST_GPUS];
  const dp_cuda_gpu **of_device;        // (n_devices)
  uint64_t reached[DP_CUDA_MOST_GPUS];  // by ordinal: a bit for each ordinal that it reaches
} held;

// ---- choosing -------------------------------------------------------------------------------------------------------

static void forget_map(void) {
  free(chosen.map);
  chosen.map = NULL;
  chosen.n_map = 0;
}

dp_status dp_cuda_gpus_choose(const char *list) {
  forget_map();
  chosen.n_gpus = 0;
  chosen.named = list != NULL;
  return list ? dp_cuda_gpu_list_read(list, chosen.gpus, &chosen.n_gpus)
              : dp_cuda_gpu_list_all(chosen.gpus, &chosen.n_gpus);
}

void dp_cuda_gpus_identify(char *uuids, size_t bytes) {
  size_t length = 0;
  *uuids = 0;
  for (int i = 0; i < chosen.n_gpus && length < bytes; i++)
    length += (size_t)snprintf(uuids + length, bytes - length, "%s%s", i ? "," : "", chosen.gpus[i]->uuid);
}

static dp_status refuse_map(const char *map) {
  return dp_fail(EX_USAGE,
                 "--map=%s: give for each device of the plan the place of its GPU in the list of --device=cuda:LIST, "
                 "from 0, like --map=0,0,1,1",
                 map);
}

dp_status dp_cuda_gpus_map(const char *map) {
  forget_map();
  if (!map) return DP_OK;
  size_t count = 1;
  for (const char *at = map; *at; at++) count += *at == ',';
  if (count > MOST_DEVICES) return refuse_map(map);
  chosen.map = calloc(count, sizeof *chosen.map);
  if (!chosen.map) return dp_fail(DP_EX_MEMORY, "no memory for the map of devices");
  for (const char *at = map;; at++) {
    char *end;
    const long place = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
    if (place < 0 || (*end && *end != ',')) return refuse_map(map);
    if (place >= chosen.n_gpus)
      return dp_fail(EX_USAGE, "--map=%s: there is no place %ld: %d GPU%s from place 0 on", map, place, chosen.n_gpus,
                     chosen.n_gpus == 1 ? " is in the list," : "s are in the list,");
    chosen.map[chosen.n_map++] = (int)place;
    if (!*end) return DP_OK;
    at = end;
  }
}

// ---- attaching ------------------------------------------------------------------------------------------------------

static int place_of(int device, int n_devices) {
  const int n = chosen.n_gpus < n_devices ? chosen.n_gpus : n_devices;
  return chosen.n_map ? chosen.map[device] : (int)((int64_t)device * n / n_devices);
}

// What was named is to be used: who names a GPU too many has another plan in mind.
static dp_status check_idle(const bool *used) {
  char idle[512] = "";
  int count = 0;
  for (int i = 0; i < chosen.n_gpus; i++) {
    if (used[i]) continue;
    char one[320];
    snprintf(one, sizeof one, "%sGPU %d (%s)", count ? ", " : "", chosen.gpus[i]->ordinal, chosen.gpus[i]->name);
    if (strlen(idle) + strlen(one) < sizeof idle) strcat(idle, one);
    count++;
  }
  if (!count || !chosen.named) return DP_OK;
  return dp_fail(EX_CONFIG, "%d of the %d GPUs of --device would stay idle: %s; %s", count, chosen.n_gpus, idle,
                 chosen.n_map ? "name them in --map, or leave them out"
                              : "leave them out, or compile for more devices (dpc compile --devices)");
}

static dp_status place_devices(int n_devices) {
  bool used[DP_CUDA_MOST_GPUS] = {false};
  if (chosen.n_map && chosen.n_map != n_devices)
    return dp_fail(EX_CONFIG, "--map has places for %d device%s, but the plan has %d", chosen.n_map,
                   chosen.n_map == 1 ? "" : "s", n_devices);
  held.of_device = calloc((size_t)n_devices, sizeof *held.of_device);
  if (!held.of_device) return dp_fail(DP_EX_MEMORY, "no memory for the map of devices");
  for (int d = 0; d < n_devices; d++) {
    const int place = place_of(d, n_devices);
    used[place] = true;
    held.of_device[d] = chosen.gpus[place];
  }
  DP_TRY(check_idle(used));
  for (int i = 0; i < chosen.n_gpus; i++)
    if (used[i]) held.gpus[held.n_gpus++] = chosen.gpus[i];
  held.n_devices = n_devices;
  return DP_OK;
}

// Lets `gpu` reach the memory of another one, where the machine has a way.
static dp_status reach(const dp_cuda_gpu *gpu, const dp_cuda_gpu *other) {
  int can = 0;
  DP_TRY(dp_cuda_check(dp_cu.cuDeviceCanAccessPeer(&can, gpu->device, other->device), "asking what it can reach"));
  if (!can) return DP_OK;
  DP_TRY(dp_cuda_gpu_use(gpu));
  const CUresult result = dp_cu.cuCtxEnablePeerAccess(other->context, 0);
  // A GPU reaches a few others at most: the rest goes the long way.
  if (result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED || result == CUDA_ERROR_TOO_MANY_PEERS) return DP_OK;
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) DP_TRY(dp_cuda_check(result, "opening another GPU's memory"));
  held.reached[gpu->ordinal] |= (uint64_t)1 << other->ordinal;
  return DP_OK;
}

static dp_status open_gpus(void) {
  for (int i = 0; i < held.n_gpus; i++) DP_TRY(dp_cuda_gpu_open(held.gpus[i]));
  for (int i = 0; i < held.n_gpus; i++)
    for (int k = 0; k < held.n_gpus; k++)
      if (k != i) DP_TRY(reach(held.gpus[i], held.gpus[k]));
  return dp_cuda_gpu_use(held.gpus[0]);
}

static void release(void) {
  free(held.of_device);
  memset(&held, 0, sizeof held);
}

dp_status dp_cuda_gpus_attach(int n_devices) {
  const bool one = held.n_gpus == 1 && chosen.n_gpus == 1;
  if (held.sessions && held.n_devices != n_devices && !one)
    return dp_fail(EX_UNAVAILABLE, "a plan for %d devices runs in this process, so one for %d cannot", held.n_devices,
                   n_devices);
  // Where the first device would be now. What was chosen since counts when those that live have ended.
  const dp_cuda_gpu *first =
      chosen.n_gpus && (!chosen.n_map || chosen.n_map == n_devices) ? chosen.gpus[place_of(0, n_devices)] : NULL;
  if (held.sessions && first && first != dp_cuda_gpu_of(0))
    return dp_fail(EX_UNAVAILABLE, "a plan runs on GPU %d in this process, so one on GPU %d cannot",
                   dp_cuda_gpu_of(0)->ordinal, first->ordinal);
  if (!held.sessions) {
    if (!chosen.n_gpus) DP_TRY(dp_cuda_gpus_choose(NULL));
    dp_status status = place_devices(n_devices);
    if (!status) status = open_gpus();
    if (status) {
      release();
      return status;
    }
  }
  held.sessions++;
  return DP_OK;
}

void dp_cuda_gpus_detach(void) {
  if (!--held.sessions) release();
}

// ---- asking ---------------------------------------------------------------------------------------------------------

int dp_cuda_gpus_count(void) { return held.n_gpus; }

int dp_cuda_gpus_devices(void) { return held.n_devices; }

const dp_cuda_gpu *dp_cuda_gpus_at(int index) { return held.gpus[index]; }

const dp_cuda_gpu *dp_cuda_gpu_of(int device) { return held.n_gpus == 1 ? held.gpus[0] : held.of_device[device]; }

dp_status dp_cuda_gpu_use_for(int device) { return dp_cuda_gpu_use(dp_cuda_gpu_of(device)); }

bool dp_cuda_gpu_reaches(const dp_cuda_gpu *gpu, const dp_cuda_gpu *other) {
  return gpu == other || held.reached[gpu->ordinal] >> other->ordinal & 1;
}

bool dp_cuda_gpu_reaches_all(const dp_cuda_gpu *gpu) {
  for (int i = 0; i < held.n_gpus; i++)
    if (!dp_cuda_gpu_reaches(gpu, held.gpus[i])) return false;
  return true;
}

bool dp_cuda_gpus_all_reach(void) {
  for (int i = 0; i < held.n_gpus; i++)
    if (!dp_cuda_gpu_reaches_all(held.gpus[i])) return false;
  return true;
}

dp_status dp_cuda_gpu_holding(const void *address, const dp_cuda_gpu **gpu) {
  unsigned kind = 0;
  int ordinal = 0;
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)address;
  DP_TRY(dp_cuda_check(dp_cu.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at),
                       "asking where memory is"));
  *gpu = NULL;
  if (kind == CU_MEMORYTYPE_HOST) return DP_OK;
  DP_TRY(dp_cuda_check(dp_cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at),
                       "asking where memory is"));
  return dp_cuda_gpu_find(ordinal, gpu);
}
