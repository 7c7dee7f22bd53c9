// pipeline: the network is cut into stages of about the same time, which micro-batches pass one after the other. The
// pass `cut` (passes/pipeline/partition.c) finds the stages, under any strategy whose mesh has the axis.
#include "passes/strategy/table.h"
#include "passes/strategy/tensor/tensor.h"

const dp_strategy dp_strategy_pipeline = {
    .name = "pipeline",
    .what = "layers in stages, one after the other",
    .axis = DP_MESH_PIPE,
    .implied = 2,
    .splits_samples = true,
    .finds_stages = true,
    .annotate = dp_tensor_choose,
};
