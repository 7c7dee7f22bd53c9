// dprun --generate: the tokens that NumPy and PyTorch draw of the same scores and random numbers (make_generate.py made
// generate.txt), on any devices; their frequencies; text as bytes; models and prompts that do not fit.
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/tools/tool.h"

namespace {

using Words = std::vector<std::string>;

// The lines of generate.txt that begin with `kind`, without it.
std::vector<Words> Cases(const std::string &kind) {
  std::ifstream file("tests/tools/generate.txt");
  std::vector<Words> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    Words words{std::istream_iterator<std::string>(in), {}};
    if (words.at(0) == kind) cases.emplace_back(words.begin() + 1, words.end());
  }
  EXPECT_FALSE(cases.empty()) << kind;
  return cases;
}

std::string Join(const Words &words, size_t first, size_t end, const std::string &between) {
  std::string text;
  for (size_t i = first; i < end; i++) text += (i > first ? between : "") + words[i];
  return text;
}

const char transformer[] = R"dpt(
model tiny {
  opset 23
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input tokens: int32[N,8]
  parameter wte: float32[20,16] = normal(0,1)
  parameter wpe: float32[8,16] = normal(0,1)
  parameter qkv: float32[16,48] = normal(0,1)
  parameter o: float32[16,16] = normal(0,1)
  parameter head: float32[16,20] = normal(0,1)
  constant one: float32[16] = [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
  e = Gather(wte, tokens)
  h = Add(e, wpe)
  n = LayerNormalization(h, one)
  m = MatMul(n, qkv)
  q, k, v = Split(m) {axis=2, split=[16,16,16]}
  a = Attention(q, k, v) {is_causal=1, q_num_heads=2, kv_num_heads=2}
  mixed = MatMul(a, o)
  h1 = Add(h, mixed)
  last = LayerNormalization(h1, one)
  logits = MatMul(last, head)
  output logits
}
)dpt";

class Generate : public Tools {
 protected:
  std::string plan_ = File("plan.bin");

  void Compile(const std::string &model, const std::string &more) {
    Must("dpc compile " + Write("model.dpt", model) + " -o " + plan_ + " --batch=4 " + more);
  }

  // A model whose scores after a token are a row of the table of generate.txt, whatever came before.
  void CompileTable(const std::string &window, const std::string &dtype = "float32") {
    const Words table = Cases("table").at(0);
    Compile("model table { input x: int64[N," + window + "] parameter table: " + dtype + "[6,6] = [" +
                Join(table, 0, table.size(), ",") + "] y = Gather(table, x) output y }",
            "--mode=infer");
  }

  // Words may have spaces in quotes.
  Result Say(const std::string &options) { return Shell("dprun " + plan_ + " " + options); }
};

TEST_F(Generate, DrawsWhatNumPyDraws) {
  for (const char *dtype : {"float32", "float64"}) {
    CompileTable("3", dtype);
    for (const Words &c : Cases("text")) {
      const std::string top_k = c[1] == "0" ? "" : " --top-k=" + c[1];
      Result result =
          Say("--generate=60 --tokens --quiet --prompt='1, 3' --temperature=" + c[0] + top_k + " --seed=" + c[2]);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.out, Join(c, 3, c.size(), "\n") + "\n") << c[0] << " " << c[1] << " " << c[2];
      EXPECT_EQ(result.err.find("tokens/s"), std::string::npos);
    }
  }
}

// Chi-squared of what follows each token, in a text of another seed than those above. The limit is 5 sigma of the
// distribution for 5 degrees of freedom or fewer.
TEST_F(Generate, FrequenciesAreTheProbabilities) {
  CompileTable("1");
  const std::vector<Words> rows = Cases("row");
  for (const std::string temperature : {"1 0", "2.5 3"}) {
    const size_t space = temperature.find(' ');
    const std::string t = temperature.substr(0, space), k = temperature.substr(space + 1);
    std::istringstream in(Say("--generate=12000 --tokens --quiet --prompt=0 --seed=99 --temperature=" + t +
                              (k == "0" ? "" : " --top-k=" + k))
                              .out);
    double counts[6][6] = {}, sums[6] = {};
    int before = 0, total = 0;
    for (int token; in >> token; before = token, total++) {
      counts[before][token]++;
      sums[before]++;
    }
    EXPECT_EQ(total, 12000);
    int found = 0;
    for (const Words &row : rows) {
      if (row[0] != t || row[1] != k) continue;
      const size_t from = std::stoul(row[2]);
      double chi = 0;
      for (size_t to = 0; to < 6; to++) {
        const double expected = sums[from] * std::stod(row[3 + to]);
        if (std::stod(row[3 + to]) == 0)
          EXPECT_EQ(counts[from][to], 0) << from << " " << to;
        else if (expected > 0)
          chi += (counts[from][to] - expected) * (counts[from][to] - expected) / expected;
      }
      EXPECT_LT(chi, 5 + 5 * std::sqrt(10.)) << t << " " << k << " after " << from;
      found++;
    }
    EXPECT_EQ(found, 6);
  }
}

// A window shorter than the text, a prompt shorter or longer than the window, and devices that have no sample.
TEST_F(Generate, TransformerOnAnyDevices) {
  const std::string init = " --init=tests/tools/generate.safetensors";
  for (const char *strategy : {"--strategy=single", "--strategy=data --devices=3", "--strategy=tensor --devices=2",
                               "--strategy=pipeline --devices=2 --microbatches=2", "--strategy=zero --devices=2",
                               "--mode=infer", "--precision=fp64"}) {
    Compile(transformer, strategy);
    for (const Words &c : Cases("transformer")) {
      const size_t n = std::stoul(c[1]), first = 2 + n;
      Result result =
          Say("--generate=40 --tokens --seed=5 --prompt='" + Join(c, 2, first, " ") + "' --temperature=" + c[0] + init);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_EQ(result.out, Join(c, first, c.size(), "\n") + "\n") << strategy;
      EXPECT_NE(result.err.find("40 tokens  "), std::string::npos) << result.err;
      EXPECT_EQ(result.err.find("the model sees 8 tokens at a time") != std::string::npos, n > 8) << result.err;
    }
  }
  const std::string metrics = File("m.jsonl");
  EXPECT_EQ(Say("--generate=3 --tokens --prompt=1 --metrics=" + metrics).code, 0);
  EXPECT_EQ(Metrics(metrics).at(0).event, "infer");
  EXPECT_EQ(Metrics(metrics).at(0)["samples"], 3);
  EXPECT_NE(Say("--generate=0 --tokens --prompt=1").err.find("untrained"), std::string::npos);
}

// The next byte is the one after the last in ASCII.
const char alphabet[] = R"dpt(
model alphabet {
  input x: uint8[N,4]
  constant one: int64[] = 1
  constant depth: int64[] = 128
  constant values: float32[2] = [0,1]
  i = Cast(x) {to="int64"}
  j = Add(i, one)
  y = OneHot(j, depth, values)
  output y
}
)dpt";

TEST_F(Generate, TextIsBytes) {
  Compile(alphabet, "--mode=infer");
  Result result = Say("--generate=5 --temperature=0 --prompt='xxab'");
  EXPECT_EQ(result.out, "cdefg") << result.err;
  EXPECT_EQ(Say("--generate=5 --temperature=0 --prompt=a=b").out, "cdefg");
  EXPECT_EQ(Say("--generate=3 --temperature=0 --prompt=- --quiet <<'END'\nlong text A\nEND").out, "\x0b\x0c\x0d");
  EXPECT_EQ(Say("--generate=2 --temperature=0 --prompt=- --tokens <<'END'\n7,\n 8\nEND").out, "9\n10\n");
  EXPECT_EQ(Say("--generate=0 --prompt=a").out, "");
}

TEST_F(Generate, Refusals) {
  Compile(alphabet, "--mode=infer");
  const std::string run = "dprun " + plan_ + " --generate=5 ";
  Refused("dprun " + plan_ + " --prompt=a", 64, {"--generate=N"});
  Refused("dprun " + plan_ + " --generate=-1 --prompt=a", 64, {"--generate"});
  Refused(run, 64, {"--prompt=TEXT"});
  Refused(run + "--prompt=", 64, {"--prompt", "empty"});
  Refused(run + "--prompt=1,x --tokens", 64, {"--prompt", "'x'"});
  Refused(run + "--prompt=1x --tokens", 64, {"--prompt", "'1x'"});
  Refused(run + "--prompt=-1 --tokens", 64, {"--prompt"});
  Refused(run + "--prompt=99999999999999999999 --tokens", 64, {"--prompt"});
  Refused(run + "--prompt=5,128 --tokens", 65, {"token 2", "128 tokens"});
  Refused(run + "--prompt=a\xc3\xa9", 65, {"byte 2 is 195", "128 tokens"});
  for (const char *t : {"-1", "x", "", "nan", "inf"})
    Refused(run + "--prompt=a --temperature=" + t, 64, {"--temperature"});
  for (const char *k : {"0", "-1", "x"}) Refused(run + "--prompt=a --top-k=" + k, 64, {"--top-k"});
  Refused(run + "--prompt=a --data x=x.npy", 78, {"--data", "--generate"});
  Refused(run + "--prompt=a --infer", 78, {"--infer", "--generate"});
  Refused(run + "--prompt=a --epochs=1", 78, {"--epochs", "--generate"});
  Refused(run + "--prompt=a --metrics=-", 78, {"--metrics", "--generate"});
  // Standard output that takes nothing.
  Result result = Say("--generate=1 --prompt=a >/dev/full");
  EXPECT_EQ(result.code, 74) << result.err;
  // Forms of models.
  Must("dpc compile examples/digits_cnn.dpt --batch=4 -o " + plan_);
  Refused(run + "--prompt=a", 78, {"'image' uint8[N,1,8,8]", "'logits' float32[N,10]", "[N,T,V]"});
  for (const char *shape : {"[8,N]", "[N]", "[N,8,1]"}) {
    Compile(std::string("model m { input x: int64") + shape +
                " parameter t: float32[6,6] = zeros y = Gather(t, x) output y }",
            "--mode=infer");
    Refused(run + "--prompt=a", 78, {"[N,T,V]"});
  }
  Compile(
      "model m { input x: int64[N,8] input z: int64[N,8] parameter t: float32[300,300] = zeros "
      "s = Add(x, z) y = Gather(t, s) output y }",
      "--mode=infer");
  Refused(run + "--prompt=a", 78, {"'x'", "'z'"});
  const std::string wide =
      "model m { input x: uint8[N,8] parameter t: float32[256,300] = zeros "
      "i = Cast(x) {to=\"int64\"} y = Gather(t, i) output y }";
  Compile(wide, "--mode=infer");
  Refused(run + "--prompt=a --tokens", 78, {"300 tokens", "uint8"});
  Compile("model m { input x: int64[N,8] parameter t: float32[300,300] = zeros y = Gather(t, x) output y }",
          "--mode=infer");
  Refused(run + "--prompt=a", 78, {"300 tokens", "--tokens"});
  EXPECT_EQ(Say("--generate=5 --prompt=299 --tokens --temperature=0").out, "0\n0\n0\n0\n0\n");
  for (const char *row : {"nan", "inf", "-inf"}) {
    Compile(std::string("model m { input x: int64[N,8] parameter t: float32[2,2] = [1,-inf,") + row +
                ",-inf] y = Gather(t, x) output y }",
            "--mode=infer");
    EXPECT_EQ(Say("--generate=2 --prompt=0 --tokens").out, "0\n0\n");
    Refused(run + "--prompt=1 --tokens", 65, {"token 1", "score"});
  }
}

// What was drawn before a signal is written.
TEST_F(Generate, SignalsEndIt) {
  Compile(alphabet, "--mode=infer");
  Start("dprun " + plan_ + " --generate=1000000000 --prompt=a");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  Signal(SIGTERM);
  Result result = Wait();
  EXPECT_EQ(result.code, 75);
  EXPECT_GT(result.out.size(), 10u);
  EXPECT_NE(result.err.find("interrupted after token"), std::string::npos) << result.err;
}

// Also where it waits: for a prompt, or for a reader of what it writes.
TEST_F(Generate, SignalsEndItsWaiting) {
  Compile(alphabet, "--mode=infer");
  const std::string run = "dprun " + plan_ + " --quiet --prompt=";
  const std::string kill = " & child=$!; sleep 2; kill -TERM $child; wait $child; echo $?";
  const std::string fifo = File("fifo");
  const std::string reading = "mkfifo " + fifo + "; exec 3<>" + fifo + "; ";
  EXPECT_EQ(Shell(reading + run + "- --generate=1 <&3" + kill).out, "75\n");
  EXPECT_EQ(Shell(reading + run + "a --generate=1000000000 >&3" + kill).out, "75\n");
}

}  // namespace
