// The CPU as a target. See target.h.
#include "backends/cpu/target.h"

#include "backends/cpu/onednn/isa.h"

extern const dp_kernel *const dp_kernel_table[];  // made by the build

const dp_target dp_target_cpu = {
    .name = "cpu",
    .kernels = dp_kernel_table,
    .isa = dp_isa_of_machine,
    .set_isa = dp_isa_hold,
};
