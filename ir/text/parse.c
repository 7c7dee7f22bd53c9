// The model in the text form: its head, mesh, variables and graphs. See text.h.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/limits.h"
#include "ir/text/syntax.h"
#include "ir/text/text.h"

typedef struct {
  dp_text_lex lex;
  dp_model *model;
  dp_text_graph flat;  // "main" when its statements stand in the model's own braces
  unsigned seen;       // head statements
} reader;

static dp_status parse_statement(reader *r);

// ---- head -----------------------------------------------------------------------------------------------------------

typedef enum { OPSET, SYMBOL, BATCH, MESH, LOSS, OPTIMIZER, CAVEAT, N_HEADS } head;
static const char *const heads[] = {"opset", "symbol", "batch", "mesh", "loss", "optimizer", "caveat"};

static dp_status parse_symbol(reader *r) {
  const char *symbol;
  if (r->lex.kind != DP_TEXT_NAME || dp_text_lex_is_number(&r->lex))
    return dp_text_lex_expected(&r->lex, "a word for the samples present, like N");
  DP_TRY(dp_text_lex_take_name(&r->lex, "a word", &symbol));
  r->model->symbol = r->lex.symbol = symbol;
  return DP_OK;
}

static dp_status parse_mesh(reader *r) {
  dp_text_lex *lex = &r->lex;
  dp_mesh mesh = {0};
  for (bool more = true; more;) {
    dp_text_location location = dp_text_lex_location(lex);
    if (mesh.n_axes == DP_MAX_MESH) return dp_text_lex_fail(lex, "a mesh has at most %d axes", DP_MAX_MESH);
    dp_mesh_axis axis;
    DP_TRY(dp_text_lex_take_name(lex, "the name of a mesh axis", &axis.name));
    DP_TRY(dp_text_lex_take(lex, "="));
    DP_TRY(dp_text_lex_take_count(lex, "the size of a mesh axis", INT32_MAX, &axis.size));
    if (dp_mesh_find(&mesh, axis.name) >= 0)
      return dp_text_lex_fail_at(lex, location, "there are two mesh axes '%s'", axis.name);
    if (!dp_mesh_add(&mesh, &axis))
      return dp_text_lex_fail_at(lex, location, "axis '%s' makes a mesh of no %s, or of more than %d", axis.name,
                                 dp_mesh_is_sequential(&axis) ? "micro-batches" : "devices",
                                 dp_mesh_is_sequential(&axis) ? DP_LIMIT_MICROBATCHES : DP_LIMIT_DEVICES);
    DP_TRY(dp_text_lex_try(lex, ",", &more));
  }
  r->model->mesh = mesh;
  return DP_OK;
}

static dp_status parse_head(reader *r, head which) {
  dp_model *model = r->model;
  if (r->seen & 1u << which) return dp_text_lex_fail(&r->lex, "'%s' is given twice", heads[which]);
  r->seen |= 1u << which;
  switch (which) {
    case OPSET:
      return dp_text_lex_take_count(&r->lex, "the number of an ONNX opset", INT32_MAX, &model->opset);
    case SYMBOL:
      return parse_symbol(r);
    case BATCH:
      return dp_text_lex_take_count(&r->lex, "the largest number of samples", INT64_C(1) << 40, &model->batch);
    case MESH:
      return parse_mesh(r);
    case LOSS:
      return dp_text_lex_take_string(&r->lex, "a \"loss(...)\"", &model->loss);
    case OPTIMIZER:
      return dp_text_lex_take_string(&r->lex, "an \"optimizer(...)\"", &model->optimizer);
    case CAVEAT:
      return dp_text_lex_take_string(&r->lex, "a sentence in quotes", &model->caveat);
    case N_HEADS:
      break;
  }
  return DP_OK;
}

// ---- variables ----------------------------------------------------------------------------------------------

static const char *const kinds[] = {"parameter", "buffer", "state", "stored"};  // dp_variable_kind's names

// PyTorch's default for linear and convolutional layers: U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
static dp_status parse_kaiming(dp_text_lex *lex, const dp_type *type, dp_init *init) {
  double fan_in = 1;
  for (int i = 1; i < type->shape.rank; i++) fan_in *= (double)type->shape.dims[i].offset;
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take(lex, "("));
  if (!dp_text_lex_is(lex, ")"))
    DP_TRY(dp_text_lex_take_double(lex, "the fan-in", &fan_in));
  else if (type->shape.rank < 2)
    return dp_text_lex_fail_at(lex, location,
                               "the fan-in cannot be derived from this shape: write kaiming_uniform(64)");
  if (!(fan_in >= 1) || fan_in > 1e18) return dp_text_lex_fail_at(lex, location, "the fan-in must be at least 1");
  double bound = 1 / sqrt(fan_in);
  *init = (dp_init){.kind = DP_INIT_UNIFORM, .a = -bound, .b = bound};
  return dp_text_lex_take(lex, ")");
}

static dp_status parse_arguments(dp_text_lex *lex, int count, dp_init *init) {
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take(lex, "("));
  DP_TRY(dp_text_lex_take_double(lex, "a number", &init->a));
  if (count == 2) {
    DP_TRY(dp_text_lex_take(lex, ","));
    DP_TRY(dp_text_lex_take_double(lex, "a number", &init->b));
  }
  if (init->kind == DP_INIT_UNIFORM && !(init->a <= init->b && isfinite(init->a) && isfinite(init->b)))
    return dp_text_lex_fail_at(lex, location, "uniform(low, high) needs low <= high, both finite");
  if (init->kind == DP_INIT_NORMAL && !(init->b >= 0 && isfinite(init->a) && isfinite(init->b)))
    return dp_text_lex_fail_at(lex, location,
                               "normal(mean, deviation) needs finite numbers and a deviation of 0 or more");
  return dp_text_lex_take(lex, ")");
}

static dp_status parse_initial(dp_text_lex *lex, const dp_type *type, dp_init *init) {
  static const char *const words[] = {"zeros", "ones", "fill", "uniform", "normal", "kaiming_uniform", "tensor"};
  static const char what[] = "fill(0), uniform(-1, 1), normal(0, 1), kaiming_uniform(), zeros, ones, or data";
  size_t word = 0;
  while (word < DP_COUNT(words) && !dp_text_lex_is(lex, words[word])) word++;
  if (lex->kind == DP_TEXT_NAME && word == DP_COUNT(words) && !dp_text_lex_is(lex, "base64") &&
      !dp_text_lex_is(lex, "hex"))
    return dp_text_lex_expected(lex, what);
  if (word < DP_COUNT(words)) DP_TRY(dp_text_lex_next(lex));
  switch (word) {
    case 0:
    case 1:
      *init = (dp_init){.kind = DP_INIT_FILL, .a = (double)word};
      return DP_OK;
    case 2:
      *init = (dp_init){.kind = DP_INIT_FILL};
      return parse_arguments(lex, 1, init);
    case 3:
      *init = (dp_init){.kind = DP_INIT_UNIFORM};
      return parse_arguments(lex, 2, init);
    case 4:
      *init = (dp_init){.kind = DP_INIT_NORMAL};
      return parse_arguments(lex, 2, init);
    case 5:
      return parse_kaiming(lex, type, init);
    default:
      *init = (dp_init){.kind = DP_INIT_TENSOR};
      return dp_text_data_parse(lex, type, &init->tensor);
  }
}

static dp_status parse_variable(reader *r, dp_variable_kind kind) {
  dp_text_lex *lex = &r->lex;
  dp_type type;
  dp_variable p = {.kind = kind, .type = &type};
  dp_text_location location = dp_text_lex_location(lex);
  DP_TRY(dp_text_lex_take_name(lex, "a name", &p.name));
  if (dp_model_find_variable(r->model, p.name) >= 0 || (r->flat.graph && dp_graph_find_value(r->flat.graph, p.name)))
    return dp_text_lex_fail_at(lex, location, "the name '%s' is already used", p.name);
  DP_TRY(dp_text_lex_context(lex, location, dp_variable_check_name(&p)));
  DP_TRY(dp_text_lex_take(lex, ":"));
  DP_TRY(dp_text_type_parse(lex, &type));
  if (dp_shape_is_symbolic(&type.shape))
    return dp_text_lex_fail_at(lex, location, "'%s' outlives a step, so its shape cannot depend on %s", p.name,
                               lex->symbol);
  DP_TRY(dp_text_lex_take(lex, "="));
  DP_TRY(parse_initial(lex, &type, &p.init));
  if (dp_text_lex_is(lex, "shard") && dp_text_lex_next_is(lex, '(')) {
    DP_TRY(dp_text_lex_next(lex));
    DP_TRY(dp_text_constraints_parse(lex, &type.shape, &p.n_constraints, &p.constraints));
  }
  if (dp_text_lex_is(lex, "frozen") && !dp_text_lex_next_is(lex, '=') && !dp_text_lex_next_is(lex, ',') &&
      !dp_text_lex_next_is(lex, ':')) {
    p.frozen = true;
    DP_TRY(dp_text_lex_next(lex));
  }
  dp_text_notes notes;
  location = dp_text_lex_location(lex);
  DP_TRY(dp_text_notes_parse(lex, DP_TEXT_OF_VARIABLE, &notes));
  dp_placement placements[DP_MAX_MESH] = {0};
  DP_TRY(dp_text_notes_set_placements(lex, location, &notes, &type, &r->model->mesh, placements));
  p.placements = dp_model_placements(r->model, placements);
  p.n_stages = notes.n_stages;
  p.stages = notes.stages;
  DP_TRY(dp_text_lex_context(lex, location, dp_variable_check_stages(&p, dp_mesh_stages(&r->model->mesh))));
  p.offloaded = notes.space == DP_SPACE_OFFLOAD;
  if (notes.space && notes.space != DP_SPACE_PERSISTENT && !p.offloaded)
    return dp_text_lex_fail_at(lex, location, "a variable is stored in space persistent or offload");
  if (notes.layout > DP_LAYOUT_NHWC || (notes.layout && type.shape.rank != 4))
    return dp_text_lex_fail_at(lex, location, "a variable is stored plain, or in nhwc if it has four dims");
  p.layout = (dp_layout)notes.layout;
  p.offset = notes.offset;
  p.bytes = notes.bytes;
  dp_model_add_variable(r->model, &p);
  return DP_OK;
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

static dp_status parse_graph(reader *r) {
  dp_text_lex before = r->lex;
  const char *name;
  DP_TRY(dp_text_lex_take_name(&r->lex, "the name of a graph", &name));
  if (r->flat.graph) return dp_text_lex_fail(&before, "a graph's statements must be inside its graph block");
  if (dp_model_find_graph(r->model, name)) return dp_text_lex_fail(&before, "there is already a graph '%s'", name);
  if (r->model->n_graphs == DP_LIMIT_GRAPHS)
    return dp_text_lex_fail(&before, "a model has at most %d graphs", DP_LIMIT_GRAPHS);
  dp_text_graph graph = dp_text_graph_begin(dp_graph_create(r->model, name));
  DP_TRY(dp_text_graph_block(&r->lex, &graph));
  dp_model_add_graph(r->model, graph.graph);
  return DP_OK;
}

static dp_status parse_flat(reader *r) {
  if (r->model->n_graphs && !r->flat.graph)
    return dp_text_lex_expected(&r->lex, "'graph' or '}' (the model's graphs are blocks)");
  if (!r->flat.graph) r->flat = dp_text_graph_begin(dp_graph_create(r->model, "main"));
  return dp_text_graph_statement(&r->lex, &r->flat);
}

static dp_status parse_statement(reader *r) {
  dp_text_lex *lex = &r->lex;
  bool word = lex->kind == DP_TEXT_NAME && !dp_text_lex_next_is(lex, '=') && !dp_text_lex_next_is(lex, ',') &&
              !dp_text_lex_next_is(lex, ':') && !dp_text_lex_next_is(lex, '[');
  for (int i = 0; word && i < N_HEADS; i++)
    if (dp_text_lex_is(lex, heads[i])) {
      DP_TRY(dp_text_lex_next(lex));
      return parse_head(r, (head)i);
    }
  for (size_t i = 0; word && i < DP_COUNT(kinds); i++)
    if (dp_text_lex_is(lex, kinds[i])) {
      DP_TRY(dp_text_lex_next(lex));
      return parse_variable(r, (dp_variable_kind)i);
    }
  if (word && dp_text_lex_is(lex, "graph")) {
    DP_TRY(dp_text_lex_next(lex));
    return parse_graph(r);
  }
  return parse_flat(r);
}

dp_status dp_text_parse(dp_arena *arena, const char *file_name, const char *text, size_t bytes, dp_model **model) {
  return dp_text_parse_with(arena, file_name, text, bytes, NULL, model);
}

dp_status dp_text_parse_with(dp_arena *arena, const char *file_name, const char *text, size_t bytes,
                             const dp_text_sources *sources, dp_model **model) {
  reader r = {0};
  const char *name = "";
  if (bytes > DP_TEXT_MAX_BYTES)
    return dp_fail(EX_DATAERR, "%s: the text is longer than the limit of 1 GiB", file_name);
  DP_TRY(dp_text_lex_open(&r.lex, arena, file_name, text, bytes));
  r.lex.sources = sources;
  dp_text_location location = dp_text_lex_location(&r.lex);
  DP_TRY(dp_text_lex_take(&r.lex, "model"));
  if (!dp_text_lex_is(&r.lex, "{")) {
    if (r.lex.kind == DP_TEXT_STRING)  // a model may have no name
      DP_TRY(dp_text_lex_take_string(&r.lex, "a name", &name));
    else
      DP_TRY(dp_text_lex_take_name(&r.lex, "the model's name", &name));
  }
  r.model = dp_model_create(arena, name);
  DP_TRY(dp_text_lex_take(&r.lex, "{"));
  while (!dp_text_lex_is(&r.lex, "}")) DP_TRY(parse_statement(&r));
  DP_TRY(dp_text_lex_next(&r.lex));
  if (r.lex.kind != DP_TEXT_END) return dp_text_lex_expected(&r.lex, "the end of the text after the model's '}'");
  if (r.flat.graph) DP_TRY(dp_text_lex_context(&r.lex, location, dp_graph_verify(r.flat.graph)));
  if (!r.flat.graph && !r.model->n_graphs) r.flat = dp_text_graph_begin(dp_graph_create(r.model, "main"));
  if (r.flat.graph) dp_model_add_graph(r.model, r.flat.graph);
  *model = r.model;
  return DP_OK;
}
