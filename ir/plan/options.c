// See options.h.
#include "ir/plan/options.h"

#include <inttypes.h>
#include <string.h>

static const char defaulted_field[] = "defaulted";

// ---- fields ---------------------------------------------------------------------------------------------------------

// The values of a field of options, as text; a number or string that is not set has none.
typedef struct {
  size_t count;
  const char *const *texts;
} values;

static bool is_option(const ProtobufCFieldDescriptor *field) { return strcmp(field->name, defaulted_field) != 0; }

static const char *name_of(dp_arena *arena, const ProtobufCFieldDescriptor *field) {
  char *name = dp_strdup(arena, field->name);
  for (char *c = name; *c; c++)
    if (*c == '_') *c = '-';
  return name;
}

static values single_value(dp_arena *arena, const char *text) {
  const char **texts = dp_alloc(arena, sizeof *texts);
  texts[0] = text;
  return (values){*text != 0, texts};
}

static values values_of(dp_arena *arena, const Dp__Options *record, const ProtobufCFieldDescriptor *field) {
  const char *at = (const char *)record + field->offset;
  if (field->label == PROTOBUF_C_LABEL_REPEATED) {
    size_t count;
    memcpy(&count, (const char *)record + field->quantifier_offset, sizeof count);
    return (values){count, *(const char *const *const *)(const void *)at};
  }
  if (field->type == PROTOBUF_C_TYPE_BOOL) {
    protobuf_c_boolean set;
    memcpy(&set, at, sizeof set);
    return single_value(arena, set ? "yes" : "");
  }
  if (field->type == PROTOBUF_C_TYPE_STRING) return single_value(arena, *(const char *const *)(const void *)at);
  int64_t number;
  memcpy(&number, at, sizeof number);
  return single_value(arena, number ? dp_printf(arena, "%" PRId64, number) : "");
}

static bool is_defaulted(const Dp__Options *record, const char *name) {
  for (size_t i = 0; i < record->n_defaulted; i++)
    if (!strcmp(record->defaulted[i], name)) return true;
  return false;
}

size_t dp_plan_options_list(dp_arena *arena, const Dp__Options *record, dp_plan_option **options) {
  size_t n = 0;
  *options = NULL;
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++) {
    const ProtobufCFieldDescriptor *field = &dp__options__descriptor.fields[f];
    if (!is_option(field)) continue;
    const char *name = name_of(arena, field);
    const values v = values_of(arena, record, field);
    for (size_t i = 0; i < v.count; i++) {
      dp_plan_option option = {name, v.texts[i], is_defaulted(record, name), field->type == PROTOBUF_C_TYPE_BOOL};
      DP_PUSH(arena, *options, n, option);
    }
  }
  return n;
}

// ---- comparing ------------------------------------------------------------------------------------------------------

static size_t count_of(const values *v, const char *text) {
  size_t count = 0;
  for (size_t i = 0; i < v->count; i++) count += !strcmp(v->texts[i], text);
  return count;
}

static bool is_same(const values *a, const values *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; i < a->count && same; i++) same = count_of(a, a->texts[i]) == count_of(b, a->texts[i]);
  return same;
}

static const char *text_of(dp_arena *arena, const values *v) {
  const char *text = v->count ? v->texts[0] : "nothing";
  for (size_t i = 1; i < v->count; i++) text = dp_printf(arena, "%s and %s", text, v->texts[i]);
  return text;
}

const char *dp_plan_options_differ(dp_arena *arena, const Dp__Options *asked, const Dp__Options *record,
                                   const char **wanted, const char **found) {
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++) {
    const ProtobufCFieldDescriptor *field = &dp__options__descriptor.fields[f];
    if (!is_option(field)) continue;
    const values a = values_of(arena, asked, field), b = values_of(arena, record, field);
    if (!a.count || is_same(&a, &b)) continue;
    *wanted = text_of(arena, &a);
    *found = text_of(arena, &b);
    return name_of(arena, field);
  }
  return NULL;
}

void dp_plan_options_set_defaulted(dp_arena *arena, const Dp__Options *given, Dp__Options *record) {
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++) {
    const ProtobufCFieldDescriptor *field = &dp__options__descriptor.fields[f];
    if (!is_option(field) || values_of(arena, given, field).count || !values_of(arena, record, field).count) continue;
    char *name = (char *)(uintptr_t)name_of(arena, field);
    DP_PUSH(arena, record->defaulted, record->n_defaulted, name);
  }
}

// ---- texts ----------------------------------------------------------------------------------------------------------

const char *dp_plan_options_optimizer(dp_arena *arena, const char *optimizer, size_t n_groups,
                                      const char *const *groups) {
  const char *text = optimizer;
  for (size_t i = 0; i < n_groups; i++) text = dp_printf(arena, "%s; %s", text, groups[i]);
  return text;
}

const char *dp_plan_options_mesh(dp_arena *arena, const dp_mesh *mesh) {
  const char *text = "";
  for (int a = 0; a < mesh->n_axes; a++)
    if (!dp_mesh_is_sequential(&mesh->axes[a]))
      text = dp_printf(arena, "%s%s%s=%" PRId64, text, *text ? "," : "", mesh->axes[a].name, mesh->axes[a].size);
  return text;
}

// Quotes what a shell would split or expand; escapes what would be a control sequence to a terminal.
static void print_word(const char *text, FILE *out) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=.,:/+-@%^";
  const bool quoted = text[strspn(text, plain)] != 0;
  if (quoted) fputc('\'', out);
  for (; *text; text++)
    if (*text == '\'')
      fputs("'\\''", out);
    else if ((unsigned char)*text < ' ' || *text == 127)
      fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
    else
      fputc(*text, out);
  if (quoted) fputc('\'', out);
}

static bool is_set(dp_arena *arena, const Dp__Options *record, const char *name) {
  dp_plan_option *options;
  const size_t n = record ? dp_plan_options_list(arena, record, &options) : 0;
  for (size_t i = 0; i < n; i++)
    if (!strcmp(options[i].name, name)) return true;
  return false;
}

size_t dp_plan_options_print(dp_arena *arena, const Dp__Options *record, bool defaulted, const Dp__Options *but,
                             FILE *out) {
  dp_plan_option *options;
  const size_t n = dp_plan_options_list(arena, record, &options);
  size_t printed = 0;
  for (size_t i = 0; i < n; i++) {
    if (options[i].defaulted != defaulted || is_set(arena, but, options[i].name)) continue;
    printed++;
    fprintf(out, " --%s", options[i].name);
    if (options[i].flag) continue;
    fputc('=', out);
    print_word(options[i].value, out);
  }
  return printed;
}

bool dp_plan_options_is_offload(const char *text) {
  static const char *const known[] = {
      "", "none", "optimizer", "activations", "optimizer,activations", "activations,optimizer"};
  for (size_t i = 0; i < DP_COUNT(known); i++)
    if (!strcmp(text, known[i])) return true;
  return false;
}
