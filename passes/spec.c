// Reading SPECs. One table says which calls there are, what arguments each takes and which of them work. See spec.h.
#include "passes/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/suggest.h"

enum { MAX_ARGUMENTS = 16, MAX_PARAMETERS = 16 };

// ---- the call as written --------------------------------------------------------------------------------------------

typedef struct {
  const char *key;   // NULL: by place
  const char *text;  // the value
} argument;

typedef struct {
  const char *name;
  int n_arguments;
  argument arguments[MAX_ARGUMENTS];
} call;

typedef struct {
  dp_arena *arena;
  dp_spec_origin origin;
  const char *text, *at;
} reader;

static dp_status malformed(const reader *r, const char *expected) {
  return dp_fail(r->origin.exit_code, "%s: '%s': %s is expected %s%s", r->origin.name, r->text, expected,
                 *r->at ? "at " : "at its end", *r->at ? dp_printf(r->arena, "'%s'", r->at) : "");
}

static void skip_space(reader *r) { r->at += strspn(r->at, " \t\n\r"); }

static bool take(reader *r, char c) {
  skip_space(r);
  if (*r->at != c) return false;
  r->at++;
  skip_space(r);
  return true;
}

static dp_status take_word(reader *r, const char *what, const char **word) {
  skip_space(r);
  bool quoted = *r->at == '"';
  const char *first = r->at + quoted;
  size_t length = strcspn(first, quoted ? "\"" : " \t\n\r(),=\"");
  if (!length || (quoted && !first[length])) return malformed(r, what);
  *word = dp_strndup(r->arena, first, length);
  r->at = first + length + quoted;
  return DP_OK;
}

static dp_status parse(reader *r, call *c) {
  *c = (call){0};
  DP_TRY(take_word(r, "a name", &c->name));
  if (!take(r, '(')) return malformed(r, "'('");
  for (bool first = true; !take(r, ')'); first = false) {
    if (!first && !take(r, ',')) return malformed(r, "',' or ')'");
    if (c->n_arguments == MAX_ARGUMENTS) return malformed(r, "')': that is more than any call takes, which");
    argument a = {0};
    DP_TRY(take_word(r, first ? "an argument or ')'" : "an argument", &a.text));
    if (take(r, '=')) {
      a.key = a.text;
      DP_TRY(take_word(r, "a value", &a.text));
    }
    c->arguments[c->n_arguments++] = a;
  }
  skip_space(r);
  return *r->at ? malformed(r, "nothing more") : DP_OK;
}

// ---- what calls there are -------------------------------------------------------------------------------------------

typedef enum { NAME, NUMBER, FLAG, KIND } form;

typedef struct {
  const char *key;
  form form;
  double otherwise;  // of a NUMBER or FLAG
  bool any_sign;     // a NUMBER may be negative
} parameter;

typedef struct {
  const char *name;
  bool is_optimizer, works;
  parameter parameters[MAX_PARAMETERS];  // those of NAME form come first and must be given
} signature;

// What every optimizer takes. The schedule is the one thing that is not a number.
#define SCHEDULE                                                                                           \
  {"clip_norm", NUMBER, .otherwise = INFINITY}, {"schedule", KIND}, {"warmup", NUMBER}, {"total", NUMBER}, \
      {"min_lr", NUMBER}, {"step_size", NUMBER}, {                                                         \
    "gamma", NUMBER, .otherwise = 0.1                                                                      \
  }

enum { LR, MOMENTUM, DAMPENING, WEIGHT_DECAY, NESTEROV, SGD_OWN };  // places in sgd's list

// The losses stand first, in dp_loss_kind's order.
static const signature signatures[] = {
    {.name = "softmax_cross_entropy", .works = true, .parameters = {{"logits", NAME}, {"label", NAME}}},
    {.name = "mse", .works = true, .parameters = {{"pred", NAME}, {"target", NAME}}},
    {.name = "sgd",
     .is_optimizer = true,
     .works = true,
     .parameters = {{"lr", NUMBER, .otherwise = 1e-3},
                    {"momentum", NUMBER},
                    {"dampening", NUMBER, .any_sign = true},
                    {"weight_decay", NUMBER},
                    {"nesterov", FLAG},
                    SCHEDULE}},
    {.name = "adam", .is_optimizer = true},
    {.name = "adamw", .is_optimizer = true},
};

static dp_status find(const reader *r, const char *name, bool is_optimizer, const signature **found) {
  const char *what = is_optimizer ? "optimizer" : "loss";
  dp_suggest suggest = dp_suggest_begin(name);
  for (size_t i = 0; i < DP_COUNT(signatures); i++) {
    if (signatures[i].is_optimizer != is_optimizer) continue;
    dp_suggest_offer(&suggest, signatures[i].name);
    if (strcmp(signatures[i].name, name)) continue;
    *found = &signatures[i];
    if (signatures[i].works) return DP_OK;
    return dp_fail(EX_UNAVAILABLE, "%s: the %s '%s' is not built yet; sgd(lr=..., momentum=...) is", r->origin.name,
                   what, name);
  }
  char hint[96];
  return dp_fail(r->origin.exit_code, "%s: there is no %s '%s'%s", r->origin.name, what, name,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

static int count_of(const signature *s) {
  int count = 0;
  while (count < MAX_PARAMETERS && s->parameters[count].key) count++;
  return count;
}

static dp_status unknown_key(const reader *r, const signature *s, const char *key) {
  dp_suggest suggest = dp_suggest_begin(key);
  char hint[96];
  for (int i = 0; i < count_of(s); i++) dp_suggest_offer(&suggest, s->parameters[i].key);
  return dp_fail(r->origin.exit_code, "%s: %s takes no '%s'%s", r->origin.name, s->name, key,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

// Puts each argument at its parameter's place; what is not given stays NULL.
static dp_status bind(const reader *r, const signature *s, const call *c, const char *bound[MAX_PARAMETERS]) {
  int count = count_of(s);
  for (int i = 0; i < c->n_arguments; i++) {
    int place = 0;
    if (!c->arguments[i].key) {
      place = i;
      if (i && c->arguments[i - 1].key)
        return dp_fail(r->origin.exit_code, "%s: '%s' stands after an argument with a name, and needs one too",
                       r->origin.name, c->arguments[i].text);
      if (i >= count) return dp_fail(r->origin.exit_code, "%s: %s takes %d arguments", r->origin.name, s->name, count);
    } else {
      while (place < count && strcmp(s->parameters[place].key, c->arguments[i].key)) place++;
      if (place == count) return unknown_key(r, s, c->arguments[i].key);
    }
    if (bound[place])
      return dp_fail(r->origin.exit_code, "%s: '%s' is given twice", r->origin.name, s->parameters[place].key);
    bound[place] = c->arguments[i].text;
  }
  for (int i = 0; i < count; i++)
    if (s->parameters[i].form == NAME && !bound[i])
      return dp_fail(r->origin.exit_code, "%s: %s needs its argument '%s'", r->origin.name, s->name,
                     s->parameters[i].key);
  return DP_OK;
}

static dp_status number_of(const reader *r, const parameter *p, const char *text, double *number) {
  if (!text) {
    *number = p->otherwise;
    return DP_OK;
  }
  char *end;
  *number = strtod(text, &end);
  if (p->form == FLAG && (!strcmp(text, "true") || !strcmp(text, "True"))) {
    *number = 1;
  } else if (p->form == FLAG && (!strcmp(text, "false") || !strcmp(text, "False"))) {
    *number = 0;
  } else if (*end || !isfinite(*number) || (p->form == FLAG && *number != 0 && *number != 1)) {
    return dp_fail(r->origin.exit_code, "%s: %s=%s: %s is expected", r->origin.name, p->key, text,
                   p->form == FLAG ? "0 or 1" : "a finite number");
  }
  if (*number < 0 && !p->any_sign)
    return dp_fail(r->origin.exit_code, "%s: %s=%s: 0 or more is expected", r->origin.name, p->key, text);
  return DP_OK;
}

static dp_status read_call(reader *r, bool is_optimizer, const signature **s, const char *bound[MAX_PARAMETERS]) {
  call c;
  DP_TRY(parse(r, &c));
  DP_TRY(find(r, c.name, is_optimizer, s));
  return bind(r, *s, &c, bound);
}

// ---- what was asked for ---------------------------------------------------------------------------------------------

dp_status dp_spec_loss(dp_arena *arena, dp_spec_origin origin, const char *text, dp_loss_spec *loss) {
  reader r = {arena, origin, text, text};
  const signature *s;
  const char *bound[MAX_PARAMETERS] = {0};
  DP_TRY(read_call(&r, false, &s, bound));
  *loss = (dp_loss_spec){(dp_loss_kind)(s - signatures), bound[0], bound[1]};
  return DP_OK;
}

// Clipping and schedules: known, and refused until they are built.
static dp_status check_schedule(const reader *r, const signature *s, const char *const *bound) {
  for (int i = SGD_OWN; i < count_of(s); i++) {
    const parameter *p = &s->parameters[i];
    double number;
    if (!bound[i]) continue;
    if (p->form == NUMBER) DP_TRY(number_of(r, p, bound[i], &number));
    if (p->form != KIND)
      return dp_fail(EX_UNAVAILABLE, "%s: '%s' is not built yet; the learning rate is constant", r->origin.name,
                     p->key);
    if (!strcmp(bound[i], "constant")) continue;
    if (!strcmp(bound[i], "step") || !strcmp(bound[i], "cosine"))
      return dp_fail(EX_UNAVAILABLE, "%s: schedule=%s is not built yet; schedule=constant is", r->origin.name,
                     bound[i]);
    dp_suggest suggest = dp_suggest_begin(bound[i]);
    static const char *const kinds[] = {"constant", "step", "cosine"};
    for (size_t k = 0; k < DP_COUNT(kinds); k++) dp_suggest_offer(&suggest, kinds[k]);
    char hint[96];
    return dp_fail(r->origin.exit_code, "%s: there is no schedule '%s'%s", r->origin.name, bound[i],
                   dp_suggest_print(&suggest, hint, sizeof hint));
  }
  return DP_OK;
}

dp_status dp_spec_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text, dp_optimizer_spec *optimizer) {
  reader r = {arena, origin, text, text};
  const signature *s;
  const char *bound[MAX_PARAMETERS] = {0};
  double numbers[SGD_OWN];
  DP_TRY(read_call(&r, true, &s, bound));
  for (int i = 0; i < SGD_OWN; i++) DP_TRY(number_of(&r, &s->parameters[i], bound[i], &numbers[i]));
  DP_TRY(check_schedule(&r, s, bound));
  // PyTorch's condition.
  if (numbers[NESTEROV] != 0 && (numbers[MOMENTUM] <= 0 || numbers[DAMPENING] != 0))
    return dp_fail(origin.exit_code, "%s: nesterov needs a momentum and no dampening; found momentum=%g, dampening=%g",
                   origin.name, numbers[MOMENTUM], numbers[DAMPENING]);
  *optimizer = (dp_optimizer_spec){.lr = numbers[LR],
                                   .momentum = numbers[MOMENTUM],
                                   .dampening = numbers[DAMPENING],
                                   .weight_decay = numbers[WEIGHT_DECAY],
                                   .nesterov = numbers[NESTEROV] != 0};
  return DP_OK;
}
