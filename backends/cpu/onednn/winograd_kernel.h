// match and scratch_bytes of a kernel whose x and w are the operands or results X and W, which the including file has
// defined ("inputs[0]"), and which convolves TURNED or not.
#include <string.h>

#include "backends/cpu/onednn/winograd.h"
#include "backends/cpu/reference/reference.h"

static bool conv_of(const dp_kernel_spec *spec, dp_winograd *conv) {
  const bool is = dp_winograd_of(spec, &spec->X.local, &spec->W.local, conv);
  if (is && TURNED) *conv = dp_winograd_turned(conv);
  return is;
}

static bool match(const dp_kernel_spec *spec) {
  dp_winograd conv;
  return conv_of(spec, &conv);
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) {
  dp_winograd conv;
  return conv_of(spec, &conv) ? dp_winograd_scratch_bytes(spec, &conv) : 0;
}
