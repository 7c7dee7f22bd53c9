// See library.h.
#include "backends/cuda/nccl/library.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/api/library.h"
#include "backends/cuda/gpu/gpus.h"

enum { OLDEST = 21800, FIRST_WITH_WINDOWS = 22700 };

dp_nccl_calls dp_nccl;

static dp_cuda_library library = {
    .what = "NCCL",
    .sonames = (const char *const[]){"libnccl.so.2", NULL},
    .folder = "nvidia/nccl/lib",
    .calls =
        (const char *const[]){
#define DP_CALL(name, parameters) #name,
            DP_CUDA_NCCL_CALLS(DP_CALL)
#undef DP_CALL
                NULL},
    .newer =
        (const char *const[]){
#define DP_CALL(name, parameters) #name,
            DP_CUDA_NCCL_WINDOW_CALLS(DP_CALL)
#undef DP_CALL
                NULL},
    .table = (void **)&dp_nccl,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static const struct { const char *variable, *value; } pinned[] = {{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "Simple"}};

static char description[256];
static bool has_windows;

void dp_nccl_pin(void) {
  for (size_t i = 0; i < DP_COUNT(pinned); i++) setenv(pinned[i].variable, pinned[i].value, 0);
}

static const char *setting(const char *variable) {
  const char *value = getenv(variable);
  return value ? value : "?";
}

dp_status dp_nccl_load(void) {
  int version = 0;
  if (*description) return DP_OK;
  DP_TRY(dp_cuda_library_load(&library));
  if (dp_nccl.ncclGetVersion(&version)) return dp_fail(EX_UNAVAILABLE, "NCCL cannot be used on this machine");
  const int major = version / 10000, minor = version / 100 % 100;
  if (version < OLDEST)
    return dp_fail(EX_UNAVAILABLE, "NCCL on this machine is %d.%d: install %d.%d or a newer one",
                   version < 10000 ? version / 1000 : major, minor % (version < 10000 ? 10 : 100), OLDEST / 10000,
                   OLDEST / 100 % 100);
  has_windows = version >= FIRST_WITH_WINDOWS && dp_nccl.ncclMemAlloc && dp_nccl.ncclMemFree &&
                dp_nccl.ncclCommWindowRegister && dp_nccl.ncclCommWindowDeregister;
  snprintf(description, sizeof description, "NCCL %d.%d.%d, %s, %s, %d channels", major, minor, version % 100,
           setting("NCCL_ALGO"), setting("NCCL_PROTO"), DP_NCCL_CHANNELS);
  return DP_OK;
}

bool dp_nccl_has_windows(void) { return has_windows; }

const char *dp_nccl_description(void) { return description; }

void dp_nccl_describe(FILE *out) {
  if (dp_cuda_gpus_count() < 2) return;
  dp_status status = dp_nccl_load();
  if (!status) fprintf(out, "collectives of devices that have a GPU each: %s\n", description);
  dp_status_free(status);  // who needs it says so
}

const char *dp_nccl_name_of(ncclResult_t result) {
  static const struct {
    const char *name;
    int value;
  } results[] = {
#define DP_RESULT(name) {#name, name}
      DP_RESULT(ncclSuccess),       DP_RESULT(ncclUnhandledCudaError), DP_RESULT(ncclSystemError),
      DP_RESULT(ncclInternalError), DP_RESULT(ncclInvalidArgument),    DP_RESULT(ncclInvalidUsage),
      DP_RESULT(ncclRemoteError),   DP_RESULT(ncclInProgress),
#undef DP_RESULT
  };
  for (size_t i = 0; i < DP_COUNT(results); i++)
    if (results[i].value == (int)result) return results[i].name;
  return "an unknown result";
}
