// The gradient of weights that several products use, as those of a recurrent network's steps do: A1' B1 + A2' B2 + ...
// Where they have few rows each, one product of all rows moves far less memory than the products and their sum, and no
// product waits for that sum.
#ifndef DP_PASSES_TRAIN_SHARED_WEIGHTS_H
#define DP_PASSES_TRAIN_SHARED_WEIGHTS_H

#include "ir/graph/builder.h"

// Whether `gradient` is such a product, of few rows at n samples.
bool dp_shared_weights_is_term(const dp_value *gradient, int64_t n);
// Whether one product can stand for both terms: their operands have the same shapes, and their nodes the same place.
bool dp_shared_weights_agree(const dp_value *term, const dp_value *other);
// The sum of terms that agree, as one product on their place. Rows keep their first dim, so that they are split over
// devices as before.
dp_value *dp_shared_weights_sum(dp_builder *builder, dp_value *const *terms, int count);

#endif
