// Elementwise operators as expressions. See expressions.h. What they mean is what the CPU's reference kernels do.
#include "backends/cuda/kernels/expressions.h"

#include <math.h>
#include <string.h>

#include "backends/cuda/kernels/types.h"

#define FLOAT(EXPRESSION) .floating = EXPRESSION
#define INTEGER(EXPRESSION) .integer = EXPRESSION
#define BOTH(EXPRESSION) .floating = EXPRESSION, .integer = EXPRESSION
#define HALF(EXPRESSION) .half = EXPRESSION
#define PAIR(NAME) .pair = NAME
#define ZERO .refused = "y == 0"
#define PARAMETER(...) .parameters = {__VA_ARGS__}
// The one division that overflows is told apart, where T is signed.
#define MINUS_ONE "(T)-1 < (T)0 && y == (T)-1"
#define REMAINDER "(" MINUS_ONE " ? (T)0 : x % y)"

// What types there are is told by constants: IS_FLOAT and FROM_UNSIGNED (uint64) of operand 0; TO_FLOAT, TO_HALF (a
// float of 16 bits), TO_UNSIGNED (uint64) and TO_BOOL of the result.
#define CAST                                                                                       \
  "TO_BOOL ? (R)(x != 0)"                                                                          \
  " : TO_HALF && IS_FLOAT ? sizeof(T) == 4 ? (R)x : (R)dp_round_to_odd((double)x)"                 \
  " : TO_HALF ? FROM_UNSIGNED ? (R)dp_unsigned_to_odd((dp_u64)x) : (R)dp_signed_to_odd((dp_i64)x)" \
  " : TO_FLOAT || !IS_FLOAT ? (R)x"                                                                \
  " : TO_UNSIGNED ? (R)dp_unsigned_of((double)x) : (R)dp_signed_of((double)x)"

#define TANH_GELU "p0 ? x * (T)0.5 * (1 + F1(tanh, (T)0.79788456080286536 * (x + (T)0.044715 * x * x * x)))"

const dp_cuda_expression dp_cuda_expressions[] = {
    {"Abs", "", BOTH("x > 0 ? (U)x : (U)0 - (U)x")},
    {"Acos", "", FLOAT("F1(acos, x)")},
    {"Acosh", "", FLOAT("F1(acosh, x)")},
    {"Add", "", BOTH("(U)x + (U)y"), PAIR("add")},
    {"And", "", INTEGER("x && y")},
    {"Asin", "", FLOAT("F1(asin, x)")},
    {"Asinh", "", FLOAT("F1(asinh, x)")},
    {"Atan", "", FLOAT("F1(atan, x)")},
    {"Atanh", "", FLOAT("F1(atanh, x)")},
    {"BitShift", "",
     INTEGER("p0 ? ((U)y < 8 * sizeof(T) ? (T)((U)x << (U)y) : (T)0)"
             " : ((U)y < 8 * sizeof(T) ? x >> y : x > 0 ? (T)0 : (T)(x >> (8 * sizeof(T) - 1) >> 1))"),
     PARAMETER({"direction", .equals = "LEFT"})},
    {"BitwiseAnd", "", INTEGER("x & y")},
    {"BitwiseNot", "", INTEGER("~x")},
    {"BitwiseOr", "", INTEGER("x | y")},
    {"BitwiseXor", "", INTEGER("x ^ y")},
    {"Cast", "", BOTH(CAST)},
    {"Ceil", "", FLOAT("F1(ceil, x)")},
    {"Celu", "", FLOAT("x < 0 ? (T)p0 * F1(expm1, x / (T)p0) : x"), PARAMETER({"alpha"})},
    {"Clip", "", BOTH("(double)x > p1 ? (T)p1 : (double)x < p0 ? (T)(p0 > p1 ? p1 : p0) : x"),
     PARAMETER({"min", -INFINITY}, {"max", INFINITY})},
    {"Cos", "", FLOAT("F1(cos, x)")},
    {"Cosh", "", FLOAT("F1(cosh, x)")},
    {"Div", "", FLOAT("x / y"), INTEGER(MINUS_ONE " ? (T)((U)0 - (U)x) : x / y"), ZERO},
    {"Elu", "", FLOAT("x < 0 ? (T)p0 * F1(expm1, x) : x"), PARAMETER({"alpha"})},
    {"Equal", "", BOTH("x == y")},
    {"Erf", "", FLOAT("F1(erf, x)"), HALF("dp_half_erf(x)")},
    {"Exp", "", FLOAT("F1(exp, x)"), HALF("dp_half_exp(x)")},
    {"Expand", "", BOTH("x"), .moves = true},
    {"Floor", "", FLOAT("F1(floor, x)")},
    {"Gelu", "", FLOAT(TANH_GELU " : x * (T)0.5 * F1(erfc, -x * (T)0.70710678118654752)"),
     HALF(TANH_GELU " : dp_half_gelu(x)"), PARAMETER({"approximate", .equals = "tanh"})},
    {"Greater", "", BOTH("x > y")},
    {"GreaterOrEqual", "", BOTH("x >= y")},
    {"HardSigmoid", "", FLOAT("(T)p0 * x + (T)p1 <= 0 ? 0 : (T)p0 * x + (T)p1 >= 1 ? 1 : (T)p0 * x + (T)p1"),
     PARAMETER({"alpha"}, {"beta"})},
    {"HardSwish", "", FLOAT("x * (x <= -3 ? 0 : x >= 3 ? 1 : x / 6 + (T)0.5)")},
    {"IsInf", "", FLOAT("x - x != 0 && x == x && (x > 0 ? p0 : p1)"),
     PARAMETER({"detect_positive"}, {"detect_negative"})},
    {"IsNaN", "", FLOAT("x != x")},
    {"LeakyRelu", "", FLOAT("x < 0 ? (T)p0 * x : x"), PARAMETER({"alpha"})},
    {"Less", "", BOTH("x < y")},
    {"LessOrEqual", "", BOTH("x <= y")},
    {"Log", "", FLOAT("F1(log, x)")},
    {"Max", "", BOTH("x > y || x != x ? x : y")},
    {"Min", "", BOTH("x < y || x != x ? x : y")},
    {"Mish", "", FLOAT("x * F1(tanh, F2(fmax, x, 0) + F1(log1p, F1(exp, -F1(fabs, x))))")},
    {"Mod", "", FLOAT("F2(fmod, x, y)"),
     INTEGER("p0 || " REMAINDER " == 0 || (" REMAINDER " < 0) == (y < 0) ? " REMAINDER " : " REMAINDER " + y"), ZERO,
     PARAMETER({"fmod"})},
    {"Mul", "", BOTH("(U)x * (U)y"), PAIR("mul")},
    {"Neg", "", BOTH("(U)0 - (U)x")},
    {"Not", "", INTEGER("!x")},
    {"Or", "", INTEGER("x || y")},
    {"PRelu", "", BOTH("x < 0 ? (U)x * (U)y : (U)x")},
    {"Pow", "", FLOAT("pow((double)x, (double)y)"), INTEGER("dp_integer_power((dp_i64)x, (double)y)")},
    {"Reciprocal", "", FLOAT("1 / x")},
    {"Relu", "", BOTH("x <= 0 ? 0 : x")},
    {"ReluGrad", "dp", FLOAT("y <= 0 ? 0 : x")},
    {"Round", "", FLOAT("F1(nearbyint, x)")},
    {"Selu", "", FLOAT("x < 0 ? (T)(p0 * p1) * F1(expm1, x) : (T)p0 * x"), PARAMETER({"gamma"}, {"alpha"})},
    {"Shrink", "", FLOAT("x < -p0 ? x + (T)p1 : x > p0 ? x - (T)p1 : 0"), PARAMETER({"lambd"}, {"bias"})},
    {"Sigmoid", "", FLOAT("(x < 0 ? F1(exp, -F1(fabs, x)) : 1) / (1 + F1(exp, -F1(fabs, x)))")},
    {"Sign", "", BOTH("x != x || x == 0 ? x : x > 0 ? (T)1 : (T)-1")},
    {"Sin", "", FLOAT("F1(sin, x)")},
    {"Sinh", "", FLOAT("F1(sinh, x)")},
    {"Softplus", "", FLOAT("F2(fmax, x, 0) + F1(log1p, F1(exp, -F1(fabs, x)))")},
    {"Softsign", "", FLOAT("x / (1 + F1(fabs, x))")},
    {"Sqrt", "", FLOAT("F1(sqrt, x)")},
    {"Sub", "", BOTH("(U)x - (U)y"), PAIR("sub")},
    {"Swish", "", FLOAT("x / (1 + F1(exp, -(T)p0 * x))"), PARAMETER({"alpha"})},
    {"Tan", "", FLOAT("F1(tan, x)")},
    {"Tanh", "", FLOAT("F1(tanh, x)")},
    {"ThresholdedRelu", "", FLOAT("x <= (T)p0 ? 0 : x"), PARAMETER({"alpha"})},
    {"Where", "", INTEGER("x ? y : z"), .moves = true},
    {"Xor", "", INTEGER("x != y")},
    {NULL},
};

// The types of the operands and results that it computes with.
static bool takes(const dp_cuda_expression *e, const dp_kernel_spec *spec) {
  uint32_t types = e->moves ? DP_STORED : DP_CUDA_COMPUTED;
  for (int i = 0; i < spec->n_inputs; i++)
    if (!spec->inputs[i].present || !(DP_BIT(spec->inputs[i].dtype) & types)) return false;
  if (spec->n_outputs != 1 || !(DP_BIT(spec->outputs[0].dtype) & types)) return false;
  return spec->n_inputs >= 1 && spec->n_inputs <= 3;
}

const dp_cuda_expression *dp_cuda_expression_of(const dp_kernel_spec *spec) {
  for (const dp_cuda_expression *e = dp_cuda_expressions; e->op; e++) {
    if (strcmp(e->op, spec->op->name) || strcmp(e->domain, spec->op->domain)) continue;
    if (!takes(e, spec)) return NULL;
    return (dp_type_is_float(spec->inputs[0].dtype) ? e->floating : e->integer) || e->moves ? e : NULL;
  }
  return NULL;
}

double dp_cuda_parameter_of(const dp_cuda_parameter *parameter, const dp_node *node) {
  if (parameter->equals) return !strcmp(dp_node_string(node, parameter->name, ""), parameter->equals);
  return dp_node_float(node, parameter->name, parameter->otherwise);
}
