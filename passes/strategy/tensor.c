// tensor: parameters, with their state, are split in the cheapest way; so they are under any strategy whose mesh has
// the axis.
#include "passes/strategy/tensor/tensor.h"
#include "passes/strategy/table.h"

const dp_strategy dp_strategy_tensor = {
    .name = "tensor",
    .what = "parameters split in the cheapest way",
    .axis = "tensor",
    .implied = 3,
    .splits_samples = true,
    .finds_stages = true,
    .annotate = dp_tensor_choose,
};
