// What a kernel of planes.h is made of, by its ROLES of a spec. To be included once, in the kernel's file.
#include "backends/cpu/fast/planes.h"
#include "backends/cpu/onednn/sgemm_code.h"

static dp_planes_roles roles_of(const dp_kernel_spec *spec) { return (dp_planes_roles)ROLES(spec); }

static bool match(const dp_kernel_spec *spec) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_match(spec, &roles);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_scratch_bytes(spec, &roles);
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) {
  const dp_planes_roles roles = roles_of(spec);
  return dp_planes_prepare(spec, &roles, state);
}

// All of the dp_kernel but name, op and domain; the file defines run.
#define PLANES                                                                                                     \
  .priority = 12, .library = true, .match = match, .scratch_bytes = scratch_bytes, .expect = dp_sgemm_code_expect, \
  .prepare = prepare, .release = dp_planes_release, .parts = true, .isa = true, .run = run
