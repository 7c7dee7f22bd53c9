// Reports data that an operator does not take: the first report stands.
#ifndef DP_BACKENDS_CUDA_DEVICE_REPORT_H
#define DP_BACKENDS_CUDA_DEVICE_REPORT_H

#include "backends/cuda/device/fault.h"
#include "backends/cuda/device/prelude.h"

// What a function's arguments hold for it: where to report, and the instruction's number plus 1.
typedef struct {
  dp_cuda_fault *fault;
  unsigned long long instruction;
} dp_cuda_reporter;

DP_DEVICE void dp_report(dp_cuda_reporter reporter, int code, dp_i64 index, dp_i64 value, dp_i64 limit) {
  if (dp_claim(&reporter.fault->first, reporter.instruction)) return;
  reporter.fault->code = code;
  reporter.fault->index = index;
  reporter.fault->value = value;
  reporter.fault->limit = limit;
}

#endif
