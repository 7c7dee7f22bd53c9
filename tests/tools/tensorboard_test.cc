// --tensorboard, read back by a reader of its own: frames, checksums bit by bit, and protobuf fields by the numbers
// that TensorBoard gives them.
#include <dirent.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "runtime/tensorboard/crc32c.h"
#include "runtime/tensorboard/tensorboard.h"
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

uint32_t BitwiseCrc(const std::string &data) {
  uint32_t crc = ~0u;
  for (unsigned char c : data) {
    crc ^= c;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

uint32_t Masked(const std::string &data) {
  const uint32_t crc = BitwiseCrc(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename T>
T LittleEndian(const std::string &bytes, size_t at) {
  T number;
  EXPECT_LE(at + sizeof number, bytes.size());
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// The fields of a message by number, each value as its bytes (a varint as eight).
using Message = std::multimap<int, std::string>;

uint64_t Varint(const std::string &bytes, size_t *at) {
  uint64_t number = 0;
  for (int shift = 0; *at < bytes.size(); shift += 7) {
    const unsigned char c = static_cast<unsigned char>(bytes[(*at)++]);
    number |= uint64_t(c & 127) << shift;
    if (c < 128) break;
  }
  return number;
}

Message Parse(const std::string &bytes) {
  Message message;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t key = Varint(bytes, &at);
    std::string value;
    if ((key & 7) == 0) {
      const uint64_t number = Varint(bytes, &at);
      value.assign(reinterpret_cast<const char *>(&number), 8);
    } else {
      const size_t length = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : Varint(bytes, &at);
      value = bytes.substr(at, length);
      at += length;
    }
    message.emplace(int(key >> 3), value);
  }
  return message;
}

std::string Field(const Message &message, int number) {
  auto at = message.find(number);
  return at == message.end() ? "" : at->second;
}

std::vector<double> Doubles(const Message &message, int number) {
  std::vector<double> numbers;
  for (auto range = message.equal_range(number); range.first != range.second; range.first++)
    for (size_t at = 0; at < range.first->second.size(); at += 8)
      numbers.push_back(LittleEndian<double>(range.first->second, at));
  return numbers;
}

struct Point {
  int64_t step;
  Message value;
};

class TensorBoard : public Tools {
 protected:
  std::vector<std::string> Files(const std::string &folder = "tb") const {
    std::vector<std::string> files;
    DIR *dir = opendir(File(folder).c_str());
    for (dirent *e; dir && (e = readdir(dir));)
      if (e->d_name[0] != '.') files.push_back(File(folder + "/") + e->d_name);
    if (dir) closedir(dir);
    std::sort(files.begin(), files.end());
    return files;
  }

  // The events of a file, each of whose checksums must hold.
  static std::vector<Message> Events(const std::string &path) {
    const std::string file = Read(path);
    std::vector<Message> events;
    for (size_t at = 0; at < file.size();) {
      const auto length = LittleEndian<uint64_t>(file, at);
      EXPECT_EQ(LittleEndian<uint32_t>(file, at + 8), Masked(file.substr(at, 8)));
      const std::string data = file.substr(at + 12, length);
      EXPECT_EQ(LittleEndian<uint32_t>(file, at + 12 + length), Masked(data));
      events.push_back(Parse(data));
      at += 16 + length;
    }
    return events;
  }

  static int64_t Step(const Message &event) {
    const std::string step = Field(event, 2);
    return step.empty() ? 0 : LittleEndian<int64_t>(step, 0);
  }

  // The values of a file by tag.
  static std::map<std::string, std::vector<Point>> Values(const std::string &path) {
    std::map<std::string, std::vector<Point>> values;
    for (const Message &event : Events(path)) {
      const double wall_time = LittleEndian<double>(Field(event, 1), 0);
      EXPECT_NEAR(wall_time, double(time(nullptr)), 3600);
      const Message summary = Parse(Field(event, 5));
      for (auto range = summary.equal_range(1); range.first != range.second; range.first++) {
        const Message value = Parse(range.first->second);
        values[Field(value, 1)].push_back({Step(event), value});
      }
    }
    return values;
  }
};

TEST_F(TensorBoard, ChecksumsAreCastagnolis) {
  EXPECT_EQ(dp_crc32c("123456789", 9), 0xe3069283u);  // the check value of the polynomial's catalogue entry
  EXPECT_EQ(dp_crc32c(std::string(32, '\0').data(), 32), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(dp_crc32c(std::string(32, '\xff').data(), 32), 0x62a8ab43u);
}

TEST_F(TensorBoard, CurvesAreThoseOfMetrics) {
  Must("dpc compile examples/mlp.dpt --batch=64 --metrics=accuracy,top5 -o " + File("plan.bin"));
  Must("dprun " + File("plan.bin") + " --epochs=2 --tensorboard=" + File("tb") + " --metrics=" + File("metrics") + " " +
       digits + " " + eval_digits);
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_NE(Files()[0].find("events.out.tfevents."), std::string::npos);
  EXPECT_EQ(Field(Events(Files()[0])[0], 3), "brain.Event:2");
  auto values = Values(Files()[0]);
  std::map<std::string, size_t> next;
  for (const Event &line : Metrics(File("metrics"))) {
    const std::string of = line.event == "step" ? "train/" : "eval/";
    for (const char *name : {"loss", "accuracy", "top5", "perplexity"}) {
      const std::vector<Point> &curve = values[of + name];
      const size_t at = next[of + name]++;
      ASSERT_LT(at, curve.size()) << of << name;
      EXPECT_EQ(curve[at].step, line["step"]);
      EXPECT_NEAR(LittleEndian<float>(Field(curve[at].value, 2), 0), line[name], 1e-6 * (1 + line[name]));
    }
  }
  for (const auto &n : next) EXPECT_EQ(values[n.first].size(), n.second) << n.first;
  EXPECT_EQ(values["train/learning_rate"].size(), next["train/loss"]);
  EXPECT_EQ(values["train/samples_per_second"].size(), next["train/loss"]);
  // The options, as TensorBoard's plugin for texts wants them: a tensor of one string.
  const Message text = values["options/text_summary"].at(0).value;
  EXPECT_EQ(Field(Parse(Field(Parse(Field(text, 9)), 1)), 1), "text");
  const Message tensor = Parse(Field(text, 8));
  EXPECT_EQ(LittleEndian<int64_t>(Field(tensor, 1), 0), 7);
  EXPECT_NE(Field(tensor, 8).find("--epochs=2 --tensorboard="), std::string::npos) << Field(tensor, 8);
  EXPECT_NE(Field(tensor, 8).find("--metrics=accuracy,top5"), std::string::npos);
}

// A loss of exactly 0 is a point too, and one that is no number says so.
TEST_F(TensorBoard, ZeroAndNaNArePoints) {
  const std::string model = Write("m.dpt", line_model);
  const double nan = std::nan("");
  Must("dpc compile " + model + " --batch=1 -o " + File("plan.bin"));
  Must("dprun " + File("plan.bin") + " --tensorboard=" + File("tb") + " --data x=" +
       Write("x.npy", Npy({2, 1}, {3, nan})) + " --data target=" + Write("target.npy", Npy({2, 1}, {3, 3})));
  const std::vector<Point> loss = Values(Files().at(0))["train/loss"];
  ASSERT_EQ(loss.size(), 2u);
  EXPECT_EQ(LittleEndian<float>(Field(loss[0].value, 2), 0), 0);
  EXPECT_TRUE(std::isnan(LittleEndian<float>(Field(loss[1].value, 2), 0)));
}

TEST_F(TensorBoard, HistogramsCountTheParameters) {
  const std::string model = Write("m.dpt", R"dpt(
model m {
  loss "mse(y,target)"
  optimizer "sgd(lr=0)"
  input x: float64[N,4]
  input target: float64[N,2]
  parameter w: float64[4,2] = [-2, 0.5, 0.5, 1, 1.25, 3, -0.75, 30]
  parameter b: float64[2] = [7, 7]
  product = MatMul(x, w)
  y = Add(product, b)
  output y
}
)dpt");
  const double w[] = {-2, 0.5, 0.5, 1, 1.25, 3, -0.75, 30};
  Must("dpc compile " + model + " --batch=2 -o " + File("plan.bin"));
  Must("dprun " + File("plan.bin") + " --epochs=3 --histograms --tensorboard=" + File("tb") +
       " --data x=" + Write("x.npy", Npy({3, 4}, std::vector<double>(12, 0.5))) +
       " --data target=" + Write("target.npy", Npy({3, 2}, std::vector<double>(6, 1))));
  auto values = Values(Files().at(0));
  const std::vector<Point> &points = values["parameters/w"];
  ASSERT_EQ(points.size(), 3u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(points[i].step, int64_t(2 * (i + 1)));
  const Message histogram = Parse(Field(points[0].value, 5));
  const std::vector<double> limits = Doubles(histogram, 6), counts = Doubles(histogram, 7);
  EXPECT_EQ(Doubles(histogram, 1), std::vector<double>{-2});
  EXPECT_EQ(Doubles(histogram, 2), std::vector<double>{30});
  EXPECT_EQ(Doubles(histogram, 3), std::vector<double>{8});
  EXPECT_EQ(Doubles(histogram, 4), std::vector<double>{33.5});
  EXPECT_EQ(Doubles(histogram, 5), std::vector<double>{4 + 0.25 + 0.25 + 1 + 1.5625 + 9 + 0.5625 + 900});
  ASSERT_EQ(limits.size(), counts.size());
  EXPECT_EQ(limits.back(), 30);
  double total = 0;
  for (size_t i = 0; i < limits.size(); i++) {
    EXPECT_TRUE(!i || limits[i] > limits[i - 1]);
    total += counts[i];
    // So far as many as there are numbers up to the limit, but for those that lie on it.
    const double below = double(std::count_if(w, w + 8, [&](double n) { return n < limits[i]; }));
    const double up_to = double(std::count_if(w, w + 8, [&](double n) { return n <= limits[i]; }));
    EXPECT_GE(total, below) << i;
    EXPECT_LE(total, up_to) << i;
  }
  EXPECT_EQ(total, 8);
  // All equal: they are all in one part.
  const Message flat = Parse(Field(values["parameters/b"].at(0).value, 5));
  const std::vector<double> parts = Doubles(flat, 7);
  EXPECT_EQ(*std::max_element(parts.begin(), parts.end()), 2);
}

// By hand: of the last step of an epoch, whose batch is short, before clipping. On any devices, and in 16 bits too.
TEST_F(TensorBoard, HistogramsOfGradients) {
  const std::string model = Write("m.dpt", R"dpt(
model m {
  loss "mse(y,target)"
  optimizer "sgd(lr=0,clip_norm=0.001)"
  input x: float32[N,2]
  input target: float32[N,2]
  parameter v: float32[2,2] = [1, 0, 0, 1]
  parameter w: float32[2,2] = [-2, 0.5, 0.5, 1]
  parameter b: float32[2] = [7, 3]
  h = MatMul(x, v)
  product = MatMul(h, w)
  y = Add(product, b)
  output y
}
)dpt");
  const double x[5][2] = {{9, 9}, {9, 9}, {9, 9}, {1, 2}, {-3, 4}}, w[2][2] = {{-2, 0.5}, {0.5, 1}}, b[2] = {7, 3};
  double error[5][2], db[2] = {0, 0}, dw[2][2] = {{0, 0}, {0, 0}}, dv[2][2] = {{0, 0}, {0, 0}};
  for (int n = 3; n < 5; n++)
    for (int k = 0; k < 2; k++) {
      error[n][k] = 2.0 / 4 * (x[n][0] * w[0][k] + x[n][1] * w[1][k] + b[k] - 1);
      db[k] += error[n][k];
      for (int i = 0; i < 2; i++) dw[i][k] += x[n][i] * error[n][k];
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) dv[i][j] += x[n][i] * error[n][k] * w[j][k];
    }
  std::vector<double> numbers;
  for (const auto &row : x) numbers.insert(numbers.end(), row, row + 2);
  const std::string data = " --epochs=12 --data x=" + Write("x.npy", Npy({5, 2}, numbers)) +
                           " --data target=" + Write("target.npy", Npy({5, 2}, std::vector<double>(10, 1)));
  int run = 0;
  for (const char *how :
       {"", "--strategy=data --devices=3", "--strategy=zero --devices=2 --zero-stage=3",
        "--strategy=pipeline --devices=2 --microbatches=2", "--strategy=tensor --devices=2", "--precision=fp16"}) {
    SCOPED_TRACE(how);
    const std::string board = "tb" + std::to_string(run++);
    Must("dpc compile " + model + " --batch=3 --metrics=gradients " + how + " -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + data + " --quiet --histograms --tensorboard=" + File(board));
    auto values = Values(Files(board).at(0));
    const auto sums = [&](const char *name, const double *gradient, int count) {
      SCOPED_TRACE(name);
      const std::vector<Point> &points = values[std::string("gradients/") + name];
      ASSERT_FALSE(points.empty());
      EXPECT_EQ(points.back().step, 24);  // in float16, the first ones overflow
      const Message histogram = Parse(Field(points.back().value, 5));
      double sum = 0, squares = 0;
      for (int i = 0; i < count; i++) sum += gradient[i], squares += gradient[i] * gradient[i];
      EXPECT_NEAR(Doubles(histogram, 1)[0], *std::min_element(gradient, gradient + count), 1e-5);
      EXPECT_NEAR(Doubles(histogram, 2)[0], *std::max_element(gradient, gradient + count), 1e-5);
      EXPECT_EQ(Doubles(histogram, 3)[0], count);
      EXPECT_NEAR(Doubles(histogram, 4)[0], sum, 1e-4);
      EXPECT_NEAR(Doubles(histogram, 5)[0], squares, 1e-3);
    };
    sums("b", db, 2);
    sums("w", dw[0], 4);
    sums("v", dv[0], 4);
  }
  Must("dpc compile " + model + " --batch=3 -o " + File("plan.bin"));
  Must("dprun " + File("plan.bin") + data + " --quiet --histograms --tensorboard=" + File("none"));
  EXPECT_EQ(Values(Files("none").at(0)).count("gradients/w"), 0u);
}

// A run that goes on tells TensorBoard to forget what comes later.
TEST_F(TensorBoard, GoesOn) {
  Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("plan.bin"));
  const std::string run =
      "dprun " + File("plan.bin") + " --tensorboard=" + File("tb") + " --save=" + File("run") + " --resume " + digits;
  Must(run + " --steps=5");
  const std::vector<std::string> first = Files();
  Must(run + " --steps=8");
  std::vector<std::string> both = Files();
  ASSERT_EQ(both.size(), 2u);
  const std::string second = both[0] == first[0] ? both[1] : both[0];
  int starts = 0;
  for (const Message &event : Events(second))
    if (!Field(event, 7).empty()) {
      EXPECT_EQ(LittleEndian<int64_t>(Field(Parse(Field(event, 7)), 1), 0), 1);
      EXPECT_EQ(Step(event), 6);
      starts++;
    }
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(Values(second)["train/loss"].size(), 3u);
  EXPECT_EQ(Values(second)["train/loss"][0].step, 6);
}

TEST_F(TensorBoard, WhatCannotBeWrittenIsSaid) {
  Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("plan.bin"));
  const std::string run = "dprun " + File("plan.bin") + " " + digits + " --tensorboard=";
  Refused(run + File("absent/tb"), 73, {"absent/tb", "cannot be made"});
  Write("file", "");
  Refused(run + File("file"), 73, {"cannot be written"});
}

}  // namespace
