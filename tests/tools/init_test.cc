// --init: weights under other names, in several files, or only some of them.
#include <algorithm>
#include <map>

#include "tests/tools/tool.h"
#include "tests/tools/weights.h"

namespace {

class Init : public Tools {
 protected:
  void SetUp() override {
    Must("dpc compile examples/mlp.dpt --batch=64 -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + " --quiet --steps=3 --save=" + File("w.safetensors") + " " + digits);
    good_ = SplitWeights(Read(File("w.safetensors")));
    ASSERT_EQ(good_.size(), 4u);
  }
  std::string Join(const std::string &name, const Weights &weights) const { return Write(name, JoinWeights(weights)); }
  Weights Named(const std::string &before) const {
    Weights renamed;
    for (const auto &[name, t] : good_) renamed[before + name] = t;
    return renamed;
  }
  std::string Load(const std::string &options) const {
    return "dprun " + File("plan.bin") + " --steps=0 --save=" + File("again.safetensors") + " " + digits + " " +
           options;
  }
  // Loads all of the good weights.
  void LoadsAll(const std::string &options) {
    SCOPED_TRACE(options);
    const Result result = Must(Load(options));
    EXPECT_EQ(result.err.find("left out"), std::string::npos) << result.err;
    EXPECT_TRUE(Read(File("again.safetensors")) == Read(File("w.safetensors")));
  }
  Weights good_;
};

TEST_F(Init, OtherNames) {
  LoadsAll("--init=" + File("w.safetensors"));
  const std::string wrapped = Join("module.safetensors", Named("module."));
  LoadsAll("--init-prefix=module. --init=" + wrapped);
  Refused(Load("--init=" + wrapped), 65,
          {"missing, though the model has them: 'hidden.weight', 'hidden.bias'",
           "unexpected, as the model has none of that name: 'module.hidden.bias'"});
  Refused(Load("--init-prefix=modul. --init=" + wrapped), 65, {"--init-prefix=modul.", "no tensor"});
  // Some names have it, some have not, and one is another.
  Weights mixed = good_;
  for (const char *name : {"hidden.weight", "hidden.bias"}) {
    mixed[std::string("model.") + name] = mixed[name];
    mixed.erase(name);
  }
  mixed["model.head"] = mixed["output.bias"];
  mixed.erase("output.bias");
  const std::string file = Join("mixed.safetensors", mixed);
  LoadsAll("--init-prefix=model. --init-map model.head=output.bias --init=" + file);
  LoadsAll(
      "--init-map model.head=output.bias --init-map model.hidden.weight=hidden.weight --init-map "
      "model.hidden.bias=hidden.bias --init=" +
      file);
  Refused(Load("--init-prefix=model. --init-map model.haed=output.bias --init=" + file), 65,
          {"--init-map model.haed=output.bias", "did you mean 'model.head'"});
  Refused(Load("--init-prefix=model. --init-map model.head=output.weight --init=" + file), 65,
          {"two tensors are called 'output.weight'"});
  Refused(Load("--init-map head --init=" + file), 64, {"OLD=NEW"});
  for (const char *option : {"--init-map a=b", "--init-prefix=a", "--init-partial"})
    Refused("dprun " + File("plan.bin") + " " + digits + " " + option, 64, {"--init=W.safetensors"});
}

TEST_F(Init, AllThatDoesNotFitIsListed) {
  Weights other = good_;
  other["hidden.wieght"] = other["hidden.weight"];
  other.erase("hidden.weight");
  std::swap(other["output.weight"].shape[0], other["output.weight"].shape[1]);
  const std::string file = Join("other.safetensors", other);
  const std::vector<std::string> lists = {
      "missing, though the model has them: 'hidden.weight'\n",
      "unexpected, as the model has none of that name: 'hidden.wieght'; did you mean 'hidden.weight'?\n",
      "of another shape or type: 'output.weight' is float32[64,10], but the model has float32[10,64]"};
  Refused(Load("--init=" + file), 65, lists);
  EXPECT_FALSE(Exists(File("again.safetensors")));
  // With --init-partial the same lists are a notice; the rest is loaded, and what is missing has its initial value.
  const Result result = Must(Load("--init-partial --init=" + file));
  for (const std::string &list : lists) EXPECT_NE(result.err.find(list), std::string::npos) << result.err;
  const Weights loaded = SplitWeights(Read(File("again.safetensors")));
  Must("dprun " + File("plan.bin") + " --quiet --steps=0 --save=" + File("first.safetensors") + " " + digits);
  const Weights first = SplitWeights(Read(File("first.safetensors")));
  for (const auto &[name, t] : loaded) {
    const bool fits = name == "hidden.bias" || name == "output.bias";
    EXPECT_TRUE(t.data == (fits ? good_ : first).at(name).data) << name;
  }
  Refused(Load("--init-partial --init=" + Join("none.safetensors", {{"x", good_["hidden.bias"]}})), 65,
          {"none of its tensors fits"});
}

TEST_F(Init, SeveralFilesWithAnIndex) {
  auto index = [&](const std::map<std::string, std::string> &map) {
    std::string text;
    for (const auto &[name, file] : map) text += (text.empty() ? "\"" : ",\"") + name + "\":\"" + file + "\"";
    return Write("w.safetensors.index.json", "{\"metadata\":{\"total_size\":1},\"weight_map\":{" + text + "}}");
  };
  Weights one, two;
  std::map<std::string, std::string> map;
  for (const auto &[name, t] : good_) {
    const bool first = name.rfind("hidden", 0) == 0;
    (first ? one : two)["model." + name] = t;
    map["model." + name] = first ? "one.safetensors" : "two.safetensors";
  }
  Join("one.safetensors", one);
  Join("two.safetensors", two);
  const std::string options = "--init-prefix=model. --init=";
  LoadsAll(options + index(map));
  for (const char *file : {"one.safetensors", "two.safetensors"})
    Refused("dprun " + File("plan.bin") + " " + digits + " --save=" + File(file) + " " + options + index(map), 78,
            {"--save would overwrite --init", file});
  auto changed = [&](const std::string &name, const std::string &file) {
    std::map<std::string, std::string> other = map;
    other[name] = file;
    return options + index(other);
  };
  Refused(Load(changed("model.output.bias", "one.safetensors")), 65,
          {"index.json", "'model.output.bias' is in two.safetensors, but the index says one.safetensors"});
  Refused(Load(changed("model.more", "two.safetensors")), 65, {"lists 5 tensors", "have 4"});
  Refused(Load(changed("model.more", "three.safetensors")), 66, {"three.safetensors"});
  for (const char *file : {"../two.safetensors", "/etc/passwd", "..", ""})
    Refused(Load(changed("model.output.bias", file)), 65, {"not the name of a file beside the index"});
  map.erase("model.output.bias");
  Refused(Load(options + index(map)), 65,
          {"'model.output.bias' is in two.safetensors, but the index does not have it"});
  Refused(Load("--init=" + Write("x.json", "{")), 65, {"x.json", "not JSON"});
  Refused(Load("--init=" + Write("x.json", "[]")), 65, {"x.json", "weight_map"});
}

}  // namespace
