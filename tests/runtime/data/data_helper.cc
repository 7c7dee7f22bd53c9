#include "tests/runtime/data/data_helper.h"

#include <algorithm>

dp_type InputOf(dp_dtype dtype, const std::vector<int64_t> &dims) {
  dp_type type = {};
  type.dtype = dtype;
  for (int64_t extent : dims) type.shape.dims[type.shape.rank++] = extent < 0 ? dp_dim_batch() : dp_dim_of(extent);
  return type;
}

int BatchDim(const dp_type &input) {
  for (int d = 0; d < input.shape.rank; d++)
    if (dp_dim_is_symbolic(input.shape.dims[d])) return d;
  return -1;
}

namespace {

dp_status ReadSamples(const dp_data *data, bool skip_broken, Read *read) {
  const size_t bytes = dp_data_sample_bytes(data), element_bytes = dp_type_bytes(data->dtype);
  std::vector<char> sample(bytes);
  for (int64_t i = 0; i < dp_data_samples(data); i++) {
    dp_status status = dp_data_read(data, i, 1, sample.data());
    read->broken.push_back(status != nullptr);
    if (status && !(skip_broken && dp_status_code(status) == EX_DATAERR)) return status;
    dp_status_free(status);
    if (read->broken.back()) continue;
    for (size_t at = 0; at < bytes; at += element_bytes)
      read->numbers.push_back(dp_element_get(data->dtype, sample.data() + at));
  }
  return DP_OK;
}

}  // namespace

Read ReadData(const std::string &text, const dp_type &input, bool skip_broken) {
  Read read;
  dp_arena *arena = dp_arena_create(0);
  dp_data *data = nullptr;
  const dp_data_request request = {&input, BatchDim(input), skip_broken, 0};
  dp_status status = dp_data_open(arena, text.c_str(), &request, &data);
  if (!status) {
    read.dtype = data->dtype;
    read.extents.assign(data->extents, data->extents + data->rank);
    status = ReadSamples(data, skip_broken, &read);
  }
  if (status) read.numbers.clear();
  read.code = dp_status_code(status);
  read.message = dp_status_message(status);
  dp_status_free(status);
  dp_data_close(data);
  dp_arena_destroy(arena);
  return read;
}

dp_status ReadTensor(dp_arena *arena, const std::string &path, dp_tensor *tensor) {
  const dp_type any = InputOf(DP_FLOAT32, {-1});
  const dp_data_request request = {&any, 0, false, 0};
  dp_data *data;
  DP_TRY(dp_data_open(arena, dp_strdup(arena, path.c_str()), &request, &data));
  dp_tensor t = {
      data->dtype, data->rank, {}, static_cast<size_t>(dp_data_samples(data)) * dp_data_sample_bytes(data), nullptr};
  std::copy(data->extents, data->extents + data->rank, t.extents);
  void *numbers = dp_alloc(arena, t.bytes);
  dp_status status = dp_data_read(data, 0, dp_data_samples(data), numbers);
  t.data = numbers;
  dp_data_close(data);
  *tensor = t;
  return status;
}
