// Files of data and weights whose headers were changed at random or by design, and options with numbers of any size.
// Whatever the bytes are, dprun runs or refuses in one short message, with an exit code of its own. HOSTILE_CASES: the
// number of random changes for each kind of file (40; with DP_FULL 1,000).
#include <sys/resource.h>

#include <cstdlib>
#include <random>
#include <set>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

std::string Number(uint64_t number, int bytes, bool big_endian) {
  std::string text;
  for (int i = 0; i < bytes; i++) text += static_cast<char>(number >> 8 * (big_endian ? bytes - 1 - i : i));
  return text;
}

std::string NpyOf(const std::string &type, const std::string &shape, size_t bytes, const std::string &order = "False") {
  std::string header = "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header += std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  return "\x93NUMPY\x01" + std::string(1, 0) + Number(header.size(), 2, false) + header + std::string(bytes, 0);
}

std::string IdxOf(int type, const std::vector<uint64_t> &extents, size_t bytes) {
  std::string file = std::string(2, 0) + static_cast<char>(type) + static_cast<char>(extents.size());
  for (uint64_t extent : extents) file += Number(extent, 4, true);
  return file + std::string(bytes, 0);
}

std::string WeightsOf(const std::string &header, uint64_t length) {
  return Number(length, 8, false) + header + std::string(48, 0);
}

class HostileData : public Tools {
 protected:
  void SetUp() override {
    Write("m.dpt", R"dpt(model m {
  opset 18
  loss "mse(y,t)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,4]
  input t: float32[N,3]
  parameter w: float32[4,3] = kaiming_uniform(4)
  y = MatMul(x, w)
  output y
}
)dpt");
    Must("dpc compile " + File("m.dpt") + " --batch=4 -o " + File("m.bin"));
    npy_ = NpyOf("'<f4'", "(8, 4)", 128);
    t_ = Write("t.npy", NpyOf("'<f4'", "(8, 3)", 96));
    x_ = Write("x.npy", npy_);
    Must(Train(x_));
  }

  std::string Train(const std::string &x) const {
    return "dprun " + File("m.bin") + " --quiet --data t=" + t_ + " --data x=" + x;
  }

  // The program ends by itself, says why in a few lines that a terminal can show, and names the file or option.
  void Answered(const std::string &command, const std::string &named) {
    static const std::set<int> codes = {0, 64, 65, 66, 69, 71, 78};
    const Result result = Run(command);
    EXPECT_TRUE(codes.count(result.code)) << result.code << ": " << command << "\n" << result.err;
    EXPECT_LT(result.err.size(), 1500u) << command << "\n" << result.err;
    for (unsigned char c : result.err)
      EXPECT_TRUE(c == '\n' || (c >= 0x20 && c != 0x7F)) << command << "\n" << result.err;
    if (!result.code) return;
    EXPECT_NE(result.err.find(named), std::string::npos) << command << "\n" << result.err;
  }

  void Data(const std::string &name, const std::string &content) { Answered(Train(Write(name, content)), name); }
  void Weights(const std::string &content) {
    Answered(Train(x_) + " --init=" + Write("w.safetensors", content), "w.safetensors");
  }

  // Changes some of the first `header` bytes, or truncates the file there.
  std::string Change(std::string file, size_t header) {
    static const char special[] = "'\"90-([{}]),:\n\\\xff";
    if (random_() % 8 == 0) return file.substr(0, random_() % header);
    for (unsigned i = 0; i < 1 + random_() % 3; i++)
      file[random_() % header] =
          random_() % 2 ? special[random_() % sizeof special] : static_cast<char>(random_() % 256);
    return file;
  }

  static int Cases() {
    const char *asked = getenv("HOSTILE_CASES");
    return asked ? atoi(asked) : getenv("DP_FULL") ? 1000 : 40;
  }

  std::string npy_, t_, x_;
  std::mt19937 random_{1};
};

const char *const kHuge[] = {"-1",
                             "4611686018427387904",
                             "9223372036854775807",
                             "9223372036854775808",
                             "18446744073709551615",
                             "18446744073709551616",
                             "1e3",
                             "0x10",
                             "nan"};

TEST_F(HostileData, HeadersOfNpy) {
  for (const std::string huge : kHuge) {
    Data("a.npy", NpyOf("'<f4'", "(" + huge + ", 4)", 128));
    Data("a.npy", NpyOf("'<f4'", "(8, " + huge + ")", 128));
  }
  std::string deep = "(";
  for (int i = 0; i < 5000; i++) deep += "1,";
  for (const std::string &shape : {std::string("()"), std::string("(8, 4"), deep + ")", std::string("(8,,4)")})
    Data("a.npy", NpyOf("'<f4'", shape, 128));
  for (const std::string &type : {"'" + std::string(60000, '<') + "f4'", std::string("'|O'"), std::string("''"),
                                  std::string("'<\x1b[31m'"), std::string("'<f\xff'"), std::string("[('a','<f4')]")})
    Data("a.npy", NpyOf(type, "(8, 4)", 128));
  Data("a.npy", "\x93NUMPY\x02" + std::string(1, 0) + "\xff\xff\xff\xff" + npy_.substr(10));
  for (int i = 0; i < Cases(); i++) Data("a.npy", Change(npy_, 128));
}

TEST_F(HostileData, HeadersOfIdx) {
  const uint64_t most = 0xFFFFFFFF;
  for (const std::vector<uint64_t> &extents : std::vector<std::vector<uint64_t>>{
           {}, {0, 4}, {8, 0}, {most, 4}, {8, most}, {most, most}, {most, most, most}, {1u << 30, 4}, {7, 4}})
    Data("a.idx", IdxOf(13, extents, 128));
  Data("a.idx", IdxOf(13, std::vector<uint64_t>(255, most), 128));
  const std::string good = IdxOf(13, {8, 4}, 128);
  for (int i = 0; i < Cases(); i++) Data("a.idx", Change(good, 12));
}

TEST_F(HostileData, HeadersOfSafetensors) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[4,3],"data_offsets":[0,48]}})";
  Must(Train(x_) + " --init=" + Write("good.safetensors", WeightsOf(header, header.size())));
  for (uint64_t length : {uint64_t(0), uint64_t(1), uint64_t(1) << 32, uint64_t(1) << 63, ~uint64_t(0)})
    Weights(WeightsOf(header, length));
  auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = header;
    changed.replace(changed.find(from), from.size(), to);
    Weights(WeightsOf(changed, changed.size()));
  };
  for (const char *huge : kHuge) {
    with("4,3", std::string(huge) + ",3");
    with("48", huge);
  }
  with("[4,3]", std::string(5000, '['));
  with("\"w\"", "\"" + std::string(100000, 'w') + "\"");
  with("\"w\"", "\"w\\u0000x\"");
  with("\"w\"", "\"w\\u001b[31m\"");
  with("\"w\"", "\"\xff\"");
  with("{\"w\"", R"({"__metadata__":5,"w")");
  for (int i = 0; i < Cases(); i++) Weights(Change(WeightsOf(header, header.size()), 8 + header.size()));
}

TEST_F(HostileData, NumbersAndNamesOfOptions) {
  const std::string train = Train(x_) + " ";
  for (const char *option : {"--seed=", "--threads=", "--epochs=", "--steps="})
    for (const std::string &number : {std::string("-1"), std::string("9223372036854775808"), std::string("1.5"),
                                      std::string("nan"), std::string(""), "1" + std::string(5000, '0')}) {
      // A seed is any number of 64 bits.
      if (option == std::string("--seed=") && number == "9223372036854775808") continue;
      const Result result = Run(train + option + number);
      EXPECT_EQ(result.code, 64) << option << number << "\n" << result.err;
      EXPECT_LT(result.err.size(), 1000u) << option;
      EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    }
  for (const std::string &name :
       {std::string("x\x1b[31m"), std::string("\xff"), std::string(50000, 'x'), std::string("\xc2\x9b")})
    Answered(Train(x_) + " --data " + name + "=" + x_, "--data");
}

}  // namespace
