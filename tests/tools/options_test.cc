// The options that a plan records. It records all that dpc compile accepts, and they are enough to compile it again to
// the same bytes. `dpc verify --against` compares them with the given ones.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "ir/plan/options.h"
#include "ir/plan/plan.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/hand_plan.h"
#include "tests/tools/tool.h"

namespace {

const char mlp[] = "examples/mlp.dpt";

// An option with a value that is not its default, another value, and what must be given with it.
struct Sample {
  const char *value, *other, *with;
  const char *model = mlp;
};
const std::map<std::string, Sample> kSamples = {
    {"strategy", {"zero", "data", "--devices=2"}},
    {"devices", {"3", "2", "--strategy=data"}},
    {"mesh", {"data=2,tensor=2", "tensor=2,data=2", ""}},
    {"microbatches", {"4", "2", ""}},
    {"schedule", {"gpipe", "1f1b", "--strategy=pipeline --devices=2"}},
    {"zero-stage", {"3", "1", "--strategy=zero --devices=2"}},
    {"target", {"cpu", "", ""}},
    {"memory", {"90000000", "80000000", ""}},
    {"threads", {"3", "2", ""}},
    {"isa", {"avx2", "avx512", ""}},
    {"batch", {"48", "32", ""}},
    {"loss", {"softmax_cross_entropy(logits,mine)", "softmax_cross_entropy(logits,label)", ""}},
    {"optimizer", {"adam(lr=0.01)", "adam(lr=0.02)", ""}},
    {"group", {"*.bias:weight_decay=0.1", "*.bias:lr_scale=2", ""}},
    {"metrics", {"top5", "confusion", ""}},
    {"mode", {"infer", "train", ""}},
    {"freeze", {"hidden.*", "hidden.weight", ""}},
    {"split", {"image=none", "image=2@context", "--strategy=data --mesh=data=2,context=2"}},
    {"train", {"hidden.*", "hidden.weight", "--freeze=hidden.weight"}},
    {"as-exported", {"yes", "", ""}},
    {"no-fuse", {"yes", "", ""}},
    {"layout", {"plain", "auto", "--target=cuda"}},
    {"fast-math", {"tf32", "tf32,winograd", "--target=cuda"}},
    {"reproducible", {"yes", "", ""}},
    {"calibration", {"tests/tools/calibration.json", "tests/tools/calibration_other.json", "--target=cuda"}},
    {"recompute", {"a", "h", ""}},
    {"offload", {"optimizer", "activations", "--target=cuda"}},
    {"dim",
     {"seq=4", "seq=5", "--loss=softmax_cross_entropy(logits,label) --optimizer=sgd(lr=0.1)",
      "tests/tools/open_dim.onnx"}},
    {"normalize",
     {"x=/255", "x=/128", "--dim=seq=4 --loss=softmax_cross_entropy(logits,label) --optimizer=sgd(lr=0.1)",
      "tests/tools/open_dim.onnx"}},
    {"precision", {"fp64", "fp32", ""}},
    {"keep-fp32", {"h", "a", "--precision=bf16"}},
    {"comm-precision", {"bf16", "fp32", ""}},
    {"batchnorm", {"local", "sync", ""}},
    {"clip-grad-at-bound", {"zero", "pass", ""}},
};
// Options that do not affect the plan.
const std::set<std::string> kOther = {"output", "print-after", "print-data", "stop-after",
                                      "why",    "help",        "usage",      "version"};

std::string NameOf(const ProtobufCFieldDescriptor &field) {
  std::string name = field.name;
  for (char &c : name) c = c == '_' ? '-' : c;
  return name;
}

class Options : public Tools {
 protected:
  // Compiles the model; returns the plan's path.
  std::string Compile(const std::string &model, const std::string &options, const std::string &name = "plan.bin") {
    Must("dpc compile " + model + " -o " + File(name) + " " + options);
    return File(name);
  }

  Dp__Plan *Open(const std::string &path) {
    Dp__Plan *plan = nullptr;
    EXPECT_EQ(dp_test::Message(dp_plan_read(arena_, path.c_str(), &plan)), "");
    return plan;
  }

  // A plan with a changed record, written again.
  std::string Changed(const std::string &path, const std::function<void(Dp__Plan *)> &change) {
    Dp__Plan *plan = Open(path);
    change(plan);
    EXPECT_EQ(dp_test::Message(dp_plan_write(plan, File("changed.bin").c_str())), "");
    return File("changed.bin");
  }

  // What the plan records of an option; "" if nothing.
  std::string Value(const std::string &path, const std::string &option) {
    dp_plan_option *options;
    const size_t n = dp_plan_options_list(arena_, Open(path)->options, &options);
    for (size_t i = 0; i < n; i++)
      if (options[i].name == option) return options[i].value;
    return "";
  }

  char *Text(const char *text) { return dp_strdup(arena_, text); }

  // The options that `dpc show` prints after `head`, without shell quotes.
  std::string Shown(const std::string &path, const std::string &head) {
    std::istringstream lines(Must("dpc show " + path).out);
    for (std::string line; std::getline(lines, line);) {
      size_t at = line.find(head);
      if (at != 2) continue;
      line.erase(0, at + head.size());
      line.erase(std::remove(line.begin(), line.end(), '\''), line.end());
      return line;
    }
    ADD_FAILURE() << "no line '" << head << "'";
    return "";
  }

  dp_test::Arena arena_;
};

TEST_F(Options, EachIsRecordedAndHeld) {
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++) {
    const std::string name = NameOf(dp__options__descriptor.fields[f]);
    if (name == "defaulted") continue;
    SCOPED_TRACE(name);
    ASSERT_TRUE(kSamples.count(name)) << "this test lacks a sample of the option";
    const Sample &s = kSamples.at(name);
    const bool flag = dp__options__descriptor.fields[f].type == PROTOBUF_C_TYPE_BOOL;
    const std::string given = "--" + name + (flag ? "" : "=" + std::string(s.value));
    const std::string plan = Compile(s.model, (name == "batch" ? "" : "--batch=64 ") + given + " " + s.with);
    dp_plan_option *options;
    size_t n = dp_plan_options_list(arena_, Open(plan)->options, &options), found = 0;
    for (size_t i = 0; i < n; i++)
      if (options[i].name == name) {
        EXPECT_STREQ(options[i].value, s.value);
        EXPECT_FALSE(options[i].defaulted);
        found++;
      }
    EXPECT_EQ(found, 1u);
    std::string verify = "dpc verify " + plan + " --against=" + s.model;
    if (name == "calibration") {  // no file is opened because a plan names it
      Refused(verify, 64, {given, "give it too"});
      Must(verify + " " + given);
      Refused(verify + " --" + name + "=" + s.other, 65, {s.other, s.value});
      continue;
    }
    EXPECT_NE(Must(verify).out.find(" " + given.substr(0, given.find('*')).substr(0, name.size() + 2)),
              std::string::npos)
        << "verify does not list what it takes from the plan";
    Must(verify + " " + given);
    if (*s.other) Refused(verify + " --" + name + "=" + s.other, 65, {"--" + name + "=" + s.other, s.value});
    if (name == "target" || name == "batch" || name == "strategy" || s.model != mlp)
      continue;  // there is no plan without it
    const std::string without = Compile(mlp, std::string("--batch=64 ") + s.with, "without.bin");
    if (Value(without, name) == s.value) continue;  // dpc chooses that itself, as the instruction set on some machines
    Refused("dpc verify " + without + " --against=" + mlp + " " + given, 65, {given});
  }
}

TEST_F(Options, DimsAreGivenToStandardInputToo) {
  const std::string model = "tests/tools/open_dim.onnx";
  const std::string shown = Must("dpc show " + model + " --dim seq=4").out;
  EXPECT_EQ(Shell("dpc show - --dim seq=4 < " + model).out, shown);
  EXPECT_EQ(Must("dpc show " + Write("shown.dpt", shown)).out, shown);
  const Result refused = Shell(std::string("dpc show - --dim seq=4 < ") + mlp);
  EXPECT_EQ(refused.code, 64);
  EXPECT_NE(refused.err.find("--dim seq=4: - is no ONNX file"), std::string::npos) << refused.err;
}

TEST_F(Options, NoneOfTheCommandLineIsForgotten) {
  const std::string help = Must("dpc compile --help").out;
  std::set<std::string> fields, found;
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++)
    fields.insert(NameOf(dp__options__descriptor.fields[f]));
  const std::regex option("\n +(?:-., )?--([a-z0-9-]+)");
  for (std::sregex_iterator i(help.begin(), help.end(), option), end; i != end; ++i) found.insert((*i)[1]);
  EXPECT_GE(found.size(), kSamples.size());
  for (const std::string &name : found)
    EXPECT_NE(fields.count(name), kOther.count(name)) << "--" << name << " is in both lists or in neither";
  for (const auto &sample : kSamples) EXPECT_TRUE(found.count(sample.first)) << sample.first;
}

// Options shown as given make the same plan again, byte for byte.
TEST_F(Options, WhatIsShownCompilesToTheSame) {
  const struct {
    const char *model, *options;
  } cases[] = {
      {mlp, "--batch=64"},
      {mlp, "--batch=64 --mode=infer"},
      {mlp, "--batch=20 --strategy=zero --zero-stage=3 --devices=3 --optimizer=adam(lr=0.1,clip_norm=1)"},
      {mlp, "--batch=64 --mesh=data=2,pipe=2,tensor=2 --freeze=hidden.* --freeze=output.bias"},
      {"examples/digits_cnn.dpt", "--batch=12 --strategy=pipeline --devices=2"},  // one micro-batch of eight
      {"examples/digits_cnn.dpt", "--batch=12 --strategy=data --devices=2 --batchnorm=local --precision=fp64"},
      {mlp, "--batch=64 --precision=bf16 --keep-fp32=h --comm-precision=bf16 --strategy=zero --devices=2"},
      {mlp, "--batch=64 --precision=fp16 --strategy=data --devices=2"},
      {mlp, "--batch=64 --strategy=pipeline --devices=2 --microbatches=4 --schedule=gpipe --memory=400K"},
      {mlp, "--batch=64 --strategy=tensor --devices=2 --split image=0 --isa=avx2 --threads=2"},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(std::string(c.model) + " " + c.options);
    const std::string plan = Compile(c.model, c.options);
    const std::string again = Compile(c.model, Shown(plan, "compiled with"), "again.bin");
    EXPECT_EQ(Read(again), Read(plan));
    Must("dpc verify " + plan + " --against=" + c.model);
    // Giving dpc's own defaults explicitly makes no difference.
    if (!strstr(c.options, "pipeline")) {
      const std::string all = Compile(c.model, Shown(plan, "compiled with") + Shown(plan, "by default"), "all.bin");
      Dp__Plan *first = Open(plan), *second = Open(all);
      const char *a, *b;
      EXPECT_EQ(dp_plan_options_differ(arena_, first->options, second->options, &a, &b), nullptr);
      first->options = second->options = nullptr;
      EXPECT_EQ(dp_test::Message(dp_plan_write(first, File("first.bin").c_str())), "");
      EXPECT_EQ(dp_test::Message(dp_plan_write(second, File("second.bin").c_str())), "");
      EXPECT_EQ(Read(File("first.bin")), Read(File("second.bin")));
    }
  }
}

TEST_F(Options, NothingIsHeldWithoutAModel) {
  const std::string plan = Compile(mlp, "--batch=64");
  Refused("dpc verify " + plan + " --batch=64", 64, {"--batch", "--against=MODEL"});
  Refused("dpc verify " + plan + " --against=" + mlp + " --bach=64", 64, {"--bach", "did you mean 'batch'"});
  Refused("dpc verify " + plan + " --against=" + mlp + " --batch=x", 64, {"--batch=x"});
  Refused("dpc verify " + plan + " --against=" + mlp + " --why", 64, {"--why"});
}

// A record that does not match how the plan was made, although nothing else in the plan contradicts it.
TEST_F(Options, ALieIsFoundByCompilingAgain) {
  const std::string zero = Compile(mlp, "--batch=64 --strategy=zero --zero-stage=3 --devices=2");
  auto refused = [&](const std::string &plan, const std::vector<std::string> &words) {
    Must("dpc verify " + plan);
    Refused("dpc verify " + plan + " --against=" + mlp, 65, words);
  };
  auto defaulted = [&](Dp__Plan *plan, const char *name) {
    Dp__Options *o = plan->options;
    dp_test::Append(arena_, &o->n_defaulted, &o->defaulted, Text(name));
  };
  refused(Changed(zero, [&](Dp__Plan *plan) { defaulted(plan, "zero-stage"); }), {"--zero-stage=1", "3"});
  refused(Changed(zero, [&](Dp__Plan *plan) { plan->options->zero_stage = 7; }), {"--zero-stage=7"});
  refused(Changed(zero,
                  [&](Dp__Plan *plan) {
                    plan->options->memory = 5;
                    defaulted(plan, "memory");
                  }),
          {"--memory"});
  char *glob = Text("hidden.*");
  refused(Changed(zero,
                  [&](Dp__Plan *plan) {
                    plan->options->freeze = &glob;
                    plan->options->n_freeze = 1;
                  }),
          {"keeps 12 values"});
  const std::string adam = Compile(mlp, "--batch=64 --optimizer=adam(lr=0.01)", "adam.bin");
  refused(Changed(adam, [&](Dp__Plan *plan) { defaulted(plan, "optimizer"); }), {"sgd", "adam(lr=0.01)"});
  const std::string local =
      Compile("examples/digits_cnn.dpt", "--batch=64 --batchnorm=local --strategy=data --devices=2");
  const std::string sync = Changed(local, [&](Dp__Plan *plan) { plan->options->batchnorm = Text("sync"); });
  Refused("dpc verify " + sync + " --against=examples/digits_cnn.dpt", 65, {"keeps 41 values"});
}

// Another program's plan may record nothing. The user then gives the options to the verifier.
TEST_F(Options, APlanThatRecordsNone) {
  const std::string how = "--batch=64 --strategy=data --devices=2 --optimizer=adam(lr=0.01)";
  const std::string plan = Changed(Compile(mlp, how), [](Dp__Plan *p) { p->options = nullptr; });
  const std::string verify = "dpc verify " + plan + " --against=" + mlp + " ";
  EXPECT_EQ(Must("dpc show " + plan).out.find("compiled with"), std::string::npos);
  EXPECT_NE(Must(verify + how).out.find("records none"), std::string::npos);
  Refused(verify, 64, {"--batch"});
  Refused(verify + "--batch=64", 65, {"--strategy", "single"});
  Refused(verify + "--batch=64 --strategy=data --devices=2", 65, {"--optimizer"});
  Refused(verify + "--batch=32 --strategy=data --devices=2 --optimizer=adam(lr=0.01)", 65, {"--batch"});
}

}  // namespace
