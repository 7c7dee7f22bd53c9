// Einsum's equation. See equation.h.
#include "ir/ops/equation.h"

#include <ctype.h>
#include <string.h>

static dp_status add_label(dp_equation_term *t, int label) {
  if (t->count == DP_MAX_RANK) return dp_fail(EX_DATAERR, "a term has more than %d dims", DP_MAX_RANK);
  t->labels[t->count++] = label;
  return DP_OK;
}

// A term from *text on, up to a comma, an arrow or the end. rank: the operand's; -1: the result, whose "..." has as
// many dims as are known.
static dp_status read_term(const char **text, int rank, int broadcast, dp_equation_term *t) {
  int letters = 0;
  bool dots = false;
  *t = (dp_equation_term){0};
  for (const char *c = *text; *c && *c != ',' && *c != '-'; c++) letters += isalpha((unsigned char)*c) != 0;
  int covered = rank < 0 ? broadcast : rank - letters;
  for (; **text && **text != ',' && **text != '-'; (*text)++) {
    unsigned char c = (unsigned char)**text;
    if (c == ' ') continue;
    if (c == '.' && !dots && covered >= 0 && covered <= DP_MAX_RANK && !strncmp(*text, "...", 3)) {
      dots = true;
      *text += 2;
      for (int i = 0; i < covered; i++)
        DP_TRY(add_label(t, DP_EQUATION_DOTS + DP_MAX_RANK - covered + i));  // right-aligned
    } else if (c < DP_EQUATION_DOTS && isalpha(c)) {
      DP_TRY(add_label(t, c));
    } else {
      return dp_fail(EX_DATAERR, "the equation has '%.8s' where a letter or ... is expected", *text);
    }
  }
  if (rank >= 0 && t->count != rank)
    return dp_fail(EX_DATAERR, "a term of the equation has %d labels for an operand of rank %d", t->count, rank);
  return DP_OK;
}

static dp_status take_extents(const dp_shape *x, const dp_equation_term *t, dp_equation *e) {
  char text[256];
  for (int d = 0; d < t->count; d++) {
    dp_dim *extent = &e->extents[t->labels[d]];
    if (!e->uses[t->labels[d]]++ || dp_dim_is(*extent, 1))
      *extent = x->dims[d];
    else if (!dp_dim_equal(*extent, x->dims[d]) && !dp_dim_is(x->dims[d], 1))
      return dp_fail(EX_DATAERR, "dim %d of an operand of shape %s has a different extent than its label has elsewhere",
                     d, dp_shape_print(x, text, sizeof text));
  }
  for (int d = 0; d < t->count; d++)
    for (int f = 0; f < d; f++)
      if (t->labels[d] == t->labels[f] && (!dp_dim_equal(x->dims[d], x->dims[f]) || dp_dim_is_symbolic(x->dims[d])))
        return dp_fail(EX_DATAERR,
                       "the diagonal of dims %d and %d of an operand of shape %s is requested, but their extents "
                       "differ or depend on the batch",
                       f, d, dp_shape_print(x, text, sizeof text));
  return DP_OK;
}

static dp_status read_result(const char *text, dp_equation *e) {
  if (*text == '-') {
    text += 2;
    DP_TRY(read_term(&text, -1, e->broadcast, &e->result));
    if (*text) return dp_fail(EX_DATAERR, "the equation continues after its result with '%.8s'", text);
  } else {
    for (int i = 0; i < e->broadcast; i++) DP_TRY(add_label(&e->result, DP_EQUATION_LABELS - e->broadcast + i));
    for (int label = 0; label < DP_EQUATION_DOTS; label++)
      if (e->uses[label] == 1) DP_TRY(add_label(&e->result, label));
  }
  for (int d = 0; d < e->result.count; d++) {
    bool twice = false;
    for (int f = 0; f < d; f++) twice |= e->result.labels[f] == e->result.labels[d];
    if (twice || !e->uses[e->result.labels[d]])
      return dp_fail(EX_DATAERR, "label %d of the equation's result occurs twice or in no operand", d);
  }
  return DP_OK;
}

dp_status dp_equation_read(const dp_node *node, dp_equation *e) {
  const char *text = dp_node_string(node, "equation", "");
  *e = (dp_equation){.n_terms = node->n_inputs};
  if (node->n_inputs > DP_MAX_REPEATED)
    return dp_fail(EX_DATAERR, "%d operands given; up to %d are supported", node->n_inputs, DP_MAX_REPEATED);
  for (int i = 0; i < node->n_inputs; i++) {
    if (i && *text++ != ',')
      return dp_fail(EX_DATAERR, "the equation has %d terms where %d operands are given", i, node->n_inputs);
    int covered = 0;
    DP_TRY(read_term(&text, dp_common_shape(node, i)->rank, 0, &e->terms[i]));
    for (int d = 0; d < e->terms[i].count; d++) covered += e->terms[i].labels[d] >= DP_EQUATION_DOTS;
    if (covered > e->broadcast) e->broadcast = covered;
    DP_TRY(take_extents(dp_common_shape(node, i), &e->terms[i], e));
  }
  if (*text && (text[0] != '-' || text[1] != '>'))
    return dp_fail(EX_DATAERR, "the equation continues with '%.8s' where -> or its end is expected", text);
  return read_result(text, e);
}
