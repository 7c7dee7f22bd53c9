// Evaluates ONNX's arithmetic on known numbers, element by element with broadcasting. A result must have the form a * N
// + b with N >= 0, or it is unknown: N / 2 is unknown, 4N / 2 is known; N == -1 is known (false), N == 3 is unknown.
#include <math.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

// Each returns false if the result cannot be known.
typedef bool (*int_function)(dp_dim a, dp_dim b, dp_dim *r);
typedef bool (*float_function)(double a, double b, double *r);

static bool is_float(dp_dtype dtype) { return (DP_BIT(dtype) & DP_FLOATS) != 0; }

// ---- integers -------------------------------------------------------------------------------------------------------

static bool add_dims(dp_dim a, dp_dim b, dp_dim *r) {
  return !__builtin_add_overflow(a.scale, b.scale, &r->scale) &&
         !__builtin_add_overflow(a.offset, b.offset, &r->offset);
}

static bool subtract(dp_dim a, dp_dim b, dp_dim *r) {
  return !__builtin_sub_overflow(a.scale, b.scale, &r->scale) &&
         !__builtin_sub_overflow(a.offset, b.offset, &r->offset);
}

static bool multiply(dp_dim a, dp_dim b, dp_dim *r) {
  if (a.scale && b.scale) return false;
  dp_dim symbolic = a.scale ? a : b;
  int64_t factor = a.scale ? b.offset : a.offset;
  return !__builtin_mul_overflow(symbolic.scale, factor, &r->scale) &&
         !__builtin_mul_overflow(symbolic.offset, factor, &r->offset);
}

static bool divide(dp_dim a, dp_dim b, dp_dim *r) {
  if (b.scale) {  // k (c N + d) / (c N + d), if that is never 0 / 0
    if (b.scale < 0 || b.offset < 0 || a.scale % b.scale) return false;
    int64_t k = a.scale / b.scale, offset;
    *r = dp_dim_of(k);
    return !__builtin_mul_overflow(b.offset, k, &offset) && offset == a.offset;
  }
  if (!b.offset || (b.offset == -1 && (a.scale == INT64_MIN || a.offset == INT64_MIN))) return false;
  if (a.scale && (a.scale % b.offset || a.offset % b.offset)) return false;
  *r = (dp_dim){a.scale / b.offset, a.offset / b.offset};  // division of numbers truncates, as in C and ONNX
  return true;
}

static bool modulo(dp_dim a, dp_dim b, dp_dim *r) {
  if (b.scale || b.offset <= 0 || a.scale % b.offset) return false;
  int64_t rest = a.offset % b.offset;
  *r = dp_dim_of(rest < 0 ? rest + b.offset : rest);  // with the divisor's sign
  return true;
}

// -1, 0 or 1, the sign of a - b for every N; 2: it depends on N.
static int compare(dp_dim a, dp_dim b) {
  dp_dim d;
  if (!subtract(a, b, &d)) return 2;
  if (!d.scale) return d.offset < 0 ? -1 : d.offset > 0;
  if (d.scale > 0 && d.offset > 0) return 1;
  return d.scale < 0 && d.offset < 0 ? -1 : 2;
}

static bool minimum(dp_dim a, dp_dim b, dp_dim *r) {
  int sign = compare(a, b);
  *r = sign > 0 ? b : a;
  return sign != 2;
}

static bool maximum(dp_dim a, dp_dim b, dp_dim *r) {
  int sign = compare(a, b);
  *r = sign < 0 ? b : a;
  return sign != 2;
}

static bool truth(bool answer, int sign, dp_dim *r) {
  *r = dp_dim_of(answer);
  return sign != 2;
}

static bool equal(dp_dim a, dp_dim b, dp_dim *r) { return truth(!compare(a, b), compare(a, b), r); }
static bool less(dp_dim a, dp_dim b, dp_dim *r) { return truth(compare(a, b) < 0, compare(a, b), r); }
static bool greater(dp_dim a, dp_dim b, dp_dim *r) { return truth(compare(a, b) == 1, compare(a, b), r); }
static bool less_or_equal(dp_dim a, dp_dim b, dp_dim *r) { return truth(compare(a, b) <= 0, compare(a, b), r); }
static bool greater_or_equal(dp_dim a, dp_dim b, dp_dim *r) { return truth(compare(a, b) >= 0, compare(a, b), r); }
static bool both(dp_dim a, dp_dim b, dp_dim *r) { return truth(a.offset && b.offset, 0, r); }
static bool either(dp_dim a, dp_dim b, dp_dim *r) { return truth(a.offset || b.offset, 0, r); }
static bool invert(dp_dim a, dp_dim b, dp_dim *r) { return (void)b, truth(!a.offset, 0, r); }
static bool negate(dp_dim a, dp_dim b, dp_dim *r) { return (void)b, subtract(dp_dim_of(0), a, r); }

static bool absolute(dp_dim a, dp_dim b, dp_dim *r) {
  int sign = compare(a, b = dp_dim_of(0));
  *r = a;
  return sign >= 0 && sign != 2 ? true : sign == -1 && subtract(b, a, r);
}

// ---- floats ---------------------------------------------------------------------------------------------------------

#define FLOAT_FUNCTION(NAME, RESULT)                \
  static bool NAME(double a, double b, double *r) { \
    (void)b;                                        \
    *r = RESULT;                                    \
    return true;                                    \
  }
FLOAT_FUNCTION(f_add, a + b)
FLOAT_FUNCTION(f_subtract, a - b)
FLOAT_FUNCTION(f_multiply, a *b)
FLOAT_FUNCTION(f_divide, a / b)
FLOAT_FUNCTION(f_negate, -a)
FLOAT_FUNCTION(f_absolute, fabs(a))
FLOAT_FUNCTION(f_floor, floor(a))
FLOAT_FUNCTION(f_ceil, ceil(a))
FLOAT_FUNCTION(f_sqrt, sqrt(a))
FLOAT_FUNCTION(f_relu, a > 0 || isnan(a) ? a : 0)
FLOAT_FUNCTION(f_minimum, a < b || isnan(a) ? a : b)
FLOAT_FUNCTION(f_maximum, a > b || isnan(a) ? a : b)
FLOAT_FUNCTION(f_equal, a == b)
FLOAT_FUNCTION(f_less, a < b)
FLOAT_FUNCTION(f_greater, a > b)
FLOAT_FUNCTION(f_less_or_equal, a <= b)
FLOAT_FUNCTION(f_greater_or_equal, a >= b)

// ---- the table ------------------------------------------------------------------------------------------------------

static const struct {
  const char *op;
  int operands;   // 0: any number, folded from the first on
  bool compares;  // the result is bool
  int_function ints;
  float_function floats;
} table[] = {
    {"Add", 2, false, add_dims, f_add},
    {"Sub", 2, false, subtract, f_subtract},
    {"Mul", 2, false, multiply, f_multiply},
    {"Div", 2, false, divide, f_divide},
    {"Mod", 2, false, modulo, NULL},
    {"Neg", 1, false, negate, f_negate},
    {"Abs", 1, false, absolute, f_absolute},
    {"Floor", 1, false, NULL, f_floor},
    {"Ceil", 1, false, NULL, f_ceil},
    {"Sqrt", 1, false, NULL, f_sqrt},
    {"Relu", 1, false, NULL, f_relu},
    {"Min", 0, false, minimum, f_minimum},
    {"Max", 0, false, maximum, f_maximum},
    {"Sum", 0, false, add_dims, f_add},
    {"Equal", 2, true, equal, f_equal},
    {"Less", 2, true, less, f_less},
    {"Greater", 2, true, greater, f_greater},
    {"LessOrEqual", 2, true, less_or_equal, f_less_or_equal},
    {"GreaterOrEqual", 2, true, greater_or_equal, f_greater_or_equal},
    {"And", 2, true, both, NULL},
    {"Or", 2, true, either, NULL},
    {"Not", 1, true, invert, NULL},
};

// ---- broadcasting ---------------------------------------------------------------------------------------------------

static bool broadcast(const dp_onnx_known *a, const dp_onnx_known *b, int *rank, int64_t extents[DP_MAX_RANK]) {
  *rank = a->rank > b->rank ? a->rank : b->rank;
  for (int d = 0; d < *rank; d++) {
    int da = d - (*rank - a->rank), db = d - (*rank - b->rank);
    int64_t ea = da < 0 ? 1 : a->extents[da], eb = db < 0 ? 1 : b->extents[db];
    if (ea != eb && ea != 1 && eb != 1) return false;
    extents[d] = ea == 1 ? eb : ea;
  }
  return true;
}

// The element of x at index i of the broadcast shape.
static const dp_onnx_number *at(const dp_onnx_known *x, int rank, const int64_t *extents, int64_t i) {
  int64_t position = 0, stride = 1;
  for (int d = rank - 1; d >= 0; d--) {
    int64_t index = i % extents[d];
    i /= extents[d];
    int own = d - (rank - x->rank);
    if (own < 0) continue;
    if (x->extents[own] != 1) position += index * stride;
    stride *= x->extents[own];
  }
  return &x->numbers[position];
}

// Whether the number is in the range of its type; rounds it to that type.
static bool settle(dp_dtype dtype, dp_onnx_number *number) {
  uint8_t rounded[8];
  if (is_float(dtype)) {
    dp_element_set(dtype, rounded, number->f);
    number->f = dp_element_get(dtype, rounded);
  }
  if (dtype != DP_INT32 || number->i.scale) return true;
  return number->i.offset >= INT32_MIN && number->i.offset <= INT32_MAX;
}

static dp_onnx_known *combine(dp_onnx_evaluation *e, size_t row, const dp_onnx_known *a, const dp_onnx_known *b) {
  int rank;
  int64_t extents[DP_MAX_RANK];
  bool floats = is_float(a->dtype);
  if (a->dtype != b->dtype || (floats ? !table[row].floats : !table[row].ints) || !broadcast(a, b, &rank, extents))
    return NULL;
  dp_dtype dtype = table[row].compares ? DP_BOOL : a->dtype;
  dp_onnx_known *y = dp_onnx_fold_make(e->reader, dtype, rank, extents);
  for (int64_t i = 0; y && i < y->count; i++) {
    const dp_onnx_number *m = at(a, rank, extents, i), *n = at(b, rank, extents, i);
    dp_onnx_number *r = &y->numbers[i];
    if (floats && (dp_dim_is_symbolic(m->i) || dp_dim_is_symbolic(n->i))) return NULL;
    bool known = floats ? table[row].floats(m->f, n->f, &r->f) : table[row].ints(m->i, n->i, &r->i);
    if (floats && table[row].compares) *r = (dp_onnx_number){.i = dp_dim_of(r->f != 0)};
    if (!known || !settle(dtype, r)) return NULL;
  }
  return y;
}

static dp_status elementwise(dp_onnx_evaluation *e) {
  size_t row = 0;
  while (strcmp(table[row].op, e->node->op_type)) row++;
  int operands = table[row].operands ? table[row].operands : e->n_inputs;
  if (e->n_inputs != operands || !operands || e->n_results != 1) return DP_OK;
  for (int i = 0; i < operands; i++)
    if (!e->inputs[i]) return DP_OK;
  const dp_onnx_known *y = e->inputs[0];
  if (table[row].operands == 1) y = combine(e, row, y, y);
  for (int i = 1; i < operands && y; i++) y = combine(e, row, y, e->inputs[i]);
  e->results[0] = y;
  return DP_OK;
}

// ---- Where, Cast, reductions ----------------------------------------------------------------------------------------

static dp_status where(dp_onnx_evaluation *e) {
  if (e->n_inputs != 3 || !e->inputs[0] || !e->inputs[1] || !e->inputs[2] || e->n_results != 1) return DP_OK;
  const dp_onnx_known *condition = e->inputs[0], *x = e->inputs[1], *y = e->inputs[2];
  int rank;
  int64_t extents[DP_MAX_RANK];
  dp_onnx_known xy = {.dtype = x->dtype};
  if (condition->dtype != DP_BOOL || x->dtype != y->dtype || !broadcast(x, y, &xy.rank, xy.extents) ||
      !broadcast(condition, &xy, &rank, extents))
    return DP_OK;
  dp_onnx_known *r = dp_onnx_fold_make(e->reader, x->dtype, rank, extents);
  for (int64_t i = 0; r && i < r->count; i++)
    r->numbers[i] = *at(at(condition, rank, extents, i)->i.offset ? x : y, rank, extents, i);
  e->results[0] = r;
  return DP_OK;
}

static bool cast_number(dp_dtype from, dp_dtype to, dp_onnx_number x, dp_onnx_number *y) {
  bool floats = is_float(from) && !dp_dim_is_symbolic(x.i);
  *y = (dp_onnx_number){0};
  if (is_float(to)) {
    if (dp_dim_is_symbolic(x.i)) {
      *y = (dp_onnx_number){x.i, NAN};
      return true;
    }
    y->f = floats ? x.f : (double)x.i.offset;
    return settle(to, y);
  }
  if (to == DP_BOOL) {
    bool positive = !floats && x.i.scale > 0 && x.i.offset > 0;
    y->i = dp_dim_of(floats ? x.f != 0 : positive || x.i.offset != 0);
    return floats || !x.i.scale || positive;
  }
  if (floats && !(x.f > -9.2e18 && x.f < 9.2e18)) return false;
  y->i = floats ? dp_dim_of((int64_t)x.f) : x.i;
  return settle(to, y);
}

const dp_onnx_known *dp_onnx_arithmetic_cast(dp_onnx_reader *reader, const dp_onnx_known *x, int64_t to) {
  if (to != DP_INT64 && to != DP_INT32 && to != DP_BOOL && to != DP_FLOAT32 && to != DP_FLOAT64) return NULL;
  // Floats that depend on the batch are tracked only singly, for a Range's limit.
  for (int64_t i = 0; x->count > 1 && is_float((dp_dtype)to) && i < x->count; i++)
    if (dp_dim_is_symbolic(x->numbers[i].i)) return NULL;
  dp_onnx_known *y = dp_onnx_fold_make(reader, (dp_dtype)to, x->rank, x->extents);
  for (int64_t i = 0; y && i < y->count; i++)
    if (!cast_number(x->dtype, (dp_dtype)to, x->numbers[i], &y->numbers[i])) return NULL;
  return y;
}

static dp_status cast(dp_onnx_evaluation *e) {
  if (e->n_inputs == 1 && e->inputs[0] && e->n_results == 1)
    e->results[0] = dp_onnx_arithmetic_cast(e->reader, e->inputs[0], dp_onnx_attr_int(e->node, "to", 0));
  return DP_OK;
}

// Over all axes, as shape arithmetic does.
static dp_status reduce(dp_onnx_evaluation *e) {
  static const struct {
    const char *op;
    int_function function;
    int64_t first;
  } all[] = {
      {"ReduceSum", add_dims, 0}, {"ReduceProd", multiply, 1}, {"ReduceMax", maximum, 0}, {"ReduceMin", minimum, 0}};
  const dp_onnx_known *x = e->n_inputs ? e->inputs[0] : NULL;
  int64_t n_axes;
  const int64_t *axes = dp_onnx_fold_list(e, 1, "axes", &n_axes);
  if (!x || is_float(x->dtype) || x->rank > 1 || e->n_results != 1 ||
      dp_onnx_attr_int(e->node, "noop_with_empty_axes", 0))
    return DP_OK;
  if (!axes && e->n_inputs > 1 && e->inputs[1]) return DP_OK;
  for (int64_t i = 0; i < n_axes; i++)
    if (axes[i] != 0 && axes[i] != -1) return DP_OK;
  size_t row = 0;
  while (strcmp(all[row].op, e->node->op_type)) row++;
  bool extreme = row > 1;
  if (extreme && !x->count) return DP_OK;
  int64_t one = 1;
  dp_onnx_known *y =
      dp_onnx_fold_make(e->reader, x->dtype, dp_onnx_attr_int(e->node, "keepdims", 1) ? x->rank : 0, &one);
  if (!y) return DP_OK;
  y->numbers[0].i = extreme ? x->numbers[0].i : dp_dim_of(all[row].first);
  for (int64_t i = extreme; i < x->count; i++)
    if (!all[row].function(y->numbers[0].i, x->numbers[i].i, &y->numbers[0].i)) return DP_OK;
  e->results[0] = settle(x->dtype, &y->numbers[0]) ? y : NULL;
  return DP_OK;
}

bool dp_onnx_arithmetic_rounds(const char *op) { return dp_onnx_arithmetic_find(op) == elementwise; }

dp_onnx_evaluate dp_onnx_arithmetic_find(const char *op) {
  for (size_t i = 0; i < DP_COUNT(table); i++)
    if (!strcmp(op, table[i].op)) return elementwise;
  if (!strcmp(op, "Where")) return where;
  if (!strcmp(op, "Cast")) return cast;
  bool reduces =
      !strcmp(op, "ReduceSum") || !strcmp(op, "ReduceProd") || !strcmp(op, "ReduceMax") || !strcmp(op, "ReduceMin");
  return reduces ? reduce : NULL;
}
