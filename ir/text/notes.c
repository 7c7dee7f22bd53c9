// The notes in brackets after values, nodes and variables: [at=[S(0),R], space=transient, offset=64, bytes=128].
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/text/syntax.h"

const char *const dp_text_spaces[] = {"none",        "persistent",   "transient", "host_input",
                                      "host_output", "device_input", "offload",   NULL};

const char *const dp_text_layouts[] = {"plain", "nhwc", "nchw8c", "nchw16c", "oihw16i32o", NULL};

typedef enum { NAME, NUMBER, BYTES, PLACEMENTS, SPACE, LAYOUT, EVENTS, STAGES, MICRO, CONSTRAINTS } form;

// One table says which notes there are, what they may follow and their syntax.
static const struct {
  const char *key;
  unsigned of;
  form form;
  size_t at;  // offset in dp_text_notes
} keys[] = {
    {"name", DP_TEXT_OF_NODE, NAME, offsetof(dp_text_notes, name)},
    {"device", DP_TEXT_OF_NODE, NUMBER, offsetof(dp_text_notes, device)},
    {"stage", DP_TEXT_OF_NODE, NUMBER, offsetof(dp_text_notes, stage)},
    {"shard", DP_TEXT_OF_NODE, CONSTRAINTS, 0},
    {"at", DP_TEXT_OF_VALUE | DP_TEXT_OF_VARIABLE, PLACEMENTS, 0},
    {"stages", DP_TEXT_OF_VARIABLE, STAGES, 0},
    {"micro", DP_TEXT_OF_VALUE, MICRO, 0},
    {"space", DP_TEXT_OF_VALUE | DP_TEXT_OF_VARIABLE, SPACE, 0},
    {"layout", DP_TEXT_OF_VALUE | DP_TEXT_OF_VARIABLE, LAYOUT, 0},
    {"offset", DP_TEXT_OF_VALUE | DP_TEXT_OF_VARIABLE, BYTES, offsetof(dp_text_notes, offset)},
    {"bytes", DP_TEXT_OF_VALUE | DP_TEXT_OF_VARIABLE, BYTES, offsetof(dp_text_notes, bytes)},
    {"kernel", DP_TEXT_OF_NODE, NAME, offsetof(dp_text_notes, kernel)},
    {"stream", DP_TEXT_OF_NODE, NAME, offsetof(dp_text_notes, stream)},
    {"threads", DP_TEXT_OF_NODE, NUMBER, offsetof(dp_text_notes, threads)},
    {"scratch_offset", DP_TEXT_OF_NODE, BYTES, offsetof(dp_text_notes, scratch_offset)},
    {"scratch_bytes", DP_TEXT_OF_NODE, BYTES, offsetof(dp_text_notes, scratch_bytes)},
    {"packed_offset", DP_TEXT_OF_NODE, BYTES, offsetof(dp_text_notes, packed_offset)},
    {"packed_bytes", DP_TEXT_OF_NODE, BYTES, offsetof(dp_text_notes, packed_bytes)},
    {"waits", DP_TEXT_OF_NODE, EVENTS, 0},
    {"signal", DP_TEXT_OF_NODE, NUMBER, offsetof(dp_text_notes, signal)},
    {"logical", DP_TEXT_OF_NODE | DP_TEXT_OF_VALUE, NAME, offsetof(dp_text_notes, logical)},
};

static dp_status parse_placements(dp_text_lex *lex, dp_text_notes *notes) {
  dp_placement *placements = dp_alloc_n(lex->arena, DP_MAX_MESH, sizeof *placements);
  int n = 0;
  DP_TRY(dp_text_lex_take(lex, "["));
  while (!dp_text_lex_is(lex, "]")) {
    if (n == DP_MAX_MESH) return dp_text_lex_fail(lex, "a mesh has at most %d axes", DP_MAX_MESH);
    if (n) DP_TRY(dp_text_lex_take(lex, ","));
    DP_TRY(dp_text_type_parse_placement(lex, &placements[n++]));
  }
  notes->placements = placements;
  notes->n_placements = n;
  return dp_text_lex_next(lex);
}

// One of `words`, which ends with NULL.
static dp_status parse_word(dp_text_lex *lex, const char *const *words, const char *expected, int64_t *index) {
  for (int i = 0; words[i]; i++)
    if (dp_text_lex_is(lex, words[i])) {
      *index = i;
      return dp_text_lex_next(lex);
    }
  return dp_text_lex_expected(lex, expected);
}

// [1,2,3]
static dp_status parse_numbers(dp_text_lex *lex, const char *what, int *count, int **numbers) {
  DP_TRY(dp_text_lex_take(lex, "["));
  while (!dp_text_lex_is(lex, "]")) {
    if (*count) DP_TRY(dp_text_lex_take(lex, ","));
    int64_t number;
    DP_TRY(dp_text_lex_take_count(lex, what, INT_MAX, &number));
    DP_PUSH(lex->arena, *numbers, *count, (int)number);
  }
  return dp_text_lex_next(lex);
}

static dp_status parse_micro(dp_text_lex *lex, dp_text_notes *notes) {
  dp_text_lex before = *lex;
  int count = 0, *numbers = NULL;
  DP_TRY(parse_numbers(lex, "a micro-batch", &count, &numbers));
  if (count != 2 || !numbers[1] || numbers[0] > INT_MAX - numbers[1])
    return dp_text_lex_fail(&before, "expected the first micro-batch and the number of them, as in micro=[2,1]");
  memcpy(notes->micro, numbers, sizeof notes->micro);
  return DP_OK;
}

static dp_status unknown_key(const dp_text_lex *lex, const char *key, unsigned of) {
  dp_suggest suggest = dp_suggest_begin(key);
  char hint[96];
  for (size_t i = 0; i < DP_COUNT(keys); i++)
    if (keys[i].of & of) dp_suggest_offer(&suggest, keys[i].key);
  return dp_text_lex_fail(lex, "there is no note '%s' here%s", key, dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_status parse_note(dp_text_lex *lex, unsigned of, unsigned *seen, dp_text_notes *notes) {
  dp_text_lex before = *lex;
  const char *key;
  DP_TRY(dp_text_lex_take_name(lex, "a note like offset=64", &key));
  size_t i = 0;
  while (i < DP_COUNT(keys) && (!(keys[i].of & of) || strcmp(keys[i].key, key))) i++;
  if (i == DP_COUNT(keys)) return unknown_key(&before, key, of);
  if (*seen & 1u << i) return dp_text_lex_fail(&before, "the note '%s' is given twice", key);
  *seen |= 1u << i;
  DP_TRY(dp_text_lex_take(lex, "="));
  void *field = (char *)notes + keys[i].at;
  switch (keys[i].form) {
    case NAME:
      return dp_text_lex_take_name(lex, "a name", field);
    case NUMBER:
      return dp_text_lex_take_count(lex, "a number", INT_MAX, field);
    case BYTES:
      return dp_text_lex_take_uint64(lex, "a number of bytes", field);
    case PLACEMENTS:
      return parse_placements(lex, notes);
    case SPACE:
      return parse_word(lex, dp_text_spaces, "persistent, transient, host_input, host_output, device_input or offload",
                        &notes->space);
    case LAYOUT:
      return parse_word(lex, dp_text_layouts, "plain, nhwc, nchw8c, nchw16c or oihw16i32o", &notes->layout);
    case EVENTS:
      return parse_numbers(lex, "an event", &notes->n_waits, &notes->waits);
    case STAGES:
      return parse_numbers(lex, "a stage", &notes->n_stages, &notes->stages);
    case MICRO:
      return parse_micro(lex, notes);
    case CONSTRAINTS:
      return dp_text_constraints_parse(lex, NULL, &notes->n_constraints, &notes->constraints);
  }
  return DP_OK;
}

dp_status dp_text_notes_parse(dp_text_lex *lex, dp_text_of of, dp_text_notes *notes) {
  *notes = (dp_text_notes){.device = -1, .stage = -1, .signal = -1, .n_placements = -1};
  bool open;
  DP_TRY(dp_text_lex_try(lex, "[", &open));
  if (!open) return DP_OK;
  unsigned seen = 0;
  while (!dp_text_lex_is(lex, "]")) {
    if (seen) DP_TRY(dp_text_lex_take(lex, ","));
    DP_TRY(parse_note(lex, of, &seen, notes));
  }
  return dp_text_lex_next(lex);
}

dp_status dp_text_notes_set_placements(const dp_text_lex *lex, dp_text_location location, const dp_text_notes *notes,
                                       const dp_type *type, const dp_mesh *mesh, dp_placement placements[DP_MAX_MESH]) {
  if (notes->n_placements < 0) return DP_OK;
  if (notes->n_placements != mesh->n_axes)
    return dp_text_lex_fail_at(lex, location, "%d placements are given, but the mesh has %d axes",
                               (int)notes->n_placements, mesh->n_axes);
  DP_TRY(dp_text_lex_context(lex, location, dp_placement_check(&type->shape, notes->placements, mesh)));
  memcpy(placements, notes->placements, (size_t)notes->n_placements * sizeof *placements);
  return DP_OK;
}
