// Softmax along the classes of one sample's scores. See cross_entropy.h. A single column lies in memory like a row: it
// is computed in lanes, in an order that depends on nothing else.
#include "backends/cpu/vector/cross_entropy.h"

#include "backends/cpu/vector/exp.h"
#include "backends/cpu/vector/isa.h"

enum { LANES = 16, BLOCK = 16 * LANES };

static float largest_of_row(const float *x, int64_t count) {
  float lanes[LANES], most = x[0];
  int64_t c = 0;
  for (int i = 0; i < LANES; i++) lanes[i] = x[0];
  for (; c + LANES <= count; c += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] = x[c + i] > lanes[i] ? x[c + i] : lanes[i];
  for (; c < count; c++) most = x[c] > most ? x[c] : most;
  for (int i = 0; i < LANES; i++) most = lanes[i] > most ? lanes[i] : most;
  return most;
}

// The sum of exp(x - most) over at most BLOCK elements.
static double sum_of_block(const float *x, int count, float most) {
  float e[BLOCK], lanes[LANES] = {0};
  for (int c = 0; c < count; c++) e[c] = dp_vector_exp(x[c] - most);
  for (int c = count; c < BLOCK; c++) e[c] = 0;
  for (int c = 0; c < BLOCK; c += LANES)
    for (int i = 0; i < LANES; i++) lanes[i] += e[c + i];
  double sum = 0;
  for (int i = 0; i < LANES; i++) sum += (double)lanes[i];
  return sum;
}

static void log_sum_of_row(const float *x, int64_t classes, float *most, double *log_sum) {
  double sum = 0;
  *most = largest_of_row(x, classes);
  for (int64_t c = 0; c < classes; c += BLOCK) {
    const int64_t rest = classes - c;
    sum += sum_of_block(x + c, rest < BLOCK ? (int)rest : BLOCK, *most);
  }
  *log_sum = log(sum);
}

static void log_sum_of(const float *x, int64_t classes, int64_t stride, int width, float *restrict most,
                       double *restrict log_sum) {
  if (stride == 1) {
    log_sum_of_row(x, classes, most, log_sum);
    return;
  }
  for (int j = 0; j < width; j++) most[j] = x[j], log_sum[j] = 0;
  for (int64_t c = 1; c < classes; c++)
    for (int j = 0; j < width; j++) most[j] = x[c * stride + j] > most[j] ? x[c * stride + j] : most[j];
  for (int64_t c = 0; c < classes; c++)
    for (int j = 0; j < width; j++) log_sum[j] += (double)dp_vector_exp(x[c * stride + j] - most[j]);
  for (int j = 0; j < width; j++) log_sum[j] = log(log_sum[j]);
}

static void softmax(const float *x, int64_t classes, int64_t stride, int width, const float *most,
                    const double *log_sum, const float *factor, float *y) {
  float less[DP_VECTOR_COLUMNS], largest[DP_VECTOR_COLUMNS], times[DP_VECTOR_COLUMNS];
  for (int j = 0; j < width; j++) less[j] = (float)log_sum[j], largest[j] = most[j], times[j] = factor[j];
  if (stride == 1) {
    DP_INDEPENDENT
    for (int64_t c = 0; c < classes; c++) y[c] = times[0] * dp_vector_exp(x[c] - largest[0] - less[0]);
    return;
  }
  for (int64_t c = 0; c < classes; c++) {
    DP_INDEPENDENT
    for (int j = 0; j < width; j++)
      y[c * stride + j] = times[j] * dp_vector_exp(x[c * stride + j] - largest[j] - less[j]);
  }
}

const dp_vector_cross_entropy DP_FOR_ISA(dp_vector_cross_entropy_) = {log_sum_of, softmax};
