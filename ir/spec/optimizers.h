// The optimizers' arguments, and the schedules': part of spec.c's table, and of that file alone.

static const char *const lr_schedules[] = {"constant",      "step",   "cosine",    "multistep",
                                           "exponential",   "linear", "one_cycle", "polynomial",
                                           "warm_restarts", "wsd",    NULL};
// Sets of schedules.
enum {
  CONSTANT = 1 << 0,
  STEP = 1 << 1,
  COSINE = 1 << 2,
  MULTISTEP = 1 << 3,
  EXPONENTIAL = 1 << 4,
  LINEAR = 1 << 5,
  ONE_CYCLE = 1 << 6,
  POLYNOMIAL = 1 << 7,
  RESTARTS = 1 << 8,
  WSD = 1 << 9,
};

static const char *const lr_adjustments[] = {"original", "match_rms_adamw", "spectral_unclamped", NULL};

#define LR(OTHERWISE) \
  { "lr", NUMBER, IN(lr), .otherwise = OTHERWISE }
#define BETA1(OTHERWISE) \
  { "beta1", NUMBER, IN(beta1), .otherwise = OTHERWISE, .range = BELOW_ONE }
#define BETA2(OTHERWISE) \
  { "beta2", NUMBER, IN(beta2), .otherwise = OTHERWISE, .range = BELOW_ONE }
#define EPS(OTHERWISE) \
  { "eps", NUMBER, IN(eps), .otherwise = OTHERWISE }
#define DECAY(OTHERWISE) \
  { "weight_decay", NUMBER, IN(weight_decay), .otherwise = OTHERWISE }
#define MOMENTUM(OTHERWISE) \
  { "momentum", NUMBER, IN(momentum), .otherwise = OTHERWISE }
#define DECOUPLED \
  { "decoupled_weight_decay", FLAG, IN(decoupled) }

static const signature optimizers[] = {
    {.name = "sgd",
     .kind = DP_OPTIMIZER_SGD,
     .parameters = {LR(1e-3),
                    MOMENTUM(0),
                    {"dampening", NUMBER, IN(dampening), .range = ANY_SIGN},
                    DECAY(0),
                    {"nesterov", FLAG, IN(nesterov)}}},
    {.name = "adam",
     .kind = DP_OPTIMIZER_ADAM,
     .parameters = {LR(1e-3), BETA1(0.9), BETA2(0.999), EPS(1e-8), DECAY(0)}},
    {.name = "adamw",
     .kind = DP_OPTIMIZER_ADAMW,
     .parameters = {LR(1e-3), BETA1(0.9), BETA2(0.999), EPS(1e-8), DECAY(0.01)}},
    {.name = "rmsprop",
     .kind = DP_OPTIMIZER_RMSPROP,
     .parameters = {LR(1e-2),
                    {"alpha", NUMBER, IN(alpha), .otherwise = 0.99, .range = BELOW_ONE},
                    EPS(1e-8),
                    DECAY(0),
                    MOMENTUM(0),
                    {"centered", FLAG, IN(centered)}}},
    {.name = "adagrad",
     .kind = DP_OPTIMIZER_ADAGRAD,
     .parameters = {LR(1e-2),
                    {"lr_decay", NUMBER, IN(lr_decay)},
                    DECAY(0),
                    {"initial_accumulator_value", NUMBER, IN(initial)},
                    EPS(1e-10)}},
    {.name = "adamax",
     .kind = DP_OPTIMIZER_ADAMAX,
     .parameters = {LR(2e-3), BETA1(0.9), BETA2(0.999), EPS(1e-8), DECAY(0)}},
    {.name = "nadam",
     .kind = DP_OPTIMIZER_NADAM,
     .parameters = {LR(2e-3),
                    BETA1(0.9),
                    BETA2(0.999),
                    EPS(1e-8),
                    DECAY(0),
                    {"momentum_decay", NUMBER, IN(momentum_decay), .otherwise = 4e-3},
                    DECOUPLED}},
    {.name = "radam",
     .kind = DP_OPTIMIZER_RADAM,
     .parameters = {LR(1e-3), BETA1(0.9), BETA2(0.999), EPS(1e-8), DECAY(0), DECOUPLED}},
    {.name = "lion", .kind = DP_OPTIMIZER_LION, .parameters = {LR(1e-4), BETA1(0.9), BETA2(0.99), DECAY(0)}},
    {.name = "lamb",
     .kind = DP_OPTIMIZER_LAMB,
     .parameters = {LR(1e-3), BETA1(0.9), BETA2(0.999), EPS(1e-6), DECAY(0.01)}},
    {.name = "muon",
     .kind = DP_OPTIMIZER_MUON,
     .parameters = {LR(1e-3),
                    DECAY(0.1),
                    MOMENTUM(0.95),
                    {"nesterov", FLAG, IN(nesterov), .otherwise = 1},
                    EPS(1e-7),
                    {"ns_steps", STEPS, IN(ns_steps), .otherwise = 5, .most = 99},  // PyTorch's limit too
                    {"adjust_lr_fn", CHOICE, IN(adjust_lr), .choices = lr_adjustments, .what = "adjustment"},
                    BETA1(0.9),
                    BETA2(0.999)}},
};

// Arguments that every optimizer takes after its own.
static const parameter common[] = {
    {"clip_norm", NUMBER, IN(clip_norm), .range = POSITIVE},
    {"schedule", CHOICE, IN(lr_schedule.kind), .choices = lr_schedules, .what = "schedule"},
    {"warmup", STEPS, IN(lr_schedule.warmup)},
    {"total", STEPS, IN(lr_schedule.total), .needed = COSINE | LINEAR | POLYNOMIAL | ONE_CYCLE | WSD,
     .what = "STEPS, the step at which the rate reaches its last value"},
    {"min_lr", NUMBER, IN(lr_schedule.min_lr), .only = STEP | COSINE | RESTARTS | WSD},
    {"step_size", STEPS, IN(lr_schedule.step_size), .only = STEP, .needed = STEP, .what = "STEPS, 1 or more"},
    {"gamma", NUMBER, IN(lr_schedule.gamma), .otherwise = 0.1, .only = STEP | MULTISTEP | EXPONENTIAL,
     .needed = EXPONENTIAL, .what = "FACTOR, that of each step"},
    {"milestones", MILESTONES, IN(lr_schedule.milestones), .only = MULTISTEP, .needed = MULTISTEP,
     .what = "[STEP,STEP,...]"},
    {"start_factor", NUMBER, IN(lr_schedule.start_factor), .otherwise = 1.0 / 3, .only = LINEAR},
    {"end_factor", NUMBER, IN(lr_schedule.end_factor), .otherwise = 1, .only = LINEAR},
    {"power", NUMBER, IN(lr_schedule.power), .otherwise = 1, .only = POLYNOMIAL},
    {"pct_start", NUMBER, IN(lr_schedule.rising), .otherwise = 0.3, .range = BELOW_ONE, .only = ONE_CYCLE},
    {"div_factor", NUMBER, IN(lr_schedule.div_factor), .otherwise = 25, .range = POSITIVE, .only = ONE_CYCLE},
    {"final_div_factor", NUMBER, IN(lr_schedule.final_div_factor), .otherwise = 1e4, .range = POSITIVE,
     .only = ONE_CYCLE},
    {"period", STEPS, IN(lr_schedule.period), .only = RESTARTS, .needed = RESTARTS,
     .what = "STEPS, those until the first restart"},
    {"period_factor", STEPS, IN(lr_schedule.period_factor), .otherwise = 1, .only = RESTARTS},
    {"decay", STEPS, IN(lr_schedule.decay), .only = WSD, .needed = WSD, .what = "STEPS, the last ones of total"},
    {"ema", NUMBER, IN(ema), .range = BELOW_ONE},
};
