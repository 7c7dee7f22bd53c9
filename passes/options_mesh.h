// The mesh that was asked for; private to the pass `options`.
#ifndef DP_PASSES_OPTIONS_MESH_H
#define DP_PASSES_OPTIONS_MESH_H

#include "passes/base/pass.h"

// The mesh that was asked for goes into the model.
dp_status dp_options_mesh_make(dp_compile *compile) DP_MUST_USE;

#endif
