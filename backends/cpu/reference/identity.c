// Identity: a copy.
#include "backends/cpu/reference/copy.h"

const dp_kernel dp_kernel_reference_Identity = {
    .name = "cpu.reference.Identity",
    .op = "Identity",
    .domain = "",
    .types = DP_STORED,
    .parts = true,
    .in_place = true,
    .run = dp_copy_run,
};
