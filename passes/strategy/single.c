// single: one device.
#include "passes/strategy/table.h"
#include "passes/strategy/tensor/tensor.h"

const dp_strategy dp_strategy_single = {
    .name = "single",
    .what = "one device",
    .axis = "data",
    .several = &dp_strategy_data,
    .splits_samples = true,
    .finds_stages = true,
    .annotate = dp_tensor_choose,
};
