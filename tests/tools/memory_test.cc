// --memory: what does not fit is refused, and what dpc says would fit does.
#include <algorithm>
#include <cstdlib>

#include "tests/tools/tool.h"

namespace {

class Memory : public Tools {
 protected:
  // With one thread a device, since each needs some memory of its own, and machines have more of them or fewer.
  std::string Compile(const std::string &options) const {
    return "dpc compile --threads=1 -o " + File("plan.bin") + " " + options;
  }
  // The text after `before`, up to a space, a comma and space, or a colon.
  static std::string After(const std::string &text, const std::string &before) {
    size_t at = text.find(before);
    if (at == std::string::npos) return "";
    at += before.size();
    size_t end = at;
    while (end < text.size() && text[end] != ' ' && text[end] != '\n' && text.compare(end, 2, ", ") != 0) end++;
    return text.substr(at, end - at);
  }
  // Refuses without writing anything; returns stderr.
  std::string Answer(const std::string &options) {
    Result result = Run(Compile(options));
    EXPECT_EQ(result.code, 78) << options << "\n" << result.err;
    EXPECT_FALSE(Exists(File("plan.bin")));
    return result.err;
  }
  // The bytes a device needs for this plan. They depend on the instruction set, as oneDNN's scratch does.
  long long Takes(const std::string &options) {
    return atoll(After(Answer(options + " --memory=1"), "takes ").c_str());
  }
  // Too little for the first options, more than the second ones need.
  std::string MemoryBetween(const std::string &much, const std::string &little) {
    const long long most = Takes(much), least = Takes(little);
    EXPECT_LT(least, most);
    return " --memory=" + std::to_string((most + least) / 2);
  }
  void Fits(const std::string &options) {
    Must(Compile(options));
    std::remove(File("plan.bin").c_str());
  }
};

// Follows the advice: the largest smaller batch and the fewest more devices fit, and the next size is refused again.
TEST_F(Memory, WhatIsSaidToFitDoes) {
  for (const char *network : {"vgg11", "resnet18", "mnist_cnn"}) {
    SCOPED_TRACE(network);
    const std::string model = std::string("examples/") + network + ".dpt", whole = model + " --batch=64",
                      options = model + MemoryBetween(whole, whole + " --strategy=data --devices=8");
    std::string answer = Answer(options + " --batch=64");
    int batch = atoi(After(answer, "--batch=").c_str()), devices = atoi(After(answer, "--devices=").c_str());
    ASSERT_GT(batch, 0) << answer;
    ASSERT_GT(devices, 1) << answer;
    Fits(options + " --batch=" + std::to_string(batch));
    Answer(options + " --batch=" + std::to_string(batch + 1));
    Fits(options + " --batch=64 --strategy=data --devices=" + std::to_string(devices));
    if (devices > 2) Answer(options + " --batch=64 --strategy=data --devices=" + std::to_string(devices - 1));
  }
}

TEST_F(Memory, OfAMeshTheAxisDataGrows) {
  const std::string model = "examples/vgg11.dpt --strategy=data --batch=64 --mesh=",
                    options = "examples/vgg11.dpt --strategy=data --batch=64" +
                              MemoryBetween(model + "data=2,tensor=2", model + "data=8,tensor=2") + " --mesh=";
  std::string answer = Answer(options + "data=2,tensor=2"), mesh = After(answer, "--mesh=");
  ASSERT_NE(mesh.find(",tensor=2"), std::string::npos) << answer;
  Fits(options + mesh);
}

TEST_F(Memory, WithoutItTheAxisTensorGrows) {
  const std::string model = "examples/vgg11.dpt --strategy=tensor --batch=64 --devices=",
                    options = "examples/vgg11.dpt --strategy=tensor --batch=64" +
                              MemoryBetween(model + "2", model + "8") + " --devices=";
  std::string devices = After(Answer(options + "2"), "--devices=");
  ASSERT_NE(devices, "");
  Fits(options + devices);
}

// Six products, so that each stage can have one.
const char kDeep[] = R"dpt(model deep {
  loss "mse(y,target)"
  optimizer "adam(lr=0.01)"
  input x: float32[N,64]
  parameter w0: float32[64,64] = kaiming_uniform()
  parameter w1: float32[64,64] = kaiming_uniform()
  parameter w2: float32[64,64] = kaiming_uniform()
  parameter w3: float32[64,64] = kaiming_uniform()
  parameter w4: float32[64,64] = kaiming_uniform()
  parameter w5: float32[64,64] = kaiming_uniform()
  h0 = MatMul(x, w0)
  t0 = Tanh(h0)
  h1 = MatMul(t0, w1)
  t1 = Tanh(h1)
  h2 = MatMul(t1, w2)
  t2 = Tanh(h2)
  h3 = MatMul(t2, w3)
  t3 = Tanh(h3)
  h4 = MatMul(t3, w4)
  t4 = Tanh(h4)
  y = MatMul(t4, w5)
  output y
})dpt";

// Follows each kind of advice; every kind occurs somewhere.
TEST_F(Memory, WhatIsSaidToFitOfPipelinesDoes) {
  const std::string deep = Write("deep.dpt", kDeep) + " --batch=512 ";
  std::string said;
  for (const char *words : {"--strategy=pipeline --devices=2 --microbatches=8 --schedule=gpipe --memory=600K",
                            "--strategy=pipeline --devices=2 --microbatches=4 --memory=400K",
                            "--mesh=data=2,pipe=2 --microbatches=4 --memory=340K",
                            "--strategy=data --devices=2 --memory=780K", "--memory=700K"}) {
    SCOPED_TRACE(words);
    const std::string options = deep + words, answer = Answer(options);
    const size_t end = answer.find(" would fit");
    ASSERT_NE(end, std::string::npos) << answer;
    for (size_t at = answer.rfind("): ", end) + 3; at < end;) {
      const size_t next = std::min(answer.find(", or ", at), end);
      const std::string one = answer.substr(at, next - at);
      Fits(options + " " + one);
      said += one + " ";
      at = next + 5;
    }
  }
  for (const char *option : {"--batch=", "--devices=", "--strategy=data --devices=", "--mesh=data=2,pipe=", ",pipe=2",
                             "--microbatches=", "--schedule=1f1b", "--strategy=zero --zero-stage="})
    EXPECT_NE(said.find(option), std::string::npos) << option << " in " << said;
}

// The cuts were made by an estimate below what this plan needs, so the stages are cut again.
TEST_F(Memory, StagesAreCutAgain) {
  const std::string options = "examples/vgg11.dpt --strategy=pipeline --devices=4 --microbatches=8 --batch=64";
  auto most = [&](const std::string &with) {
    Must(Compile(options + with));
    const std::string text = Must("dpc show " + File("plan.bin")).out;
    long long most = 0;
    for (size_t at = text.find("arena persistent: "); at != std::string::npos;
         at = text.find("arena persistent: ", at + 1))
      most = std::max(most, atoll(After(text.substr(at), "arena persistent: ").c_str()) +
                                atoll(After(text.substr(at), "arena transient: ").c_str()));
    return most;
  };
  const long long fastest = most(""), allowed = fastest * 93 / 100,
                  takes = most(" --memory=" + std::to_string(allowed));
  EXPECT_GT(takes, fastest / 2);
  EXPECT_LE(takes, allowed);
  Must("dpc verify " + File("plan.bin"));
}

TEST_F(Memory, TheLimitIsToTheByte) {
  const std::string options = "examples/mlp.dpt --batch=64 --memory=";
  std::string takes = After(Answer(options + "1"), "takes ");
  Fits(options + takes);
  Answer(options + std::to_string(atoll(takes.c_str()) - 1));
  // What the plan says it needs: the sum of the arenas on a device.
  Must(Compile(options + takes));
  std::string text = Must("dpc show " + File("plan.bin")).out;
  long long arenas = 0;
  for (const char *space : {"persistent", "transient"}) {
    std::string bytes = After(text, std::string("arena ") + space + ": ");
    ASSERT_NE(bytes, "") << text.substr(0, 2000);
    arenas += atoll(bytes.c_str());
  }
  EXPECT_EQ(std::to_string(arenas), takes);
}

// Kernels pack weights for inference where there is room for it, and else read them as they are.
TEST_F(Memory, WeightsArePackedWhereThereIsRoom) {
  const std::string options = "examples/digits_cnn.dpt --mode=infer --batch=4 --threads=2",
                    infer = "dprun " + File("plan.bin") + " --infer --data image=examples/data/digits/" +
                            "test-images-idx3-ubyte --output logits=" + File("logits.npy");
  const std::string said = Must(Compile(options)).err, text = Must("dpc show " + File("plan.bin")).out;
  long long all = 0, packed = 0, largest = 0;
  for (const char *space : {"persistent", "transient"})
    all += atoll(After(text, std::string("arena ") + space + ": ").c_str());
  for (size_t at = text.find("packed operand"); at != std::string::npos; at = text.find("packed operand", at + 1)) {
    const long long bytes = atoll(After(text.substr(at), ", ").c_str());
    packed += bytes;
    largest = std::max(largest, bytes);
  }
  EXPECT_NE(said.find(" of it packed weights, checked"), std::string::npos) << said;
  EXPECT_GT(packed, 0);
  Must(infer);
  const std::string logits = Read(File("logits.npy"));
  for (long long bytes : {all, all - 1}) {
    const std::string here = Must(Compile(options + " --memory=" + std::to_string(bytes))).err;
    EXPECT_EQ(here.find("packed") != std::string::npos, bytes == all) << here;
    EXPECT_EQ(Must("dpc show " + File("plan.bin")).out.find("packed operand") != std::string::npos, bytes == all);
    Must(infer);
    EXPECT_EQ(Read(File("logits.npy")), logits);
  }
  // What it takes without: no less is enough.
  std::remove(File("plan.bin").c_str());
  const long long least = Takes(options);
  EXPECT_LE(least, all - packed + 2 * largest + 4096);  // each thread packs those of its convolution in scratch
  EXPECT_LT(least, all);
  Fits(options + " --memory=" + std::to_string(least));
  Answer(options + " --memory=" + std::to_string(least - 1));
}

// Any limit between keeping everything and the least that computing again leaves.
TEST_F(Memory, ComputingAgainFitsWhatIsAllowed) {
  for (const char *model :
       {"examples/gpt.dpt --batch=64", "examples/gpt.dpt --batch=64 --strategy=pipeline --devices=2 --microbatches=4",
        "examples/gpt.dpt --batch=64 --strategy=zero --zero-stage=3 --devices=2"}) {
    SCOPED_TRACE(model);
    const std::string options = std::string(model) + " --recompute=auto";
    const long long most = Takes(model), least = Takes(options);
    EXPECT_LE(least, most);
    for (int k = 0; k <= 4; k++) {
      const long long allowed = least + (most - least) * k / 4;
      Must(Compile(options + " --memory=" + std::to_string(allowed)));
      std::remove(File("plan.bin").c_str());
    }
  }
  const std::string one = "examples/gpt.dpt --batch=64";
  EXPECT_LT(Takes(one + " --recompute=auto"), Takes(one) * 3 / 5);
}

TEST_F(Memory, NothingWouldFit) {
  std::string answer = Answer("examples/mlp.dpt --batch=64 --memory=10K");
  EXPECT_NE(answer.find("no smaller batch and no more devices or micro-batches would fit"), std::string::npos)
      << answer;
  EXPECT_NE(answer.find("10240 bytes"), std::string::npos) << answer;
}

TEST_F(Memory, BytesAreWholeNumbersWithAPowerOf1024) {
  for (const char *good : {"1000000", "977K", "1M", "1G", "1T"})
    Fits(std::string("examples/mlp.dpt --batch=64 --memory=") + good);
  for (const char *bad : {"0", "-1", "K", "1Q", "1KB", "1.5G", "99999999T", "9223372036854775808"})
    Refused(Compile(std::string("examples/mlp.dpt --batch=64 --memory=") + bad), 64, {"--memory", bad, "512M"});
}

}  // namespace
