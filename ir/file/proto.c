// Converts models, variables, placements and meshes to and from messages. See proto.h.
#include "ir/file/proto.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/file/proto_private.h"
#include "ir/text/lex.h"

// ---- placements and meshes ------------------------------------------------------------------------------------------

static Dp__Placement *from_placement(dp_arena *arena, const dp_placement *placement) {
  Dp__Placement *message = DP_PROTO_NEW(arena, Dp__Placement, dp__placement);
  message->kind = placement->kind;
  message->dim = (uint32_t)placement->dim;
  message->outer = placement->outer;
  message->unit = placement->unit;
  message->reduction = placement->reduction;
  return message;
}

Dp__Placement **dp_proto_from_placements(dp_arena *arena, const dp_placement *placements, int count) {
  Dp__Placement **messages = dp_alloc_n(arena, (size_t)count, sizeof *messages);
  for (int i = 0; i < count; i++) messages[i] = from_placement(arena, &placements[i]);
  return messages;
}

dp_status dp_proto_to_placement(const Dp__Placement *m, dp_placement *placement) {
  if (!m) return dp_fail(EX_DATAERR, "the placement is missing");
  bool shard = m->kind == DP_SHARD, partial = m->kind == DP_PARTIAL;
  if (m->kind < DP_REPLICATE || m->kind > DP_PARTIAL)
    return dp_fail(EX_DATAERR, "placement kind %d is unknown", m->kind);
  if (m->reduction < DP_SUM || m->reduction > DP_MAX)
    return dp_fail(EX_DATAERR, "reduction %d is unknown", m->reduction);
  if (!shard && (m->dim || m->outer || m->unit)) return dp_fail(EX_DATAERR, "only a Shard has dim, outer and unit");
  if (!partial && m->reduction) return dp_fail(EX_DATAERR, "only a Partial has a reduction");
  if (shard && (m->dim >= DP_MAX_RANK || m->outer < 1 || m->unit < 1))
    return dp_fail(EX_DATAERR, "a Shard has dim %u, outer %lld and unit %lld; outer and unit must be at least 1",
                   m->dim, (long long)m->outer, (long long)m->unit);
  *placement = (dp_placement){(dp_placement_kind)m->kind, (int)m->dim, (dp_reduction)m->reduction, m->outer, m->unit};
  return DP_OK;
}

dp_status dp_proto_to_placements(size_t count, Dp__Placement *const *messages, const dp_shape *shape,
                                 const dp_mesh *mesh, dp_placement placements[DP_MAX_MESH]) {
  dp_placement all[DP_MAX_MESH] = {0};
  if (count != (size_t)mesh->n_axes)
    return dp_fail(EX_DATAERR, "%zu placements on a mesh of %d axes", count, mesh->n_axes);
  for (size_t i = 0; i < count; i++) DP_TRY(dp_proto_to_placement(messages[i], &all[i]));
  DP_TRY(dp_placement_check(shape, all, mesh));
  memcpy(placements, all, sizeof all);
  return DP_OK;
}

Dp__MeshAxis **dp_proto_from_mesh(dp_arena *arena, const dp_mesh *mesh) {
  Dp__MeshAxis **messages = dp_alloc_n(arena, (size_t)mesh->n_axes, sizeof *messages);
  for (int i = 0; i < mesh->n_axes; i++) {
    messages[i] = DP_PROTO_NEW(arena, Dp__MeshAxis, dp__mesh_axis);
    messages[i]->name = dp_proto_string(mesh->axes[i].name);
    messages[i]->size = mesh->axes[i].size;
  }
  return messages;
}

dp_status dp_proto_to_mesh(size_t count, Dp__MeshAxis *const *messages, dp_mesh *mesh) {
  dp_mesh m = {0};
  if (count > DP_MAX_MESH)
    return dp_fail(EX_DATAERR, "a mesh of %zu axes; at most %d are supported", count, DP_MAX_MESH);
  for (size_t i = 0; i < count; i++) {
    const dp_mesh_axis axis = {messages[i]->name, messages[i]->size};
    if (!*axis.name || dp_mesh_find(&m, axis.name) >= 0)
      return dp_fail(EX_DATAERR, "mesh axis %zu has an empty or repeated name", i);
    if (!dp_mesh_add(&m, &axis))
      return dp_fail(EX_DATAERR, "axis '%s' of size %lld makes a mesh of no %s, or of more than %d", axis.name,
                     (long long)axis.size, dp_mesh_is_sequential(&axis) ? "micro-batches" : "devices",
                     dp_mesh_is_sequential(&axis) ? DP_LIMIT_MICROBATCHES : DP_LIMIT_DEVICES);
  }
  *mesh = m;
  return DP_OK;
}

// ---- variables ----------------------------------------------------------------------------------------------

Dp__Constraint **dp_proto_from_constraints(dp_arena *arena, int count, const dp_constraint *constraints) {
  Dp__Constraint **messages = dp_alloc_n(arena, (size_t)count, sizeof *messages);
  for (int i = 0; i < count; i++) {
    messages[i] = DP_PROTO_NEW(arena, Dp__Constraint, dp__constraint);
    messages[i]->axis = dp_proto_string(constraints[i].axis);
    messages[i]->placement = from_placement(arena, &constraints[i].placement);
  }
  return messages;
}

Dp__Variable *dp_proto_from_variable(dp_arena *arena, const dp_variable *p, int n_axes) {
  Dp__Variable *message = DP_PROTO_NEW(arena, Dp__Variable, dp__variable);
  message->name = dp_proto_string(p->name);
  message->kind = p->kind;
  message->type = dp_proto_from_type(arena, p->type);
  message->initial = DP_PROTO_NEW(arena, Dp__Initial, dp__initial);
  message->initial->kind = p->init.kind;
  if (p->init.kind == DP_INIT_TENSOR) {
    message->initial->tensor = dp_proto_from_tensor(arena, p->init.tensor);
  } else {
    message->initial->a = p->init.a;
    message->initial->b = p->init.b;
  }
  message->n_constraints = (size_t)p->n_constraints;
  message->constraints = dp_proto_from_constraints(arena, p->n_constraints, p->constraints);
  message->frozen = p->frozen;
  if (!n_axes) return message;
  message->n_placements = (size_t)n_axes;
  message->placements = dp_proto_from_placements(arena, p->placements, n_axes);
  message->offloaded = p->offloaded;
  if (p->layout != DP_LAYOUT_PLAIN) message->layout = (Dp__Layout)(p->layout - DP_LAYOUT_NHWC + DP__LAYOUT__NHWC);
  message->offset = p->offset;
  message->bytes = p->bytes;
  message->n_stages = (size_t)p->n_stages;
  message->stages = dp_alloc_n(arena, message->n_stages, sizeof *message->stages);
  for (int i = 0; i < p->n_stages; i++) message->stages[i] = (uint32_t)p->stages[i];
  return message;
}

static dp_status to_initial(dp_arena *arena, const Dp__Initial *m, const dp_type *type, dp_init *init) {
  if (!m) return dp_fail(EX_DATAERR, "its initial value is missing");
  *init = (dp_init){.kind = (dp_init_kind)m->kind, .a = m->a, .b = m->b};
  if (m->kind < DP_INIT_TENSOR || m->kind > DP_INIT_NORMAL)
    return dp_fail(EX_DATAERR, "kind %d of its initial value is unknown", m->kind);
  if (m->kind != DP_INIT_TENSOR) {
    if (m->tensor) return dp_fail(EX_DATAERR, "its initial value has data, but is not a tensor");
    bool finite = isfinite(m->a) && isfinite(m->b);
    if ((m->kind == DP_INIT_UNIFORM && !(finite && m->a <= m->b)) ||
        (m->kind == DP_INIT_NORMAL && !(finite && m->b >= 0)))
      return dp_fail(EX_DATAERR,
                     "its initial distribution (%g, %g) is invalid: bounds must rise, a deviation must not be "
                     "negative, all must be finite",
                     m->a, m->b);
    return DP_OK;
  }
  DP_TRY(dp_proto_to_tensor(arena, m->tensor, &init->tensor));
  dp_type own = {init->tensor->dtype, dp_tensor_shape(init->tensor)};
  char a[256], b[256];
  if (own.dtype == type->dtype && dp_shape_equal(&own.shape, &type->shape)) return DP_OK;
  return dp_fail(EX_DATAERR, "it is %s but its initial value is %s", dp_type_print(type, a, sizeof a),
                 dp_type_print(&own, b, sizeof b));
}

dp_status dp_proto_to_constraints(dp_arena *arena, size_t count, Dp__Constraint *const *messages, const dp_shape *shape,
                                  int *n_constraints, dp_constraint **constraints) {
  if (count > DP_MAX_MESH) return dp_fail(EX_DATAERR, "%zu pins; a mesh has at most %d axes", count, DP_MAX_MESH);
  dp_constraint *all = dp_alloc_n(arena, count, sizeof *all);
  for (size_t i = 0; i < count; i++) {
    dp_mesh one = {1, {{messages[i]->axis, 2}}};
    if (!*one.axes[0].name) return dp_fail(EX_DATAERR, "a pin names no axis");
    for (size_t k = 0; k < i; k++)
      if (!strcmp(all[k].axis, one.axes[0].name))
        return dp_fail(EX_DATAERR, "it is pinned twice on axis '%s'", one.axes[0].name);
    all[i].axis = one.axes[0].name;
    DP_TRY(dp_proto_to_placement(messages[i]->placement, &all[i].placement));
    DP_TRY(dp_placement_check(shape, &all[i].placement, &one));
  }
  *n_constraints = (int)count;
  *constraints = all;
  return DP_OK;
}

// The stages must be in range for the mesh and rise.
static dp_status to_stages(dp_arena *arena, const Dp__Variable *m, const dp_mesh *mesh, dp_variable *p) {
  int64_t stages = dp_mesh_stages(mesh);
  if (m->n_stages > (size_t)stages)
    return dp_fail(EX_DATAERR, "it is on %zu stages of %lld", m->n_stages, (long long)stages);
  p->n_stages = (int)m->n_stages;
  p->stages = dp_alloc_n(arena, m->n_stages, sizeof *p->stages);
  for (size_t i = 0; i < m->n_stages; i++) p->stages[i] = m->stages[i] > INT_MAX ? INT_MAX : (int)m->stages[i];
  return dp_variable_check_stages(p, stages);
}

// Blocks of channels are no layout of what is stored.
static dp_status to_storage_layout(Dp__Layout m, dp_layout *layout) {
  static const struct {
    bool known;
    dp_layout is;
  } layouts[] = {
      [DP__LAYOUT__LAYOUT_NONE] = {true, DP_LAYOUT_PLAIN},
      [DP__LAYOUT__PLAIN] = {true, DP_LAYOUT_PLAIN},
      [DP__LAYOUT__NHWC] = {true, DP_LAYOUT_NHWC},
      [DP__LAYOUT__OIHW16I32O] = {true, DP_LAYOUT_OIHW16I32O},
  };
  if ((unsigned)m >= DP_COUNT(layouts) || !layouts[m].known)
    return dp_fail(EX_DATAERR, "its layout %d is unknown", (int)m);
  *layout = layouts[m].is;
  return DP_OK;
}

static dp_status to_variable(dp_model *model, const Dp__Variable *m, const dp_mesh *mesh, dp_variable *p) {
  *p = (dp_variable){.name = m->name, .kind = (dp_variable_kind)m->kind, .frozen = m->frozen};
  if (m->kind < DP_PARAMETER || m->kind > DP_STORED_CONSTANT) return dp_fail(EX_DATAERR, "kind %d is unknown", m->kind);
  DP_TRY(dp_variable_check_name(p));
  dp_type type;
  DP_TRY(dp_proto_to_type(m->type, &type));
  p->type = dp_model_type(model, &type);
  if (dp_shape_is_symbolic(&p->type->shape))
    return dp_fail(EX_DATAERR, "it outlives a step, so its shape cannot depend on the batch");
  DP_TRY(to_initial(model->arena, m->initial, p->type, &p->init));
  DP_TRY(dp_proto_to_constraints(model->arena, m->n_constraints, m->constraints, &p->type->shape, &p->n_constraints,
                                 &p->constraints));
  if (!mesh) {
    if (m->n_placements || m->offset || m->bytes || m->n_stages || m->offloaded || m->layout)
      return dp_fail(EX_DATAERR, "it has an address in memory, which only a plan gives");
    return DP_OK;
  }
  dp_placement placements[DP_MAX_MESH];
  DP_TRY(dp_proto_to_placements(m->n_placements, m->placements, &p->type->shape, mesh, placements));
  p->placements = dp_model_placements(model, placements);
  DP_TRY(to_storage_layout(m->layout, &p->layout));
  p->offloaded = m->offloaded;
  p->offset = m->offset;
  p->bytes = m->bytes;
  return to_stages(model->arena, m, mesh, p);
}

dp_status dp_proto_to_variable(dp_model *model, const Dp__Variable *message, const dp_mesh *mesh,
                               dp_variable *variable) {
  return dp_status_context(to_variable(model, message, mesh, variable), "variable '%s'", message->name);
}

// ---- models ---------------------------------------------------------------------------------------------------------

Dp__Model *dp_proto_from_model(dp_arena *arena, const dp_model *model) {
  Dp__Model *message = DP_PROTO_NEW(arena, Dp__Model, dp__model);
  message->version = DP_PROTO_VERSION;
  message->producer = dp_proto_string("dpc");
  message->name = dp_proto_string(model->name);
  message->opset = model->opset;
  message->symbol = dp_proto_string(model->symbol);
  message->loss = dp_proto_string(model->loss);
  message->optimizer = dp_proto_string(model->optimizer);
  message->caveat = dp_proto_string(model->caveat);
  message->n_variables = (size_t)model->n_variables;
  message->variables = dp_alloc_n(arena, message->n_variables, sizeof *message->variables);
  for (int32_t i = 0; i < model->n_variables; i++)
    message->variables[i] = dp_proto_from_variable(arena, &model->variables[i], 0);
  message->n_graphs = (size_t)model->n_graphs;
  message->graphs = dp_alloc_n(arena, message->n_graphs, sizeof *message->graphs);
  for (int i = 0; i < model->n_graphs; i++) message->graphs[i] = dp_proto_from_graph(arena, model->graphs[i]);
  return message;
}

static dp_status to_head(const Dp__Model *m, dp_model *model) {
  if (m->version != DP_PROTO_VERSION)
    return dp_fail(EX_DATAERR, "version %u of the model's format; this program reads version %d", m->version,
                   DP_PROTO_VERSION);
  if (m->opset < 0 || m->opset > INT32_MAX)
    return dp_fail(EX_DATAERR, "opset %lld is invalid: it must be 1 or more", (long long)m->opset);
  model->opset = m->opset;
  if (*m->symbol) model->symbol = m->symbol;
  if (!dp_text_lex_is_word(model->symbol) || !strcmp(model->symbol, "inf") || !strcmp(model->symbol, "nan"))
    return dp_fail(EX_DATAERR, "'%s' cannot stand for the batch: use a word such as N", model->symbol);
  if (*m->loss) model->loss = m->loss;
  if (*m->optimizer) model->optimizer = m->optimizer;
  if (*m->caveat) model->caveat = m->caveat;
  if (!m->n_graphs || m->n_graphs > DP_LIMIT_GRAPHS)
    return dp_fail(EX_DATAERR, "%zu graphs; a model has 1 to %d", m->n_graphs, DP_LIMIT_GRAPHS);
  return DP_OK;
}

dp_status dp_proto_to_model(dp_arena *arena, const Dp__Model *message, dp_model **model) {
  dp_model *m = dp_model_create(arena, message->name);
  DP_TRY(to_head(message, m));
  for (size_t i = 0; i < message->n_variables; i++) {
    dp_variable variable;
    DP_TRY(dp_proto_to_variable(m, message->variables[i], NULL, &variable));
    if (dp_model_find_variable(m, variable.name) >= 0)
      return dp_fail(EX_DATAERR, "two variables are called '%s'", variable.name);
    dp_model_add_variable(m, &variable);
  }
  for (size_t i = 0; i < message->n_graphs; i++) {
    dp_graph *graph;
    DP_TRY(dp_proto_to_graph(m, message->graphs[i], &graph));
    if (dp_model_find_graph(m, graph->name)) return dp_fail(EX_DATAERR, "two graphs are called '%s'", graph->name);
    dp_model_add_graph(m, graph);
  }
  *model = m;
  return DP_OK;
}
