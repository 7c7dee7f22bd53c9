// How the samples of a convolution or pooling are divided over parts, which threads compute side by side.
//
// A part copies its operands into the order that oneDNN computes in. Where weights are larger than all images that they
// are applied to, each part computes some channels of the result, or whole groups, of all samples: so it copies its
// share of the weights and all images. Else it computes some samples, and copies these and all weights.
//
// As many samples as go evenly into the parts are then computed whole, each by one part. Each of those that remain,
// fewer than there are parts, is divided: by channels of the result, or whole groups, and by rows of its first spatial
// dim. So all parts have about as much to do, whatever the number of samples.
#ifndef DP_BACKENDS_CPU_ONEDNN_DIVISION_H
#define DP_BACKENDS_CPU_ONEDNN_DIVISION_H

#include "backends/cpu/onednn/primitive.h"

#ifdef __cplusplus
extern "C" {
#endif

// A sample is divided into channels * rows == parts shares, whatever the number of samples.
typedef struct {
  int parts, channels, rows;
} dp_division;

// What a part computes of a sample, or of all, and where in those of the whole its x, w, bias and y begin, in elements.
typedef struct {
  dp_primitive_spec spec;  // of one thread
  int64_t x, w, bias, y;
} dp_share;

// The most samples with which each part computes some channels of all of them; 0: none.
int64_t dp_division_most_by_channels(const dp_primitive_spec *primitive, int parts);
// What a part computes of all samples then. false: nothing.
bool dp_division_channels(const dp_primitive_spec *primitive, int part, int parts, dp_share *share);

// The division of a sample in which the largest share is smallest.
dp_division dp_division_of(const dp_primitive_spec *primitive, int parts);
// false: nothing remains for this part.
bool dp_division_share(const dp_primitive_spec *primitive, const dp_division *division, int part, dp_share *share);

#ifdef __cplusplus
}
#endif
#endif
