// Sharding constraints of a value, axis by axis: (tensor=0, data=S(1,4,2)); a bare number is a dim.
#include <string.h>

#include "ir/text/syntax.h"

static dp_status parse_constraint(dp_text_lex *lex, dp_constraint *constraint) {
  *constraint = (dp_constraint){NULL, dp_shard(0)};
  DP_TRY(dp_text_lex_take_name(lex, "the name of a mesh axis", &constraint->axis));
  DP_TRY(dp_text_lex_take(lex, "="));
  if (lex->kind != DP_TEXT_NUMBER) return dp_text_type_parse_placement(lex, &constraint->placement);
  int64_t dim;
  DP_TRY(dp_text_lex_take_count(lex, "a dim", DP_MAX_RANK - 1, &dim));
  constraint->placement.dim = (int)dim;
  return DP_OK;
}

dp_status dp_text_constraints_check(const dp_text_lex *lex, dp_text_location location, const dp_shape *shape, int count,
                                    const dp_constraint *constraints) {
  for (int i = 0; i < count; i++) {
    dp_mesh one = {1, {{constraints[i].axis, 2}}};
    DP_TRY(dp_text_lex_context(lex, location, dp_placement_check(shape, &constraints[i].placement, &one)));
  }
  return DP_OK;
}

dp_status dp_text_constraints_parse(dp_text_lex *lex, const dp_shape *shape, int *count, dp_constraint **constraints) {
  DP_TRY(dp_text_lex_take(lex, "("));
  while (!dp_text_lex_is(lex, ")")) {
    dp_constraint constraint;
    if (*count) DP_TRY(dp_text_lex_take(lex, ","));
    dp_text_location location = dp_text_lex_location(lex);
    DP_TRY(parse_constraint(lex, &constraint));
    for (int i = 0; i < *count; i++)
      if (!strcmp((*constraints)[i].axis, constraint.axis))
        return dp_text_lex_fail_at(lex, location, "axis '%s' is given twice", constraint.axis);
    if (*count == DP_MAX_MESH) return dp_text_lex_fail_at(lex, location, "a mesh has at most %d axes", DP_MAX_MESH);
    if (shape) DP_TRY(dp_text_constraints_check(lex, location, shape, 1, &constraint));
    DP_PUSH(lex->arena, *constraints, *count, constraint);
  }
  return dp_text_lex_next(lex);
}

void dp_text_constraints_print(FILE *out, int count, const dp_constraint *constraints) {
  char text[64];
  for (int i = 0; i < count; i++) {
    const dp_placement *at = &constraints[i].placement;
    fputs(i ? ", " : "(", out);
    dp_text_print_name(out, constraints[i].axis);
    if (dp_placement_equal(*at, dp_shard(at->dim)))
      fprintf(out, "=%d", at->dim);
    else
      fprintf(out, "=%s", dp_placement_print(*at, text, sizeof text));
  }
  if (count) fputc(')', out);
}
