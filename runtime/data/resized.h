// Part of a picture, drawn at random and enlarged to the whole: what --augment image=resized:0.08 does. Private.
//
// As torchvision's RandomResizedCrop: of a share of the area drawn uniformly from [area_min, area_max] and a ratio of
// width to height between 3/4 and 4/3, drawn uniformly in its logarithm, the first of ten pairs that fits lies at a
// place drawn uniformly. If none fits, it is the largest part in the middle whose ratio is allowed. It is enlarged
// bilinearly, where pixels are squares and those beyond the part's edge are those at the edge.
#ifndef DP_RUNTIME_DATA_RESIZED_H
#define DP_RUNTIME_DATA_RESIZED_H

#include "ir/graph/element.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t top, left, height, width;
} dp_part_of_picture;

dp_part_of_picture dp_resized_choose(double area_min, double area_max, int64_t height, int64_t width, uint64_t seed,
                                     int64_t epoch, int64_t sample);

// Enlarges the part of `from` to all of `to`, both height x width pixels of `channels` numbers. Whole numbers are
// rounded to nearest, ties to even.
void dp_resized_enlarge(dp_dtype dtype, int64_t channels, int64_t height, int64_t width, const dp_part_of_picture *part,
                        const void *from, void *to);

#ifdef __cplusplus
}
#endif
#endif
