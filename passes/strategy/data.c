// data: samples are split; each device has all parameters.
#include "passes/strategy/table.h"
#include "passes/strategy/tensor/tensor.h"

const dp_strategy dp_strategy_data = {
    .name = "data",
    .what = "replicas that share each batch",
    .axis = "data",
    .implied = 1,
    .splits_samples = true,
    .finds_stages = true,
    .annotate = dp_tensor_choose,
};
