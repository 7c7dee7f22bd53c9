// Data as users have it, from file to training: every format trains as the same numbers in .npy do, in any number of
// workers, whole or resumed. The samples are those of tests/runtime/data/make_samples.py.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const std::string kSamples = "tests/runtime/data/samples/";

class Data : public Tools {
 protected:
  void Compile(const std::string &inputs, const std::string &body, const std::string &options) {
    Write("m.dpt", "model m {\n  opset 18\n  loss \"softmax_cross_entropy(y,label)\"\n  optimizer \"adam(lr=0.01)\"\n" +
                       inputs + body + "  output y\n}\n");
    Must("dpc compile " + File("m.dpt") + " --batch=4 -o " + File("m.bin") + " " + options);
  }

  void CompileRows() {
    Compile("  input x: float32[N,3]\n  input label: int64[N]\n  parameter w: float32[3,5] = kaiming_uniform(3)\n",
            "  y = MatMul(x, w)\n", "");
  }

  void CompilePictures(const std::string &options) {
    Compile(
        "  input image: float32[N,3,7,9]\n  input label: int64[N]\n"
        "  parameter w: float32[189,3] = kaiming_uniform(189)\n",
        "  flat = Flatten(image)\n  y = MatMul(flat, w)\n", options);
  }

  std::vector<double> Train(const std::string &options) {
    Must("dprun " + File("m.bin") + " --quiet --metrics=" + File("m.jsonl") + " " + options);
    return Losses(File("m.jsonl"));
  }

  std::string CopyPictures(const std::string &name) {
    system(("cp -rL " + kSamples + "pictures " + File(name) + " && chmod -R u+w " + File(name)).c_str());
    return File(name);
  }
};

TEST_F(Data, TablesTrainAsTheirArraysDo) {
  CompileRows();
  const std::string more = " --epochs=3 --shuffle --seed=5";
  const std::vector<double> wanted =
      Train("--data x=" + kSamples + "expected_x.npy --data label=" + kSamples + "expected_y.npy" + more);
  ASSERT_EQ(wanted.size(), 6u);
  const char *const cases[][2] = {{"two.npz:x", "two.npz:y"},          {"packed.npz:x", "packed.npz:y"},
                                  {"one.npz", "bare.csv:3"},           {"bare.csv:0,1,2", "named.csv:label"},
                                  {"x.npy.gz", "named.csv.zst:label"}, {"x.npy.zst", "two.npz:y"}};
  for (const auto &c : cases)
    EXPECT_EQ(Train("--data x=" + kSamples + c[0] + " --data label=" + kSamples + c[1] + more), wanted) << c[0];
  Refused("dprun " + File("m.bin") + " --data x=" + kSamples + "named.csv:a,c --data label=" + kSamples + "two.npz:y",
          65, {"named.csv", "2 columns", "3 numbers"});
}

TEST_F(Data, TokensAndTheNextOnes) {
  Compile(
      "  input tokens: int64[N,8]\n  input label: int64[N,8]\n  parameter e: float32[50000,4] = kaiming_uniform(4)\n"
      "  parameter w: float32[4,50000] = kaiming_uniform(4)\n",
      "  h = Gather(e, tokens)\n  y = MatMul(h, w)\n", "");
  const std::vector<double> wanted =
      Train("--data tokens=" + kSamples + "expected_tokens.npy --data label=" + kSamples + "expected_next.npy");
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(
      Train("--data tokens=" + kSamples + "tokens16.bin:uint16 --data label=" + kSamples + "tokens16.bin:uint16+1"),
      wanted);
}

TEST_F(Data, PicturesAndTheirClasses) {
  CompilePictures("--normalize image=/255");
  const std::string more = " --epochs=2 --shuffle";
  const std::vector<double> wanted = Train(
      "--data image=" + kSamples + "expected_pictures.npy --data label=" + kSamples + "expected_classes.npy" + more);
  ASSERT_EQ(wanted.size(), 6u);
  for (const char *workers : {"", " --workers=1", " --workers=3", " --prefetch=2", " --workers=2 --prefetch=5"}) {
    EXPECT_EQ(
        Train("--data image=" + kSamples + "pictures --data label=" + kSamples + "pictures:class" + more + workers),
        wanted);
    for (const std::string file : {"gnu.tar", "pax.tar", "us.tar", "us.tar.gz"})
      EXPECT_EQ(Train("--data image=" + kSamples + file + " --data label=" + kSamples + file + ":cls" + more + workers),
                wanted)
          << file;
  }
}

// The same numbers, normalized by hand.
TEST_F(Data, NormalizingIsPartOfThePlan) {
  Array pictures = ReadNpy(kSamples + "expected_pictures.npy");
  const double mean[] = {0.5, 0.25, 0.125}, deviation[] = {0.5, 2, 0.25};
  std::vector<double> normal = pictures.numbers;
  for (size_t i = 0; i < normal.size(); i++) normal[i] = (normal[i] / 255 - mean[i / 63 % 3]) / deviation[i / 63 % 3];
  Write("normal.npy", Npy(pictures.shape, normal));
  const std::string label = " --data label=" + kSamples + "expected_classes.npy --epochs=2";
  CompilePictures("--precision=fp64");
  const std::vector<double> wanted = Train("--data image=" + File("normal.npy") + label);
  CompilePictures("--precision=fp64 --normalize image=/255,0.5:0.25:0.125,0.5:2:0.25");
  for (const char *file : {"pictures", "expected_pictures.npy"}) {
    const std::vector<double> found = Train("--data image=" + kSamples + file + label);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); i++) EXPECT_NEAR(found[i], wanted[i], 1e-12) << i;
  }
  // What is not a byte is refused.
  Refused("dprun " + File("m.bin") + label + " --data image=" + File("normal.npy"), 65, {"normal.npy", "uint8"});
  // Inference has the same operators.
  Must("dprun " + File("m.bin") + " --quiet --infer --data image=" + kSamples + "pictures --output y=" + File("y.npy"));
  EXPECT_EQ(ReadNpy(File("y.npy")).shape, (std::vector<int64_t>{9, 3}));
}

TEST_F(Data, AValidationPartIsNotTrainedOn) {
  Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("m.bin"));
  Train(std::string(digits) + " --validation=0.1 --epochs=2");
  int64_t trained = 0, evaluated = 0;
  for (const Event &e : Metrics(File("m.jsonl")))
    (e.event == "step" ? trained : evaluated) += static_cast<int64_t>(e["samples"]);
  EXPECT_EQ(trained, 2 * (1437 - 144));
  EXPECT_EQ(evaluated, 2 * 144);
  Refused("dprun " + File("m.bin") + " " + digits + " --validation=0.1 " + eval_digits, 78,
          {"--validation", "--eval-data"});
  for (const char *share : {"0", "1", "-0.1", "nan", "0.1x", ""})
    Refused("dprun " + File("m.bin") + " " + digits + " --validation=" + share, 64, {"--validation="});
  Refused("dprun " + File("m.bin") + " " + digits + " --validation=0.0001", 65, {"leaves none to evaluate"});
}

// Augmented, shuffled, with validation: in pieces and by other numbers of workers the bytes are those of one run.
TEST_F(Data, AugmentedAndResumed) {
  CompilePictures("--normalize image=/255");
  auto train = [&](const std::string &folder, const std::string &more) {
    return "dprun " + File("m.bin") + " --quiet --data image=" + kSamples + "gnu.tar --data label=" + kSamples +
           "gnu.tar:cls --augment image=flip,resized:0.3..0.9,crop:2 --shuffle --seed=9 --validation=0.2 --save=" +
           File(folder) + " " + more;
  };
  auto weights = [&](const std::string &folder) { return Read(File(folder + "/step-20/weights.safetensors")); };
  Must(train("whole", "--steps=20"));
  for (int end : {3, 7, 8, 15, 20}) Must(train("pieces", "--resume --workers=3 --steps=" + std::to_string(end)));
  ASSERT_FALSE(weights("whole").empty());
  EXPECT_TRUE(weights("pieces") == weights("whole"));
  Refused(train("pieces", "--resume --steps=25 --seed=10"), 78, {"--seed was 9"});
  std::string other = train("pieces", "--resume --steps=25");
  other.replace(other.find("crop:2"), 6, "crop:1");
  Refused(other, 78, {"other data"});
  other = train("pieces", "--resume --steps=25");
  other.replace(other.find("0.3..0.9"), 8, "0.3..0.8");
  Refused(other, 78, {"other data"});
  std::string plain = train("plain", "--steps=20");
  plain.replace(plain.find("--augment"), sizeof "--augment image=flip,resized:0.3..0.9,crop:2" - 1, "");
  Must(plain);
  EXPECT_FALSE(weights("plain") == weights("whole"));
  for (const char *what : {"flop", "crop:0", "crop:", "flip,", "flip,flip", "crop:1x", "crop:99999", "resized:0",
                           "resized:2", "resized:0.5..0.4"}) {
    std::string bad = train("bad", "");
    bad.replace(bad.find("flip,"), sizeof "flip,resized:0.3..0.9,crop:2" - 1, what);
    Refused(bad, 64, {"--augment", what});
  }
}

TEST_F(Data, BrokenRecordsAreNamedAndSkippedOnRequest) {
  CompilePictures("--normalize image=/255");
  const std::string folder = CopyPictures("broken"), broken = folder + "/dogs/e.png", whole = Read(broken);
  const std::string train = "--data image=" + folder + " --data label=" + folder + ":class --epochs=2 ";
  const std::vector<double> before = Train(train);
  Write("broken/dogs/e.png", whole.substr(0, whole.size() / 2));
  Refused("dprun " + File("m.bin") + " " + train, 65, {"e.png", "record 4", "step 2"});
  const Result result =
      Must("dprun " + File("m.bin") + " --quiet --metrics=" + File("m.jsonl") + " " + train + "--bad-records=skip");
  const std::vector<double> skipped = Losses(File("m.jsonl"));
  const size_t at = result.err.find("skipped: ");
  EXPECT_NE(result.err.find("e.png"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("skipped: ", at + 1), std::string::npos) << result.err;  // said once
  ASSERT_EQ(skipped.size(), before.size());
  EXPECT_EQ(skipped[0], before[0]);
  EXPECT_NE(skipped[1], before[1]);
  EXPECT_EQ(Train(train + "--bad-records=skip --workers=3"), skipped);
  // The next whole picture took its place, and its class came along.
  Write("broken/dogs/e.png", Read(folder + "/dogs/f.png"));
  EXPECT_EQ(Train(train), skipped);
}

// The same words whether it is skipped or ends the run.
TEST_F(Data, WhyARecordIsSkipped) {
  Write("m.dpt", R"dpt(model m {
  opset 18
  loss "mse(y,t)"
  optimizer "sgd(lr=0.1)"
  input x: int32[N,2]
  input t: float32[N,2]
  parameter w: float32[2] = ones
  f = Cast(x) {to="float32"}
  y = Mul(f, w)
  output y
}
)dpt");
  Must("dpc compile " + File("m.dpt") + " --batch=2 -o " + File("m.bin"));
  const auto why = [&](const std::string &text, const std::string &wanted) {
    SCOPED_TRACE(wanted);
    const std::string data = " --data x=" + Write("m.csv", text) + " --data t=" + Write("t.csv", "1,1\n2,2\n3,3\n");
    const std::string command = "dprun " + File("m.bin") + " --quiet" + data;
    Refused(command, 65, {wanted});
    const Result skipped = Must(command + " --bad-records=skip");
    EXPECT_NE(skipped.err.find("skipped: "), std::string::npos) << skipped.err;
    EXPECT_NE(skipped.err.find(wanted), std::string::npos) << skipped.err;
  };
  why("a,b\n1,2\n3,4,5\n6,7\n", "m.csv: record 1 (line 3) has 3 fields, but the first line has 2");
  why("a,b\n1,2\n3,x\n6,7\n", "m.csv: record 1 (line 3), column 'b': 'x' is no number that float64 holds");
  why("a,b\n1,2\n3,4\n6,0.5\n", "element 5 is 0.5, which the input's type int32 cannot hold");
  // With several files, in the one that has it.
  const std::string patterned = "dprun " + File("m.bin") + " --quiet --data x=" + File("p*.csv") +
                                " --data t=" + Write("t.csv", "1,1\n2,2\n3,3\n");
  Write("p1.csv", "1,2\n");
  Write("p2.csv", "3,4\n5\n");
  const Result skipped = Must(patterned + " --bad-records=skip");
  EXPECT_NE(skipped.err.find("p2.csv: record 1 (line 2) has 1 fields"), std::string::npos) << skipped.err;
}

// A prediction for another record would stand in its row.
TEST_F(Data, InferenceSkipsNothing) {
  CompileRows();
  const std::string infer = "dprun " + File("m.bin") + " --infer --data x=" + kSamples + "expected_x.npy ";
  Refused(infer + "--bad-records=skip", 64, {"--bad-records=skip does not go with --infer"});
  Must(infer + "--bad-records=fail --output y=" + File("y.npy"));
}

TEST_F(Data, TheLoadersRateAlone) {
  CompilePictures("--normalize image=/255");
  const Result result = Must("dprun " + File("m.bin") + " --data image=" + kSamples +
                             "us.tar --data label=" + kSamples + "us.tar:cls --bench-data --epochs=3");
  EXPECT_EQ(result.out.rfind("data: 27 samples, 0.0 MB in ", 0), 0u) << result.out;
  EXPECT_NE(result.out.find("samples/s, "), std::string::npos) << result.out;
}

// NumPy writes float64. That such numbers are rounded is said once, for all inputs, data sets and epochs.
TEST_F(Data, RoundingIsSaidOnce) {
  Compile(
      "  input x: float32[N,3]\n  input z: float32[N,2]\n  input label: int64[N]\n"
      "  parameter w: float32[3,5] = kaiming_uniform(3)\n  parameter v: float32[2,5] = kaiming_uniform(2)\n",
      "  a = MatMul(x, w)\n  b = MatMul(z, v)\n  y = Add(a, b)\n", "");
  Write("label.npy", Npy({5}, {0, 1, 2, 3, 4}));
  // The lines that say it when all numbers of x and of z are these.
  auto said = [&](double x, double z, const std::string &more) {
    Write("x.npy", Npy({5, 3}, std::vector<double>(15, x)));
    Write("z.npy", Npy({5, 2}, std::vector<double>(10, z)));
    std::string run = "dprun " + File("m.bin") + " --epochs=3" + more;
    for (const char *option : {" --data ", " --eval-data "})
      for (const char *input : {"x", "z", "label"}) run += option + std::string(input) + "=" + File(input) + ".npy";
    std::istringstream lines(Must(run).err);
    std::string found;
    for (std::string line; std::getline(lines, line);)
      if (line.find("round") != std::string::npos) found += line + "\n";
    return found;
  };
  auto notice = [&](const std::string &input) {
    return File(input) + ".npy: its float64 numbers are rounded to float32 for input '" + input + "' (reported once)\n";
  };
  EXPECT_EQ(said(0.1, 0.1, ""), notice("x"));
  EXPECT_EQ(said(0.1, 0.5, ""), notice("x"));
  EXPECT_EQ(said(0.5, 0.1, ""), notice("z"));
  EXPECT_EQ(said(0.5, 0.5, ""), "") << "nothing is lost";
  EXPECT_EQ(said(0.1, 0.1, " --quiet"), "");
}

TEST_F(Data, PartsAreOfFilesThatHaveThem) {
  CompileRows();
  const std::string label = " --data label=" + kSamples + "two.npz:y";
  Refused("dprun " + File("m.bin") + label + " --data x=" + kSamples + "expected_x.npy:x", 64, {"has no parts"});
  Refused("dprun " + File("m.bin") + label + " --data x=" + kSamples + "absent.npz:x", 66, {"absent.npz:x"});
  Refused("dprun " + File("m.bin") + label + " --data x=" + kSamples + "absent*.npy", 66, {"no file matches"});
  // A file whose name has a colon is a file.
  Write("a:b.npy", Read(kSamples + "expected_x.npy"));
  Train("--data x=" + File("a:b.npy") + label);
}

// What is written does not become data the next time.
TEST_F(Data, NothingIsWrittenIntoAFolderThatIsRead) {
  CompilePictures("");
  const std::string pictures = CopyPictures("pictures"), run = "dprun " + File("m.bin") + " --data image=" + pictures +
                                                               " --data label=" + pictures + ":class --steps=1 ";
  for (const std::string option : {"--save=", "--metrics=", "--trace=", "--tensorboard="})
    for (const std::string at : {"/out", "/cats/out", "/../pictures/out/"})
      Refused(run + option + pictures + at, 78,
              {option.substr(0, option.size() - 1), pictures + at, "a folder that --data"});
  Refused(run + "--save=" + pictures + "/w.safetensors", 78, {"--save", "a folder that --data image reads"});
  Refused("dprun " + File("m.bin") + " --infer --data image=" + pictures + " --output y=" + pictures + "/y.npy", 78,
          {"--output y", "a folder that --data image reads"});
  // A folder beside it whose name begins alike is another one, and so is the folder around it.
  Must(run + "--quiet --save=" + pictures + "2 --metrics=" + File("m.jsonl"));
  EXPECT_EQ(Shell("find " + pictures + " -newer " + File("m.bin") + " -type f -name out").out, "");
}

}  // namespace
