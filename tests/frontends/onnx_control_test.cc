// If, Loop and Scan are replaced by what they do if that is known at import. Their bodies see the surrounding names.
#include "tests/frontends/onnx_builder.h"

namespace {

std::string Body(const std::string &text) { return text.substr(std::min(text.find("n_"), text.size())); }

void Flag(Onnx *m, const std::string &name, bool value) {
  m->Node("Constant", {}, {name}, {m->Tensor("value", m->Raw("", BOOL, {}, std::string(1, value)))});
}

TEST(OnnxControlTest, OneBranchIsTaken) {
  auto branch = [](bool condition) {
    Onnx m;
    m.Input("x", FLOAT, {"N", "2"});
    m.Input("y", FLOAT, {"N", "2"});
    Flag(&m, "c", condition);
    m.Node("If", {"c"}, {"z"},
           {m.Graph("then_branch", {}, {"t"}, {m.Loose("Add", {"x", "y"}, {"t"})}),
            m.Graph("else_branch", {}, {"e"}, {m.Loose("Neg", {"x"}, {"e"})})});
    m.Output("z");
    return m.Import();
  };
  EXPECT_NE(branch(true).find("n_z/then/t: float32[N,2] = Add(x, y)"), std::string::npos) << branch(true);
  EXPECT_EQ(branch(true).find("Neg"), std::string::npos);
  EXPECT_NE(branch(false).find("n_z/else/e: float32[N,2] = Neg(x)"), std::string::npos) << branch(false);
  EXPECT_EQ(branch(false).find("Add"), std::string::npos);
}

TEST(OnnxControlTest, AConditionOfDataIsRefused) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "2"});
  m.Input("c", BOOL, {});
  m.Node("If", {"c"}, {"z"},
         {m.Graph("then_branch", {}, {"x"}, {}), m.Graph("else_branch", {}, {"e"}, {m.Loose("Neg", {"x"}, {"e"})})});
  m.Output("z");
  EXPECT_EQ(
      m.Import(),
      "69: node 'n_z' (If): its condition is computed from data, or depends on the batch, which is not supported");
}

// A constant whose elements are unpacked in every iteration; the file's size limits how many.
TEST(OnnxControlTest, WhatRoundsReadIsInProportion) {
  enum { UINT4 = 21, ELEMENTS = 100000 };
  Onnx m;
  m.Input("x", FLOAT, {"2"});
  m.Node("Constant", {}, {"m"}, {m.Int("value_int", 1000000)});
  m.Node("Loop", {"m", "", "x"}, {"last"},
         {m.Graph("body", {"i", "c", "y"}, {"c", "y"},
                  {m.Loose("Constant", {}, {"k"},
                           {m.Tensor("value", m.Raw("", UINT4, {ELEMENTS}, std::string(ELEMENTS / 2, '\1')))})})});
  m.Output("last");
  std::string bytes = m.Bytes();
  dp_test::Arena arena;
  dp_model *model;
  dp_status status = dp_onnx_import_bytes(arena, "m.onnx", bytes.data(), bytes.size(), &model);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR) << dp_status_message(status);
  dp_status_free(status);
  EXPECT_LT(dp_arena_bytes(arena), size_t{16} << 20);
}

// for (i = 0; i < rounds && i != 2; i++) { y = y * x; all[i] = y; index[i] = i; }
std::string Loop(int64_t rounds, bool counted = true) {
  Onnx m;
  m.Input("x", FLOAT, {"N"});
  m.ConstantFloat("one", 1);
  m.Node("Constant", {}, {"two"}, {m.Int("value_int", 2)});
  m.Node("Constant", {}, {"m"}, {m.Int("value_int", rounds)});
  Flag(&m, "go", true);
  m.Node("Loop", {counted ? "m" : "", "go", "x"}, {"last", "all", "index"},
         {m.Graph("body", {"i", "c", "y"}, {"next", "y2", "y2", "i2"},
                  {m.Loose("Mul", {"y", "x"}, {"y2"}), m.Loose("Less", {"i", "two"}, {"next"}),
                   m.Loose("Identity", {"i"}, {"i2"})})});
  for (const char *name : {"last", "all", "index"}) m.Output(name);
  return m.Import();
}

TEST(OnnxControlTest, ALoopIsUnrolled) {
  EXPECT_EQ(Body(Loop(2)),
            "n_last/0/y2: float32[N] = Mul(x, x) [name=n_last/0/n_y2]\n"
            "n_last/1/y2: float32[N] = Mul(n_last/0/y2, x) [name=n_last/1/n_y2]\n"
            "all/Unsqueeze: float32[1,N] = Unsqueeze(n_last/0/y2) {axes=[0]}\n"
            "all/Unsqueeze.1: float32[1,N] = Unsqueeze(n_last/1/y2) {axes=[0]}\n"
            "all/Concat: float32[2,N] = Concat(all/Unsqueeze, all/Unsqueeze.1) {axis=0}\n"
            "output last = n_last/1/y2\noutput all = all/Concat\noutput index\n");
  EXPECT_NE(Loop(2).find("constant index: int64[2] = [0, 1]"), std::string::npos) << Loop(2);
  // Its own condition ends it after the iteration with i = 2.
  for (bool counted : {true, false})
    EXPECT_NE(Loop(9, counted).find("constant index: int64[3] = [0, 1, 2]"), std::string::npos);
}

TEST(OnnxControlTest, ManyRoundsAreStackedAFewAtATime) {
  Onnx m;
  m.Input("x", FLOAT, {"2"});
  m.Node("Constant", {}, {"m"}, {m.Int("value_int", 20)});
  m.Node("Loop", {"m", "", "x"}, {"last", "all"},
         {m.Graph("body", {"i", "c", "y"}, {"c", "z", "z"}, {m.Loose("Neg", {"y"}, {"z"})})});
  m.Output("all");
  std::string text = m.Import();
  EXPECT_NE(text.find("float32[8,2] = Concat("), std::string::npos) << text;
  EXPECT_NE(text.find("float32[4,2] = Concat("), std::string::npos) << text;
  EXPECT_NE(text.find("float32[20,2] = Concat("), std::string::npos) << text;
}

TEST(OnnxControlTest, LoopsWithoutAnEndAreRefused) {
  Onnx m;
  m.Input("x", FLOAT, {"2"});
  m.Node("Loop", {"", "", "x"}, {"last"}, {m.Graph("body", {"i", "c", "y"}, {"c", "y"}, {})});
  m.Output("last");
  EXPECT_NE(m.Import().find("65: node 'n_last' (Loop): "), std::string::npos) << m.Import();
  Onnx deep;
  deep.Input("x", FLOAT, {"2"});
  deep.Node("Constant", {}, {"m"}, {deep.Int("value_int", 1000)});
  Dp__Onnx__Node *inner = deep.Loose("Neg", {"x"}, {"r0"});
  for (int i = 1; i < 8; i++) {
    std::string n = std::to_string(i);
    inner =
        deep.Loose("Loop", {"m", "", "x"}, {"r" + n},
                   {deep.Graph("body", {"i" + n, "c" + n, "y" + n}, {"c" + n, "r" + std::to_string(i - 1)}, {inner})});
  }
  deep.Node("Loop", {"m", "", "x"}, {"z"}, {deep.Graph("body", {"i", "c", "y"}, {"c", "r7"}, {inner})});
  deep.Output("z");
  EXPECT_EQ(deep.Import().substr(0, 3), "65:");
}

TEST(OnnxControlTest, AScanGoesAlongAnAxis) {
  auto scan = [](int64_t backwards) {
    Onnx m;
    m.Input("x", FLOAT, {"N", "2"});
    m.Input("s", FLOAT, {"N"});
    m.Node("Scan", {"s", "x"}, {"last", "all"},
           {m.Int("num_scan_inputs", 1), m.Ints("scan_input_axes", {-1}), m.Ints("scan_output_axes", {1}),
            m.Ints("scan_input_directions", {backwards}), m.Ints("scan_output_directions", {backwards}),
            m.Graph("body", {"a", "b"}, {"c", "d"},
                    {m.Loose("Add", {"a", "b"}, {"c"}), m.Loose("Identity", {"c"}, {"d"})})});
    m.Output("last");
    m.Output("all");
    return m.Import();
  };
  std::string text = scan(0);
  EXPECT_NE(text.find("n_last/Gather: float32[N] = Gather(x, index) {axis=1}"), std::string::npos) << text;
  EXPECT_NE(text.find("n_last/0/c: float32[N] = Add(s, n_last/Gather)"), std::string::npos) << text;
  EXPECT_NE(text.find("n_last/1/c: float32[N] = Add(n_last/0/c, n_last/Gather.1)"), std::string::npos) << text;
  EXPECT_NE(text.find("all/Unsqueeze: float32[N,1] = Unsqueeze(n_last/0/c) {axes=[1]}"), std::string::npos) << text;
  EXPECT_NE(text.find("float32[N,2] = Concat(all/Unsqueeze, all/Unsqueeze.1) {axis=1}"), std::string::npos) << text;
  std::string back = scan(1);
  EXPECT_NE(back.find("all/Unsqueeze: float32[N,1] = Unsqueeze(n_last/1/c) {axes=[1]}"), std::string::npos) << back;
  // The slices are in reverse order.
  EXPECT_NE(text.find("constant index: int64[] = 0"), std::string::npos) << text;
  EXPECT_NE(back.find("constant index: int64[] = 1"), std::string::npos) << back;
}

}  // namespace
