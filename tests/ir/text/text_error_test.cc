// The reader of the text form refuses errors, says what is wrong and where, and survives any input.
#include <gtest/gtest.h>

#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Parse;
using dp_test::Reprint;

struct Case {
  const char *text, *message;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.text; }

class TextError : public testing::TestWithParam<Case> {};

TEST_P(TextError, NamesThePlaceAndTheFault) { EXPECT_EQ(Reprint(GetParam().text), GetParam().message); }

const Case kHead[] = {
    {"", "t.dpt:1:1: expected 'model', found the end of the text"},
    {"modle m {}", "t.dpt:1:1: expected 'model', found 'modle'"},
    {"model m {",
     "t.dpt:1:10: expected a statement, like 'y = Relu(x)' or 'output y', or '}', found the end of the text"},
    {"model m { } }", "t.dpt:1:13: expected the end of the text after the model's '}', found '}'"},
    {"model m { opset 18 opset 18 }", "t.dpt:1:26: 'opset' is given twice"},
    {"model m { opset -1 }", "t.dpt:1:17: expected the number of an ONNX opset of 0 to 2147483647, found -1"},
    {"model m { symbol 3 }", "t.dpt:1:18: expected a word for the samples present, like N, found '3'"},
    {"model m { mesh data=0 }", "t.dpt:1:16: axis 'data' makes a mesh of no devices, or of more than 16777216"},
    {"model m { mesh a=65536, b=65536 }", "t.dpt:1:25: axis 'b' makes a mesh of no devices, or of more than 16777216"},
    {"model m { mesh micro=4097 }", "t.dpt:1:16: axis 'micro' makes a mesh of no micro-batches, or of more than 4096"},
    {"model m { mesh a=2, a=2 }", "t.dpt:1:21: there are two mesh axes 'a'"},
    {"model m { frobnicate 3 }",
     "t.dpt:1:11: expected a statement, like 'y = Relu(x)' or 'output y', or '}', found 'frobnicate'"},
    {"model m { loss x }", "t.dpt:1:16: expected a \"loss(...)\", found 'x'"},
    {"model m {\n  input x: float32[N]\n  y = Relu(x)\n  graph g { }\n}",
     "t.dpt:4:9: a graph's statements must be inside its graph block"},
    {"model m { graph g { } graph g { } }", "t.dpt:1:29: there is already a graph 'g'"},
    {"model \"a", "t.dpt:1:7: this string has no closing quote on its line"},
    {"model \"a\\q\" {}", "t.dpt:1:7: a string has an unknown escape; there are \\n \\t \\r \\\" \\\\ and \\xHH"},
    {"model \"a\\x00b\" {}", "t.dpt:1:7: the escapes of this string give NUL or invalid UTF-8"},
    {"model \"a\\xff\" {}", "t.dpt:1:7: the escapes of this string give NUL or invalid UTF-8"},
    {"model m {\n \x01 }", "t.dpt:2:2: byte 0x01 is not valid in UTF-8 text"},
    {"model m {\n \xC0\x80 }", "t.dpt:2:2: byte 0xc0 is not valid in UTF-8 text"},
    {"model m { \xE2\x82\xAC }",
     "t.dpt:1:11: expected a statement, like 'y = Relu(x)' or 'output y', or '}', found '\xE2\x82\xAC'"},
};
INSTANTIATE_TEST_SUITE_P(Head, TextError, testing::ValuesIn(kHead));

const Case kVariables[] = {
    {"model m { mesh pipe=4 parameter w: float32[2] = ones [stages=[1,4]] }",
     "t.dpt:1:54: its stages must rise and lie below 4; stage 4 at index 1 does not"},
    {"model m { mesh pipe=4 parameter w: float32[2] = ones [stages=[2,2]] }",
     "t.dpt:1:54: its stages must rise and lie below 4; stage 2 at index 1 does not"},
    {"model m { parameter w: float32[2] = ones [stages=[900000000]] }",
     "t.dpt:1:42: its stages must rise and lie below 1; stage 900000000 at index 0 does not"},
    {"model m { parameter w: float32[2] }", "t.dpt:1:35: expected '=', found '}'"},
    {"model m { parameter w: float32[N] = zeros }", "t.dpt:1:21: 'w' outlives a step, so its shape cannot depend on N"},
    {"model m { parameter w: float32[2] = random }",
     "t.dpt:1:37: expected fill(0), uniform(-1, 1), normal(0, 1), kaiming_uniform(), zeros, ones, or data, found "
     "'random'"},
    {"model m { parameter w: float32[2] = uniform(1, -1) }",
     "t.dpt:1:44: uniform(low, high) needs low <= high, both finite"},
    {"model m { parameter w: float32[2] = normal(0, -1) }",
     "t.dpt:1:43: normal(mean, deviation) needs finite numbers and a deviation of 0 or more"},
    {"model m { parameter w: float32[2] = kaiming_uniform() }",
     "t.dpt:1:52: the fan-in cannot be derived from this shape: write kaiming_uniform(64)"},
    {"model m { parameter w: float32[2,0] = kaiming_uniform() }", "t.dpt:1:54: the fan-in must be at least 1"},
    {"model m { parameter w: float32[2] = zeros shard(t=1) }",
     "t.dpt:1:49: placement S(1) on axis 't' names a dim that shape [2] does not have"},
    {"model m { parameter w: float32[2] = zeros shard(t=0,t=0) }", "t.dpt:1:53: axis 't' is given twice"},
    {"model m { parameter w: float32[2] = [1] }", "t.dpt:1:39: 2 numbers are expected, 1 are given"},
    {"model m { parameter w: float32[2] = [1,2,3] }", "t.dpt:1:42: 2 numbers are expected, more are given"},
    {"model m { parameter w: uint8[1] = [256] }", "t.dpt:1:36: 256 does not fit into uint8"},
    {"model m { parameter w: uint64[1] = [-1] }", "t.dpt:1:37: expected a whole number, 0 or more, found '-1'"},
    {"model m { parameter w: int64[1] = [1.5] }", "t.dpt:1:36: expected a whole number, found '1.5'"},
    {"model m { parameter w: float32[1] = [1e39] }", "t.dpt:1:38: 1e39 is beyond the range of float32"},
    {"model m { parameter w: float16[1] = [1] }", "t.dpt:1:38: data of type float16 is written as base64 or hex"},
    {"model m { parameter w: uint8[2] = hex \"0\" }", "t.dpt:1:39: 2 bytes of data are 4 characters, but there are 1"},
    {"model m { parameter w: uint8[2] = hex \"0g00\" }", "t.dpt:1:39: character 2 of this data is not a digit of hex"},
    {"model m { parameter w: uint8[1] = base64 \"QR==\" }", "t.dpt:1:42: this data does not end as base64 must"},
    {"model m { parameter w: bool[1] = hex \"02\" }", "t.dpt:1:38: element 0 of this bool data is 2, neither 0 nor 1"},
    {"model m { parameter w: float32[4194305,4194305,211106198978564] = zeros }",
     "t.dpt:1:31: shape [4194305,4194305,211106198978564] has more elements than can be addressed"},
    {"model m { parameter w: float32[-1] = zeros }",
     "t.dpt:1:31: shape [-1] has an extent that is negative or too large"},
    {"model m { parameter w: float32[-9223372036854775808] = zeros }",
     "t.dpt:1:31: shape [-9223372036854775808] has an extent that is negative or too large"},
    {"model m { parameter w: float32[1000000000000] = [1] }",
     "t.dpt:1:49: 1000000000000 numbers are expected, more than this text holds"},
    {"model m { parameter w: float32[1,1,1,1,1,1,1,1,1] = zeros }", "t.dpt:1:48: this shape has more than 8 extents"},
    {"model m { parameter w: float32[1] = zeros buffer w: float32[1] = zeros }",
     "t.dpt:1:50: the name 'w' is already used"},
    {"model m { input w: float32[1] parameter w: float32[1] = zeros }", "t.dpt:1:41: the name 'w' is already used"},
    {"model m { parameter w: float32[1] = zeros [at=[R]] }",
     "t.dpt:1:43: 1 placements are given, but the mesh has 0 axes"},
    {"model m { parameter w: float32[1] = zeros [of=1] }", "t.dpt:1:44: there is no note 'of' here"},
};
INSTANTIATE_TEST_SUITE_P(Variables, TextError, testing::ValuesIn(kVariables));

const Case kGraph[] = {
    {"model m { input x: float32[N] y = relu(x) }", "t.dpt:1:35: there is no operator 'relu'; did you mean 'Relu'?"},
    {"model m { input x: float32[N] y = Realu(x) }", "t.dpt:1:35: there is no operator 'Realu'; did you mean 'Relu'?"},
    {"model m { input x: float32[N] y = Frobnicate(x) }", "t.dpt:1:35: there is no operator 'Frobnicate'"},
    {"model m { input image: float32[N] y = Relu(imgae) }",
     "t.dpt:1:44: no value is called 'imgae' at this point; did you mean 'image'?"},
    {"model m { y = Relu(y) }", "t.dpt:1:20: no value is called 'y' at this point"},
    {"model m { input x: float32[N] x = Relu(x) }", "t.dpt:1:31: the name 'x' is already used by another value"},
    {"model m { parameter x: float32[] = zeros x = Relu(x) }",
     "t.dpt:1:42: the name 'x' is already used by a parameter or buffer"},
    {"model m { input x: float32[N] y, y = Relu(x) }", "t.dpt:1:34: two results of this node are called 'y'"},
    {"model m { input x: float32[N] y, z = Relu(x) }",
     "t.dpt:1:38: node 'y' (Relu): 2 results are requested; the operator has 1 to 1"},
    {"model m { input x: float32[N] _ = Relu(x) }", "t.dpt:1:35: a node without results needs a name: [name=...]"},
    {"model m { input x: float32[N] y = Relu(x) z = Relu(x) [name=y] }",
     "t.dpt:1:47: the name 'y' is already used by another node"},
    {"model m { input x: float32[N] _ = Relu(x) [name=r] }", "t.dpt:1:35: node 'r' (Relu): result 1, 'Y', is required"},
    {"model m { input x: float32[N] y = Relu() }", "t.dpt:1:35: node 'y' (Relu): operand 1, 'X', is missing"},
    {"model m { input x: float32[N] y = Relu(x) {axis=1} }",
     "t.dpt:1:35: node 'y' (Relu): there is no attribute 'axis'"},
    {"model m { input x: float32[N] y: float32[N,1] = Relu(x) }",
     "t.dpt:1:31: 'y' is declared float32[N,1] but is float32[N]"},
    {"model m { input x: float32[N] output x output x }", "t.dpt:1:47: there is already an output 'x'"},
    {"model m { input x: float32[N] update w = x }",
     "t.dpt:1:38: the model has no parameter, buffer, state or stored constant 'w'"},
    {"model m { parameter w: float32[2] = zeros input x: float32[N] update w = x }",
     "t.dpt:1:1: 'w' is float32[2] but its update 'x' is float32[N]"},
    {"model m { parameter w: float32[] = zeros update w = w update w = w }", "t.dpt:1:62: 'w' is updated twice"},
    {"model m { scalar dp.lr: float32[] }", "t.dpt:1:18: 'dp.lr' is float64[]"},
    {"model m { scalar dp.lr2: float32[] }", "t.dpt:1:18: no value is called 'dp.lr2' at this point"},
    {"model m { constant c: float32[N] = [1] }", "t.dpt:1:36: data cannot have a shape with N, the samples present"},
    {"model m { input x: float32[N] y = Relu(x) [signal=0] }",
     "t.dpt:1:35: event 0 is used, but this graph has 0 events"},
    {"model m { input x: float32[N] y = Relu(x) [stream=a] }", "t.dpt:1:35: no stream of this graph is called 'a'"},
    {"model m { input x: float32[N] y = Relu(x) [logical=a] }", "t.dpt:1:35: there is no logical node 'a'"},
    {"model m { input x: float32[N] [logical=a] }",
     "t.dpt:1:31: this graph has no logical graph that 'a' could belong to"},
    {"model m { input x: float32[N] [offset=-1] }", "t.dpt:1:39: expected a number of bytes, found '-1'"},
    {"model m { input x: float32[N] [offset=1, offset=1] }", "t.dpt:1:42: the note 'offset' is given twice"},
    {"model m { input x: float32[N] [offset=18446744073709551616] }",
     "t.dpt:1:39: 18446744073709551616 is beyond the range of unsigned 64-bit integers"},
    {"model m { mesh d=2 input x: float32[N] [at=[S(1)]] }",
     "t.dpt:1:40: placement S(1) on axis 'd' names a dim that shape [N] does not have"},
    {"model m { mesh d=2 input x: float32[N] [at=[Q]] }",
     "t.dpt:1:45: expected a placement: R, S(dim), S(dim,outer,unit), P(sum) or P(max), found 'Q'"},
    {"model m { graph g { logical g { logical h { } } } }", "t.dpt:1:41: a graph has one logical graph, at its start"},
    {"model m { input a: float32[M] }",
     "t.dpt:1:28: expected an extent (a number, or N for the samples present), found 'M'"},
};
INSTANTIATE_TEST_SUITE_P(Graph, TextError, testing::ValuesIn(kGraph));

// Regions, in a program's text.
const char kProgram[] =
    "model m { graph g { logical g { input x: float32[N] y = Relu(x) output y }\ninput x: float32[N] [logical=x]\n";

std::string Program(const std::string &statements) { return kProgram + statements + " } }"; }

TEST(TextRegion, OfFaults) {
  const struct {
    const char *statements, *message;
  } cases[] = {
      {"y = dp.Region(x)",
       "t.dpt:3:5: node 'y' (dp.Region): a region has no body: it stands in programs for devices alone"},
      {"y = dp.Region(x) body { input x: float32[N] y = Relu(x) }",
       "t.dpt:3:5: node 'y' (dp.Region): operands of it and inputs of its body: 1 and 1; results and outputs: 1 and 0"},
      {"y = dp.Region(x) body { y = Relu(x) output y }", "t.dpt:3:34: no value is called 'x' at this point"},
      {"y = dp.Region(x) body { input x: float32[2] y = Relu(x) output y }",
       "t.dpt:3:5: node 'y' (dp.Region): operand 1 is not what the body calls 'x'"},
      {"y = dp.Region(x) body { input x: float32[N] output x }",
       "t.dpt:3:5: node 'y' (dp.Region): result 1 is not computed by its body"},
      {"y = dp.Region(x) body { input x: float32[N] y = Relu(x) output y",
       "t.dpt:3:69: expected 'graph' or '}' (the model's graphs are blocks), found the end of the text"},
      {"y, z = dp.Region(x) body { input x: float32[N] y = Relu(x) output y }",
       "t.dpt:3:8: node 'y' (dp.Region): operands of it and inputs of its body: 1 and 1; results and outputs: 2 and 1"},
      {"y = dp.Region(x, x) body { input x: float32[N] y = Relu(x) output y }",
       "t.dpt:3:5: node 'y' (dp.Region): operands of it and inputs of its body: 2 and 1; results and outputs: 1 and 1"},
      {"y = Relu(x) body { input x: float32[N] y = Relu(x) output y }", "t.dpt:3:13: only dp.Region has a body"},
      {"y = dp.Region(x) body { input x: float32[N] y = dp.Region(x) body { input x: float32[N] y = Relu(x) output y } "
       "output y }",
       "t.dpt:3:62: a region's body has no region of its own"},
  };
  for (const auto &c : cases) EXPECT_EQ(Reprint(Program(c.statements).c_str()), c.message) << c.statements;
  EXPECT_EQ(
      Reprint("model m { input x: float32[N] y = dp.Region(x) body { input x: float32[N] y = Relu(x) output y } }"),
      "t.dpt:1:48: only a program for devices has regions");
}

// ---- arbitrary input ------------------------------------------------------------------------------------------------

TEST(TextHostile, TruncatedAtEveryByte) {
  for (const std::string &whole : {std::string(dp_test::kSource), std::string(dp_test::kDeviceForm)})
    for (size_t bytes = 0; bytes + 2 < whole.size(); bytes++) {
      Arena arena;
      dp_model *model;
      EXPECT_NE(Parse(arena, whole.substr(0, bytes), &model), "") << bytes;
    }
}

TEST(TextHostile, DamagedBytesNeverCrashAndWhatIsTakenReadsBack) {
  uint64_t state = 2024;
  auto next = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)((state >> 33) % below);
  };
  const char pieces[] = "{}[]()=,:\"\\#/-+*._N019aefinx \n";
  int taken = 0;
  for (int round = 0; round < 4000; round++) {
    std::string text = round % 2 ? dp_test::kSource : dp_test::kDeviceForm;
    for (uint64_t damage = 1 + next(3); damage; damage--) {
      size_t at = next(text.size());
      if (next(3) == 0)
        text.erase(at, 1 + next(8));
      else if (next(2) == 0)
        text.insert(at, text.substr(next(text.size()), 1 + next(20)));
      else
        text[at] = pieces[next(sizeof pieces - 1)];
    }
    std::string printed = Reprint(text);
    if (printed.compare(0, 6, "model ")) continue;
    taken++;
    ASSERT_EQ(Reprint(printed), printed) << text;
  }
  EXPECT_GT(taken, 50);
}

TEST(TextHostile, LongThingsAreTakenOrRefusedInLinearTime) {
  std::string many = "model m { input x0: float32[N]\n";
  for (int i = 0; i < 20000; i++) many += "x" + std::to_string(i + 1) + " = Relu(x" + std::to_string(i) + ")\n";
  EXPECT_EQ(Reprint(many + "}").compare(0, 6, "model "), 0);
  std::string brackets(1 << 20, '[');
  EXPECT_NE(Reprint("model m { input x: float32[N] y = Relu(x) {a=" + brackets + "}}"), "");
  std::string digits(1 << 20, '9');
  EXPECT_EQ(Reprint("model m { opset " + digits + "}"), "t.dpt:1:17: this number has too many digits");
  std::string name(1 << 20, 'n');
  EXPECT_EQ(Reprint("model m { input " + name + ": float32[N] }"),
            "model m {\n  opset 18\n  input " + name + ": float32[N]\n}\n");
  EXPECT_NE(Reprint("model m { output " + name + " }").find("no value is called 'nnn"), std::string::npos);
}

}  // namespace
