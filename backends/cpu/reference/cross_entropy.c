// Labels, weights and the divisor of the cross entropy. See cross_entropy.h.
#include "backends/cpu/reference/cross_entropy.h"

static dp_status bad_label(const dp_kernel_spec *spec, int64_t index, int64_t label, int64_t classes) {
  const dp_local *labels = &spec->inputs[1].local;
  int64_t whole = 0, stride = 1;
  for (int d = labels->rank - 1; d >= 0; d--) {
    whole += dp_local_to_whole(labels, d, index % labels->extents[d]) * stride;
    index /= labels->extents[d];
    stride *= labels->whole[d];
  }
  return dp_fail(EX_DATAERR, "label %lld at index %lld of the batch is not in 0..%lld", (long long)label,
                 (long long)whole, (long long)classes - 1);
}

dp_status dp_cross_entropy_make(const dp_call *call, int weights, dp_cross_entropy *loss) {
  const dp_kernel_spec *spec = call->spec;
  const dp_local *scores = &spec->inputs[0].local;
  const char *reduction = dp_node_string(spec->node, "reduction", "mean");
  dp_cross_entropy l = {
      .samples = scores->extents[0],
      .classes = scores->extents[1],
      .inner = dp_product(scores->extents, 2, scores->rank),
      .dtype = spec->inputs[0].dtype,
      .label_dtype = spec->inputs[1].dtype,
      .labels = call->in[1],
      .weights = dp_has_in(spec, weights) ? call->in[weights] : NULL,
      .has_ignored = dp_node_attr(spec->node, "ignore_index") != NULL,
      .ignored = dp_node_int(spec->node, "ignore_index", 0),
      .per_label = !strcmp(reduction, "none"),
      .divisor = 1,
  };
  double sum = 0;
  for (int64_t i = 0, count = dp_in_count(spec, 1); i < count; i++) {
    int64_t label = dp_cross_entropy_label(&l, i);
    bool ignored = l.has_ignored && label == l.ignored;
    if (!ignored && (label < 0 || label >= l.classes)) return bad_label(spec, i, label, l.classes);
    sum += dp_cross_entropy_weight(&l, label);
  }
  if (!strcmp(reduction, "mean"))  // over the whole batch; only the plain mean can know its count from a shard
    l.divisor = l.weights || l.has_ignored ? sum : (double)dp_whole_count(&spec->inputs[1].local);
  if (l.divisor == 0) l.divisor = 1;
  *loss = l;
  return DP_OK;
}
