// See strategy.h.
#include "passes/base/strategy.h"

dp_shares dp_strategy_shares(const dp_strategy *strategy, const dp_options *options) {
  const int64_t stage = dp_min_i64(dp_max_i64(1, options->zero_stage), strategy->n_zero_stages);
  return stage ? strategy->zero_stages[stage - 1] : (dp_shares){0, 0};
}

int dp_strategy_shared_axis(const dp_compile *compile) {
  const dp_strategy *s = compile->strategy;
  return s->axis && dp_strategy_shares(s, compile->options).splits ? dp_mesh_find(&compile->model->mesh, s->axis) : -1;
}
