// Makes the functions of plans beforehand: kernels add them as they do when they are prepared, and NVRTC, which needs
// no GPU, compiles them. See code_maker.h.
#include "backends/cuda/code_maker.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/blaslt/loss_head.h"
#include "backends/cuda/cudnn/attention_step.h"
#include "backends/cuda/cudnn/column_convolution.h"
#include "backends/cuda/cudnn/columns.h"
#include "backends/cuda/gpu/background.h"
#include "backends/cuda/gpu/code_folder.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/nvrtc.h"
#include "backends/cuda/kernels/region.h"
#include "backends/cuda/kernels/spread.h"
#include "backends/cuda/target.h"
#include "backends/cuda/transfer.h"

// ---- a backend without a GPU ----------------------------------------------------------------------------------------

// No memory has too little room, since none is used.
static int measure(dp_place place, uint64_t *bytes) {
  (void)place;
  *bytes = UINT64_MAX;
  return 0;
}

const dp_backend dp_cuda_backend_unattached = {.name = "cuda",
                                               .target = &dp_target_cuda,
                                               .describes_transfers = true,
                                               .settle = dp_cuda_jobs_end,
                                               .allocate = dp_backend_reserve,
                                               .release = dp_backend_unreserve,
                                               .memory = measure};

// ---- what is needed -------------------------------------------------------------------------------------------------

static dp_status add_own(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  void *state = NULL;
  if (!kernel->prepare) return DP_OK;
  DP_TRY(kernel->prepare(spec, &state));
  if (kernel->release) kernel->release(state);
  return DP_OK;
}

// Which functions a library's kernel adds depends on what the library finds on the GPU: these are all that it may add.
static dp_status add_kernel(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  if (kernel == &dp_kernel_cuda_Region) return dp_cuda_region_add(spec, add_kernel);
  if (kernel == &dp_kernel_cuda_head_Region) return dp_cuda_head_add(spec, add_kernel);
  if (kernel == &dp_kernel_cuda_blaslt_Region) return dp_cuda_loss_head_add(spec);
  if (!kernel->library) return add_own(kernel, spec);
  const dp_cuda_function *spread;
  const dp_kernel *own = dp_kernel_select(&dp_target_cuda, spec, true);
  DP_TRY(dp_cuda_spread_add(spec->inputs[0].dtype, &spread));
  DP_TRY(dp_cudnn_attention_add_functions(kernel, spec));
  DP_TRY(dp_columns_add_functions(kernel, spec));
  DP_TRY(dp_column_convolution_add_functions(kernel, spec));
  return own ? add_own(own, spec) : DP_OK;
}

static dp_status add_transfer(const struct dp_transfer *transfer) { return dp_cuda_transfer_add(transfer); }

// ---- compiling ------------------------------------------------------------------------------------------------------

// One function for one kind of GPU.
typedef struct {
  dp_cuda_job job;  // makes `code`, or a failure
  const char *program;
  int kind;
  char *code;
  size_t bytes;
  dp_status failure;
} making;

static void compile(dp_cuda_job *job) {
  making *m = (making *)(void *)job;
  m->failure = dp_cuda_nvrtc_compile(m->program, m->kind / 10, m->kind % 10, &m->code, &m->bytes, NULL);
}

// Waits for all of them, and keeps what was made up to the first failure.
static dp_status put_all(making *all, int count, const char *folder, uint64_t *bytes) {
  dp_status status = DP_OK;
  for (int i = 0; i < count; i++) {
    making *m = &all[i];
    dp_cuda_job_wait(&m->job);
    if (status) {
      dp_status_free(m->failure);
    } else {
      status = m->failure;
    }
    if (!status) status = dp_cuda_code_folder_put(folder, m->program, m->kind / 10, m->kind % 10, m->code, m->bytes);
    *bytes += status ? 0 : m->bytes;
    free(m->code);
  }
  return status;
}

// The numbers of "sm_80,sm_90", which have been checked; at most `most`.
static int read_kinds(const char *kinds, int *numbers, int most) {
  int count = 0;
  for (const char *at = kinds; (at = strstr(at, "sm_")) && count < most; at += 3) numbers[count++] = atoi(at + 3);
  return count;
}

static dp_status make(const char *kinds, const char *folder, int *count, uint64_t *bytes) {
  int numbers[32], n_functions, major, minor;
  const int n_kinds = read_kinds(kinds ? kinds : "sm_80,sm_90,sm_100,sm_120", numbers, (int)DP_COUNT(numbers));
  dp_cuda_function_text *functions;
  DP_TRY(dp_cuda_nvrtc_version(&major, &minor));  // before anything is written
  DP_TRY(dp_cuda_code_folder_make(folder));
  DP_TRY(dp_cuda_functions_list(&n_functions, &functions));
  *count = n_functions * n_kinds;
  *bytes = 0;
  making *all = calloc((size_t)*count + 1, sizeof *all);
  dp_status status = all ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for the GPU's functions");
  for (int i = 0; i < *count && all; i++) {
    all[i] =
        (making){.job = {.work = compile}, .program = functions[i / n_kinds].program, .kind = numbers[i % n_kinds]};
    dp_cuda_job_start(&all[i].job);
  }
  if (all) status = put_all(all, *count, folder, bytes);
  free(all);
  free(functions);
  return status;
}

const dp_code_maker dp_code_maker_cuda = {
    .backend = &dp_cuda_backend_unattached, .add_kernel = add_kernel, .add_transfer = add_transfer, .make = make};
