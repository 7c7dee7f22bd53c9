// The known SPECs. One table lists the calls, the arguments of each, their allowed values and where they are stored;
// the few conditions between arguments are below it. See spec.h.
#include "passes/spec/spec.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "passes/spec/call.h"

// ---- what calls there are -------------------------------------------------------------------------------------------

enum { MAX_PARAMETERS = 16 };

// How an argument is written, and what it is stored as: NAME, CHOICE const char *; NUMBER double; STEPS uint64_t; FLAG
// bool; INDEX int64_t; LIST dp_spec_list.
typedef enum { NAME, NUMBER, STEPS, FLAG, CHOICE, INDEX, LIST } form;

typedef enum { NOT_NEGATIVE, POSITIVE, ANY_SIGN, BELOW_ONE, AT_MOST_ONE } range;

static const char *const lr_schedules[] = {"constant", "step", "cosine", NULL};
enum { CONSTANT = 1, STEP = 2, COSINE = 4 };  // sets of schedules

typedef struct {
  const char *key;
  form form;
  size_t at;         // offset in the loss or optimizer
  double otherwise;  // default of a NUMBER or an INDEX
  range range;       // of a NUMBER
  unsigned only;     // the schedules it applies to; 0: all
} parameter;

typedef struct {
  const char *name;
  int kind;
  parameter parameters[MAX_PARAMETERS];  // those of NAME form come first and are required
} signature;

#define IN_LOSS(FIELD) .at = offsetof(dp_loss_term, FIELD)
#define IN(FIELD) .at = offsetof(dp_optimizer_spec, FIELD)

// Of losses of an integer label, a class.
#define OF_CLASSES(SCORES)                                                 \
  {SCORES, NAME, IN_LOSS(prediction)}, {"label", NAME, IN_LOSS(target)},   \
      {"ignore_index", INDEX, IN_LOSS(ignore_index), .otherwise = -100}, { \
    "weight", LIST, IN_LOSS(weight)                                        \
  }
#define OF_A_TARGET \
  {"pred", NAME, IN_LOSS(prediction)}, { "target", NAME, IN_LOSS(target) }

static const signature losses[] = {
    {.name = "softmax_cross_entropy",
     .kind = DP_LOSS_SOFTMAX_CROSS_ENTROPY,
     .parameters = {OF_CLASSES("logits"), {"label_smoothing", NUMBER, IN_LOSS(label_smoothing), .range = AT_MOST_ONE}}},
    {.name = "nll", .kind = DP_LOSS_NLL, .parameters = {OF_CLASSES("log_probs")}},
    {.name = "mse", .kind = DP_LOSS_MSE, .parameters = {OF_A_TARGET}},
    {.name = "l1", .kind = DP_LOSS_L1, .parameters = {OF_A_TARGET}},
    {.name = "smooth_l1",
     .kind = DP_LOSS_SMOOTH_L1,
     .parameters = {OF_A_TARGET, {"beta", NUMBER, IN_LOSS(beta), .otherwise = 1}}},
    {.name = "huber",
     .kind = DP_LOSS_HUBER,
     .parameters = {OF_A_TARGET, {"delta", NUMBER, IN_LOSS(delta), .otherwise = 1, .range = POSITIVE}}},
    {.name = "bce_with_logits",
     .kind = DP_LOSS_BCE_WITH_LOGITS,
     .parameters = {OF_A_TARGET, {"pos_weight", LIST, IN_LOSS(pos_weight)}}},
    {.name = "kl_div", .kind = DP_LOSS_KL_DIV, .parameters = {OF_A_TARGET, {"log_target", FLAG, IN_LOSS(log_target)}}},
    {.name = "value", .kind = DP_LOSS_VALUE, .parameters = {{"name", NAME, IN_LOSS(prediction)}}},
};

// Adam's own parameters, shared by AdamW.
#define ADAM(DECAY)                                                                                              \
  {"lr", NUMBER, IN(lr), .otherwise = 1e-3}, {"beta1", NUMBER, IN(beta1), .otherwise = 0.9, .range = BELOW_ONE}, \
      {"beta2", NUMBER, IN(beta2), .otherwise = 0.999, .range = BELOW_ONE},                                      \
      {"eps", NUMBER, IN(eps), .otherwise = 1e-8}, {                                                             \
    "weight_decay", NUMBER, IN(weight_decay), .otherwise = DECAY                                                 \
  }

static const signature optimizers[] = {
    {.name = "sgd",
     .kind = DP_OPTIMIZER_SGD,
     .parameters = {{"lr", NUMBER, IN(lr), .otherwise = 1e-3},
                    {"momentum", NUMBER, IN(momentum)},
                    {"dampening", NUMBER, IN(dampening), .range = ANY_SIGN},
                    {"weight_decay", NUMBER, IN(weight_decay)},
                    {"nesterov", FLAG, IN(nesterov)}}},
    {.name = "adam", .kind = DP_OPTIMIZER_ADAM, .parameters = {ADAM(0)}},
    {.name = "adamw", .kind = DP_OPTIMIZER_ADAMW, .parameters = {ADAM(0.01)}},
};

// Parameters that every optimizer takes after its own.
static const parameter common[] = {
    {"clip_norm", NUMBER, IN(clip_norm), .range = POSITIVE},
    {"schedule", CHOICE, IN(lr_schedule.kind)},
    {"warmup", STEPS, IN(lr_schedule.warmup)},
    {"total", STEPS, IN(lr_schedule.total)},
    {"min_lr", NUMBER, IN(lr_schedule.min_lr), .only = STEP | COSINE},
    {"step_size", STEPS, IN(lr_schedule.step_size), .only = STEP},
    {"gamma", NUMBER, IN(lr_schedule.gamma), .otherwise = 0.1, .only = STEP},
};

// ---- binding arguments to parameters --------------------------------------------------------------------------------

typedef struct {
  dp_arena *arena;
  dp_spec_origin origin;
  const char *callee;
  int count;
  parameter parameters[MAX_PARAMETERS];
  const char *given[MAX_PARAMETERS];  // NULL: not given
} binding;

// "a, b, c" of `count` names, each `stride` bytes after the previous one.
static const char *list_names(dp_arena *arena, size_t count, const char *const *first, size_t stride) {
  const char *text = "";
  for (size_t i = 0; i < count; i++)
    text = dp_printf(arena, "%s%s%s", text, i ? ", " : "",
                     *(const char *const *)(const void *)((const char *)first + i * stride));
  return text;
}

static dp_status find_signature(dp_arena *arena, dp_spec_origin origin, const char *what, const char *name,
                                size_t count, const signature *known, const signature **found) {
  dp_suggest suggest = dp_suggest_begin(name);
  for (size_t i = 0; i < count; i++) {
    dp_suggest_offer(&suggest, known[i].name);
    if (strcmp(known[i].name, name)) continue;
    *found = &known[i];
    return DP_OK;
  }
  char hint[96];
  return dp_fail(origin.exit_code, "%s: there is no %s '%s'; choose one of %s%s", origin.name, what, name,
                 list_names(arena, count, &known[0].name, sizeof *known),
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

static dp_status unknown_key(const binding *b, const char *key) {
  dp_suggest suggest = dp_suggest_begin(key);
  char hint[96];
  for (int i = 0; i < b->count; i++) dp_suggest_offer(&suggest, b->parameters[i].key);
  return dp_fail(b->origin.exit_code, "%s: %s takes no '%s'; it takes %s%s", b->origin.name, b->callee, key,
                 list_names(b->arena, (size_t)b->count, &b->parameters[0].key, sizeof b->parameters[0]),
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

// Binds each argument to its parameter.
static dp_status bind_positions(binding *b, const dp_spec_call *c) {
  for (int i = 0; i < c->n_arguments; i++) {
    int found = 0;
    if (!c->arguments[i].key) {
      found = i;
      if (i && c->arguments[i - 1].key)
        return dp_fail(b->origin.exit_code, "%s: '%s' follows an argument with a name, so it needs a name too",
                       b->origin.name, c->arguments[i].text);
      if (i >= b->count)
        return dp_fail(b->origin.exit_code, "%s: %s takes %d argument%s", b->origin.name, b->callee, b->count,
                       b->count == 1 ? "" : "s");
    } else {
      while (found < b->count && strcmp(b->parameters[found].key, c->arguments[i].key)) found++;
      if (found == b->count) return unknown_key(b, c->arguments[i].key);
    }
    if (b->given[found])
      return dp_fail(b->origin.exit_code, "%s: '%s' is given twice", b->origin.name, b->parameters[found].key);
    b->given[found] = c->arguments[i].text;
  }
  for (int i = 0; i < b->count; i++)
    if (b->parameters[i].form == NAME && !b->given[i])
      return dp_fail(b->origin.exit_code, "%s: %s needs its argument '%s'", b->origin.name, b->callee,
                     b->parameters[i].key);
  return DP_OK;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static dp_status expected(const binding *b, const parameter *p, const char *text, const char *what) {
  return dp_fail(b->origin.exit_code, "%s: %s=%s: %s is expected", b->origin.name, p->key, text, what);
}

static dp_status take_number(const binding *b, const parameter *p, const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  if (*end || !isfinite(*number)) return expected(b, p, text, "a finite number");
  if (p->range == POSITIVE && !(*number > 0)) return expected(b, p, text, "more than 0");
  if (p->range == BELOW_ONE && !(*number >= 0 && *number < 1)) return expected(b, p, text, "0 or more, less than 1,");
  if (p->range == AT_MOST_ONE && !(*number >= 0 && *number <= 1)) return expected(b, p, text, "0 to 1");
  if (p->range == NOT_NEGATIVE && *number < 0) return expected(b, p, text, "0 or more");
  return DP_OK;
}

static dp_status take_index(const binding *b, const parameter *p, const char *text, int64_t *index) {
  const double most = 1e15;  // exact in a double
  char *end;
  double number = strtod(text, &end);
  if (*end || !(number >= -most && number <= most) || number != floor(number))
    return expected(b, p, text, "a whole number");
  *index = (int64_t)number;
  return DP_OK;
}

// "[1, 2.5, 3]", or a number alone.
static dp_status take_list(const binding *b, const parameter *p, const char *text, dp_spec_list *list) {
  static const char what[] = "a number, or a list such as [1,0.5,2], of numbers that are 0 or more,";
  const bool brackets = *text == '[';
  for (const char *at = text + brackets;;) {
    char *end;
    const double number = strtod(at, &end);
    if (end == at || !isfinite(number) || number < 0) return expected(b, p, text, what);
    DP_PUSH(b->arena, list->numbers, list->count, number);
    at = end + strspn(end, " \t\n\r");
    if (!brackets && !*at) return DP_OK;
    if (brackets && *at == ']') return DP_OK;
    if (!brackets || *at++ != ',') return expected(b, p, text, what);
  }
}

static dp_status take_steps(const binding *b, const parameter *p, const char *text, uint64_t *steps) {
  const double most = 1e15;  // counts of steps are exact in a double
  char *end;
  double number = strtod(text, &end);
  if (*end || !(number >= 0 && number <= most) || number != floor(number))
    return expected(b, p, text, "a whole number of steps");
  *steps = (uint64_t)number;
  return DP_OK;
}

static dp_status take_flag(const binding *b, const parameter *p, const char *text, bool *flag) {
  static const char *const words[] = {"0", "1", "false", "true", "False", "True"};
  for (size_t i = 0; i < DP_COUNT(words); i++) {
    if (strcmp(words[i], text)) continue;
    *flag = i % 2;
    return DP_OK;
  }
  return expected(b, p, text, "0 or 1");
}

static dp_status take_lr_schedule(const binding *b, const char *text, const char **kind) {
  dp_suggest suggest = dp_suggest_begin(text);
  for (int k = 0; lr_schedules[k]; k++) {
    dp_suggest_offer(&suggest, lr_schedules[k]);
    if (strcmp(lr_schedules[k], text)) continue;
    *kind = lr_schedules[k];
    return DP_OK;
  }
  char hint[96];
  return dp_fail(b->origin.exit_code, "%s: there is no schedule '%s'; choose one of %s%s", b->origin.name, text,
                 list_names(b->arena, DP_COUNT(lr_schedules) - 1, lr_schedules, sizeof *lr_schedules),
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

// Stores the given value, or the default, in the spec.
static dp_status store_value(const binding *b, const parameter *p, const char *text, void *spec) {
  void *at = (char *)spec + p->at;
  switch (p->form) {
    case NAME:
      *(const char **)at = text;
      return DP_OK;
    case NUMBER:
      *(double *)at = p->otherwise;
      return text ? take_number(b, p, text, at) : DP_OK;
    case STEPS:
      return text ? take_steps(b, p, text, at) : DP_OK;
    case FLAG:
      return text ? take_flag(b, p, text, at) : DP_OK;
    case CHOICE:
      *(const char **)at = lr_schedules[0];
      return text ? take_lr_schedule(b, text, at) : DP_OK;
    case INDEX:
      *(int64_t *)at = (int64_t)p->otherwise;
      return text ? take_index(b, p, text, at) : DP_OK;
    case LIST:
      return text ? take_list(b, p, text, at) : DP_OK;
  }
  return DP_OK;
}

// `spec` is zeroed.
static dp_status bind_arguments(binding *b, const signature *s, size_t n_more, const parameter *more,
                                const dp_spec_call *call, void *spec) {
  b->callee = s->name;
  while (b->count < MAX_PARAMETERS && s->parameters[b->count].key) {
    b->parameters[b->count] = s->parameters[b->count];
    b->count++;
  }
  for (size_t i = 0; i < n_more; i++) b->parameters[b->count++] = more[i];
  DP_TRY(bind_positions(b, call));
  for (int i = 0; i < b->count; i++) DP_TRY(store_value(b, &b->parameters[i], b->given[i], spec));
  return DP_OK;
}

// ---- what goes together ---------------------------------------------------------------------------------------------

static dp_status check_sgd(const binding *b, const dp_optimizer_spec *o) {
  if (!o->nesterov || (o->momentum > 0 && o->dampening == 0)) return DP_OK;  // PyTorch's condition
  return dp_fail(b->origin.exit_code, "%s: nesterov needs a momentum and no dampening; found momentum=%g, dampening=%g",
                 b->origin.name, o->momentum, o->dampening);
}

static unsigned bit_of(const char *schedule) {
  int k = 0;
  while (strcmp(lr_schedules[k], schedule)) k++;
  return 1u << k;
}

// An argument without effect is a mistake about the schedule.
static dp_status check_use(const binding *b, const char *schedule) {
  for (int i = 0; i < b->count; i++) {
    const parameter *p = &b->parameters[i];
    if (!b->given[i] || !p->only || (p->only & bit_of(schedule))) continue;
    return dp_fail(b->origin.exit_code, "%s: %s=%s has no effect with schedule=%s; it needs schedule=%s",
                   b->origin.name, p->key, b->given[i], schedule, p->only == STEP ? "step" : "step or schedule=cosine");
  }
  return DP_OK;
}

static dp_status check_learning_rate(const binding *b, const dp_optimizer_spec *o) {
  const dp_learning_rate_spec *s = &o->lr_schedule;
  unsigned kind = bit_of(s->kind);
  int code = b->origin.exit_code;
  const char *where = b->origin.name;
  DP_TRY(check_use(b, s->kind));
  if (kind == STEP && !s->step_size) return dp_fail(code, "%s: schedule=step needs step_size=STEPS, 1 or more", where);
  if (kind == COSINE && !s->total)
    return dp_fail(code, "%s: schedule=cosine needs total=STEPS, the steps until the rate reaches its minimum", where);
  if (s->total && s->warmup >= s->total)
    return dp_fail(code, "%s: warmup=%llu leaves no steps of total=%llu", where, (unsigned long long)s->warmup,
                   (unsigned long long)s->total);
  if (s->min_lr > o->lr) return dp_fail(code, "%s: min_lr=%g is more than lr=%g", where, s->min_lr, o->lr);
  return DP_OK;
}

// ---- the SPECs ------------------------------------------------------------------------------------------------------

static dp_status read_term(dp_arena *arena, dp_spec_origin origin, const dp_spec_addend *addend, dp_loss_term *term) {
  binding b = {.arena = arena, .origin = origin};
  const signature *s = NULL;
  DP_TRY(find_signature(arena, origin, "loss", addend->call.name, DP_COUNT(losses), losses, &s));
  *term = (dp_loss_term){.kind = (dp_loss_kind)s->kind, .name = s->name, .factor = addend->factor};
  return bind_arguments(&b, s, 0, NULL, &addend->call, term);
}

dp_status dp_spec_loss(dp_arena *arena, dp_spec_origin origin, const char *text, dp_loss_spec *loss) {
  dp_spec_addend *addends;
  *loss = (dp_loss_spec){0};
  DP_TRY(dp_spec_sum_read(arena, origin, text, &loss->n_terms, &addends));
  loss->terms = dp_alloc_n(arena, (size_t)loss->n_terms, sizeof *loss->terms);
  for (int i = 0; i < loss->n_terms; i++) DP_TRY(read_term(arena, origin, &addends[i], &loss->terms[i]));
  return DP_OK;
}

dp_status dp_spec_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text, dp_optimizer_spec *optimizer) {
  binding b = {.arena = arena, .origin = origin};
  const signature *s = NULL;
  dp_spec_call call;
  DP_TRY(dp_spec_call_read(arena, origin, text, &call));
  DP_TRY(find_signature(arena, origin, "optimizer", call.name, DP_COUNT(optimizers), optimizers, &s));
  *optimizer = (dp_optimizer_spec){.kind = (dp_optimizer_kind)s->kind};
  DP_TRY(bind_arguments(&b, s, DP_COUNT(common), common, &call, optimizer));
  DP_TRY(check_sgd(&b, optimizer));
  return check_learning_rate(&b, optimizer);
}
