// match, scratch_bytes and prepare of a kernel by the primitive KIND, which the file that includes this has defined.
#include "backends/cpu/onednn/windowed.h"

static bool match(const dp_kernel_spec *spec) { return dp_windowed_match(spec, KIND); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_windowed_scratch_bytes(spec, KIND); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_windowed_prepare(spec, KIND, state); }
