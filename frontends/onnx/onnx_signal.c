// Windows and the matrix of mel filters: operators whose result is known when their operands are. It becomes a
// constant.
#include <math.h>
#include <string.h>

#include "frontends/onnx/onnx_reader.h"

static const double pi = 3.14159265358979323846;

// Operand i, a number that must be known, as a float or, when `integer`, as an integer above 0.
static dp_status find_number(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, size_t i,
                             bool integer, double *number) {
  dp_onnx_binding *x = NULL;
  if (i < m->n_input) DP_TRY(dp_onnx_scope_find_tensor(scope, m->input[i], &x));
  if (!x) return dp_fail(EX_DATAERR, "operand %zu is missing", i + 1);
  const dp_onnx_known *known = dp_onnx_scope_known(reader, x);
  const dp_tensor *tensor = known ? NULL : x->tensor;  // a float initializer, which is not trained here
  if (!known && !tensor)
    return dp_fail(EX_UNAVAILABLE, "operand %zu ('%s') is computed from data; it must be known before the network runs",
                   i + 1, x->name);
  bool one = known ? known->count == 1 : dp_tensor_count(tensor) == 1;
  dp_dtype dtype = known ? known->dtype : tensor->dtype;
  if (!one || dp_type_is_float(dtype) == integer)
    return dp_fail(EX_DATAERR, "operand %zu ('%s') is not one %s", i + 1, x->name, integer ? "integer" : "float");
  if (known && dp_dim_is_symbolic(known->numbers[0].i))
    return dp_fail(EX_UNAVAILABLE, "operand %zu ('%s') depends on the batch, which is not supported here", i + 1,
                   x->name);
  *number = tensor ? dp_tensor_get(tensor, 0) : integer ? (double)known->numbers[0].i.offset : known->numbers[0].f;
  if (integer && !(*number >= 1 && *number <= INT32_MAX))
    return dp_fail(EX_DATAERR, "operand %zu ('%s') is %g where 1 or more is expected", i + 1, x->name, *number);
  return DP_OK;
}

// Binds the node's result to numbers of this shape, in the type of attribute output_datatype.
static dp_status bind(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, int rank,
                      const int64_t *extents, const double *numbers) {
  dp_tensor tensor = {.rank = rank};
  int64_t count = 1;
  DP_TRY(
      dp_onnx_tensor_dtype((int32_t)dp_onnx_attr_int(m, "output_datatype", DP_FLOAT32), "the result", &tensor.dtype));
  if (!(DP_BIT(tensor.dtype) & DP_NUMBERS))
    return dp_fail(EX_DATAERR, "output_datatype is %s where a type of numbers is expected", dp_type_name(tensor.dtype));
  for (int d = 0; d < rank; d++) count *= tensor.extents[d] = extents[d];
  size_t each = dp_type_bytes(tensor.dtype);
  char *data = dp_alloc_n(reader->arena, (size_t)count, each);
  for (int64_t i = 0; i < count; i++) dp_element_set(tensor.dtype, data + (size_t)i * each, numbers[i]);
  tensor.bytes = (size_t)count * each;
  tensor.data = data;
  if (m->n_output != 1) return dp_fail(EX_DATAERR, "one result is expected");
  dp_onnx_binding binding = {.tensor = dp_memdup(reader->arena, &tensor, sizeof tensor)};
  return dp_onnx_scope_bind(reader, scope, m->output[0], binding);
}

// ---- windows --------------------------------------------------------------------------------------------------------

// a0 - a1 cos(x) + a2 cos(2 x), with x from 0 to 2 pi. A periodic window reaches 2 pi one position after its end.
static const struct {
  const char *op;
  double a0, a1, a2;
} windows[] = {
    {"HannWindow", 0.5, 0.5, 0}, {"HammingWindow", 25.0 / 46, 21.0 / 46, 0}, {"BlackmanWindow", 0.42, 0.5, 0.08}};

dp_status dp_onnx_signal_window(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  double size;
  size_t w = 0;
  while (strcmp(m->op_type, windows[w].op)) w++;
  DP_TRY(find_number(reader, scope, m, 0, true, &size));
  int64_t n = (int64_t)size, whole = dp_onnx_attr_int(m, "periodic", 1) ? n : n - 1;
  DP_TRY(dp_onnx_count_work(reader, (size_t)n));
  double *numbers = dp_alloc_n(reader->arena, (size_t)n, sizeof *numbers);
  for (int64_t i = 0; i < n; i++) {
    double x = 2 * pi * (double)i / (double)whole;
    // A symmetric window of length 1 is 1, as in SciPy and PyTorch; ONNX divides 0 by 0.
    numbers[i] = whole ? windows[w].a0 - windows[w].a1 * cos(x) + windows[w].a2 * cos(2 * x) : 1;
  }
  *done = true;
  return bind(reader, scope, m, 1, &n, numbers);
}

// ---- MelWeightMatrix ------------------------------------------------------------------------------------------------

static double mel_of(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double hertz_of(double mel) { return 700 * (pow(10, mel / 2595) - 1); }

// A filter rises from bin edges[0] to 1 at edges[1] and falls to 0 at edges[2]. column: its elements, `stride` apart.
static void fill_filter(const int64_t edges[3], int64_t n, int64_t stride, double *column) {
  for (int64_t j = edges[0]; j <= edges[1] && j < n; j++)
    column[j * stride] = edges[1] > edges[0] ? (double)(j - edges[0]) / (double)(edges[1] - edges[0]) : 1;
  for (int64_t j = edges[1]; j < edges[2] && j < n; j++)
    column[j * stride] = (double)(edges[2] - j) / (double)(edges[2] - edges[1]);
}

dp_status dp_onnx_signal_mel(dp_onnx_reader *reader, dp_onnx_scope *scope, const Dp__Onnx__Node *m, bool *done) {
  double given[5];  // filters, length of the transform, samples a second, lowest and highest frequency
  for (size_t i = 0; i < DP_COUNT(given); i++) DP_TRY(find_number(reader, scope, m, i, i < 3, &given[i]));
  int64_t shape[] = {(int64_t)given[1] / 2 + 1, (int64_t)given[0]};
  if (!(given[3] >= 0 && given[3] <= given[4] && given[4] <= given[2] / 2))
    return dp_fail(EX_DATAERR, "frequencies from %g to %g are not within 0 and half of the %g samples a second",
                   given[3], given[4], given[2]);
  DP_TRY(dp_onnx_count_work(reader, (size_t)(shape[0] * shape[1])));
  double *numbers = dp_alloc_n(reader->arena, (size_t)(shape[0] * shape[1]), sizeof *numbers);
  double low = mel_of(given[3]), step = (mel_of(given[4]) - low) / (given[0] + 2);
  for (int64_t i = 0; i < shape[1]; i++) {
    int64_t edges[3];
    for (int k = 0; k < 3; k++)
      edges[k] = (int64_t)floor((given[1] + 1) * hertz_of(low + step * (double)(i + k)) / given[2]);
    fill_filter(edges, shape[0], shape[1], numbers + i);
  }
  *done = true;
  return bind(reader, scope, m, 2, shape, numbers);
}
