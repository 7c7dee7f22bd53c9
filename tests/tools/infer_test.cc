// dprun --infer writes outputs of the whole data set to files. They are the same on any number of devices, equal to
// numbers computed by hand, and consistent with eval.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <map>
#include <sstream>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char images[] = "examples/data/digits/test-images-idx3-ubyte";
const char labels[] = "examples/data/digits/test-labels-idx1-ubyte";

class Infer : public Tools {
 protected:
  std::string plan_ = File("plan.bin");

  void Compile(const std::string &model, const std::string &devices, const std::string &more) {
    const std::string strategy = devices == "1" ? "single" : "data";
    Must("dpc compile " + model + " -o " + plan_ + " --strategy=" + strategy + " --devices=" + devices + " " + more);
  }

  Array Output(const std::string &name) { return ReadNpy(File(name + ".npy")); }

  // The files in the test's folder, without those that the programs write themselves.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR *dir = opendir(File("").c_str());
    for (dirent *e; dir && (e = readdir(dir));)
      if (e->d_name[0] != '.' || std::string(e->d_name).size() > 4) files.push_back(e->d_name);
    if (dir) closedir(dir);
    return files;
  }
};

void ExpectNear(const std::vector<double> &found, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++)
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << i;
}

// ---- infer and eval -------------------------------------------------------------------------------------------------

// A trained network with Dropout and BatchNormalization, on 360 samples. The last batch is short: 40 samples, or 3,
// fewer than the devices.
TEST_F(Infer, GivesWhatEvalMeasures) {
  const std::string model = "examples/digits_cnn.dpt", data = std::string(" --data image=") + images;
  const std::vector<int> right = ReadIdxBytes(labels, 8);
  Compile(model, "1", "--batch=64 --precision=fp64");
  Must("dprun " + plan_ + " --quiet " + digits + " --epochs=1 --shuffle --save=" + File("w.safetensors"));
  Must("dprun " + plan_ + " --infer --init=" + File("w.safetensors") + data + " --output logits=" + File("one.npy"));
  const Array one = Output("one");
  EXPECT_EQ(one.descr, "<f8");
  EXPECT_EQ(one.shape, (std::vector<int64_t>{360, 10}));
  const Measures expected = Measure(one, right);
  EXPECT_GT(expected.accuracy, 0.5);
  for (const char *devices : {"1", "2", "3", "5", "8"})
    for (const char *batch : {"64", "7"}) {
      if (batch == std::string("7") && devices < std::string("5")) continue;
      SCOPED_TRACE(std::string(devices) + " devices, batch " + batch);
      Compile(model, devices, std::string("--precision=fp64 --batch=") + batch);
      const std::string init = "dprun " + plan_ + " --quiet --init=" + File("w.safetensors");
      Result result = Must(init + " --metrics=" + File("metrics") + " " + eval_digits);
      Event eval = Metrics(File("metrics")).at(0);
      EXPECT_NEAR(eval["loss"], expected.loss, 1e-12 * expected.loss);
      EXPECT_NEAR(eval["accuracy"], expected.accuracy, 1e-9);
      char line[32];
      snprintf(line, sizeof line, "accuracy %.1f %%\n", 100 * expected.accuracy);
      EXPECT_EQ(result.out, line);
      result = Must(init + " --infer" + data + " --output logits=" + File("logits.npy"));
      EXPECT_EQ(result.out + result.err, "");
      EXPECT_EQ(Output("logits").shape, one.shape);
      ExpectNear(Output("logits").numbers, one.numbers, 1e-12);
    }
}

// The weights in a plan equal those that --init loads, and neither eval nor infer changes them.
TEST_F(Infer, ChangesNothing) {
  const std::string infer =
      "dprun " + plan_ + " --infer --data image=" + images + " --seed=5 --output logits=" + File("logits.npy");
  Compile("examples/digits_cnn.dpt", "3", "--batch=64");
  EXPECT_NE(Must(infer).err.find("14 parameters have their initial, untrained values; --init="), std::string::npos);
  const std::string first = Read(File("logits.npy"));
  Must("dprun " + plan_ + " --seed=5 --steps=0 " + digits + " " + eval_digits + " --save=" + File("w.safetensors"));
  EXPECT_EQ(Must(infer + " --init=" + File("w.safetensors")).err.find("untrained"), std::string::npos);
  EXPECT_EQ(Read(File("logits.npy")), first);
  Must(infer + " --threads=1 --metrics=" + File("metrics"));
  EXPECT_EQ(Read(File("logits.npy")), first);
  Event event = Metrics(File("metrics")).at(0);
  EXPECT_EQ(event.event, "infer");
  EXPECT_EQ(event["samples"], 360);
}

// ---- all kinds of inputs and outputs --------------------------------------------------------------------------------

// Samples along axis 1, a whole tensor, a single number; outputs along axis 1, along axis 0, and without samples.
const char kinds[] = R"dpt(
model kinds {
  loss "mse(scaled,target)"
  optimizer "sgd(lr=0.01)"
  input x: float64[3,N]
  input table: float64[3,2]
  input scale: float64[]
  parameter w: float64[2,3] = [1, -2, 0.5, 3, 0.25, -1]
  along = MatMul(w, x)
  scaled = Mul(along, scale)
  rows = Transpose(x) {perm=[1,0]}
  products = MatMul(rows, table)
  fixed = MatMul(w, table)
  middle = Mul(x, scale)
  output scaled
  output products
  output fixed
  output scale
  output middle
}
)dpt";

const double w[2][3] = {{1, -2, 0.5}, {3, 0.25, -1}}, table[3][2] = {{2, -1}, {0.5, 4}, {-3, 1}};
const double scale = 1.5;
const int kSamples = 11;

double X(int sample, int row) { return 0.5 * sample - 1.25 * row + 0.125 * sample * row; }

class Kinds : public Infer {
 protected:
  std::string model_ = Write("kinds.dpt", kinds);
  std::string data_;

  void SetUp() override {
    std::vector<double> x, t;
    for (int s = 0; s < kSamples; s++)
      for (int r = 0; r < 3; r++) x.push_back(X(s, r));
    for (auto &row : table) t.insert(t.end(), row, row + 2);
    data_ = " --data x=" + Write("x.npy", Npy({kSamples, 3}, x)) +
            " --data table=" + Write("table.npy", Npy({3, 2}, t)) +
            " --data scale=" + Write("scale.npy", Npy({}, {scale}));
  }

  // Runs the plan for all outputs and compares them with what is computed here.
  void Check() {
    std::string outputs;
    for (const char *name : {"scaled", "products", "fixed", "scale", "middle"})
      outputs += " --output " + std::string(name) + "=" + File(std::string(name) + ".out.npy");
    Must("dprun " + plan_ + " --infer --quiet" + data_ + outputs);
    std::vector<double> scaled, products, fixed, middle;
    for (int s = 0; s < kSamples; s++) {
      for (int o = 0; o < 2; o++) scaled.push_back(scale * (w[o][0] * X(s, 0) + w[o][1] * X(s, 1) + w[o][2] * X(s, 2)));
      for (int o = 0; o < 2; o++)
        products.push_back(X(s, 0) * table[0][o] + X(s, 1) * table[1][o] + X(s, 2) * table[2][o]);
      for (int r = 0; r < 3; r++) middle.push_back(scale * X(s, r));
    }
    for (int i = 0; i < 2; i++)
      for (int o = 0; o < 2; o++)
        fixed.push_back(w[i][0] * table[0][o] + w[i][1] * table[1][o] + w[i][2] * table[2][o]);
    EXPECT_EQ(Output("scaled.out").shape, (std::vector<int64_t>{kSamples, 2}));
    EXPECT_EQ(Output("fixed.out").shape, (std::vector<int64_t>{2, 2}));
    EXPECT_EQ(Output("scale.out").shape, (std::vector<int64_t>{}));
    ExpectNear(Output("scaled.out").numbers, scaled, 1e-14);
    ExpectNear(Output("products.out").numbers, products, 1e-14);
    ExpectNear(Output("fixed.out").numbers, fixed, 1e-14);
    ExpectNear(Output("scale.out").numbers, {scale}, 0);
    ExpectNear(Output("middle.out").numbers, middle, 1e-14);
  }
};

TEST_F(Kinds, OnAnyNumberOfDevices) {
  for (const char *mode : {"infer", "train"})
    for (const char *devices : {"1", "2", "3", "8"})
      for (const char *batch : {"4", "3", "40"}) {
        SCOPED_TRACE(std::string(mode) + " " + devices + " " + batch);
        Compile(model_, devices, std::string("--mode=") + mode + " --batch=" + batch);
        Check();
      }
}

// --split only says how an input is split: along an axis without samples, in unequal parts, or not at all.
TEST_F(Kinds, SplitAsAsked) {
  for (const char *split : {"--split x=0", "--split x=none", "--split table=0 --split x=-1", "--split table=1"})
    for (const char *devices : {"1", "2", "3", "8"}) {
      SCOPED_TRACE(std::string(split) + " on " + devices);
      Compile(model_, devices, std::string("--batch=4 ") + split);
      Check();
    }
  Refused("dpc compile " + model_ + " --batch=4 --split scale=0 -o " + plan_, 64, {"'scale'", "rank 0"});
}

// The same network with fixed shapes: --split defines the batch.
TEST_F(Kinds, FixedShapes) {
  std::string text = kinds;
  text.replace(text.find("[3,N]"), 5, "[3,4]");
  const std::string fixed = Write("fixed.dpt", text);
  for (const char *mode : {"infer", "train"})
    for (const char *devices : {"1", "2", "3", "8"}) {
      SCOPED_TRACE(std::string(mode) + " " + devices);
      const std::string split = mode == std::string("train") ? " --split table=none" : "";
      Compile(fixed, devices, std::string("--split x=1 --mode=") + mode + split);
      Check();
    }
}

// Training: the first loss by hand, later ones as on one device.
TEST_F(Kinds, Train) {
  std::vector<double> target, one;
  double first = 0;
  for (int s = 0; s < kSamples; s++)
    for (int o = 0; o < 2; o++) target.push_back(0.75 * s - o);
  for (int s = 0; s < 4; s++)
    for (int o = 0; o < 2; o++) {
      double found = scale * (w[o][0] * X(s, 0) + w[o][1] * X(s, 1) + w[o][2] * X(s, 2));
      first += (found - target[2 * s + o]) * (found - target[2 * s + o]) / 8;
    }
  data_ = data_.substr(0, data_.find(" --data table"));
  std::string text = kinds;
  const std::string model =
      Write("train.dpt", text.insert(text.find("  input scale"), "  input target: float64[2,N]\n"));
  for (const char *split : {"", "--split x=0", "--split target=0 --split x=none"})
    for (const char *devices : {"1", "2", "3", "8"}) {
      SCOPED_TRACE(std::string(split) + " on " + devices);
      Compile(model, devices, std::string("--batch=4 ") + split);
      Must("dprun " + plan_ + " --steps=7 --metrics=" + File("metrics") + data_ + " --data scale=" + File("scale.npy") +
           " --data target=" + Write("target.npy", Npy({kSamples, 2}, target)));
      std::vector<double> losses = Losses(File("metrics"));
      ASSERT_EQ(losses.size(), 7u);
      if (one.empty()) one = losses;
      EXPECT_NEAR(losses[0], first, 1e-8 * first);  // metrics have 9 digits
      EXPECT_LT(losses[6], losses[0]);
      ExpectNear(losses, one, 1e-8);
    }
}

// Inference with fixed shapes: one run on whole tensors. A model without inputs is such a case.
TEST_F(Infer, WithoutSamples) {
  const std::string model = Write("whole.dpt", R"(
model whole {
  input a: float64[2,3]
  input b: float64[3]
  y = Add(a, b)
  output y
})");
  for (const char *devices : {"1", "3"}) {
    Compile(model, devices, "--mode=infer");
    Must("dprun " + plan_ + " --infer --data a=" + Write("a.npy", Npy({2, 3}, {1, 2, 3, 4, 5, 6})) +
         " --data b=" + Write("b.npy", Npy({3}, {10, 20, 30})) + " --output y=" + File("y.npy"));
    EXPECT_EQ(Output("y").shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(Output("y").numbers, (std::vector<double>{11, 22, 33, 14, 25, 36}));
  }
  const std::string constant = Write("constant.dpt", R"(
model constant {
  constant c: float32[3] = [1, -2, 4]
  y = Relu(c)
  output y
})");
  Compile(constant, "1", "--mode=infer");
  Must("dprun " + plan_ + " --infer --output y=" + File("y.npy"));
  EXPECT_EQ(Output("y").descr, "<f4");
  EXPECT_EQ(Output("y").numbers, (std::vector<double>{1, 0, 4}));
}

// Outputs that cannot be assembled from several batches are refused, and the message names a batch that works.
TEST_F(Infer, OutputsThatNeedOneBatch) {
  const std::string model = Write("pairs.dpt", R"(
model pairs {
  input x: float64[N,2]
  t = Transpose(x) {perm=[1,0]}
  pairs = MatMul(x, t)
  mean = ReduceMean(x) {axes=[0], keepdims=0}
  twice = Concat(x, x) {axis=0}
  flat = Reshape(x) {shape=[2*N]}
  output pairs
  output mean
  output twice
  output flat
})");
  const std::string infer = "dprun " + plan_ +
                            " --infer --data x=" + Write("x.npy", Npy({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) +
                            " --output ";
  Compile(model, "2", "--mode=infer --batch=3");
  Refused(infer + "pairs=" + File("p.npy"), 78, {"'pairs'", "[N,N]", "--batch=5"});
  Refused(infer + "mean=" + File("m.npy"), 78, {"'mean'", "batch 2", "--batch"});
  Must(infer + "flat=" + File("flat.npy"));
  EXPECT_EQ(Output("flat").numbers, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  for (const std::string &file : Files())
    EXPECT_TRUE(file == "pairs.dpt" || file == "x.npy" || file == "plan.bin" || file == "flat.npy") << file;
  Compile(model, "2", "--mode=infer --batch=8");
  Must(infer + "pairs=" + File("p.npy") + " --output mean=" + File("m.npy") + " --output twice=" + File("t.npy"));
  EXPECT_EQ(Output("p").shape, (std::vector<int64_t>{5, 5}));
  EXPECT_EQ(Output("p").numbers[1], 11);
  EXPECT_EQ(Output("p").numbers[24], 181);
  EXPECT_EQ(Output("m").numbers, (std::vector<double>{5, 6}));
  EXPECT_EQ(Output("t").shape, (std::vector<int64_t>{10, 2}));
}

// ---- the command line -----------------------------------------------------------------------------------------------

TEST_F(Infer, Options) {
  Compile("examples/mlp.dpt", "1", "--batch=64");
  const std::string data = std::string(" --data image=") + images, out = " --output logits=" + File("y.npy"),
                    infer = "dprun " + plan_ + " --infer";
  Refused(infer + data, 64, {"--output", "'logits'"});
  Refused(infer + data + " --output logts=" + File("y.npy"), 64, {"logts", "did you mean 'logits'"});
  Refused(infer + data + " --output logits", 64, {"NAME=FILE"});
  Refused(infer + out, 64, {"'image'", "--data image=FILE"});
  Refused(infer + data + " --data label=" + labels + out, 64, {"label", "infer"});
  Refused(infer + data + out + " --output logits=" + File("z.npy"), 64, {"twice"});
  Refused("dprun " + plan_ + data + out, 64, {"--output", "--infer"});
  for (const char *option : {"--epochs=1", "--steps=1", "--shuffle", "--drop-last", "--save=w.safetensors",
                             "--stop-on-nan", "--eval-data image=x"})
    Refused(infer + data + out + " " + option, 78, {std::string(option).substr(0, 6), "--infer"});
  Refused(infer + data + " --output logits=" + File("no/y.npy"), 73, {"no/y.npy"});
  EXPECT_FALSE(Exists(File("y.npy")));
}

TEST_F(Infer, NothingThatIsReadIsWrittenOver) {
  Compile("examples/mlp.dpt", "1", "--batch=64");
  const std::string copy = Write("images", Read(images)), infer = "dprun " + plan_ + " --infer --data image=" + copy;
  Refused(infer + " --output logits=" + copy, 78, {"overwrite"});
  Refused(infer + " --output logits=" + plan_, 78, {"overwrite"});
  ASSERT_EQ(link(copy.c_str(), File("linked").c_str()), 0);
  Refused(infer + " --output logits=" + File("linked"), 78, {"overwrite"});
  Refused(infer + " --output logits=" + File("m") + " --metrics=" + File("m"), 78, {"would both write"});
  EXPECT_EQ(Read(copy), Read(images));
}

TEST_F(Infer, AModelWithoutLoss) {
  Compile("examples/mlp.dpt", "2", "--batch=64 --mode=infer");
  Must("dprun " + plan_ + " --infer --data image=" + images + " --output logits=" + File("y.npy"));
  EXPECT_EQ(Output("y").shape, (std::vector<int64_t>{360, 10}));
  EXPECT_NE(Must("dpc show " + plan_).out.find("program infer"), std::string::npos);
  EXPECT_EQ(Must("dpc show " + plan_).out.find("program train"), std::string::npos);
  Refused("dprun " + plan_ + " " + digits, 65, {"program 'train'"});
  Refused("dpc compile examples/mlp.dpt --batch=64 --mode=infer --loss=mse(a,b) -o " + plan_, 78, {"--loss"});
}

// The arenas equal the plan's figures, as dpc shows them; memory for data is separate.
TEST_F(Infer, MemoryIsReportedApart) {
  Compile("examples/mlp.dpt", "3", "--batch=64");
  std::map<std::string, double> arenas;
  std::istringstream shown(Must("dpc show " + plan_).out);
  for (std::string line; std::getline(shown, line);) {
    char space[32];
    unsigned long long bytes;
    if (sscanf(line.c_str(), "  arena %31[a-z ]: %llu bytes", space, &bytes) == 2)
      arenas[space] = static_cast<double>(bytes);
  }
  ASSERT_EQ(arenas.size(), 4u);
  const size_t pixels = 16u << 20;
  std::string many("\x00\x00\x08\x03\x00\x04\x00\x00\x00\x00\x00\x08\x00\x00\x00\x08", 16);
  many.resize(16 + pixels, 1);
  const std::string run = "dprun " + plan_ + " --metrics=" + File("metrics");
  for (const std::string &command :
       {run + " --infer --data image=" + Write("many", many) + " --output logits=" + File("y.npy"),
        run + " " + digits + " --steps=3"}) {
    Result result = Must(command);
    EXPECT_NE(result.err.find("memory: "), std::string::npos) << result.err;
    EXPECT_EQ(Must(command + " --quiet").err.find("memory"), std::string::npos);
    Event memory = Memory(File("metrics"));
    EXPECT_EQ(memory.event, "memory");
    EXPECT_EQ(memory["devices"], 3);
    EXPECT_EQ(memory["persistent_bytes"], arenas["persistent"]);
    EXPECT_EQ(memory["transient_bytes"], arenas["transient"]);
    EXPECT_EQ(memory["host_input_bytes"], arenas["host input"]);
    EXPECT_EQ(memory["host_output_bytes"], arenas["host output"]);
    EXPECT_EQ(memory["arena_bytes"],
              3 * (arenas["persistent"] + arenas["transient"]) + 2 * arenas["host input"] + arenas["host output"]);
    EXPECT_GT(memory["arena_resident_bytes"], 0);
    EXPECT_LE(memory["arena_resident_bytes"], memory["arena_bytes"]);
    EXPECT_EQ(memory["other_bytes"], memory["peak_resident_bytes"] - memory["arena_resident_bytes"]);
    const double data = command.find("--infer") != std::string::npos ? static_cast<double>(pixels) : 1 << 20;
    EXPECT_GT(memory["other_bytes"], data);
  }
}

// An interrupted inference writes nothing, and existing files stay.
TEST_F(Infer, ASignalLeavesWhatWasThere) {
  Compile("examples/mlp.dpt", "1", "--batch=1");
  std::string images_file("\x00\x00\x08\x03\x00\x10\x00\x00\x00\x00\x00\x08\x00\x00\x00\x08", 16);
  images_file.resize(16 + (1u << 20) * 64);
  const std::string old = Write("y.npy", "what was there");
  Start("dprun " + plan_ + " --infer --data image=" + Write("many", images_file) + " --output logits=" + old);
  for (int i = 0; i < 3000 && Files().size() < 4; i++) usleep(1000);  // until the temporary file exists
  Signal(SIGINT);
  Result result = Wait();
  EXPECT_EQ(result.code, 75) << result.err;
  EXPECT_NE(result.err.find("no output was written"), std::string::npos) << result.err;
  EXPECT_EQ(Read(old), "what was there");
  EXPECT_EQ(Files().size(), 3u);
}

}  // namespace
