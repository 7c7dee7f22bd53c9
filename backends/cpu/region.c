// dp.Region with any members: runs their reference kernels one after another, each on whole operands. Faster kernels of
// regions are compared with this one.
#include "backends/cpu/member.h"
#include "backends/cpu/members.h"

static bool match(const dp_kernel_spec *spec) { return dp_members_match(spec, dp_member_kernel); }

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return dp_members_scratch_bytes(spec, dp_member_kernel); }

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  return dp_members_prepare(spec, dp_member_kernel, state);
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  (void)part, (void)parts;
  return dp_members_run(spec, state, in, out, scratch);
}

const dp_kernel dp_kernel_reference_Region = {
    .name = "cpu.reference.dp.Region",
    .op = "Region",
    .domain = "dp",
    .types = DP_STORED,
    .in_place = true,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    .release = dp_members_release,
    .run = run,
};
