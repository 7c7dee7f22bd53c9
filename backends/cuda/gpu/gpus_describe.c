// What the GPUs of a session are, for people to read.
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/staging.h"

// "0-3, 6": the devices of the plan that are on a GPU.
static void print_devices(const dp_cuda_gpu *gpu, FILE *out) {
  const char *before = "";
  for (int d = 0; d < dp_cuda_gpus_devices(); d++) {
    if (dp_cuda_gpu_of(d) != gpu) continue;
    int last = d;
    while (last + 1 < dp_cuda_gpus_devices() && dp_cuda_gpu_of(last + 1) == gpu) last++;
    fprintf(out, last > d ? "%s%d-%d" : "%s%d", before, d, last);
    before = ", ";
    d = last;
  }
}

static void print_reach(const dp_cuda_gpu *gpu, FILE *out) {
  const char *before = "";
  for (int i = 0; i < dp_cuda_gpus_count(); i++) {
    const dp_cuda_gpu *other = dp_cuda_gpus_at(i);
    if (dp_cuda_gpu_reaches(gpu, other)) continue;
    if (!*before) fprintf(out, "GPU %d does not reach the memory of ", gpu->ordinal);
    fprintf(out, "%sGPU %d", before, other->ordinal);
    before = ", ";
  }
  if (*before) fprintf(out, ": what it needs there is copied through %d MiB of its own\n", DP_CUDA_STAGING_BYTES >> 20);
}

static bool same_kind(void) {
  for (int i = 1; i < dp_cuda_gpus_count(); i++)
    if (dp_cuda_gpus_at(i)->major != dp_cuda_gpus_at(0)->major ||
        dp_cuda_gpus_at(i)->minor != dp_cuda_gpus_at(0)->minor)
      return false;
  return true;
}

void dp_cuda_gpus_describe(FILE *out) {
  for (int i = 0; i < dp_cuda_gpus_count(); i++) {
    const dp_cuda_gpu *gpu = dp_cuda_gpus_at(i);
    fprintf(out, "GPU %d (%s, sm_%d%d, %zu MiB, %s): devices ", gpu->ordinal, gpu->name, gpu->major, gpu->minor,
            gpu->bytes >> 20, gpu->uuid);
    print_devices(gpu, out);
    fputc('\n', out);
  }
  if (dp_cuda_gpus_count() == 1) return;
  if (dp_cuda_gpus_all_reach()) fprintf(out, "each GPU reaches the memory of the others\n");
  for (int i = 0; i < dp_cuda_gpus_count(); i++) print_reach(dp_cuda_gpus_at(i), out);
  if (!same_kind()) fprintf(out, "the GPUs are of different kinds: functions are compiled for each of them\n");
  fprintf(out, "steps are issued one instruction at a time: those on several GPUs of one process are not captured\n");
}
