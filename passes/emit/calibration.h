// What a plan keeps of a calibration.
#ifndef DP_PASSES_EMIT_CALIBRATION_H
#define DP_PASSES_EMIT_CALIBRATION_H

#include "ir/kernel/calibration.h"
#include "passes/base/pass.h"

// NULL without choices: then nothing depends on the device that was measured. The texts are the calibration's.
Dp__Calibration *dp_emit_calibration(dp_arena *arena, const dp_calibration *calibration);

#endif
