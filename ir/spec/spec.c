// The known SPECs. One table lists the calls, the arguments of each, their allowed values and where they are stored;
// the few conditions between arguments are below it. See spec.h.
#include "ir/spec/spec.h"

#include <fnmatch.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "ir/spec/call.h"

// ---- what calls there are -------------------------------------------------------------------------------------------

enum { MAX_PARAMETERS = 32 };

// How an argument is written, and what it is stored as: NAME, CHOICE const char *; NUMBER double; STEPS uint64_t; FLAG
// bool; INDEX int64_t; LIST dp_spec_list; MILESTONES dp_spec_steps.
typedef enum { NAME, NUMBER, STEPS, FLAG, CHOICE, INDEX, LIST, MILESTONES } form;

typedef enum { NOT_NEGATIVE, POSITIVE, ANY_SIGN, BELOW_ONE, AT_MOST_ONE } range;

typedef struct {
  const char *key;
  form form;
  size_t at;                   // offset in the loss or optimizer
  double otherwise;            // default of a NUMBER, a STEPS, a FLAG or an INDEX
  range range;                 // of a NUMBER
  uint64_t most;               // of a STEPS; 0: any number
  unsigned only;               // the schedules it applies to; 0: all
  const char *const *choices;  // of a CHOICE; the first is the default
  const char *what;            // of a CHOICE: a word for it; of what a schedule needs: what is to be given
  unsigned needed;             // the schedules that have no default for it
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

#include "ir/spec/optimizers.h"

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
  if (p->most && number > (double)p->most) {
    char what[64];
    snprintf(what, sizeof what, "a whole number of steps, at most %llu", (unsigned long long)p->most);
    return expected(b, p, text, what);
  }
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

static dp_status take_choice(const binding *b, const parameter *p, const char *text, const char **chosen) {
  dp_suggest suggest = dp_suggest_begin(text);
  size_t count = 0;
  for (; p->choices[count]; count++) {
    dp_suggest_offer(&suggest, p->choices[count]);
    if (strcmp(p->choices[count], text)) continue;
    *chosen = p->choices[count];
    return DP_OK;
  }
  char hint[96];
  return dp_fail(b->origin.exit_code, "%s: there is no %s '%s'; choose one of %s%s", b->origin.name, p->what, text,
                 list_names(b->arena, count, p->choices, sizeof *p->choices),
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

// "[10,20]", or a number alone.
static dp_status take_milestones(const binding *b, const parameter *p, const char *text, dp_spec_steps *list) {
  static const char what[] = "a list of steps in ascending order, such as [30,60,90],";
  const bool brackets = *text == '[';
  uint64_t last = 0;
  for (const char *at = text + brackets;;) {
    const char *word = dp_strndup(b->arena, at, strcspn(at, ",]"));
    uint64_t steps;
    DP_TRY(take_steps(b, p, word, &steps));
    if (!*word || steps <= last) return expected(b, p, text, what);
    DP_PUSH(b->arena, list->steps, list->count, steps);
    last = steps;
    at += strlen(word);
    if (*at == ']' || !*at) return DP_OK;
    if (!brackets) return expected(b, p, text, what);
    at++;
  }
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
      *(uint64_t *)at = (uint64_t)p->otherwise;
      return text ? take_steps(b, p, text, at) : DP_OK;
    case FLAG:
      *(bool *)at = p->otherwise != 0;
      return text ? take_flag(b, p, text, at) : DP_OK;
    case CHOICE:
      *(const char **)at = p->choices[0];
      return text ? take_choice(b, p, text, at) : DP_OK;
    case INDEX:
      *(int64_t *)at = (int64_t)p->otherwise;
      return text ? take_index(b, p, text, at) : DP_OK;
    case LIST:
      return text ? take_list(b, p, text, at) : DP_OK;
    case MILESTONES:
      return text ? take_milestones(b, p, text, at) : DP_OK;
  }
  return DP_OK;
}

// Stores what the call gives, or the defaults, for all parameters of the binding.
static dp_status store_all(binding *b, const dp_spec_call *call, void *spec) {
  DP_TRY(bind_positions(b, call));
  for (int i = 0; i < b->count; i++) DP_TRY(store_value(b, &b->parameters[i], b->given[i], spec));
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
  return store_all(b, call, spec);
}

// ---- what goes together ---------------------------------------------------------------------------------------------

static dp_status check_sgd(dp_spec_origin origin, const dp_optimizer_spec *o) {
  if (o->kind != DP_OPTIMIZER_SGD || !o->nesterov) return DP_OK;
  if (o->momentum > 0 && o->dampening == 0) return DP_OK;  // PyTorch's condition
  return dp_fail(origin.exit_code, "%s: nesterov needs a momentum and no dampening; found momentum=%g, dampening=%g",
                 origin.name, o->momentum, o->dampening);
}

static unsigned bit_of(const char *schedule) {
  int k = 0;
  while (strcmp(lr_schedules[k], schedule)) k++;
  return 1u << k;
}

// "schedule=step or schedule=cosine" of a set of schedules.
static const char *list_schedules(dp_arena *arena, unsigned set) {
  const char *text = "";
  for (int k = 0; lr_schedules[k]; k++)
    if (set & 1u << k) text = dp_printf(arena, "%s%sschedule=%s", text, *text ? " or " : "", lr_schedules[k]);
  return text;
}

// An argument without effect is a mistake about the schedule, and so is one that the schedule needs and has not.
static dp_status check_use(const binding *b, const char *schedule) {
  const unsigned kind = bit_of(schedule);
  for (int i = 0; i < b->count; i++) {
    const parameter *p = &b->parameters[i];
    if (b->given[i] && p->only && !(p->only & kind))
      return dp_fail(b->origin.exit_code, "%s: %s=%s has no effect with schedule=%s; it needs %s", b->origin.name,
                     p->key, b->given[i], schedule, list_schedules(b->arena, p->only));
    if (!b->given[i] && (p->needed & kind))
      return dp_fail(b->origin.exit_code, "%s: schedule=%s needs %s=%s", b->origin.name, schedule, p->key, p->what);
  }
  return DP_OK;
}

// The steps of a schedule that may not be 0.
static dp_status check_steps(const binding *b, const dp_learning_rate_spec *s) {
  const struct {
    const char *key;
    uint64_t steps;
    unsigned kinds;
  } all[] = {{"step_size", s->step_size, STEP},
             {"total", s->total, COSINE | LINEAR | POLYNOMIAL | ONE_CYCLE | WSD},
             {"period", s->period, RESTARTS},
             {"period_factor", s->period_factor, RESTARTS}};
  for (size_t i = 0; i < DP_COUNT(all); i++)
    if ((all[i].kinds & bit_of(s->kind)) && !all[i].steps)
      return dp_fail(b->origin.exit_code, "%s: %s=0: schedule=%s needs 1 or more", b->origin.name, all[i].key, s->kind);
  return DP_OK;
}

static dp_status check_learning_rate(const binding *b, const dp_optimizer_spec *o) {
  const dp_learning_rate_spec *s = &o->lr_schedule;
  int code = b->origin.exit_code;
  const char *where = b->origin.name;
  DP_TRY(check_use(b, s->kind));
  DP_TRY(check_steps(b, s));
  if (s->total && s->warmup >= s->total)
    return dp_fail(code, "%s: warmup=%llu leaves no steps of total=%llu", where, (unsigned long long)s->warmup,
                   (unsigned long long)s->total);
  if (s->decay && s->decay > s->total - s->warmup)
    return dp_fail(code, "%s: decay=%llu is more than the steps of total=%llu after the warm-up", where,
                   (unsigned long long)s->decay, (unsigned long long)s->total);
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

static dp_status read_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text, const signature **found,
                                dp_optimizer_spec *optimizer) {
  binding b = {.arena = arena, .origin = origin};
  dp_spec_call call;
  DP_TRY(dp_spec_call_read(arena, origin, text, &call));
  DP_TRY(find_signature(arena, origin, "optimizer", call.name, DP_COUNT(optimizers), optimizers, found));
  *optimizer = (dp_optimizer_spec){.kind = (dp_optimizer_kind)(*found)->kind, .lr_scale = 1, .origin = origin};
  DP_TRY(bind_arguments(&b, *found, DP_COUNT(common), common, &call, optimizer));
  DP_TRY(check_sgd(origin, optimizer));
  return check_learning_rate(&b, optimizer);
}

// ---- a schedule alone -----------------------------------------------------------------------------------------------

static dp_status find_schedule(dp_arena *arena, dp_spec_origin origin, const char *name, const char **found) {
  const parameter p = {"schedule", CHOICE, 0, .choices = lr_schedules, .what = "schedule"};
  const binding b = {.arena = arena, .origin = origin};
  return take_choice(&b, &p, name, found);
}

// Where an argument of the schedule is kept; the schedule's own name is no argument here.
static bool is_of_schedule(const parameter *p) {
  const size_t first = offsetof(dp_optimizer_spec, lr_schedule);
  return p->at > first && p->at < first + sizeof(dp_learning_rate_spec);
}

dp_status dp_spec_schedule(dp_arena *arena, dp_spec_origin origin, const char *text, dp_learning_rate_spec *schedule) {
  dp_spec_call call;
  const char *kind;
  dp_optimizer_spec o = {.lr = INFINITY, .origin = origin};
  binding b = {.arena = arena, .origin = origin};
  DP_TRY(dp_spec_call_read(arena, origin, strchr(text, '(') ? text : dp_printf(arena, "%s()", text), &call));
  DP_TRY(find_schedule(arena, origin, call.name, &kind));
  b.callee = o.lr_schedule.kind = kind;
  for (size_t i = 0; i < DP_COUNT(common); i++)
    if (is_of_schedule(&common[i])) b.parameters[b.count++] = common[i];
  for (int i = 0; i < call.n_arguments; i++)
    if (!call.arguments[i].key)
      return dp_fail(origin.exit_code, "%s: '%s' needs a name, as in total=%s", origin.name, call.arguments[i].text,
                     call.arguments[i].text);
  DP_TRY(store_all(&b, &call, &o));
  DP_TRY(check_learning_rate(&b, &o));
  *schedule = o.lr_schedule;
  return DP_OK;
}

// ---- groups of parameters -------------------------------------------------------------------------------------------

struct dp_spec_setting {
  parameter parameter;
  const char *text;
};

// The globs before the last colon: names may have colons, arguments have none.
static dp_status read_globs(dp_arena *arena, dp_spec_origin origin, const char *text, dp_optimizer_group *group,
                            const char **arguments) {
  const char *colon = strrchr(text, ':');
  for (const char *at = text; colon && at < colon;) {
    at += strspn(at, ", \t\n");
    const size_t length = strcspn(at, ", \t\n");
    const char *glob = dp_strndup(arena, at, (size_t)dp_min_i64((int64_t)length, at < colon ? colon - at : 0));
    if (*glob) DP_PUSH(arena, group->globs, group->n_globs, glob);
    at += strlen(glob) + !*glob;
  }
  if (!group->n_globs)
    return dp_fail(origin.exit_code,
                   "%s: the group '%s' is not of the form GLOB,...: ARGUMENT=VALUE,..., such as '*.bias: "
                   "weight_decay=0'",
                   origin.name, group->text);
  *arguments = colon + 1;
  return DP_OK;
}

// What a group may set: the optimizer's own arguments but the learning rate, which a step has one of, and its factor.
static dp_status read_group(dp_arena *arena, const signature *s, const char *text, dp_optimizer_spec *optimizer) {
  const parameter scale = {"lr_scale", NUMBER, IN(lr_scale), .otherwise = 1};
  const dp_spec_origin origin = optimizer->origin;
  binding b = {.arena = arena, .origin = origin, .callee = dp_printf(arena, "a group of %s", s->name)};
  dp_optimizer_group group = {.text = text + strspn(text, " \t\n")};
  dp_spec_call call;
  const char *arguments = NULL;
  DP_TRY(read_globs(arena, origin, text, &group, &arguments));
  DP_TRY(dp_spec_call_read(arena, origin, dp_printf(arena, "group(%s)", arguments), &call));
  b.parameters[b.count++] = scale;
  for (int i = 0; i < MAX_PARAMETERS && s->parameters[i].key; i++)
    if (strcmp(s->parameters[i].key, "lr")) b.parameters[b.count++] = s->parameters[i];
  for (int i = 0; i < call.n_arguments; i++)
    if (!call.arguments[i].key)
      return dp_fail(origin.exit_code, "%s: '%s' of the group '%s' needs a name, as in weight_decay=0", origin.name,
                     call.arguments[i].text, group.text);
  if (!call.n_arguments) return dp_fail(origin.exit_code, "%s: the group '%s' sets nothing", origin.name, group.text);
  DP_TRY(bind_positions(&b, &call));
  for (int i = 0; i < b.count; i++) {
    dp_spec_setting setting = {b.parameters[i], b.given[i]};
    dp_optimizer_spec trial = *optimizer;
    if (!b.given[i]) continue;
    DP_TRY(store_value(&b, &b.parameters[i], b.given[i], &trial));
    DP_PUSH(arena, group.settings, group.n_settings, setting);
  }
  DP_PUSH(arena, optimizer->groups, optimizer->n_groups, group);
  return DP_OK;
}

dp_status dp_spec_optimizer(dp_arena *arena, dp_spec_origin origin, const char *text, dp_optimizer_spec *optimizer) {
  const signature *s = NULL;
  for (const char *at = text; at; at = *at ? at + 1 : NULL) {
    const char *part = dp_strndup(arena, at, strcspn(at, ";"));
    at += strlen(part);
    DP_TRY(s ? read_group(arena, s, part, optimizer) : read_optimizer(arena, origin, part, &s, optimizer));
  }
  return DP_OK;
}

bool dp_spec_group_has(const dp_optimizer_group *group, const char *name) {
  for (int i = 0; i < group->n_globs; i++)
    if (!fnmatch(group->globs[i], name, 0)) return true;
  return false;
}

dp_status dp_spec_optimizer_for(dp_arena *arena, const dp_optimizer_spec *optimizer, const char *name,
                                dp_optimizer_spec *own) {
  const binding b = {.arena = arena, .origin = optimizer->origin};
  *own = *optimizer;
  for (int g = 0; g < optimizer->n_groups; g++) {
    const dp_optimizer_group *group = &optimizer->groups[g];
    for (int i = 0; i < group->n_settings && dp_spec_group_has(group, name); i++)
      DP_TRY(store_value(&b, &group->settings[i].parameter, group->settings[i].text, own));
  }
  return dp_status_context(check_sgd(optimizer->origin, own), "for parameter '%s'", name);
}
