// tools/embed/embed.h: compiles and runs models in this process.
#include "tools/embed/embed.h"

#include <gtest/gtest.h>
#include <sysexits.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/frontends/onnx_builder.h"

namespace {

// A compiled model, and the message if there is none.
struct Embedded {
  dp_embed *embed = nullptr;
  int code;
  char message[512] = "";

  explicit Embedded(const Onnx &m) {
    std::string bytes = m.Bytes();
    code = dp_embed_compile(bytes.data(), bytes.size(), "m.onnx", nullptr, 1, &embed, message, sizeof message);
  }
  ~Embedded() { dp_embed_destroy(embed); }
  dp_embed_tensor Input(size_t i) const {
    dp_embed_tensor tensor{};
    EXPECT_TRUE(dp_embed_input(embed, i, &tensor));
    return tensor;
  }
  std::vector<float> Output(size_t i) const {
    dp_embed_tensor tensor{};
    EXPECT_TRUE(dp_embed_output(embed, i, &tensor));
    const float *data = static_cast<const float *>(tensor.data);
    return std::vector<float>(data, data + tensor.bytes / sizeof(float));
  }
};

TEST(EmbedTest, RunsAsOftenAsAsked) {
  Onnx m;
  m.Input("a", FLOAT, {"2", "2"});
  m.Input("b", FLOAT, {"2"});
  m.Initializer("w", {2, 1}, std::vector<float>{3, -1});
  m.Node("Add", {"a", "b"}, {"sum"});
  m.Node("MatMul", {"sum", "w"}, {"y"});
  m.Output("y");
  m.Output("sum");
  Embedded e(m);
  ASSERT_EQ(e.code, 0) << e.message;
  EXPECT_STREQ(e.Input(0).name, "a");
  EXPECT_STREQ(e.Input(1).name, "b");
  EXPECT_EQ(e.Input(0).dtype, FLOAT);
  EXPECT_EQ(e.Input(0).rank, 2);
  EXPECT_EQ(e.Input(0).bytes, 16u);
  dp_embed_tensor none;
  EXPECT_FALSE(dp_embed_input(e.embed, 2, &none));
  EXPECT_FALSE(dp_embed_output(e.embed, 2, &none));
  for (float scale : {1.0f, 10.0f}) {
    const float a[] = {scale, 2 * scale, 3 * scale, 4 * scale}, b[] = {1, 2};
    memcpy(e.Input(0).data, a, sizeof a);
    memcpy(e.Input(1).data, b, sizeof b);
    ASSERT_EQ(dp_embed_run(e.embed, e.message, sizeof e.message), 0) << e.message;
    EXPECT_EQ(e.Output(0), (std::vector<float>{scale + 1, 5 * scale + 1}));
    EXPECT_EQ(e.Output(1), (std::vector<float>{scale + 1, 2 * scale + 2, 3 * scale + 1, 4 * scale + 2}));
  }
}

// Outputs come in the model's order, even if one is an input or the passes reorder them.
TEST(EmbedTest, OutputsKeepTheirOrder) {
  Onnx m;
  m.Input("x", FLOAT, {"2"});
  m.Node("Dropout", {"x"}, {"y", "mask"});
  m.Node("Neg", {"x"}, {"z"});
  for (const char *name : {"z", "mask", "y"}) m.Output(name);
  Embedded e(m);
  ASSERT_EQ(e.code, 0) << e.message;
  const float x[] = {1, 2};
  memcpy(e.Input(0).data, x, sizeof x);
  ASSERT_EQ(dp_embed_run(e.embed, e.message, sizeof e.message), 0) << e.message;
  dp_embed_tensor mask;
  ASSERT_TRUE(dp_embed_output(e.embed, 1, &mask));
  EXPECT_EQ(mask.dtype, BOOL);
  EXPECT_EQ(e.Output(0), (std::vector<float>{-1, -2}));
  EXPECT_EQ(e.Output(2), (std::vector<float>{1, 2}));
}

TEST(EmbedTest, RefusesBeforeItRuns) {
  Onnx m;
  m.Input("x", FLOAT, {"2"});
  m.Node("Frobnicate", {"x"}, {"y"});
  m.Output("y");
  Embedded unknown(m);
  EXPECT_EQ(unknown.code, EX_UNAVAILABLE);
  EXPECT_NE(strstr(unknown.message, "Frobnicate"), nullptr) << unknown.message;

  Onnx training;
  training.Input("x", FLOAT, {"2", "3"});
  for (const char *name : {"scale", "bias", "mean", "var"})
    training.Initializer(name, {3}, std::vector<float>{1, 1, 1});
  training.Node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}, {training.Int("training_mode", 1)});
  training.Output("y");
  Embedded form(training);
  EXPECT_EQ(form.code, EX_UNAVAILABLE);
  EXPECT_NE(strstr(form.message, "training_mode"), nullptr) << form.message;

  dp_embed *embed = nullptr;
  char message[16];  // truncated
  EXPECT_EQ(dp_embed_compile("no model", 8, "some/long/path.onnx", nullptr, 1, &embed, message, sizeof message),
            EX_DATAERR);
  EXPECT_EQ(std::string(message), "some/long/path.");
  EXPECT_EQ(embed, nullptr);
}

TEST(EmbedTest, SaysWhatItNeeds) {
  Onnx m;
  m.Input("x", FLOAT, {"6"});
  m.Input("shape", INT64, {"2"});
  m.Node("Reshape", {"x", "shape"}, {"y"});
  m.Output("y");
  std::string bytes = m.Bytes();
  bool needed[2] = {};
  char message[256];
  ASSERT_EQ(dp_embed_needs(bytes.data(), bytes.size(), "m.onnx", 2, needed, message, sizeof message), 0) << message;
  EXPECT_FALSE(needed[0]);
  EXPECT_TRUE(needed[1]);
  EXPECT_EQ(dp_embed_needs(bytes.data(), bytes.size(), "m.onnx", 1, needed, message, sizeof message), EX_USAGE);
}

}  // namespace
