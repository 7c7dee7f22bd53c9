// Flatten: a copy; the elements keep their row-major order.
#include "backends/cpu/reference/copy.h"

const dp_kernel dp_kernel_reference_Flatten = {
    .name = "cpu.reference.Flatten",
    .op = "Flatten",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .in_place = true,
    .run = dp_copy_run,
};
