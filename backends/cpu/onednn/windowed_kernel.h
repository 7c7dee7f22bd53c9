// match, scratch_bytes and prepare of a kernel that uses the primitive KIND, which the including file has defined.
#include "backends/cpu/onednn/windowed.h"

static bool match(const dp_kernel_spec *spec) { return dp_windowed_match(spec, KIND); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_windowed_scratch_bytes(spec, KIND); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return dp_windowed_prepare(spec, KIND, state); }
