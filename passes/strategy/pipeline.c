// pipeline: the network is partitioned into stages of about equal time; micro-batches pass through them one after the
// other. The pass `partition` (passes/pipeline/partition.c) finds the stages, under any strategy whose mesh has the
// axis.
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
