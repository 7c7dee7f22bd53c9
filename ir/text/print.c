// Printing the text form: names, numbers, types, attributes, and the model around its graphs. See text.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text/syntax.h"
#include "ir/text/text.h"

// ---- words and numbers ----------------------------------------------------------------------------------------------

void dp_text_print_string(FILE *out, const char *string) {
  fputc('"', out);
  for (const unsigned char *s = (const unsigned char *)string; *s; s++) {
    if (*s == '"' || *s == '\\')
      fprintf(out, "\\%c", *s);
    else if (*s == '\n')
      fputs("\\n", out);
    else if (*s < 0x20 || *s == 0x7F)
      fprintf(out, "\\x%02x", *s);
    else
      fputc(*s, out);
  }
  fputc('"', out);
}

void dp_text_print_name(FILE *out, const char *name) {
  if (dp_text_lex_is_word(name) && strcmp(name, "_"))
    fputs(name, out);
  else
    dp_text_print_string(out, name);
}

void dp_text_print_number(FILE *out, double number, bool with_point) {
  if (number - number != 0) {
    fprintf(out, "%s%s", signbit(number) ? "-" : "", number == number ? "inf" : "nan");
    return;
  }
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, number);
    if (strtod(text, NULL) == number) break;
  }
  fprintf(out, "%s%s", text, with_point && !strpbrk(text, ".e") ? ".0" : "");
}

// ---- types ----------------------------------------------------------------------------------------------------------

void dp_text_print_dim(FILE *out, dp_dim dim, const char *symbol) {
  if (!dim.scale) {
    fprintf(out, "%lld", (long long)dim.offset);
    return;
  }
  if (dim.scale != 1) fprintf(out, "%lld*", (long long)dim.scale);
  fputs(symbol, out);
  if (dim.offset) fprintf(out, "%+lld", (long long)dim.offset);
}

void dp_text_print_type(FILE *out, const dp_type *type, const char *symbol) {
  fprintf(out, "%s[", dp_type_name(type->dtype));
  for (int i = 0; i < type->shape.rank; i++) {
    if (i) fputc(',', out);
    dp_text_print_dim(out, type->shape.dims[i], symbol);
  }
  fputc(']', out);
}

void dp_text_print_placements(FILE *out, const dp_placement *placements, int count) {
  char text[64];
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%s", i ? "," : "[", dp_placement_print(placements[i], text, sizeof text));
  fputc(']', out);
}

bool dp_text_print_are_placed(const dp_placement *placements, int count) {
  for (int i = 0; i < count; i++)
    if (placements[i].kind != DP_REPLICATE) return true;
  return false;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

static void print_list(FILE *out, const dp_attr *attr, const char *symbol) {
  fputc('[', out);
  for (size_t i = 0; i < attr->count; i++) {
    if (i) fputc(',', out);
    if (attr->kind == DP_ATTR_INTS) fprintf(out, "%lld", (long long)attr->ints[i]);
    if (attr->kind == DP_ATTR_FLOATS) dp_text_print_number(out, attr->floats[i], true);
    if (attr->kind == DP_ATTR_STRINGS) dp_text_print_string(out, attr->strings[i]);
    if (attr->kind == DP_ATTR_DIMS) dp_text_print_dim(out, attr->dims[i], symbol);
  }
  fputc(']', out);
}

static void print_tensor(FILE *out, const dp_tensor *tensor, const char *symbol) {
  dp_type type = {tensor->dtype, dp_tensor_shape(tensor)};
  dp_text_print_type(out, &type, symbol);
  fputc(' ', out);
  dp_text_data_print(out, tensor, NULL);
}

void dp_text_print_attr(FILE *out, const dp_attr *attr, const char *symbol) {
  dp_text_print_name(out, attr->name);
  fputc('=', out);
  bool dtype = (!strcmp(attr->name, "to") || !strcmp(attr->name, "dtype")) && attr->kind == DP_ATTR_INT &&
               attr->i > 0 && attr->i <= DP_MAX_TYPE && dp_type_bytes((dp_dtype)attr->i);
  switch (attr->kind) {
    case DP_ATTR_INT:
      if (dtype)
        fputs(dp_type_name((dp_dtype)attr->i), out);
      else
        fprintf(out, "%lld", (long long)attr->i);
      return;
    case DP_ATTR_FLOAT:
      dp_text_print_number(out, attr->f, true);
      return;
    case DP_ATTR_STRING:
      dp_text_print_string(out, attr->s);
      return;
    case DP_ATTR_TENSOR:
      print_tensor(out, attr->tensor, symbol);
      return;
    default:
      print_list(out, attr, symbol);
      return;
  }
}

// ---- the model ------------------------------------------------------------------------------------------------------

static void print_initial(FILE *out, const dp_init *init, const dp_text_held *held) {
  static const char *const words[] = {"tensor ", "fill(", "uniform(", "normal("};
  fputs(words[init->kind], out);
  if (init->kind == DP_INIT_TENSOR) {
    dp_text_data_print(out, init->tensor, held);
    return;
  }
  dp_text_print_number(out, init->a, false);
  if (init->kind != DP_INIT_FILL) {
    fputs(", ", out);
    dp_text_print_number(out, init->b, false);
  }
  fputc(')', out);
}

static void print_variable(FILE *out, const dp_model *model, const dp_variable *p, const dp_text_held *held) {
  static const char *const words[] = {"parameter", "buffer", "state", "stored"};
  fprintf(out, "  %s ", words[p->kind]);
  dp_text_print_name(out, p->name);
  fputs(": ", out);
  dp_text_print_type(out, p->type, model->symbol);
  fputs(" = ", out);
  print_initial(out, &p->init, held);
  if (p->n_constraints) fputs(" shard", out);
  dp_text_constraints_print(out, p->n_constraints, p->constraints);
  if (p->frozen) fputs(" frozen", out);
  int n_axes = model->mesh.n_axes;
  bool placed = dp_text_print_are_placed(p->placements, n_axes);
  if (p->bytes || p->offset || placed || p->n_stages || p->offloaded || p->layout) {
    fputs(" [", out);
    for (int i = 0; i < p->n_stages; i++) fprintf(out, "%s%d", i ? "," : "stages=[", p->stages[i]);
    if (p->n_stages) fputs("], ", out);
    if (n_axes) {
      fputs("at=", out);
      dp_text_print_placements(out, p->placements, n_axes);
      fputs(", ", out);
    }
    if (p->offloaded) fprintf(out, "space=%s, ", dp_text_spaces[DP_SPACE_OFFLOAD]);
    if (p->layout) fprintf(out, "layout=%s, ", dp_text_layouts[p->layout]);
    fprintf(out, "offset=%llu, bytes=%llu]", (unsigned long long)p->offset, (unsigned long long)p->bytes);
  }
  fputc('\n', out);
}

static void print_head(FILE *out, const dp_model *model) {
  fprintf(out, "  opset %lld\n", (long long)model->opset);
  if (strcmp(model->symbol, "N")) fprintf(out, "  symbol %s\n", model->symbol);
  if (model->batch) fprintf(out, "  batch %lld\n", (long long)model->batch);
  for (int i = 0; i < model->mesh.n_axes; i++) {
    fputs(i ? ", " : "  mesh ", out);
    dp_text_print_name(out, model->mesh.axes[i].name);
    fprintf(out, "=%lld", (long long)model->mesh.axes[i].size);
  }
  if (model->mesh.n_axes) fputc('\n', out);
  const struct {
    const char *head, *text;
  } strings[] = {{"loss", model->loss}, {"optimizer", model->optimizer}, {"caveat", model->caveat}};
  for (size_t i = 0; i < DP_COUNT(strings); i++) {
    if (!strings[i].text) continue;
    fprintf(out, "  %s ", strings[i].head);
    dp_text_print_string(out, strings[i].text);
    fputc('\n', out);
  }
}

static void print_model(FILE *out, const dp_model *model, const dp_text_held *held) {
  fputs("model ", out);
  dp_text_print_name(out, model->name);
  fputs(" {\n", out);
  print_head(out, model);
  for (int32_t i = 0; i < model->n_variables; i++) print_variable(out, model, &model->variables[i], held);
  bool flat = model->n_graphs == 1 && !strcmp(model->graphs[0]->name, "main");
  for (int i = 0; i < model->n_graphs; i++) {
    if (!flat) {
      fputs("  graph ", out);
      dp_text_print_name(out, model->graphs[i]->name);
      fputs(" {\n", out);
    }
    dp_text_print_graph(out, model->graphs[i], flat ? "  " : "    ", held);
    if (!flat) fputs("  }\n", out);
  }
  fputs("}\n", out);
}

void dp_text_print(const dp_model *model, FILE *out) { print_model(out, model, NULL); }

// ---- without its data -----------------------------------------------------------------------------------------------

typedef struct {
  size_t tensors, bytes;
} left_out;

static void count_left_out(const dp_tensor *tensor, const dp_text_held *held, left_out *left) {
  if (!dp_text_data_is_elided(tensor, held)) return;
  left->tensors++;
  left->bytes += tensor->bytes;
}

void dp_text_print_elided(const dp_model *model, const dp_text_held *held, FILE *out) {
  left_out left = {0};
  for (int32_t i = 0; i < model->n_variables; i++)
    if (model->variables[i].init.kind == DP_INIT_TENSOR) count_left_out(model->variables[i].init.tensor, held, &left);
  for (int g = 0; g < model->n_graphs; g++)
    for (int32_t i = 0; i < model->graphs[g]->n_values; i++)
      if (model->graphs[g]->values[i]->constant) count_left_out(model->graphs[g]->values[i]->constant, held, &left);
  if (left.tensors) {
    fprintf(out, "// The data of %zu tensor%s, %zu bytes, is left out. ", left.tensors, left.tensors == 1 ? "" : "s",
            left.bytes);
    if (held->file) {
      fputs("This text reads it from ", out);
      dp_text_print_string(out, held->file);
      fprintf(out, ", which belongs beside it; `%s` prints it.\n", held->option);
    } else {
      fprintf(out, "No file has it, so this text does not read back; `%s` prints it.\n", held->option);
    }
  }
  print_model(out, model, held);
}
