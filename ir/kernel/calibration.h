// What was measured of the libraries on a device: for each of their calls, which of their algorithms was the fastest.
// A call and a choice are texts of the backend's own. Nobody else reads them, and the backend itself only compares: a
// choice is taken if it is one of those that the library offers for the call and that the backend would accept anyway.
#ifndef DP_IR_KERNEL_CALIBRATION_H
#define DP_IR_KERNEL_CALIBRATION_H

#include "ir/base/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *call, *choice;
  double ns, first_ns;  // measured: of the choice, and of what the library names first; 0: not known here
} dp_calibrated_choice;

typedef struct {
  const char *device;  // "NVIDIA H200, sm_90"
  int n_libraries;
  const char **libraries;  // those that the choices are of, with their versions: "cuBLASLt 13.1.0"
  int n_choices;
  dp_calibrated_choice *choices;  // by call, ascending, each once
} dp_calibration;

// Bytes of a text above, with its NUL.
enum { DP_CALIBRATION_TEXT = DP_LIMIT_CALIBRATION_TEXT + 1 };

#ifdef __cplusplus
}
#endif
#endif
