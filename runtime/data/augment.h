// Random changes of pictures while training: --augment image=resized:0.08,flip,crop:4. What happens to a sample depends
// on seed, epoch and the sample's number alone, so workers, devices, batches and resuming change nothing.
#ifndef DP_RUNTIME_DATA_AUGMENT_H
#define DP_RUNTIME_DATA_AUGMENT_H

#include "ir/graph/type.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  bool flip;     // mirrored left to right, one time of two
  int64_t crop;  // shifted by up to so many pixels each way, with zeros where nothing was; 0: not
  // Part of it, with a share of its area in this range, is enlarged to the whole (resized.h); area_max 0: not. That
  // comes before the others.
  double area_min, area_max;
  // The sample's layout, from dp_augment_fit.
  int64_t height, width;
  dp_dtype dtype;
  int64_t planes;      // of height x width
  int64_t channels;    // numbers of one pixel of a plane
  size_t pixel_bytes;  // of one pixel of a plane
} dp_augment;

// "flip,crop:4", "resized:0.08", "resized:0.25..0.5". EX_USAGE.
dp_status dp_augment_parse(const char *text, dp_augment *augment) DP_MUST_USE;
// Finds the layout of samples of the input: [C,H,W], [H,W,C] or [H,W], with 1 or 3 channels. EX_CONFIG: it is another.
dp_status dp_augment_fit(const char *name, const dp_type *input, int batch_dim, dp_augment *augment) DP_MUST_USE;
// Changes one sample; scratch: room for one.
void dp_augment_run(const dp_augment *augment, uint64_t seed, int64_t epoch, int64_t sample, void *data, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
