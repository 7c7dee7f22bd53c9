// The requested mesh; private to the pass `options`.
#ifndef DP_PASSES_OPTIONS_MESH_H
#define DP_PASSES_OPTIONS_MESH_H

#include "passes/base/pass.h"

// Sets the model's mesh to the requested one. EX_CONFIG, EX_USAGE.
dp_status dp_options_mesh_make(dp_compile *compile) DP_MUST_USE;

#endif
