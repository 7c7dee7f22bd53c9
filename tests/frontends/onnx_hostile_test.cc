// Malicious ONNX files: each gets a message and an exit code, never a crash, a hang, access to a file outside of the
// model's folder, or disproportionate memory.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/frontends/onnx_builder.h"

namespace {

// A model with a bit of everything that the reader handles.
Onnx *Everything() {
  Onnx *m = new Onnx();
  m->Input("x", FLOAT, {"N", "2", "3"});
  m->Initializer("w", {3}, std::vector<float>{1, 2, 3});
  m->Initializer("shape", {2}, Integers{0, -1});
  m->Node("Mul", {"x", "w"}, {"a"});
  m->Node("Shape", {"a"}, {"as"});
  m->Constant("zero", {0});
  m->Node("Gather", {"as", "zero"}, {"n"}, {m->Int("axis", 0)});
  m->Node("Constant", {}, {"six"}, {m->Tensor("value", m->Raw("t", INT64, {1}, std::string("\6\0\0\0\0\0\0\0", 8)))});
  m->Node("Concat", {"n", "six"}, {"s"}, {m->Int("axis", 0)});
  m->Node("Reshape", {"a", "s"}, {"b"});
  m->Function("F", {"p"}, {"q"}, {m->Loose("Softmax", {"p"}, {"q"}, {m->Reference("axis", 2, "axis")})});
  m->Node("F", {"b"}, {"c"}, {m->Int("axis", 1)})->domain = const_cast<char *>("own");
  m->Node("MaxPool", {"x"}, {"p"}, {m->Ints("kernel_shape", {2}), m->String("auto_pad", "VALID")});
  m->Output("c");
  m->Output("p");
  return m;
}

int Code(const std::string &result) { return isdigit((unsigned char)result[0]) ? atoi(result.c_str()) : 0; }

TEST(OnnxHostileTest, TruncatedAtEveryByte) {
  std::unique_ptr<Onnx> m(Everything());
  const std::string whole = m->Bytes();
  ASSERT_EQ(Code(ImportBytes(whole)), 0) << ImportBytes(whole);
  for (size_t bytes = 0; bytes < whole.size(); bytes++) {
    std::string result = ImportBytes(whole.substr(0, bytes));
    int code = Code(result);
    // Cut between two fields, a message is valid but incomplete; it may still be a model.
    EXPECT_TRUE(code == 65 || code == 69 || code == 0) << bytes << ": " << result;
    EXPECT_LT(result.size(), 4000u);
  }
}

TEST(OnnxHostileTest, EveryByteDamaged) {
  std::unique_ptr<Onnx> m(Everything());
  const std::string whole = m->Bytes();
  for (size_t at = 0; at < whole.size(); at++)
    for (int change : {1, 0x80, 0xFF, 0x7F}) {
      std::string damaged = whole;
      damaged[at] = (char)(damaged[at] ^ change);
      int code = Code(ImportBytes(damaged));
      EXPECT_TRUE(code == 0 || code == 65 || code == 66 || code == 69) << at << " " << change << ": " << code;
    }
}

std::string Length(size_t n) {
  std::string s;
  for (; n > 127; n >>= 7) s += (char)(n | 128);
  return s + (char)n;
}

TEST(OnnxHostileTest, NestingBombs) {
  // A graph in an attribute of a node in a graph ...
  std::string graph;
  for (int depth = 0; depth < 9000; depth++) {
    graph = std::string("\x32") + Length(graph.size()) + graph;  // attribute.g
    graph = std::string("\x2A") + Length(graph.size()) + graph;  // node.attribute
    graph = std::string("\x0A") + Length(graph.size()) + graph;  // graph.node
  }
  std::string result = ImportBytes("\x3A" + Length(graph.size()) + graph);
  EXPECT_NE(result.find("65: "), std::string::npos);
  EXPECT_NE(result.find("nested more than 64 deep"), std::string::npos) << result;
  // ... and two million empty nodes.
  std::string nodes;
  for (int i = 0; i < 2000000; i++) nodes += std::string("\x0A\0", 2);
  result = ImportBytes("\x3A" + Length(nodes.size()) + nodes);
  EXPECT_NE(result.find("out of proportion"), std::string::npos) << result;
}

TEST(OnnxHostileTest, UnknownFieldsArePassedOver) {
  Onnx m;
  m.Input("x", FLOAT, {"N"});
  m.Output("x");
  const std::string bytes = m.Bytes();
  const std::string plain = ImportBytes(bytes);
  EXPECT_EQ(plain, "input x: float32[N]\noutput x\n");
  EXPECT_EQ(ImportBytes(bytes +
                        "\xF2\x7F\x03"
                        "abc" +
                        std::string("\xF8\x7F\x05", 3)),
            plain);
  EXPECT_EQ(Code(ImportBytes(bytes + "\xF2\x7F\x04"
                                     "abc")),
            65);
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

std::string Graph(const std::function<void(Onnx &)> &build) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "3"});
  build(m);
  m.Output("y");
  return m.Import();
}

TEST(OnnxHostileTest, CyclesAndDanglingNames) {
  EXPECT_NE(Graph([](Onnx &m) {
              m.Node("Add", {"x", "z"}, {"y"});
              m.Node("Relu", {"y"}, {"z"});
            }).find("65: node 'n_y' (Add): 'z' is used but is no input"),
            std::string::npos);
  EXPECT_NE(Graph([](Onnx &m) { m.Node("Relu", {"y"}, {"y"}); }).find("65: node 'n_y' (Relu): 'y' is used"),
            std::string::npos);
  EXPECT_NE(Graph([](Onnx &m) { m.Node("Relu", {"x"}, {"z"}); }).find("65: output 'y': 'y' is used but"),
            std::string::npos);
  EXPECT_EQ(Code(Graph([](Onnx &m) { m.Node("Identity", {"y"}, {"y"}); })), 65);
}

TEST(OnnxHostileTest, NamesTwice) {
  EXPECT_EQ(Graph([](Onnx &m) {
              m.Node("Relu", {"x"}, {"y"});
              m.Node("Neg", {"x"}, {"y"});
            }),
            "65: node 'n_y' (Neg): two values are called 'y'");
  EXPECT_EQ(Graph([](Onnx &m) { m.Node("Relu", {"x"}, {"x"}); }), "65: node 'n_x' (Relu): two values are called 'x'");
  EXPECT_EQ(Graph([](Onnx &m) { m.Input("x", FLOAT, {"3"}); }), "65: two inputs are called 'x'");
  EXPECT_EQ(Graph([](Onnx &m) {
              m.Initializer("w", {1}, std::vector<float>{1});
              m.Initializer("w", {1}, std::vector<float>{1});
            }),
            "65: two values are called 'w'");
  EXPECT_EQ(Graph([](Onnx &m) {
              m.Initializer("w", {1}, std::vector<float>{1});
              m.Node("Relu", {"x"}, {"w"});
            }),
            "65: node 'n_w' (Relu): two values are called 'w'");
  EXPECT_EQ(Graph([](Onnx &m) {
              m.Node("Softmax", {"x"}, {"y"}, {m.Int("axis", 0), m.Int("axis", 1)});
            }),
            "65: node 'n_y' (Softmax): attribute 'axis' is given twice");
  EXPECT_EQ(Graph([](Onnx &m) {
              m.Node("Relu", {"x"}, {"y"});
              m.Output("y");
            }),
            "65: two outputs are called 'y'");
  // Nodes may share a name or have none; results may not.
  EXPECT_EQ(Code(Graph([](Onnx &m) {
              m.Node("Relu", {"x"}, {"z"})->name = const_cast<char *>("same");
              m.Node("Neg", {"z"}, {"v"})->name = const_cast<char *>("same");
              m.Node("Neg", {"v"}, {"y"})->name = const_cast<char *>("");
            })),
            0);
}

TEST(OnnxHostileTest, NamesOfTheCompiler) {
  EXPECT_EQ(Code(Graph([](Onnx &m) {
              m.Initializer("dp.lr", {1}, std::vector<float>{1});
              m.Node("Mul", {"x", "dp.lr"}, {"y"});
            })),
            65);
  EXPECT_EQ(Code(Graph([](Onnx &m) { m.Input("dp.n", FLOAT, {"3"}); })), 65);
}

TEST(OnnxHostileTest, FunctionsThatCallThemselves) {
  EXPECT_NE(Graph([](Onnx &m) {
              Dp__Onnx__Node *inner = m.Loose("F", {"p"}, {"q"});
              inner->domain = const_cast<char *>("own");
              m.Function("F", {"p"}, {"q"}, {inner});
              m.Node("F", {"x"}, {"y"})->domain = const_cast<char *>("own");
            }).find("ONNX allows no recursion"),
            std::string::npos);
}

// Thirty functions, each of which calls the next twice: a billion nodes.
TEST(OnnxHostileTest, FunctionsThatDouble) {
  std::string result = Graph([](Onnx &m) {
    for (int i = 0; i < 30; i++) {
      std::string next = i < 29 ? "F" + std::to_string(i + 1) : "Relu";
      std::vector<Dp__Onnx__Node *> calls = {m.Loose(next, {"p"}, {"r"}), m.Loose(next, {"r"}, {"q"})};
      for (Dp__Onnx__Node *call : calls) call->domain = const_cast<char *>(i < 29 ? "own" : "");
      m.Function("F" + std::to_string(i), {"p"}, {"q"}, calls);
    }
    m.Node("F0", {"x"}, {"y"})->domain = const_cast<char *>("own");
  });
  EXPECT_NE(result.find("is too large"), std::string::npos) << result.substr(0, 200);
}

// ---- tensors --------------------------------------------------------------------------------------------------------

std::string OfTensor(const std::function<Dp__Onnx__Tensor *(Onnx &)> &make) {
  return Graph([&](Onnx &m) { m.Node("Constant", {}, {"y"}, {m.Tensor("value", make(m))}); });
}

TEST(OnnxHostileTest, TensorsThatAreNotWhatTheySay) {
  auto raw = [](int type, const Integers &dims, const std::string &bytes) {
    return OfTensor([&](Onnx &m) { return m.Raw("t", type, dims, bytes); });
  };
  EXPECT_EQ(
      raw(FLOAT, {2}, "1234567"),
      "65: node 'n_y' (Constant): attribute 'value': tensor 't': it has 7 bytes of data; its type and extents ask "
      "for 8");
  EXPECT_EQ(Code(raw(FLOAT, {2}, "")), 65);
  EXPECT_EQ(Code(raw(FLOAT, {-1}, "1234")), 65);
  EXPECT_EQ(Code(raw(FLOAT, {4194305, 4194305, 211106198978564}, "1234567890123456")), 65);
  EXPECT_EQ(Code(raw(FLOAT, {INT64_MAX, INT64_MAX}, "1234")), 65);
  EXPECT_EQ(Code(raw(FLOAT, {0, INT64_MAX, INT64_MAX}, "")), 65);
  EXPECT_EQ(Code(raw(FLOAT, Integers(65, 1), "1234")), 69);
  EXPECT_EQ(Code(raw(99, {1}, "1234")), 65);
  EXPECT_EQ(Code(raw(-1, {1}, "1234")), 65);
  EXPECT_EQ(Code(raw(0, {1}, "1234")), 65);
  EXPECT_EQ(Code(raw(14, {1}, "12345678")), 69);
  EXPECT_EQ(Code(raw(27, {4}, "123")), 69);
  EXPECT_EQ(Code(raw(17, {2}, "1")), 65);
  EXPECT_EQ(Code(raw(22, {3}, "1")), 65) << "three numbers of 4 bits take two bytes";
  EXPECT_EQ(Code(raw(22, {2}, "12")), 65);
  EXPECT_EQ(Code(raw(25, {5}, "1")), 65);
  EXPECT_EQ(Code(raw(BOOL, {1}, "\2")), 65);
  EXPECT_EQ(Code(OfTensor([](Onnx &m) {
              static float numbers[] = {1};
              Dp__Onnx__Tensor *t = m.Raw("t", FLOAT, {1}, "1234");
              t->n_float_data = 1;
              t->float_data = numbers;
              return t;
            })),
            65);
  for (int type : {2, 3, 4, 5, 9, 10}) {
    EXPECT_EQ(Code(OfTensor([type](Onnx &m) {
                static int32_t numbers[] = {1 << 20};
                Dp__Onnx__Tensor *t = m.Raw("t", type, {1}, "");
                t->n_int32_data = 1;
                t->int32_data = numbers;
                return t;
              })),
              65)
        << type;
  }
}

// Sums, products and shapes that would take all memory or time.
TEST(OnnxHostileTest, ShapesWithoutMeasure) {
  auto expand = [](const Integers &shape) {
    return Graph([&](Onnx &m) {
      m.Constant("shape", shape);
      m.Node("ConstantOfShape", {"shape"}, {"z"});
      m.Node("Shape", {"z"}, {"y"});
    });
  };
  EXPECT_EQ(Code(expand({1LL << 40})), 0);  // nothing of it is allocated
  EXPECT_EQ(Code(expand({1LL << 40, 1LL << 40})), 65);
  EXPECT_EQ(Code(expand({-1})), 65);
  auto range = [](int64_t limit, int64_t step) {
    return Code(Graph([&](Onnx &m) {
      m.Node("Constant", {}, {"a"}, {m.Int("value_int", 0)});
      m.Node("Constant", {}, {"b"}, {m.Int("value_int", limit)});
      m.Node("Constant", {}, {"c"}, {m.Int("value_int", step)});
      m.Node("Range", {"a", "b", "c"}, {"y"});
    }));
  };
  EXPECT_NE(range(INT64_MAX, 1), 70);
  EXPECT_EQ(range(10, 0), 65);
  EXPECT_EQ(range(INT64_MAX, INT64_MAX - 1), 0);
  // Each doubles the one before: 2^40 elements in forty nodes.
  EXPECT_NE(Code(Graph([](Onnx &m) {
              m.Constant("v0", {1});
              for (int i = 0; i < 40; i++)
                m.Node("Concat", {"v" + std::to_string(i), "v" + std::to_string(i)}, {"v" + std::to_string(i + 1)},
                       {m.Int("axis", 0)});
              m.Node("Size", {"v40"}, {"y"});
            })),
            71);
}

// ---- external data --------------------------------------------------------------------------------------------------

class External : public testing::Test {
 protected:
  // The model's folder is inside the test's own, with something to steal beside it.
  External() {
    WriteFile("secret", std::string(16, 's'));
    base_ = WriteFile("x", "").substr(0, WriteFile("x", "").rfind('/'));
    folder_ = base_ + "/folder";
    mkdir(folder_.c_str(), 0700);
    mkdir((folder_ + "/inner").c_str(), 0700);
    Put("w", std::string(16, '\0'));
    Put("inner/w", std::string(16, '\0'));
  }
  void Put(const std::string &name, const std::string &bytes) { WriteFile("folder/" + name, bytes); }
  std::string Read(const std::vector<std::pair<std::string, std::string>> &entries) {
    Onnx m;
    m.External("w", {4}, entries);
    m.Output("w");
    return ImportFile(WriteFile("folder/m.onnx", m.Bytes()));
  }
  int Location(const std::string &location) { return Code(Read({{"location", location}})); }

  std::string base_, folder_;
};

TEST_F(External, StaysBeneathTheModelsFolder) {
  EXPECT_EQ(Location("w"), 0);
  EXPECT_EQ(Location("inner/w"), 0);
  EXPECT_EQ(Location("./inner/./w"), 0);
  for (const std::string &path :
       {std::string("../secret"), std::string("inner/../../secret"), std::string("inner/.."), std::string(".."),
        base_ + "/secret", folder_ + "/w", std::string("/dev/zero"), std::string(""), std::string("inner//w"),
        std::string("w/"), std::string("..\\secret"), std::string(5000, 'a'), std::string("inner"), std::string(".")})
    EXPECT_EQ(Location(path), 65) << path;
  EXPECT_EQ(Location("missing"), 66);
}

TEST_F(External, FollowsNoLinks) {
  ASSERT_EQ(symlink("../secret", (folder_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink("w", (folder_ + "/near").c_str()), 0);
  ASSERT_EQ(symlink("..", (folder_ + "/up").c_str()), 0);
  ASSERT_EQ(symlink("inner", (folder_ + "/side").c_str()), 0);
  ASSERT_EQ(link((base_ + "/secret").c_str(), (folder_ + "/hard").c_str()), 0);
  ASSERT_EQ(mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  for (const char *path : {"link", "near", "up/secret", "side/w", "hard", "fifo"})
    EXPECT_EQ(Location(path), 65) << path;
}

TEST_F(External, RangesAreHeldAgainstTheFile) {
  auto range = [this](const std::string &offset, const std::string &length) {
    return Code(Read({{"location", "w"}, {"offset", offset}, {"length", length}}));
  };
  EXPECT_EQ(range("0", "16"), 0);
  for (const char *offset : {"1", "16", "17", "18446744073709551615", "18446744073709551616", "-1", "+0", " 0", "0x0",
                             "", "99999999999999999999999"})
    EXPECT_EQ(range(offset, "16"), 65) << offset;
  for (const char *length : {"15", "17", "0", "18446744073709551615", "-16"})
    EXPECT_EQ(range("0", length), 65) << length;
  EXPECT_EQ(Code(Read({{"location", "w"}, {"location", "inner/w"}})), 65);
  EXPECT_EQ(Code(Read({})), 65);
}

// A file of a megabyte read a thousand times, each time shifted by one byte.
TEST_F(External, MemoryIsInProportion) {
  Put("big", std::string(1 << 20, '\0'));
  Onnx m;
  for (int i = 0; i < 1000; i++) {
    std::string name = "w" + std::to_string(i);
    m.External(name, {(1 << 18) - 1000}, {{"location", "big"}, {"offset", std::to_string(i)}});
    m.Output(name);
  }
  EXPECT_EQ(ImportFile(WriteFile("folder/m.onnx", m.Bytes())),
            "65: tensor 'w1': external data 'big': its tensors overlap");
}

// ---- files ----------------------------------------------------------------------------------------------------------

TEST(OnnxHostileTest, FilesThatAreNone) {
  std::string folder = WriteFile("x", "").substr(0, WriteFile("x", "").rfind('/'));
  EXPECT_EQ(Code(ImportFile(folder + "/missing.onnx")), 66);
  EXPECT_EQ(Code(ImportFile(folder)), 65);
  EXPECT_EQ(Code(ImportFile("/dev/zero")), 65);
  ASSERT_EQ(mkfifo((folder + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(Code(ImportFile(folder + "/fifo")), 65);
  EXPECT_EQ(Code(ImportBytes("")), 65);
  EXPECT_EQ(Code(ImportBytes("model m {}")), 65);
}

}  // namespace
