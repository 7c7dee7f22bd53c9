// The text form: what is read prints as expected and reads back to the same bytes, after any pass.
#include "ir/text/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/text/syntax.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Message;
using dp_test::Parse;
using dp_test::Print;
using dp_test::Reprint;

TEST(Text, PrintedFormsReadBackToTheSameBytes) {
  EXPECT_EQ(Reprint(dp_test::kSource), dp_test::kSource);
  EXPECT_EQ(Reprint(dp_test::kDeviceForm), dp_test::kDeviceForm);
}

TEST(Text, SugarPrintsAsWhatItMeans) {
  EXPECT_EQ(Reprint(R"(
# a comment
model "two words" { // another
  parameter a.weight: float[8,4,2,2]=kaiming_uniform() parameter a.bias:float32[8]=kaiming_uniform(16)
  parameter g:double[3]=ones buffer h:float32[1,2]=zeros
  parameter t: int32[2,2] = [1,2,3,-4] parameter u: uint8[3] = tensor hex "00fF7f"
  input x:float32[2*N,3] input "in put":bool[ ]
  constant flags: bool[2] = [true,0]
  input = Relu(x)   // a word that opens statements may name a result, too
  output input
  output = Identity(input) {} []
}
)"),
            R"(model "two words" {
  opset 18
  parameter a.weight: float32[8,4,2,2] = uniform(-0.25, 0.25)
  parameter a.bias: float32[8] = uniform(-0.25, 0.25)
  parameter g: float64[3] = fill(1)
  buffer h: float32[1,2] = fill(0)
  parameter t: int32[2,2] = tensor [1, 2, 3, -4]
  parameter u: uint8[3] = tensor [0, 255, 127]
  input x: float32[2*N,3]
  input "in put": bool[]
  constant flags: bool[2] = [1, 0]
  input: float32[2*N,3] = Relu(x)
  output: float32[2*N,3] = Identity(input)
  output input
}
)");
}

TEST(Text, KaimingIsPyTorchsDefault) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, "model m { parameter w: float32[7,3,5,5] = kaiming_uniform() }", &model), "");
  // torch.nn.Conv2d(3, 7, 5): bound = sqrt(6 / ((1 + 5) * fan_in)) with fan_in = 3 * 5 * 5.
  EXPECT_DOUBLE_EQ(model->variables[0].init.b, std::sqrt(1.0 / 75));
  EXPECT_DOUBLE_EQ(model->variables[0].init.a, -std::sqrt(1.0 / 75));
}

TEST(Text, AnEmptyModelHasAnEmptyMain) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, "model { }", &model), "");
  ASSERT_EQ(model->n_graphs, 1);
  EXPECT_STREQ(model->graphs[0]->name, "main");
  EXPECT_EQ(Print(model), "model \"\" {\n  opset 18\n}\n");
}

TEST(Text, StagesAndMicroBatchesReadBack) {
  const char *text =
      "model m {\n  opset 18\n  batch 8\n  mesh micro=4, pipe=3\n"
      "  parameter w: float32[2] = fill(0) [stages=[0,2], at=[R,R], offset=64, bytes=8]\n"
      "  graph train/1 {\n    logical train {\n      input x: float32[N,2]\n      y: float32[N,2] = Relu(x)\n"
      "      output y\n    }\n    stage 1\n"
      "    input h: float32[N,2] [at=[S(0),R], micro=[2,1], logical=x]\n"
      "    x: float32[N,2] [at=[S(0),R], micro=[2,1], space=transient, logical=x] = dp.Recv(h) {axis=\"pipe\", "
      "channel=7, peer=0}\n"
      "    y: float32[N,2] [at=[S(0),R], micro=[2,1], space=transient, logical=y] = Relu(x) [stage=1, logical=y]\n"
      "    output y\n  }\n}\n";
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, text, &model), "");
  const dp_graph *g = model->graphs[0];
  EXPECT_EQ(g->stage, 1);
  EXPECT_EQ(g->logical->stage, -1);
  ASSERT_EQ(model->variables[0].n_stages, 2);
  EXPECT_EQ(model->variables[0].stages[1], 2);
  const dp_value *y = dp_graph_find_value(g, "y");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->micro_first, 2);
  EXPECT_EQ(y->micro_count, 1);
  EXPECT_EQ(Print(model), text);
}

TEST(Text, WhatIsReadIsInTheGraph) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, dp_test::kDeviceForm, &model), "");
  const dp_graph *g = dp_model_find_graph(model, "train");
  ASSERT_NE(g, nullptr);
  EXPECT_EQ(model->batch, 64);
  EXPECT_EQ(dp_mesh_devices(&model->mesh), 4);
  EXPECT_EQ(g->n_events, 3);
  EXPECT_EQ(g->n_streams, 3);
  ASSERT_EQ(g->n_nodes, 4);
  const dp_node *gemm = g->nodes[1];
  EXPECT_STREQ(gemm->kernel, "cpu.onednn.Gemm");
  EXPECT_EQ(gemm->stream, 0);
  EXPECT_EQ(gemm->threads, 2);
  EXPECT_EQ(gemm->scratch_offset, 16384u);
  EXPECT_EQ(gemm->scratch_bytes, 128u);
  ASSERT_EQ(gemm->n_waits, 1);
  EXPECT_EQ(gemm->waits[0], 0);
  EXPECT_EQ(gemm->signal, 1);
  EXPECT_EQ(gemm->logical, g->logical->nodes[0]);
  EXPECT_EQ(g->nodes[0]->logical, nullptr);
  const dp_value *y = gemm->outputs[0];
  EXPECT_EQ(y->logical, dp_graph_find_value(g->logical, "y"));
  EXPECT_TRUE(dp_placement_equal(y->placements[0], dp_shard(0)));
  EXPECT_TRUE(dp_placement_equal(y->placements[1], dp_shard(1)));
  EXPECT_EQ(y->space, DP_SPACE_TRANSIENT);
  EXPECT_EQ(y->offset, 8192u);
  EXPECT_EQ(y->bytes, 640u);
  const dp_variable *b = &model->variables[1];
  EXPECT_TRUE(dp_placement_equal(b->placements[1], dp_shard_in(0, 3, 2)));
  EXPECT_TRUE(dp_placement_equal(b->constraints[0].placement, dp_shard_in(0, 3, 2)));
  EXPECT_EQ(b->offset, 1280u);
  ASSERT_EQ(g->n_updates, 1);
  EXPECT_EQ(g->updates[0].variable, 0);
}

TEST(Text, VariableAndScalarValuesEnterByBeingNamed) {
  Arena arena;
  dp_model *model;
  ASSERT_EQ(Parse(arena, "model m { parameter w: float64[] = fill(2) r = Mul(w, dp.lr) output r }", &model), "");
  const dp_graph *g = model->graphs[0];
  EXPECT_EQ(dp_graph_find_value(g, "w")->kind, DP_VALUE_VARIABLE);
  EXPECT_EQ(dp_graph_find_value(g, "dp.lr")->kind, DP_VALUE_SCALAR);
  EXPECT_EQ(dp_graph_find_value(g, "dp.lr")->type->dtype, DP_FLOAT64);
}

// ---- values that are easily lost ------------------------------------------------------------------------------------

dp_model *WithTensor(dp_arena *arena, dp_dtype dtype, int64_t count, const void *data) {
  dp_model *model = dp_model_create(arena, "m");
  dp_graph *graph = dp_graph_create(model, "main");
  auto *tensor = static_cast<dp_tensor *>(dp_alloc(arena, sizeof(dp_tensor)));
  tensor->dtype = dtype;
  tensor->rank = 1;
  tensor->extents[0] = count;
  tensor->bytes = (size_t)count * dp_type_bytes(dtype);
  tensor->data = dp_memdup(arena, data, tensor->bytes);
  dp_graph_add_constant(graph, "c", tensor);
  dp_model_add_graph(model, graph);
  return model;
}

template <typename T>
void ExpectBitsKept(dp_dtype dtype, const std::vector<T> &data) {
  Arena arena;
  std::string text = Print(WithTensor(arena, dtype, (int64_t)data.size(), data.data()));
  dp_model *model;
  ASSERT_EQ(Parse(arena, text, &model), "") << text;
  const dp_tensor *tensor = model->graphs[0]->values[0]->constant;
  ASSERT_EQ(tensor->bytes, data.size() * sizeof(T)) << text;
  if (!data.empty()) {
    EXPECT_EQ(memcmp(tensor->data, data.data(), tensor->bytes), 0) << text;
  }
  EXPECT_EQ(Print(model), text);
}

template <typename T, typename Bits>
std::vector<T> FromBits(const std::vector<Bits> &bits) {
  static_assert(sizeof(T) == sizeof(Bits), "");
  std::vector<T> values(bits.size());
  memcpy(values.data(), bits.data(), bits.size() * sizeof(T));
  return values;
}

TEST(Text, FloatsKeepTheirBits) {
  ExpectBitsKept<float>(DP_FLOAT32, {0.0f, -0.0f, 0.1f, 1e-45f, 3.4028235e38f, 16777216.0f, 1.0f / 3});
  ExpectBitsKept(DP_FLOAT32,
                 FromBits<float, uint32_t>({0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F7FFFFF, 0x00800001}));
  ExpectBitsKept(DP_FLOAT32, FromBits<float, uint32_t>({0x7FC00001, 0x7F800001, 0}));  // NaNs with a payload
  ExpectBitsKept<double>(DP_FLOAT64, {0.1, -0.0, 5e-324, 1.7976931348623157e308, 1.0 / 3, 9007199254740993.0, 0.05});
  ExpectBitsKept(DP_FLOAT64, FromBits<double, uint64_t>({0x7FF0000000000000, 0xFFF8000000000000, 0x7FF8000000000001}));
  ExpectBitsKept<uint16_t>(DP_FLOAT16, {0x3C00, 0x7E01, 0x8000});
  ExpectBitsKept<uint16_t>(DP_BFLOAT16, {0x3F80, 0xFFFF});
}

TEST(Text, RandomBitsKeepTheirBits) {
  uint64_t state = 12345;
  auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int round = 0; round < 50; round++) {
    std::vector<uint32_t> singles;
    std::vector<uint64_t> doubles;
    for (int i = 0; i < 40; i++) {
      singles.push_back((uint32_t)(next() >> 32));
      doubles.push_back(next() ^ next() >> 32);
    }
    ExpectBitsKept(DP_FLOAT32, FromBits<float>(singles));
    ExpectBitsKept(DP_FLOAT64, FromBits<double>(doubles));
  }
}

TEST(Text, IntegersKeepTheirBits) {
  ExpectBitsKept<int64_t>(DP_INT64, {INT64_MIN, INT64_MAX, 9007199254740993, -1});
  ExpectBitsKept<uint64_t>(DP_UINT64, {UINT64_MAX, 0, INT64_MAX});
  ExpectBitsKept<int32_t>(DP_INT32, {INT32_MIN, INT32_MAX});
  ExpectBitsKept<uint32_t>(DP_UINT32, {UINT32_MAX});
  ExpectBitsKept<int16_t>(DP_INT16, {-32768, 32767});
  ExpectBitsKept<uint16_t>(DP_UINT16, {65535});
  ExpectBitsKept<int8_t>(DP_INT8, {-128, 127});
  ExpectBitsKept<uint8_t>(DP_UINT8, {0, 255});
  ExpectBitsKept<uint8_t>(DP_BOOL, {0, 1});
  ExpectBitsKept<int64_t>(DP_INT64, {});
}

TEST(Text, LongDataIsBase64) {
  for (size_t bytes : {65, 66, 67, 1000}) {
    std::vector<uint8_t> data(bytes);
    for (size_t i = 0; i < bytes; i++) data[i] = (uint8_t)(i * 37 + 1);
    ExpectBitsKept<uint8_t>(DP_UINT8, data);
  }
  std::vector<uint8_t> data(65, 'M');  // "TWFu" is "Man" in RFC 4648's terms; M is 0x4D
  Arena arena;
  std::string text = Print(WithTensor(arena, DP_UINT8, 65, data.data()));
  EXPECT_NE(text.find("base64 \"TU1N"), std::string::npos) << text;
  EXPECT_NE(text.find("TU0=\""), std::string::npos) << text;
}

// ---- attributes and types -------------------------------------------------------------------------------------------

std::string Attrs(const char *text) {
  Arena arena;
  int count;
  dp_attr *attrs;
  std::string message = Message(dp_text_parse_attrs(arena, text, &count, &attrs));
  if (!message.empty()) return message;
  char *printed;
  size_t bytes;
  FILE *out = open_memstream(&printed, &bytes);
  for (int i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    fprintf(out, "%d:", attrs[i].kind);
    dp_text_print_attr(out, &attrs[i], "N");
  }
  fclose(out);
  std::string result(printed, bytes);
  free(printed);
  return result;
}

TEST(Text, AttributesHaveTheKindTheyLookLike) {
  EXPECT_EQ(Attrs(""), "");
  EXPECT_EQ(Attrs("a=1, b=-7, c=true"), "1:a=1, 1:b=-7, 1:c=1");
  EXPECT_EQ(Attrs("a=1.0, b=1e-05, c=inf, d=-inf, e=nan, f=-0.0, g=1e100"),
            "2:a=1.0, 2:b=1e-05, 2:c=inf, 2:d=-inf, 2:e=nan, 2:f=-0.0, 2:g=1e+100");
  EXPECT_EQ(Attrs("a=\"x\\ty\\x01\\\\\""), "3:a=\"x\\x09y\\x01\\\\\"");
  EXPECT_EQ(Attrs("a=[1,-2], b=[], c=[1.5,2,inf], d=[\"p\",\"q\"], e=[N,3,2*N,2*N+1]"),
            "4:a=[1,-2], 4:b=[], 5:c=[1.5,2.0,inf], 6:d=[\"p\",\"q\"], 7:e=[N,3,2*N,2*N+1]");
  EXPECT_EQ(Attrs("v=int64[2] [1,2], w=float32[] 0.5"), "8:v=int64[2] [1, 2], 8:w=float32[] 0.5");
  EXPECT_EQ(Attrs("to=float64, to=\"int64\", to=1, to=99, dtype=bool, x=uint8"),
            "1:to=float64, 1:to=int64, 1:to=float32, 1:to=99, 1:dtype=bool, 1:x=2");
  EXPECT_EQ(Attrs("big=9223372036854775807"), "1:big=9223372036854775807");
}

TEST(Text, AttributesThatAreWrong) {
  EXPECT_EQ(Attrs("a"), "attributes:1:2: expected '=', found the end of the text");
  EXPECT_EQ(Attrs("a=[1,\"x\"]"), "attributes:1:6: this list mixes numbers, extents or strings");
  EXPECT_EQ(Attrs("a=[N,1.5]"), "attributes:1:6: this list mixes numbers, extents or strings");
  EXPECT_EQ(Attrs("a=9223372036854775808"),
            "attributes:1:3: 9223372036854775808 is beyond the range of 64-bit integers");
  EXPECT_EQ(Attrs("a=1e999"), "attributes:1:3: 1e999 is beyond the range of float64");
  EXPECT_EQ(Attrs("a=1x"), "attributes:1:3: expected a number, found '1x'");
  EXPECT_EQ(Attrs("a=0x10"), "attributes:1:3: expected a number, found '0x10'");
  EXPECT_EQ(Attrs("a=maybe"),
            "attributes:1:3: expected a number, a \"string\", a [list], an element type or a tensor, found 'maybe'");
  EXPECT_EQ(Attrs("a=[N,N,N,N,N,N,N,N,N]"), "attributes:1:3: this shape has more than 8 extents");
  EXPECT_EQ(Attrs("a=1 b=2"), "attributes:1:5: expected ',', found 'b'");
}

TEST(Text, ListsOfTypes) {
  Arena arena;
  int count;
  dp_type *types;
  ASSERT_EQ(Message(dp_text_parse_types(arena, "float32[N,3], , int64[]", &count, &types)), "");
  ASSERT_EQ(count, 3);
  char text[64];
  EXPECT_STREQ(dp_type_print(&types[0], text, sizeof text), "float32[N,3]");
  EXPECT_EQ(types[1].dtype, DP_NO_TYPE);
  EXPECT_STREQ(dp_type_print(&types[2], text, sizeof text), "int64[]");
  ASSERT_EQ(Message(dp_text_parse_types(arena, " ", &count, &types)), "");
  EXPECT_EQ(count, 0);
  EXPECT_EQ(Message(dp_text_parse_types(arena, "flaot32[2]", &count, &types)),
            "types:1:1: there is no element type 'flaot32'; did you mean 'float32'?");
  EXPECT_EQ(Message(dp_text_parse_types(arena, "float32", &count, &types)),
            "types:1:8: expected '[', found the end of the text");
}

}  // namespace
