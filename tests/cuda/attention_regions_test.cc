// Regions of attention on CUDA: queries, keys and values are parts of one tensor, and so are their gradients. One
// launch reads and writes the parts where they lie, and gives the bits that attention on copies of them gives.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cuda/gpu/choices.h"
#include "backends/cuda/kernels/region_layout.h"
#include "backends/cuda/target.h"
#include "tests/backends/region_builder.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

const dp_kernel *Kernel() { return dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"); }

enum class Form { kRows, kMatrix, kHeads };  // the whole: [batch, length, all], [batch * length, all], of heads

struct Of {
  dp_dtype dtype;
  int64_t batch, length, heads, size, groups, v_size;
  std::vector<dp_attr> attrs;
  Form form = Form::kRows;
  std::vector<int> order = {0, 1, 2};  // of Q, K, V in the whole
  dp_dtype mask = DP_NO_TYPE;          // [batch, 1, length, length]
  bool drops = false;
  int kept = -1;                         // a part that the region gives too
  bool shared = false;                   // values are the keys
  int64_t other = 0;                     // elements of a fourth part, behind the others
  int64_t lo = 0, hi = -1, devices = 1;  // the heads of this device, in a part of that many; -1: it has all
  int symbolic = -1;                     // the dim that depends on the number of samples
};

struct Region : RegionBuilder {
  Of of;
  std::vector<int64_t> widths;  // of Q, K, V and what else there is
  int attention = 0;            // the member

  Region(const Of &what, bool gradient) : RegionBuilder(7), of(what) {
    widths = {of.heads * of.size, of.groups * of.size, of.groups * of.v_size};
    const int whole = Operand(of.dtype, Whole());
    std::vector<int> in;
    if (gradient) in.push_back(Operand(of.dtype, Shape(of.heads, of.v_size)));
    for (int part : Divide(whole)) in.push_back(part);
    if (gradient) in.push_back(Operand(of.dtype, Shape(of.heads, of.v_size)));
    if (gradient) in.push_back(Operand(Wide(), {of.batch, of.heads, of.length}));
    if (of.mask != DP_NO_TYPE) in.push_back(Operand(of.mask, {of.batch, 1, of.length, of.length}));
    if (of.mask == DP_NO_TYPE && of.drops) in.push_back(-1);
    for (int i = 0; i < 2 && of.drops; i++) in.push_back(Operand(DP_INT64, {}, 3, 9));
    attention = int(list.size());
    if (gradient) {
      std::vector<int> parts = {
          Add("dp", "ScaledDotProductAttentionGrad", in, of.dtype, Shape(of.heads, of.size), false, of.attrs)};
      parts.push_back(AddResult(of.dtype, Shape(of.groups, of.size), false));
      parts.push_back(AddResult(of.dtype, Shape(of.groups, of.v_size), false));
      Join(parts);
    } else {
      Add("dp", "ScaledDotProductAttention", in, of.dtype, Shape(of.heads, of.v_size), true, of.attrs);
      AddResult(Wide(), {of.batch, of.heads, of.length}, true);
    }
    Number();
    for (size_t v = 0; v < values.size(); v++) {
      if (of.hi >= 0) Shard(made[value_at[v]].extents, &values[v].local);
      if (of.symbolic >= 0 && of.symbolic < values[v].local.rank) values[v].local.symbolic = 1u << of.symbolic;
    }
    for (int64_t &width : widths) width = of.hi < 0 ? width : width / of.heads * (of.hi - of.lo);
  }
  // What has heads is divided by them, as one dim or in blocks of its last one.
  void Shard(const std::vector<int64_t> &extents, dp_local *local) const {
    const bool statistics = extents.size() == 3 && extents[1] == of.heads, apart = extents.size() == 4;
    const size_t d = statistics ? 1 : 2;
    local->unit[d] = statistics || apart ? 1 : of.size;
    local->outer[d] = extents[d] / (of.heads * local->unit[d]);
    local->k[d] = of.heads;
    local->lo[d] = of.lo;
    local->hi[d] = of.hi;
    local->shards[d] = of.devices;
    local->extents[d] = local->outer[d] * (of.hi - of.lo) * local->unit[d];
  }
  dp_dtype Wide() const { return of.dtype == DP_FLOAT64 ? DP_FLOAT64 : DP_FLOAT32; }
  int64_t Pitch() const { return widths[0] + widths[1] + widths[2] + of.other; }
  std::vector<int64_t> Shape(int64_t heads, int64_t size) const { return {of.batch, of.length, heads, size}; }
  std::vector<int64_t> Shape(int part) const {
    return Shape(part ? of.groups : of.heads, part == 2 ? of.v_size : of.size);
  }
  // A part of the whole, so many elements wide.
  std::vector<int64_t> Wide(int64_t width) const {
    if (of.form == Form::kHeads) return Shape(width / of.size, of.size);
    if (of.form == Form::kMatrix) return {of.batch * of.length, width};
    return {of.batch, of.length, width};
  }
  std::vector<int64_t> Whole() const { return Wide(Pitch()); }
  int Axis() const { return of.form == Form::kMatrix ? 1 : 2; }

  std::vector<int> Divide(int whole) {
    std::vector<int64_t> sizes;
    std::vector<int> parts(3), at;
    for (int part : of.order) sizes.push_back(Wide(widths[size_t(part)])[size_t(Axis())]);
    if (of.other) sizes.push_back(of.other);
    dp_attr split = Axes(sizes);
    split.name = "split";
    for (int part : of.order) {
      const std::vector<int64_t> extents = Wide(widths[size_t(part)]);
      parts[size_t(part)] = at.empty() ? Add("", "Split", {whole}, of.dtype, extents, of.kept == part,
                                             {Int("axis", of.form == Form::kMatrix ? -1 : 2), split})
                                       : AddResult(of.dtype, extents, of.kept == part);
      at.push_back(parts[size_t(part)]);
    }
    if (of.other) AddResult(of.dtype, Wide(of.other), false);
    for (int part = 0; part < 3 && of.form != Form::kHeads; part++)
      parts[size_t(part)] = Add("", "Reshape", {parts[size_t(part)]}, of.dtype, Shape(part), false);
    if (of.shared) parts[2] = parts[1];
    return parts;
  }
  void Join(std::vector<int> parts) {
    for (int part = 0; part < 3 && of.form != Form::kHeads; part++)
      parts[size_t(part)] = Add("", "Reshape", {parts[size_t(part)]}, of.dtype, Wide(widths[size_t(part)]), false);
    std::vector<int> in;
    for (int part : of.order) in.push_back(parts[size_t(part)]);
    std::vector<int64_t> all = Wide(widths[0] + widths[1] + widths[2]);
    Add("", "Concat", in, of.dtype, all, true, {Int("axis", Axis())});
  }
};

// ---- the same on copies ---------------------------------------------------------------------------------------------

// Copies a part out of the whole, or into it.
void Move(const Region &r, int part, Tensor *whole, Tensor *of_part, bool out) {
  const size_t bytes = dp_type_bytes(whole->dtype), width = size_t(r.widths[size_t(part)]) * bytes;
  const size_t rows = size_t(r.of.batch * r.of.length), pitch = rows ? whole->bytes.size() / rows : 0;
  size_t start = 0;
  for (int before : r.of.order) {
    if (before == part) break;
    start += size_t(r.widths[size_t(before)]) * bytes;
  }
  for (size_t row = 0; row < rows; row++) {
    auto *inside = whole->bytes.data() + row * pitch + start, *dense = of_part->bytes.data() + row * width;
    if (out)
      std::copy(inside, inside + width, dense);
    else
      std::copy(dense, dense + width, inside);
  }
}

Tensor Room(const dp_kernel_operand &of) {
  Tensor t;
  t.dtype = of.dtype;
  t.local = of.local;
  t.bytes.resize(size_t(t.Count()) * dp_type_bytes(of.dtype));
  return t;
}

// The attention alone, on dense parts. in: of the region.
Outcome Alone(Region *r, const std::vector<Tensor> &in, bool gradient) {
  auto member = std::make_unique<dp_member_spec>();
  dp_member_spec_make(&r->region, r->attention, r->region.values, member.get());
  std::vector<Tensor> taken, made;
  const dp_kernel_member &m = r->members[size_t(r->attention)];
  for (int i = 0; i < m.n_inputs; i++) {
    const int part = i - gradient;
    if (m.inputs[i] < 0) {
      taken.emplace_back();
    } else if (m.inputs[i] < r->n_inputs) {
      taken.push_back(in[size_t(m.inputs[i])]);
    } else {
      taken.push_back(Room(r->values[size_t(m.inputs[i])]));
      Tensor whole = in[0];
      Move(*r, r->of.shared && part == 2 ? 1 : part, &whole, &taken.back(), true);
    }
  }
  for (int k = 0; k < m.n_outputs; k++) made.push_back(Room(r->values[size_t(m.outputs[k])]));
  const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &member->spec, false);
  return RunKernel(kernel, member->spec, taken, made);
}

// ---- comparing ------------------------------------------------------------------------------------------------------

int Launches(const Region &r) {
  dp_cuda_region_layout layout{};
  EXPECT_EQ(dp_cuda_region_layout_make(&r.spec, &layout), nullptr);
  const int launches = layout.n_launches;
  EXPECT_TRUE(launches > 1 || !layout.bytes);
  dp_cuda_region_layout_free(&layout);
  return launches;
}

void ExpectSameBits(const Tensor &expected, const Tensor &found) {
  ASSERT_EQ(expected.bytes.size(), found.bytes.size());
  EXPECT_TRUE(expected.bytes == found.bytes);
}

// The part that the region gives too, as its first result.
void ExpectKept(Region *r, Tensor whole, const Outcome &found) {
  if (r->of.kept < 0) return;
  Tensor part = Room(r->values[size_t(r->n_inputs)]);
  Move(*r, r->of.kept, &whole, &part, true);
  ExpectSameBits(part, found.results[0]);
}

// What the launches chose.
std::string Compare(const Of &of, int launches = 1, int of_gradient = 1) {
  Region forward(of, false), gradient(of, true);
  EXPECT_EQ(Launches(forward), launches);
  EXPECT_EQ(Launches(gradient), of_gradient);
  std::vector<Tensor> in = forward.Tensors(0, forward.n_inputs);
  if (of.mask == DP_BOOL)
    for (int64_t i = 0; i < in[1].Count(); i++) in[1].Set(i, i % 5 != 2);
  const Outcome apart = Alone(&forward, in, false);
  EXPECT_TRUE(Kernel()->match(&forward.spec) && Kernel()->match(&gradient.spec));
  dp_cuda_choices();
  const Outcome together = RunKernel(Kernel(), forward.spec, in, forward.Tensors(forward.n_inputs, forward.n_outputs));
  EXPECT_EQ(apart.error + together.error, "");
  if (!(apart.error + together.error).empty()) return "";
  const size_t n = together.results.size();
  for (size_t k = 0; k < 2; k++) ExpectSameBits(apart.results[k], together.results[n - 2 + k]);
  ExpectKept(&forward, in[0], together);

  std::vector<Tensor> given = gradient.Tensors(0, gradient.n_inputs);
  given[0] = in[0];
  given[2] = apart.results[0];
  given[3] = apart.results[1];
  for (size_t i = 1; i < in.size(); i++) given[3 + i] = in[i];
  const Outcome parts = Alone(&gradient, given, true);
  const Outcome whole =
      RunKernel(Kernel(), gradient.spec, given, gradient.Tensors(gradient.n_inputs, gradient.n_outputs));
  EXPECT_EQ(parts.error + whole.error, "");
  if (!(parts.error + whole.error).empty()) return "";
  Tensor joined = whole.results.back();
  for (int part = 0; part < 3; part++) {
    Tensor one = parts.results[size_t(part)];
    Move(gradient, part, &joined, &one, false);
  }
  ExpectSameBits(joined, whole.results.back());
  ExpectKept(&gradient, given[0], whole);
  return dp_cuda_choices();
}

dp_attr Causal() { return dp_attr_int("is_causal", 1); }
dp_attr Zero() { return dp_attr_string("masked_rows", "zero"); }

const Of kCases[] = {
    {DP_BFLOAT16, 2, 16, 4, 64, 4, 64, {Causal(), dp_attr_float("scale", 0.125)}},
    {DP_FLOAT16, 3, 7, 2, 8, 2, 8, {}},
    {DP_BFLOAT16, 2, 9, 6, 16, 2, 16, {Causal()}},                         // grouped
    {DP_BFLOAT16, 2, 9, 6, 16, 2, 24, {}},                                 // other sizes of values
    {DP_FLOAT16, 2, 5, 4, 8, 1, 8, {Causal()}, Form::kMatrix},             // one group; no dim of samples
    {DP_BFLOAT16, 2, 5, 4, 8, 2, 8, {}, Form::kHeads},                     // no Reshape
    {DP_BFLOAT16, 2, 6, 4, 8, 2, 16, {Causal()}, Form::kRows, {2, 0, 1}},  // another order
    {DP_BFLOAT16, 2, 1, 2, 64, 2, 64, {}},                                 // one query, one key
    {DP_FLOAT16, 1, 1, 1, 8, 1, 8, {Causal()}},
    {DP_BFLOAT16, 2, 7, 2, 8, 2, 8, {Zero()}, Form::kRows, {0, 1, 2}, DP_BOOL},
    {DP_BFLOAT16, 2, 7, 2, 8, 2, 8, {Zero()}, Form::kRows, {0, 1, 2}, DP_FLOAT32},
    {DP_BFLOAT16, 0, 7, 2, 8, 2, 8, {Causal()}},    // no samples
    {DP_BFLOAT16, 2, 7, 2, 12, 1, 12, {Causal()}},  // no size of cuDNN's
    {DP_BFLOAT16, 2, 7, 3, 5, 1, 7, {}},            // parts at odd places
    {DP_FLOAT32, 2, 37, 4, 8, 2, 8, {Causal()}},
    {DP_FLOAT32, 2, 5, 3, 3, 1, 5, {}, Form::kMatrix},
    {DP_FLOAT64, 2, 5, 4, 8, 2, 8, {}, Form::kRows, {1, 2, 0}},
    {DP_BFLOAT16,
     2,
     7,
     2,
     8,
     2,
     8,
     {dp_attr_float("ratio", 0.25), dp_attr_int("key", 3)},
     Form::kRows,
     {0, 1, 2},
     DP_NO_TYPE,
     true},
};

bool Has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

class AttentionRegions : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(OpenDevice(), ""); }
};

TEST_F(AttentionRegions, EqualAttentionOnCopies) {
  for (const Of &of : kCases) {
    SCOPED_TRACE(testing::Message() << dp_type_name(of.dtype) << " " << of.batch << " x " << of.length << ", "
                                    << of.heads << " heads of " << of.size << ", " << of.groups << " groups, "
                                    << of.v_size);
    const std::string choices = Compare(of);
    const bool by_cudnn = IsHalf(of.dtype) && of.size % 8 == 0 && of.v_size % 8 == 0 && !of.drops && of.batch;
    EXPECT_TRUE(!IsStandin() || Has(choices, "cuDNN engine") == by_cudnn) << choices;
  }
}

// Our own functions read and write the parts too.
TEST_F(AttentionRegions, EqualItWithoutCudnn) {
  if (!IsStandin()) GTEST_SKIP() << kSteers;
  setenv("DP_STANDIN_CUDNN_ATTENTION", "0", 1);
  for (const Of &of : kCases) EXPECT_FALSE(Has(Compare(of), "cuDNN engine")) << of.length;
  unsetenv("DP_STANDIN_CUDNN_ATTENTION");
}

// What is no part of one tensor alone is copied: Split is a launch, and so is each Reshape that cannot stay in place.
TEST_F(AttentionRegions, CopyWhatElseIsTaken) {
  Of kept = kCases[2], shared = kCases[1], other = kCases[1];
  kept.kept = 1;
  Compare(kept, 5, 5);
  other.other = 3;
  Compare(other, 5, 5);
  shared.shared = true;
  Compare(shared, 5, 5);
}

// More heads than a workspace holds: some samples after others.
TEST_F(AttentionRegions, GoPartByPart) {
  const Of of = {DP_BFLOAT16, 513, 4, 128, 8, 128, 8, {Causal()}};
  const std::string choices = Compare(of);
  EXPECT_TRUE(Has(choices, " parts") || Has(choices, "to be wrong")) << choices;
}

// Of one sample: some heads after others, of rows that are longer than all heads.
TEST_F(AttentionRegions, GoByHeads) {
  const std::string choices = Compare({DP_BFLOAT16, 1, 4, 65664, 8, 32832, 8, {Causal()}});
  EXPECT_TRUE(Has(choices, " parts") || Has(choices, "to be wrong")) << choices;
}

// Samples may be any dim that is not in rows. Where rows are longer with more samples, each part is copied.
TEST_F(AttentionRegions, TakeRowsThatAreAsLongForAnyNumberOfSamples) {
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32}) {
    Of rows = {dtype, 2, 5, 4, 8, 2, 8, {Causal()}}, heads = {dtype, 2, 5, 4, 8, 2, 8, {}, Form::kHeads};
    for (int dim : {0, 1}) {
      rows.symbolic = heads.symbolic = dim;
      Compare(rows);
      Compare(heads);
    }
    for (int dim : {2, 3}) {
      heads.symbolic = dim;
      Compare(heads, 2, 3);
    }
    rows.symbolic = 2;
    Compare(rows, 5, 9);
  }
}

// Three heads on two devices, and on four, of which one has none.
TEST_F(AttentionRegions, OfADevicesHeads) {
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32})
    for (int64_t devices : {2, 4})
      for (int64_t device = 0; device < devices; device++) {
        SCOPED_TRACE(testing::Message() << dp_type_name(dtype) << ", device " << device << " of " << devices);
        Of of = {dtype, 2, 7, 3, 8, 3, 8, {Causal()}};
        of.devices = devices;
        of.lo = device * 3 / devices;
        of.hi = (device + 1) * 3 / devices;
        Compare(of);
        of.kept = 2;
        Compare(of, 5, 5);
      }
}

}  // namespace
}  // namespace dp_test
