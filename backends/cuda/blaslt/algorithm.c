// See algorithm.h.
#include "backends/cuda/blaslt/algorithm.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/gpu/calibration.h"
#include "backends/cuda/gpu/choices.h"

// Algorithms that are measured, and among which a calibration's choice is looked for.
enum { MOST_ALGORITHMS = 32 };

static dp_status prefer(const dp_blaslt *blaslt, const dp_blaslt_spec *s,
                        cublasLtMatmulPreferenceOpaque_t *preference) {
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  const uint64_t workspace = dp_blaslt_spec_workspace(s);
  // Where the sum over k is divided, its parts are kept in the workspace and added in order, unrounded.
  const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  DP_BLASLT_TRY(blaslt, cublasLtMatmulPreferenceInit_internal, preference, sizeof *preference);
  DP_BLASLT_TRY(blaslt, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                &workspace, sizeof workspace);
  DP_BLASLT_TRY(blaslt, cublasLtMatmulPreferenceSetAttribute, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                &reduction, sizeof reduction);
  for (size_t i = 0; i < DP_COUNT(alignments); i++)
    DP_BLASLT_TRY(blaslt, cublasLtMatmulPreferenceSetAttribute, preference, alignments[i], &s->alignment,
                  sizeof s->alignment);
  return DP_OK;
}

// The algorithms that fit, the library's favourite first: at most `asked`.
static dp_status list(const dp_blaslt_product *p, int asked, cublasLtMatmulHeuristicResult_t *results, int *count) {
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatmulPreferenceOpaque_t preference;
  cublasLtMatrixLayoutOpaque_t a = p->a, b = p->b, y = p->y;  // the library takes what is not const
  DP_TRY(dp_blaslt_describe(p->blaslt, &p->spec, NULL, &desc));
  DP_TRY(prefer(p->blaslt, &p->spec, &preference));
  *count = 0;
  cublasStatus_t status = p->blaslt->calls.cublasLtMatmulAlgoGetHeuristic(p->blaslt->handle, &desc, &b, &a, &y, &y,
                                                                          &preference, asked, results, count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) *count = 0;
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? DP_OK : dp_blaslt_check(status, "cublasLtMatmulAlgoGetHeuristic");
}

static bool fits(const dp_blaslt_spec *s, const cublasLtMatmulHeuristicResult_t *result) {
  return result->state == CUBLAS_STATUS_SUCCESS && result->workspaceSize <= dp_blaslt_spec_workspace(s);
}

static void take(dp_blaslt_product *p, const cublasLtMatmulHeuristicResult_t *result) {
  p->algorithm = result->algo;
  p->workspace_bytes = result->workspaceSize;
}

// ---- texts ----------------------------------------------------------------------------------------------------------

// What the library is asked, less the addresses.
static void describe_call(const dp_blaslt_spec *s, char text[DP_CALIBRATION_TEXT]) {
  snprintf(
      text, DP_CALIBRATION_TEXT,
      "cuBLASLt %s%s (%lld, %lld)%s by (%lld, %lld)%s, %lld times, strides %lld and %lld, C times %g%s, alignment %u",
      dp_type_name(s->dtype), s->tf32 ? " as TF32" : "", (long long)s->m, (long long)s->k,
      s->trans_a ? " transposed" : "", (long long)s->k, (long long)s->n, s->trans_b ? " transposed" : "",
      (long long)s->batches, (long long)s->a_stride, (long long)s->b_stride, s->beta, s->bias ? ", bias" : "",
      s->alignment);
  const size_t length = strlen(text);
  if (s->a_row || s->b_row)
    snprintf(text + length, DP_CALIBRATION_TEXT - length, ", rows %lld and %lld apart", (long long)s->a_row,
             (long long)s->b_row);
}

// The algorithm by the library's numbers for it, for its tile, its stages, and the parts of the sum over k.
static dp_status describe(const dp_blaslt_product *p, char text[DP_CALIBRATION_TEXT]) {
  static const cublasLtMatmulAlgoConfigAttributes_t attributes[] = {
      CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID,
      CUBLASLT_ALGO_CONFIG_SPLITK_NUM};
  uint32_t n[DP_COUNT(attributes)] = {0};
  size_t written;
  for (size_t i = 0; i < DP_COUNT(attributes); i++)
    DP_BLASLT_TRY(p->blaslt, cublasLtMatmulAlgoConfigGetAttribute, &p->algorithm, attributes[i], &n[i], sizeof n[i],
                  &written);
  snprintf(text, DP_CALIBRATION_TEXT, "algorithm %u, tile %u, stages %u, split over k %u, workspace %zu bytes", n[0],
           n[1], n[2], n[3], p->workspace_bytes);
  return DP_OK;
}

// Several algorithms may have the same numbers, so the place in the library's list belongs to a choice.
static dp_status describe_choice(const dp_blaslt_product *p, int place, char text[DP_CALIBRATION_TEXT]) {
  char algorithm[DP_CALIBRATION_TEXT];
  DP_TRY(describe(p, algorithm));
  snprintf(text, DP_CALIBRATION_TEXT, "number %d: %.200s", place + 1, algorithm);
  return DP_OK;
}

// ---- choosing -------------------------------------------------------------------------------------------------------

static dp_status take_first(dp_blaslt_product *p, bool *found) {
  cublasLtMatmulHeuristicResult_t result;
  int count;
  DP_TRY(list(p, 1, &result, &count));
  *found = count > 0 && fits(&p->spec, &result);
  if (*found) take(p, &result);
  return DP_OK;
}

static dp_status take_calibrated(dp_blaslt_product *p, const char *call, const char *choice, bool *found) {
  cublasLtMatmulHeuristicResult_t results[MOST_ALGORITHMS];
  char text[DP_CALIBRATION_TEXT];
  int count;
  DP_TRY(list(p, MOST_ALGORITHMS, results, &count));
  for (int i = 0; i < count; i++) {
    if (!fits(&p->spec, &results[i])) continue;
    take(p, &results[i]);
    DP_TRY(describe_choice(p, i, text));
    *found = !strcmp(text, choice);
    if (*found) return DP_OK;
  }
  return dp_cuda_calibration_missing(call, choice);
}

// ---- measuring ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_blaslt_product *product;
  dp_blaslt_data data;
  void *workspace;
} trial;

static dp_status run(void *context, dp_queue *queue) {
  const trial *t = context;
  return dp_blaslt_product_enqueue(t->product, queue, &t->data, t->workspace);
}

// Takes the fastest of the algorithms. One that fails is passed over: the library's list promises nothing.
static dp_status take_fastest(dp_blaslt_product *p, trial *t, const char *call, bool *found) {
  cublasLtMatmulHeuristicResult_t results[MOST_ALGORITHMS];
  char choice[DP_CALIBRATION_TEXT], version[DP_CALIBRATION_TEXT];
  dp_calibrated_choice best = {.call = call, .choice = choice};
  int count, fastest = -1;
  bool first = true;
  DP_TRY(list(p, MOST_ALGORITHMS, results, &count));
  for (int i = 0; i < count; i++) {
    double ns;
    if (!fits(&p->spec, &results[i])) continue;
    take(p, &results[i]);
    dp_status failure = dp_cuda_trial_time(run, t, best.ns, &ns);
    if (failure) {
      dp_status_free(failure);
      continue;
    }
    if (first) best.first_ns = ns;
    first = false;
    if (fastest >= 0 && ns >= best.ns) continue;
    fastest = i;
    best.ns = ns;
  }
  *found = fastest >= 0;
  if (!*found) return DP_OK;
  take(p, &results[fastest]);
  DP_TRY(describe_choice(p, fastest, choice));
  DP_TRY(dp_blaslt_version(version, sizeof version));
  dp_cuda_calibration_add(version, &best);
  return DP_OK;
}

// Elements of a matrix in memory.
static uint64_t held(int64_t rows, int64_t columns, int64_t row) {
  return (uint64_t)(rows * (row > columns ? row : columns));
}

static dp_status measure(dp_blaslt_product *p, const char *call, bool *found) {
  const dp_blaslt_spec *s = &p->spec;
  const uint64_t each = dp_type_bytes(s->dtype), more = (uint64_t)s->batches - 1;
  const uint64_t bytes[DP_CUDA_TRIAL_OPERANDS] = {
      (more * (uint64_t)s->a_stride + held(s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->a_row)) * each,
      (more * (uint64_t)s->b_stride + held(s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->b_row)) * each,
      (uint64_t)(s->batches * s->m * s->n) * each, s->bias ? (uint64_t)s->n * each : 0, dp_blaslt_spec_workspace(s)};
  dp_cuda_trial operands;
  DP_TRY(dp_cuda_trial_make(bytes, &operands));
  trial t = {.product = p,
             .data = {.a = operands.at[0], .b = operands.at[1], .y = operands.at[2], .bias = operands.at[3]},
             .workspace = operands.at[4]};
  dp_status status = take_fastest(p, &t, call, found);
  dp_cuda_trial_free(&operands);
  return status;
}

dp_status dp_blaslt_algorithm_choose(dp_blaslt_product *p, bool *found) {
  char call[DP_CALIBRATION_TEXT], text[DP_CALIBRATION_TEXT];
  describe_call(&p->spec, call);
  const char *choice = dp_cuda_calibration_choice(call);
  *found = false;
  if (dp_cuda_calibration_measures() && !dp_cuda_calibration_has(call))
    DP_TRY(measure(p, call, found));
  else
    DP_TRY(choice ? take_calibrated(p, call, choice, found) : take_first(p, found));
  if (!*found) return DP_OK;
  DP_TRY(describe(p, text));
  dp_cuda_choice_add("cuBLASLt %s%s%s", text, p->spec.tf32 ? ", TF32" : "", choice ? ", measured" : "");
  return DP_OK;
}
