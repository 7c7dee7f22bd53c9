// Which initializers are trained. PyTorch's exporter says so, after its merging and folding is undone; if a file says
// nothing, shape and use decide. Each network is as small as possible; tests/torch/exporters.py has whole ones.
#include <cmath>
#include <cstring>

#include "tests/frontends/onnx_builder.h"

namespace {

// A model of the newer exporter, with its metadata.
struct Exported : Onnx {
  std::string signature = "\n# inputs\n", outputs = "\n# outputs\n";

  Exported() {
    model->producer_name = const_cast<char *>("pytorch");
    Input("x", FLOAT, {"N", "2"});
    signature += "x: USER_INPUT\n";
  }
  // Adds a parameter to the network, and to the file if it has numbers. `fx` is the target prefixed with p_ or b_.
  void Parameter(const std::string &target, const Integers &dims = {}, const std::vector<float> &numbers = {}) {
    Said(target, "PARAMETER", "p_", "", dims, numbers);
  }
  void Buffer(const std::string &target, bool persistent, const Integers &dims = {},
              const std::vector<float> &numbers = {}) {
    Said(target, "BUFFER", "b_", persistent ? "True" : "False", dims, numbers);
  }
  void Folded(const std::string &name, const std::string &list, const Integers &dims,
              const std::vector<float> &numbers) {
    Initializer(name, dims, numbers);
    About(name, "pkg.onnxscript.optimizer.folded_from", list);
  }
  // Makes it a node of the operation `name` = aten.OP(args).
  Dp__Onnx__Node *Of(Dp__Onnx__Node *node, const std::string &name, const std::string &op, const std::string &args,
                     const std::string &scopes = "") {
    About(node, "pkg.torch.onnx.fx_node",
          "%" + name + " : [num_users=1] = call_function[target=torch.ops.aten." + op + ".default](args = (" + args +
              "), kwargs = {})");
    if (!scopes.empty()) About(node, "pkg.torch.onnx.name_scopes", scopes);
    return node;
  }
  std::string Text(const std::string &output = "y") {
    Output(output);
    outputs += output + ": USER_OUTPUT\n";
    About("pkg.torch.export.ExportedProgram.graph_signature", signature + outputs);
    return Import();
  }

 private:
  void Said(const std::string &target, const std::string &kind, const std::string &prefix,
            const std::string &persistent, const Integers &dims, const std::vector<float> &numbers) {
    std::string fx = prefix + target;
    for (char &c : fx) c = c == '.' ? '_' : c;
    signature +=
        fx + ": " + kind + " target='" + target + "'" + (persistent.empty() ? "" : " persistent=" + persistent) + "\n";
    if (numbers.empty()) return;
    Initializer(target, dims, numbers);
    About(target, "pkg.torch.export.graph_signature.InputSpec.kind", kind);
    if (!persistent.empty()) About(target, "pkg.torch.export.graph_signature.InputSpec.persistent", persistent);
  }
};

// The lines that are not nodes.
std::string Kept(const std::string &text) {
  std::string kept;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    for (const char *word : {"parameter ", "buffer ", "constant ", "caveat "})
      if (!line.compare(0, strlen(word), word)) kept += line.substr(0, line.find(" = ")) + "\n";
    at = end + 1;
  }
  return kept;
}

std::string Caveat(const std::string &text) {
  size_t at = text.find("caveat \""), end = text.find(". Export it with ");
  return at == std::string::npos ? "" : text.substr(text.find(": ", at) + 2, end - text.find(": ", at) - 2);
}

TEST(OnnxParametersTest, TheFileSaysWhichTheyAre) {
  Exported m;
  m.Parameter("scale", {}, {2});
  m.Buffer("mean", true, {2}, {1, 2});
  m.Buffer("table", false, {2}, {3, 4});
  m.Initializer("val_1", {2}, std::vector<float>{5, 6});
  m.Of(m.Node("Sub", {"x", "mean"}, {"sub"}), "sub", "sub", "%x, %b_mean");
  m.Of(m.Node("Mul", {"sub", "table"}, {"mul"}), "mul", "mul", "%sub, %b_table");
  m.Of(m.Node("Mul", {"mul", "val_1"}, {"mul_1"}), "mul_1", "mul", "%mul, [5, 6]");
  m.Of(m.Node("Mul", {"mul_1", "scale"}, {"y"}), "y", "mul", "%mul_1, %p_scale");
  std::string text = m.Text();
  EXPECT_EQ(
      Kept(text),
      "buffer mean: float32[2]\nparameter scale: float32[]\nconstant table: float32[2]\nconstant val_1: float32[2]\n")
      << text;
}

// The optimizer keeps one of several equal initializers: of two new norms, or of a norm's scale and running statistics.
TEST(OnnxParametersTest, WhatWasMergedComesApart) {
  Exported m;
  m.Parameter("a.weight", {2}, {1, 1});
  m.Parameter("a.bias", {2}, {0, 0});
  m.Parameter("b.weight");
  m.Parameter("b.bias");
  m.Of(m.Node("LayerNormalization", {"x", "a.weight", "a.bias"}, {"h"}), "h", "layer_norm",
       "%x, [2], %p_a_weight, %p_a_bias, 1e-05, False");
  m.Of(m.Node("LayerNormalization", {"h", "a.weight", "a.bias"}, {"y"}), "y", "layer_norm",
       "%h, [2], %p_b_weight, %p_b_bias, 1e-05, False");
  std::string text = m.Text();
  EXPECT_EQ(Kept(text),
            "parameter a.weight: float32[2]\nparameter a.bias: float32[2]\nparameter b.weight: float32[2]\n"
            "parameter b.bias: float32[2]\n");
  EXPECT_NE(text.find("LayerNormalization(h, b.weight, b.bias)"), std::string::npos) << text;
}

// A scale that starts at zero, like its shift: they are told apart by position, not by value.
TEST(OnnxParametersTest, AScaleThatIsItsShiftsEqual) {
  Exported m;
  m.Parameter("n.weight");
  m.Parameter("n.bias", {2}, {0, 0});
  m.Of(m.Node("LayerNormalization", {"x", "n.bias", "n.bias"}, {"y"}), "y", "layer_norm",
       "%x, [2], %p_n_weight, %p_n_bias, 1e-05, False");
  EXPECT_NE(m.Text().find("LayerNormalization(x, n.weight, n.bias)"), std::string::npos);
}

// A linear layer whose input is a buffer, with a weight that a node transposes: the operands are not in the operation's
// order.
TEST(OnnxParametersTest, ALinearLayerOfABuffer) {
  Exported m;
  m.Parameter("fc.weight", {2, 2}, {1, 2, 3, 4});
  m.Buffer("table", true, {2}, {1, 2});
  const std::string args = "%b_table, %p_fc_weight";
  m.Of(m.Node("Transpose", {"fc.weight"}, {"turned"}), "linear", "linear", args);
  m.Of(m.Node("MatMul", {"table", "turned"}, {"linear"}), "linear", "linear", args);
  m.Of(m.Node("Add", {"x", "linear"}, {"y"}), "y", "add", "%x, %linear");
  std::string text = m.Text();
  EXPECT_EQ(Kept(text), "parameter fc.weight: float32[2,2]\nbuffer table: float32[2]\n") << text;
}

TEST(OnnxParametersTest, AConstantThatIsAParametersEqual) {
  Exported m;
  m.Parameter("scale", {}, {2});
  m.Of(m.Node("Mul", {"x", "scale"}, {"h"}), "h", "mul", "%x, %p_scale");
  m.Of(m.Node("Mul", {"h", "scale"}, {"y"}), "y", "mul", "%h, 2.0");
  std::string text = m.Text();
  EXPECT_EQ(Kept(text), "parameter scale: float32[]\nconstant scale/constant: float32[]\n") << text;
}

TEST(OnnxParametersTest, ATransposedWeightIsTheWeight) {
  Exported m;
  m.Parameter("fc.weight");
  m.Folded("val_3", "['fc.weight']", {2, 3}, {1, 2, 3, 4, 5, 6});
  m.Of(m.Node("MatMul", {"x", "val_3"}, {"y"}), "y", "linear", "%x, %p_fc_weight");
  std::string text = m.Text();
  EXPECT_NE(text.find("parameter fc.weight: float32[3,2] = tensor [1, 4, 2, 5, 3, 6]"), std::string::npos) << text;
  EXPECT_NE(text.find("Transpose(fc.weight) {perm=[1,0]}"), std::string::npos) << text;
}

// A head tied to an embedding, whose transpose is written again.
TEST(OnnxParametersTest, ATiedWeightIsOne) {
  for (bool honest : {true, false}) {
    Exported m;
    m.Parameter("tokens.weight");
    m.Parameter("head.weight", {2, 2}, {1, 2, 3, 4});
    m.Folded("val_9", "['head.weight']", {2, 2}, {1, 3, 2, honest ? 4.f : 5.f});
    m.Of(m.Node("Gemm", {"x", "head.weight"}, {"embedding"}), "embedding", "embedding", "%p_head_weight, %x",
         "['', 'tokens', 'embedding']");
    m.Node("Relu", {"embedding"}, {"h"});  // without its origin, so the file is incomplete
    m.Of(m.Node("MatMul", {"h", "val_9"}, {"y"}), "y", "linear", "%h, %p_head_weight", "['', 'head', 'linear']");
    std::string text = m.Text();
    EXPECT_EQ(Caveat(text), honest ? "" : "parameters that were folded into something: head.weight") << text;
    EXPECT_EQ(Kept(text).find("parameter head.weight: float32[2,2]\n") != std::string::npos, true) << text;
  }
}

TEST(OnnxParametersTest, WhatCannotBeTakenApartIsSaid) {
  Exported m;
  m.Parameter("g");
  m.Parameter("w");
  m.Parameter("b");
  m.Folded("div", "['g', 'mul', 'w']", {2, 2}, {1, 2, 3, 4});
  m.Of(m.Node("Gemm", {"x", "div"}, {"y"}), "y", "linear", "%x, %div, %p_b");
  std::string text = m.Text();
  EXPECT_EQ(Caveat(text), "parameters that were folded into something: g, w, b");
  EXPECT_NE(text.find("dynamo=True, optimize=False)"), std::string::npos);
}

// Exponents, for example: reported even if nothing shows how they were made, and even for a single parameter.
TEST(OnnxParametersTest, WhatIsComputedOfOneIsSaid) {
  Exported m;
  m.Parameter("t");
  m.Folded("exp", "['t']", {}, {2});
  m.Of(m.Node("Mul", {"x", "exp"}, {"y"}), "y", "mul", "%x, %exp");
  EXPECT_EQ(Caveat(m.Text()), "parameters that were folded into something: t");
}

// A rewriting rule of the optimizer may have put more into the weight than its transpose.
TEST(OnnxParametersTest, ARewrittenProductProvesNothing) {
  Exported m;
  m.Parameter("fc.weight");
  m.Folded("val_3", "['fc.weight']", {2, 2}, {1, 2, 3, 4});
  Dp__Onnx__Node *node = m.Of(m.Node("MatMul", {"x", "val_3"}, {"y"}), "y", "linear", "%x, %p_fc_weight");
  m.About(node, "pkg.onnxscript.rewriter.rule_name", "Fused");
  EXPECT_EQ(Caveat(m.Text()), "parameters that were folded into something: fc.weight");
}

TEST(OnnxParametersTest, WhatNormalizationWasFoldedInto) {
  Exported m;
  m.Parameter("conv.weight");
  m.Parameter("norm.weight");
  m.Buffer("norm.running_mean", true);
  m.Initializer("conv.weight", {2, 2}, std::vector<float>{1, 2, 3, 4});
  m.About("conv.weight", "other", "");
  m.Of(m.Node("Gemm", {"x", "conv.weight"}, {"y"}), "y", "_native_batch_norm_legit_no_training",
       "%conv2d, %p_norm_weight, None, %b_norm_running_mean, None, 0.1, 1e-05");
  EXPECT_EQ(Caveat(m.Text()),
            "parameters into which something was folded: conv.weight; parameters that were folded into something: "
            "norm.weight");
}

// The optimizer drops one of two initially equal layers, together with its parameters.
TEST(OnnxParametersTest, LayersThatWereMadeOne) {
  for (bool dropped : {true, false}) {
    Exported m;
    m.Parameter("a.weight", {2, 2}, {1, 2, 3, 4});
    m.Parameter("b.weight");
    m.Of(m.Node("Gemm", {"x", "a.weight"}, {"linear"}), "linear", "linear", "%x, %p_a_weight");
    m.Of(m.Node("Add", {"linear", "linear"}, {"y"}), "y", "add", dropped ? "%linear, %linear_1" : "%linear, %linear");
    EXPECT_EQ(Caveat(m.Text()), dropped ? "parameters that are not in it: b.weight" : "");
  }
}

// The same, but the second layer is the first one used again.
TEST(OnnxParametersTest, AUseThatWasMadeAnothers) {
  Exported m;
  m.Parameter("a.weight", {2, 2}, {1, 2, 3, 4});
  m.Parameter("b.weight");
  m.Of(m.Node("Gemm", {"x", "a.weight"}, {"linear"}), "linear", "linear", "%x, %p_a_weight");
  m.Of(m.Node("Add", {"linear", "linear"}, {"add"}), "add", "add", "%linear, %linear_1");
  m.Of(m.Node("Gemm", {"add", "a.weight"}, {"y"}), "y", "linear", "%add, %p_b_weight");
  EXPECT_EQ(Caveat(m.Text()), "operations of parameters that are equal now were made one");
}

// ---- modes ----------------------------------------------------------------------------------------------------------

// A normalization of two channels by operation `op`, with these arguments after the parameters.
std::string Norm(const std::string &op, const std::string &args) {
  Exported m;
  for (const char *name : {"n.weight", "n.bias"}) m.Parameter(name, {2}, {1, 2});
  for (const char *name : {"n.running_mean", "n.running_var"}) m.Buffer(name, true, {2}, {1, 3});
  m.Of(m.Node("BatchNormalization", {"x", "n.weight", "n.bias", "n.running_mean", "n.running_var"}, {"y"}), "y", op,
       "%x, %p_n_weight, %p_n_bias, %b_n_running_mean, %b_n_running_var, " + args);
  return m.Text();
}

TEST(OnnxParametersTest, BatchNormalizationTrainsAsItWasTraced) {
  std::string text = Norm("_native_batch_norm_legit_functional", "True, 0.1, 1e-05");
  EXPECT_NE(text.find("training_mode=1, unbiased=1"), std::string::npos) << text;
  EXPECT_EQ(Caveat(text), "");
  EXPECT_EQ(Caveat(Norm("_native_batch_norm_legit_no_training", "0.1, 1e-05")),
            "BatchNormalization is as in inference, with statistics that stay as they are");
}

// ReLU6 and hardtanh have no gradient at their bounds; clamp has one.
TEST(OnnxParametersTest, AClipIsOfWhatWasTraced) {
  auto clip = [](const std::string &op) {
    Exported m;
    m.Parameter("unused");
    m.ConstantFloat("six", 6);
    m.Of(m.Node("Clip", {"x", "", "six"}, {"y"}), "y", op, "%x, 0.0, 6.0");
    return m.Text();
  };
  EXPECT_NE(clip("hardtanh").find("Clip(x) {grad_at_bound=0, max=6.0}"), std::string::npos) << clip("hardtanh");
  EXPECT_NE(clip("clamp").find("Clip(x) {max=6.0}"), std::string::npos) << clip("clamp");
}

// nn.Embedding's padding_idx.
TEST(OnnxParametersTest, AGatherIsOfAnEmbeddingWithPadding) {
  auto embedding = [](const std::string &args) {
    Exported m;
    m.Parameter("w", {3, 2}, {1, 2, 3, 4, 5, 6});
    m.Node("Cast", {"x"}, {"ids"}, {m.Int("to", INT64)});
    m.Of(m.Node("Gather", {"w", "ids"}, {"y"}), "y", "embedding", args);
    return m.Text();
  };
  EXPECT_NE(embedding("%p_w, %ids, 0").find("padding_idx=0"), std::string::npos) << embedding("%p_w, %ids, 0");
  EXPECT_NE(embedding("%p_w, %ids, 2, False, True").find("padding_idx=2"), std::string::npos);
  EXPECT_EQ(embedding("%p_w, %ids").find("padding_idx"), std::string::npos);
  EXPECT_EQ(embedding("%p_w, %ids, -1").find("padding_idx"), std::string::npos);
}

// torch.Tensor.detach: a node if the file has one, else a caveat.
TEST(OnnxParametersTest, WhatIsDetachedHasNoGradient) {
  auto detached = [](bool held) {
    Exported m;
    m.Parameter("w", {2}, {1, 2});
    m.Of(m.Node("Mul", {"x", "w"}, {"mul"}), "mul", "mul", "%x, %p_w");
    if (held) m.Of(m.Node("Identity", {"mul"}, {"detach_1"}), "detach_1", "detach", "%mul");
    m.Of(m.Node("Mul", {held ? "detach_1" : "mul", "w"}, {"y"}), "y", "mul", "%detach_1, %p_w");
    return m.Text();
  };
  EXPECT_NE(detached(true).find("detach_1: float32[N,2] = Identity(mul) {detach=1}"), std::string::npos)
      << detached(true);
  EXPECT_EQ(Caveat(detached(true)), "");
  EXPECT_EQ(Caveat(detached(false)), "a detach() is not in the file (at 'detach_1')");
}

TEST(OnnxParametersTest, WhatHasNoGradientNeedNotBeDetached) {
  Exported m;
  m.Parameter("w", {2}, {1, 2});
  m.Of(m.Node("Identity", {"x"}, {"detach"}), "detach", "detach", "%x");
  m.Of(m.Node("Mul", {"detach", "w"}, {"y"}), "y", "mul", "%detach, %p_w");
  std::string text = m.Text();
  EXPECT_EQ(text.find("Identity"), std::string::npos) << text;
}

// The nodes of a torch.no_grad() block are those that were traced again.
TEST(OnnxParametersTest, BlocksWithoutGradient) {
  auto block = [](const std::string &op, const Names &inputs, const std::string &lines) {
    Exported m;
    m.Parameter("w", {2}, {1, 2});
    m.Of(m.Node("Mul", {"x", "w"}, {"mul"}), "mul", "mul", "%x, %p_w");
    auto *node = m.Of(m.Node(op, inputs, {"part"}), "part", "part", "%x");
    m.About(node, "pkg.torch.onnx.stack_trace", lines);
    m.Of(m.Node("Mul", {"mul", "x"}, {"y"}), "y", "mul", "%mul, %x");
    return Caveat(m.Text());
  };
  const std::string again = "File \"<eval_with_key>.232\", line 5, in forward\n    ...";
  const std::string once = "File \"network.py\", line 5, in forward\n    ...";
  EXPECT_EQ(block("Sin", {"mul"}, again),
            "'part' is in a block of torch.no_grad(), which the file does not hold (detach() in its place is held), or "
            "of torch.autocast, where nothing is lost and --as-exported is right");
  EXPECT_EQ(block("Sin", {"mul"}, once), "");
  EXPECT_EQ(block("Sin", {"x"}, again), "");
  EXPECT_EQ(block("Shape", {"mul"}, again), "");
}

TEST(OnnxParametersTest, AnEmbeddingsGradientByFrequency) {
  Exported m;
  m.Parameter("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  m.Node("Cast", {"x"}, {"ids"}, {m.Int("to", INT64)});
  m.Of(m.Node("Gather", {"w", "ids"}, {"y"}), "y", "embedding", "%p_w, %ids, -1, True");
  EXPECT_EQ(Caveat(m.Text()), "the gradient of embedding 'w' has scale_grad_by_freq=True, which is not supported");
}

TEST(OnnxParametersTest, DropoutThatWasLeftOut) {
  const std::string left_out = "Dropout is not in the file (at '", why =
                                                                       "'): it was exported as for inference, or its "
                                                                       "probability is 0, where nothing is lost and "
                                                                       "--as-exported is right";
  Exported plain, optimized, copy;
  plain.About(plain.Of(plain.Node("Identity", {"x"}, {"clone"}), "clone", "clone", "%x"),
              "pkg.torch.onnx.class_hierarchy", "['torch.nn.modules.dropout.Dropout', 'aten.clone.default']");
  plain.Of(plain.Node("Relu", {"clone"}, {"y"}), "y", "relu", "%clone");
  plain.Parameter("unused");
  EXPECT_EQ(Caveat(plain.Text()), left_out + "clone" + why);
  optimized.Of(optimized.Node("Relu", {"x"}, {"y"}), "y", "relu", "%clone_1");
  optimized.Buffer("unused", true);
  EXPECT_EQ(Caveat(optimized.Text()), left_out + "clone_1" + why);
  copy.Of(copy.Node("Relu", {"x"}, {"y"}), "y", "view", "%clone_1");
  copy.Buffer("unused", true);
  EXPECT_EQ(Caveat(copy.Text()), "");
}

// A network that normalizes by the batch was exported in training mode, so a missing Dropout has probability 0.
TEST(OnnxParametersTest, DropoutBesideWhatTrains) {
  for (bool training : {true, false}) {
    Exported m;
    for (const char *name : {"n.weight", "n.bias"}) m.Parameter(name, {2}, {1, 2});
    for (const char *name : {"n.running_mean", "n.running_var"}) m.Buffer(name, true, {2}, {1, 3});
    m.Of(m.Node("BatchNormalization", {"x", "n.weight", "n.bias", "n.running_mean", "n.running_var"}, {"n"}), "n",
         training ? "_native_batch_norm_legit_functional" : "_native_batch_norm_legit_no_training",
         "%x, %p_n_weight, %p_n_bias, %b_n_running_mean, %b_n_running_var, " + std::string(training ? "True, " : "") +
             "0.1, 1e-05");
    m.About(m.Of(m.Node("Identity", {"n"}, {"clone"}), "clone", "clone", "%n"), "pkg.torch.onnx.class_hierarchy",
            "['torch.nn.modules.dropout.Dropout', 'aten.clone.default']");
    m.Of(m.Node("Relu", {"clone"}, {"y"}), "y", "relu", "%clone");
    EXPECT_EQ(Caveat(m.Text()).find("Dropout") == std::string::npos, training);
  }
}

TEST(OnnxParametersTest, TheOlderExporterInInference) {
  Onnx m;
  m.model->producer_name = const_cast<char *>("pytorch");
  m.Input("x", FLOAT, {"N", "1", "3", "3"});
  m.Initializer("onnx::Conv_12", {1, 1, 1, 1}, std::vector<float>{1});
  m.Node("Conv", {"x", "onnx::Conv_12"}, {"y"});
  m.Output("y");
  std::string text = m.Import();
  EXPECT_EQ(Caveat(text), "'onnx::Conv_12' is a convolution and what follows it in one");
  EXPECT_NE(text.find("training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)"), std::string::npos);
}

// ---- files without metadata -----------------------------------------------------------------------------------------

std::string Guess(const std::string &op, const Names &inputs, const std::string &name, const Integers &dims,
                  const std::vector<float> &numbers) {
  Onnx m;
  m.Input("x", FLOAT, {"N", "2"});
  m.Initializer(name, dims, numbers);
  m.Node(op, inputs, {"y"});
  m.Output("y");
  return Kept(m.Import());
}

TEST(OnnxParametersTest, ConstantsByShapeOrUse) {
  EXPECT_EQ(Guess("Mul", {"x", "c"}, "c", {}, {0.5}), "constant c: float32[]\n");
  EXPECT_EQ(Guess("Add", {"x", "c"}, "c", {1}, {1e-5f}), "constant c: float32[1]\n");
  EXPECT_EQ(Guess("Pow", {"x", "c"}, "c", {2}, {2, 3}), "constant c: float32[2]\n");
  EXPECT_EQ(Guess("Add", {"x", "c"}, "c", {2}, {0, -3.4e38f}), "constant c: float32[2]\n");
  EXPECT_EQ(Guess("Add", {"x", "c"}, "c", {2}, {0, -INFINITY}), "constant c: float32[2]\n");
  EXPECT_EQ(Guess("Less", {"x", "c"}, "c", {2}, {1, 2}), "constant c: float32[2]\n");
}

TEST(OnnxParametersTest, ParametersByShapeUseOrName) {
  EXPECT_EQ(Guess("Add", {"x", "c"}, "c", {2}, {1, 2}), "parameter c: float32[2]\n");
  EXPECT_EQ(Guess("PRelu", {"x", "c"}, "c", {1}, {0.25}), "parameter c: float32[1]\n");
  EXPECT_EQ(Guess("Add", {"x", "fc.bias"}, "fc.bias", {1}, {1}), "parameter fc.bias: float32[1]\n");
  EXPECT_EQ(Guess("Pow", {"x", "p.weight"}, "p.weight", {}, {2}), "parameter p.weight: float32[]\n");
}

// PyTorch's older exporter names nodes after modules, and initializers as state_dict does; constants of the code get
// generated names.
std::string OfScript(const std::string &op, const std::string &name, const Integers &dims,
                     const std::vector<float> &numbers) {
  Onnx m;
  m.model->producer_name = const_cast<char *>("pytorch");
  m.Input("x", FLOAT, {"N", "2"});
  m.Initializer(name, dims, numbers);
  m.Node(op, {"x", name}, {"y"})->name = const_cast<char *>("/scale/Mul");
  m.Output("y");
  return Kept(m.Import());
}

TEST(OnnxParametersTest, TheOlderExporterNamesWhatTheModuleHas) {
  EXPECT_EQ(OfScript("Mul", "logit_scale", {}, {2.5}), "parameter logit_scale: float32[]\n");
  EXPECT_EQ(OfScript("Pow", "net.power", {1}, {2.5}), "parameter net.power: float32[1]\n");
  EXPECT_EQ(OfScript("Mul", "onnx::Mul_12", {}, {2.5}), "constant \"onnx::Mul_12\": float32[]\n");
  EXPECT_EQ(OfScript("Mul", "onnx::Mul_12", {2}, {2.5, 3}), "constant \"onnx::Mul_12\": float32[2]\n");
  EXPECT_EQ(OfScript("MatMul", "onnx::MatMul_12", {2, 2}, {1, 2, 3, 4}),
            "parameter \"onnx::MatMul_12\": float32[2,2]\n");
  EXPECT_EQ(OfScript("Mul", "12", {2}, {2.5, 3}), "constant \"12\": float32[2]\n");
  EXPECT_EQ(OfScript("Less", "threshold", {}, {2.5}), "constant threshold: float32[]\n");
  EXPECT_EQ(OfScript("Add", "mask", {2}, {0, -1e5}), "constant mask: float32[2]\n");
}

// It leaves padding_idx out. A row of zeros is taken for it if there is only one.
TEST(OnnxParametersTest, TheOlderExportersPadding) {
  auto embedding = [](const std::vector<float> &numbers, const char *producer) {
    Onnx m;
    m.model->producer_name = const_cast<char *>(producer);
    m.Input("x", INT64, {"N", "2"});
    m.Initializer("tokens.weight", {3, 2}, numbers);
    m.Node("Gather", {"tokens.weight", "x"}, {"rows"})->name = const_cast<char *>("/tokens/Gather");
    m.Initializer("third", {}, std::vector<int64_t>{2});
    m.Node("Shape", {"rows"}, {"shape"});
    m.Node("Gather", {"shape", "third"}, {"width"});  // does not read a table
    m.Node("Cast", {"width"}, {"divisor"}, {m.Int("to", FLOAT)});
    m.Node("Div", {"rows", "divisor"}, {"y"});
    m.Output("y");
    return m.Import();
  };
  std::string text = embedding({1, 2, 0, 0, 0, 3}, "pytorch");
  EXPECT_NE(text.find("padding_idx=1"), std::string::npos) << text;
  EXPECT_EQ(embedding({1, 2, 0, 0, 0, 3}, "another").find("padding_idx"), std::string::npos);
  EXPECT_EQ(embedding({1, 2, 0, 4, 0, 3}, "pytorch").find("padding_idx"), std::string::npos);
  EXPECT_EQ(embedding({0, 0, 0, 0, 0, 3}, "pytorch").find("padding_idx"), std::string::npos);
}

}  // namespace
