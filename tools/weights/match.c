// See match.h.
#include "tools/weights/match.h"

#include <string.h>

#include "ir/base/names.h"
#include "ir/base/suggest.h"

enum { LISTED = 5 };  // names of a list, before it only counts

bool dp_weights_is_average(const char *name) { return !strncmp(name, DP_WEIGHTS_AVERAGE, strlen(DP_WEIGHTS_AVERAGE)); }

int32_t dp_weights_average_of(dp_arena *arena, const dp_model *model, int32_t variable) {
  const dp_variable *p = &model->variables[variable];
  if (p->kind != DP_PARAMETER) return -1;
  return dp_model_find_variable(model, dp_printf(arena, DP_WEIGHTS_AVERAGE "%s", p->name));
}

bool dp_weights_is_weight(const dp_variable *p) { return p->kind == DP_PARAMETER || p->kind == DP_BUFFER; }

bool dp_weights_is_kept(const dp_variable *p) { return dp_weights_is_weight(p) || p->kind == DP_STATE; }

dp_tensor dp_weights_tensor_of(const dp_variable *p) {
  dp_tensor t = {.dtype = p->type->dtype, .rank = p->type->shape.rank};
  dp_shape_at(&p->type->shape, 0, t.extents);
  t.bytes = (size_t)dp_shape_count(&p->type->shape, 0) * dp_type_bytes(t.dtype);
  return t;
}

// A list of names as text, which says only how many there are beyond the first few.
typedef struct {
  dp_arena *arena;
  const char *text;
  int count;
} list;

static void add(list *l, const char *item) {
  if (l->count++ < LISTED) l->text = dp_printf(l->arena, "%s%s%s", l->text, *l->text ? ", " : "", item);
}

static const char *print_list(const list *l, const char *heading) {
  if (!l->count) return "";
  const char *more = l->count > LISTED ? dp_printf(l->arena, " and %d more", l->count - LISTED) : "";
  return dp_printf(l->arena, "%s%s%s", heading, l->text, more);
}

typedef struct {
  list missing, unexpected, unfit;
} lists;

bool dp_weights_fits(const dp_tensor *found, const dp_tensor *wanted, bool convert) {
  const bool floats = (DP_BIT(found->dtype) & DP_FLOATS) && (DP_BIT(wanted->dtype) & DP_FLOATS);
  return found->rank == wanted->rank &&
         !memcmp(found->extents, wanted->extents, (size_t)wanted->rank * sizeof *wanted->extents) &&
         (found->dtype == wanted->dtype || (convert && floats));
}

static void add_unfit(list *l, const char *name, const dp_tensor *found, const dp_tensor *wanted) {
  char a[256], b[256];
  dp_type in_file = {found->dtype, dp_tensor_shape(found)}, in_plan = {wanted->dtype, dp_tensor_shape(wanted)};
  add(l, dp_printf(l->arena, "'%s' is %s, but the model has %s", name, dp_type_print(&in_file, a, sizeof a),
                   dp_type_print(&in_plan, b, sizeof b)));
}

// Only what is missing can have been meant: fc2.bias is no fc1.bias that was mistyped if both are there. Nobody types
// the names of an optimizer's state.
static void add_unexpected(list *l, const dp_model *model, const dp_names *there, const char *name) {
  dp_suggest suggest = dp_suggest_begin(name);
  for (int32_t k = 0; k < model->n_variables && l->count < LISTED; k++) {
    const dp_variable *p = &model->variables[k];
    if (dp_weights_is_weight(p) && dp_names_find(there, p->name) < 0) dp_suggest_offer(&suggest, p->name);
  }
  char hint[128];
  add(l, dp_printf(l->arena, "'%s'%s", name, dp_suggest_print(&suggest, hint, sizeof hint)));
}

dp_status dp_weights_match(dp_arena *arena, const dp_model *model, const dp_weights_source *sources, size_t count,
                           const dp_weights_matching *matching, const dp_weights_source ***found,
                           const char **left_out) {
  dp_names *names = dp_names_create(arena);
  const dp_weights_source **of = dp_alloc_n(arena, (size_t)model->n_variables, sizeof *of);
  lists l = {{arena, "", 0}, {arena, "", 0}, {arena, "", 0}};
  for (size_t i = 0; i < count; i++) {
    if (dp_names_find(names, sources[i].name) >= 0)
      return dp_fail(EX_DATAERR, "two tensors are called '%s'", sources[i].name);
    dp_names_add(names, sources[i].name, (int32_t)i);
  }
  for (size_t i = 0; i < count; i++) {
    const int32_t v = dp_model_find_variable(model, sources[i].name);
    if (v < 0 || !matching->wanted(&model->variables[v])) {
      add_unexpected(&l.unexpected, model, names, sources[i].name);
      continue;
    }
    const dp_tensor wanted = dp_weights_tensor_of(&model->variables[v]);
    if (dp_weights_fits(&sources[i].entry->tensor, &wanted, matching->convert))
      of[v] = &sources[i];
    else
      add_unfit(&l.unfit, sources[i].name, &sources[i].entry->tensor, &wanted);
  }
  for (int32_t v = 0; v < model->n_variables; v++) {
    const dp_variable *p = &model->variables[v];
    if (matching->wanted(p) && dp_names_find(names, p->name) < 0) add(&l.missing, dp_printf(arena, "'%s'", p->name));
  }
  const char *text = dp_printf(arena, "%s%s%s", print_list(&l.missing, "\n  missing, though the model has them: "),
                               print_list(&l.unexpected, "\n  unexpected, as the model has none of that name: "),
                               print_list(&l.unfit, "\n  of another shape or type: "));
  if (*text && !matching->partial) return dp_fail(EX_DATAERR, "the tensors are not those of the model%s", text);
  *left_out = *text ? text : NULL;
  *found = of;
  return DP_OK;
}
