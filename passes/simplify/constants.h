// Storing constants; shared by the passes that make them.
#ifndef DP_PASSES_SIMPLIFY_CONSTANTS_H
#define DP_PASSES_SIMPLIFY_CONSTANTS_H

#include "ir/graph/graph.h"

// The stored constant with this content, added to the model on first use.
int32_t dp_constants_store(dp_model *model, const dp_tensor *tensor);

#endif
