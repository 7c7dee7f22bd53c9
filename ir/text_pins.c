// Annotations of where a value is, axis by axis: (tensor=0, data=S(1,4,2)); a bare number is a dim.
#include <string.h>

#include "ir/text_parts.h"

static dp_status parse_pin(dp_text_lex *lex, dp_pin *pin) {
  *pin = (dp_pin){NULL, dp_shard(0)};
  DP_TRY(dp_text_lex_take_name(lex, "the name of a mesh axis", &pin->axis));
  DP_TRY(dp_text_lex_take(lex, "="));
  if (lex->kind != DP_TEXT_NUMBER) return dp_text_type_parse_placement(lex, &pin->placement);
  int64_t dim;
  DP_TRY(dp_text_lex_take_count(lex, "a dim", DP_MAX_RANK - 1, &dim));
  pin->placement.dim = (int)dim;
  return DP_OK;
}

dp_status dp_text_pins_check(const dp_text_lex *lex, dp_text_place place, const dp_shape *shape, int count,
                             const dp_pin *pins) {
  for (int i = 0; i < count; i++) {
    dp_mesh one = {1, {{pins[i].axis, 2}}};
    DP_TRY(dp_text_lex_context(lex, place, dp_placement_check(shape, &pins[i].placement, &one)));
  }
  return DP_OK;
}

dp_status dp_text_pins_parse(dp_text_lex *lex, const dp_shape *shape, int *count, dp_pin **pins) {
  DP_TRY(dp_text_lex_take(lex, "("));
  while (!dp_text_lex_is(lex, ")")) {
    dp_pin pin;
    if (*count) DP_TRY(dp_text_lex_take(lex, ","));
    dp_text_place place = dp_text_lex_place(lex);
    DP_TRY(parse_pin(lex, &pin));
    for (int i = 0; i < *count; i++)
      if (!strcmp((*pins)[i].axis, pin.axis))
        return dp_text_lex_fail_at(lex, place, "axis '%s' is given twice", pin.axis);
    if (*count == DP_MAX_MESH) return dp_text_lex_fail_at(lex, place, "a mesh has at most %d axes", DP_MAX_MESH);
    if (shape) DP_TRY(dp_text_pins_check(lex, place, shape, 1, &pin));
    DP_PUSH(lex->arena, *pins, *count, pin);
  }
  return dp_text_lex_next(lex);
}

void dp_text_pins_print(FILE *out, int count, const dp_pin *pins) {
  char text[64];
  for (int i = 0; i < count; i++) {
    const dp_placement *at = &pins[i].placement;
    fputs(i ? ", " : "(", out);
    dp_text_print_name(out, pins[i].axis);
    if (dp_placement_equal(*at, dp_shard(at->dim)))
      fprintf(out, "=%d", at->dim);
    else
      fprintf(out, "=%s", dp_placement_print(*at, text, sizeof text));
  }
  if (count) fputc(')', out);
}
