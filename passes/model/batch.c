// batch: makes "main" symbolic in the samples present and finds B, their maximum; adds the axis `micro` to the mesh.
//
// A model whose inputs have a symbolic dim is already symbolic; --split then only says where its inputs go
// (passes/place/place.c). A model of fixed shapes is batched along the axes that --split names. Without --split, if it
// is to be trained, it is batched along the leading dim that all its inputs share, and that extent is the batch unless
// --batch says otherwise. Shapes that the model states as numbers (Reshape's) become symbolic where they begin with the
// batch. Inference with a model of fixed shapes needs no batch: every run takes whole inputs, and B is 1.
#include <string.h>

#include "ir/base/suggest.h"
#include "passes/base/pass.h"
#include "passes/model/micro.h"

enum { MAX_BATCH = 1 << 30 };

static int symbolic_axis(const dp_shape *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (dp_dim_is_symbolic(shape->dims[d])) return d;
  return -1;
}

// ---- --split --------------------------------------------------------------------------------------------------------

// The requested axis; -1: none was requested, or "none" was.
static dp_status asked_axis(const dp_split *split, const dp_value *input, int *axis) {
  int rank = input->type->shape.rank;
  *axis = -1;
  if (!split || split->axis == DP_SPLIT_NONE) return DP_OK;
  if (split->axis < -rank || split->axis >= rank)
    return dp_fail(EX_USAGE, "--split %s=%d: '%s' has rank %d; its axes are 0 to %d", split->input, split->axis,
                   split->input, rank, rank - 1);
  *axis = split->axis < 0 ? split->axis + rank : split->axis;
  return DP_OK;
}

static bool same_axis(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

// A split over a mesh axis of the user's choice.
static dp_status check_split_on(const dp_split *split, const dp_mesh *mesh, const dp_value *input) {
  const int on = dp_mesh_find(mesh, split->on);
  int axis;
  DP_TRY(asked_axis(split, input, &axis));
  if (on < 0)
    return dp_fail(EX_CONFIG, "--split %s=%d@%s: the mesh has no axis '%s'; add it, for example --mesh=data=2,%s=2",
                   split->input, split->axis, split->on, split->on, split->on);
  if (dp_mesh_is_staged(&mesh->axes[on]) || !strcmp(split->on, "data"))
    return dp_fail(EX_CONFIG, "--split %s=%d@%s: inputs are not split over the axis '%s' this way; use %s",
                   split->input, split->axis, split->on, split->on,
                   strcmp(split->on, "data") ? "another axis" : "--split NAME=AXIS");
  if (dp_dim_is(input->type->shape.dims[axis], 1))
    return dp_fail(EX_CONFIG, "--split %s=%d@%s: one element cannot be split", split->input, split->axis, split->on);
  return DP_OK;
}

static dp_status check_splits(const dp_options *options, const dp_graph *main) {
  for (int i = 0; i < options->n_splits; i++) {
    const dp_split *split = &options->splits[i];
    const char *name = split->input;
    const dp_value *value = dp_graph_find_value(main, name);
    for (int k = 0; k < i; k++)
      if (!strcmp(options->splits[k].input, name) && same_axis(options->splits[k].on, split->on))
        return dp_fail(EX_USAGE, "--split %s is given twice", name);
    if (value && value->kind == DP_VALUE_INPUT) {
      if (split->on) DP_TRY(check_split_on(split, &main->model->mesh, value));
      continue;
    }
    dp_suggest suggest = dp_suggest_begin(name);
    for (int32_t k = 0; k < main->n_values; k++)
      if (main->values[k]->kind == DP_VALUE_INPUT) dp_suggest_offer(&suggest, main->values[k]->name);
    char hint[96];
    return dp_fail(EX_USAGE, "--split %s: the model has no such input%s", name,
                   dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

// ---- fixed shapes ---------------------------------------------------------------------------------------------------

typedef struct {
  const dp_value *first;  // the input that gave the extent
  int64_t extent;         // 0: no fixed axis became symbolic
} fixed_batch;

static dp_status make_symbolic(dp_model *model, dp_value *input, int axis, fixed_batch *batch) {
  int64_t extent = input->type->shape.dims[axis].offset;
  if (extent < 1)
    return dp_fail(EX_USAGE, "input '%s' has extent %lld along axis %d: there is nothing to split", input->name,
                   (long long)extent, axis);
  if (batch->first && batch->extent != extent)
    return dp_fail(
        EX_USAGE,
        "input '%s' has extent %lld along axis %d, but input '%s' has %lld along its axis: both must be the batch",
        input->name, (long long)extent, axis, batch->first->name, (long long)batch->extent);
  *batch = (fixed_batch){batch->first ? batch->first : input, extent};
  dp_type type = *input->type;
  type.shape.dims[axis] = dp_dim_batch();
  input->type = dp_model_type(model, &type);
  return DP_OK;
}

// Whether an input has a symbolic dim.
static bool is_symbolic(const dp_graph *main) {
  for (int32_t i = 0; i < main->n_values; i++)
    if (main->values[i]->kind == DP_VALUE_INPUT && symbolic_axis(&main->values[i]->type->shape) >= 0) return true;
  return false;
}

// Splits inputs as requested, in a model of fixed shapes; *any: some input has an axis of samples.
static dp_status split_as_asked(const dp_options *options, dp_graph *main, fixed_batch *batch, bool *any) {
  bool fixed = !is_symbolic(main);
  *any = !fixed;
  for (int32_t i = 0; i < main->n_values; i++) {
    dp_value *input = main->values[i];
    int axis;
    if (input->kind != DP_VALUE_INPUT) continue;
    DP_TRY(asked_axis(dp_options_split(options, input->name), input, &axis));
    if (axis < 0 || !fixed) continue;
    DP_TRY(make_symbolic(main->model, input, axis, batch));
    *any = true;
  }
  return DP_OK;
}

// Nothing is symbolic and nothing was requested: takes the leading dim that all inputs share.
static dp_status split_leading(const dp_options *options, dp_graph *main, fixed_batch *batch) {
  const dp_value *first = NULL;
  for (int32_t i = 0; i < main->n_values; i++) {
    const dp_value *input = main->values[i];
    if (input->kind != DP_VALUE_INPUT || !input->type->shape.rank || dp_options_split(options, input->name)) continue;
    if (first && !dp_dim_equal(input->type->shape.dims[0], first->type->shape.dims[0])) {
      char a[256], b[256];
      return dp_fail(EX_USAGE,
                     "inputs '%s' %s and '%s' %s have no leading dim in common; say which axes samples lie along with "
                     "--split NAME=AXIS or NAME=none",
                     first->name, dp_shape_print(&first->type->shape, a, sizeof a), input->name,
                     dp_shape_print(&input->type->shape, b, sizeof b));
    }
    if (!first) first = input;
  }
  if (!first) return dp_fail(EX_DATAERR, "the model has no input with samples along an axis: there is no batch");
  for (int32_t i = 0; i < main->n_values; i++) {
    dp_value *input = main->values[i];
    if (input->kind == DP_VALUE_INPUT && input->type->shape.rank && !dp_options_split(options, input->name))
      DP_TRY(make_symbolic(main->model, input, 0, batch));
  }
  return DP_OK;
}

// ---- the rest of the graph ------------------------------------------------------------------------------------------

// Extents stated by the node that begin with (a multiple of) the batch, where its first operand now does.
static void rescale_attrs(dp_node *node, int64_t extent) {
  const dp_value *x = node->n_inputs ? node->inputs[0] : NULL;
  if (!x || !x->type->shape.rank || !dp_dim_is_symbolic(x->type->shape.dims[0])) return;
  for (int i = 0; i < node->n_attrs; i++) {
    dp_attr *attr = &node->attrs[i];
    if (attr->kind != DP_ATTR_DIMS || !attr->count || attr->dims[0].scale || attr->dims[0].offset < 1) continue;
    if (attr->dims[0].offset % extent) continue;
    dp_dim *dims = dp_memdup(node->graph->arena, attr->dims, attr->count * sizeof *dims);
    dims[0] = (dp_dim){attr->dims[0].offset / extent, 0};
    attr->dims = dims;
  }
}

static dp_status infer_again(dp_graph *main, const fixed_batch *batch) {
  for (int32_t i = 0; i < main->n_nodes; i++) {
    rescale_attrs(main->nodes[i], batch->extent);
    DP_TRY(dp_status_context(dp_op_infer(main->nodes[i]),
                             "with the %lld samples of input '%s' as a batch of any size (--split says otherwise)",
                             (long long)batch->extent, batch->first->name));
  }
  return DP_OK;
}

static dp_status run(dp_compile *compile) {
  const dp_options *options = compile->options;
  dp_model *model = compile->model;
  dp_graph *main = dp_model_find_graph(model, "main");
  fixed_batch batch = {0};
  bool any;
  DP_TRY(check_splits(options, main));
  if (options->batch < 0 || options->batch > MAX_BATCH)
    return dp_fail(EX_USAGE, "--batch=%lld: it must be 1 to %d", (long long)options->batch, MAX_BATCH);
  DP_TRY(split_as_asked(options, main, &batch, &any));
  bool whole = !any && dp_options_infers(options);
  if (whole && options->batch)
    return dp_fail(EX_CONFIG, "--batch=%lld, but no input has an axis of samples: name one with --split NAME=AXIS",
                   (long long)options->batch);
  if (whole) model->batch = 1;
  if (!any && !whole) DP_TRY(split_leading(options, main, &batch));
  if (options->batch) model->batch = options->batch;
  if (!model->batch) model->batch = batch.extent;
  if (!model->batch)
    return dp_fail(EX_USAGE,
                   "the model leaves the batch open (%s): give --batch=B, the samples of a step on all devices",
                   model->symbol);
  if (batch.first) DP_TRY(infer_again(main, &batch));
  DP_TRY(dp_status_context(dp_graph_verify(main), "at a batch of %lld", (long long)model->batch));
  return dp_micro_add(compile, !whole);
}

const dp_pass dp_pass_batch = {
    .name = "batch",
    .what = "makes fixed shapes symbolic in the samples present; finds the batch and its micro-batches",
    .needs = DP_HAS_MESH,
    .gives = DP_HAS_BATCH,
    .run = run,
};
