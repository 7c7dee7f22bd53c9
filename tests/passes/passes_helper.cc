#include "tests/passes/passes_helper.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backends/registry.h"
#include "passes/pipeline.h"

namespace dp_test {

Options::Options() {
  const char *target = getenv("DP_TEST_TARGET");
  options.target = dp_backend_find(target ? target : "cpu")->target;
}

const char *Options::Keep(const std::string &text) {
  strings_.push_back(text);
  return strings_.back().c_str();
}

static dp_dtype PrecisionOf(const std::string &name) {
  return name == "fp64" ? DP_FLOAT64 : name == "bf16" ? DP_BFLOAT16 : name == "fp16" ? DP_FLOAT16 : DP_FLOAT32;
}

void Options::SetOne(const std::string &key, const std::string &value) {
  const char *text = Keep(value);
  if (key == "batch") options.batch = atoll(text);
  if (key == "devices") options.devices = atoll(text);
  if (key == "threads") options.threads = atoi(text);
  if (key == "microbatches") options.microbatches = atoll(text);
  if (key == "zero-stage") options.zero_stage = atoll(text);
  if (key == "no-fuse") options.no_fuse = value == "yes";
  if (key == "calibrated" && value == "yes") {
    static const char *library = "a library 1.0";
    static dp_calibrated_choice choices[] = {{"a call", "a choice", 0, 0}, {"b call", "another choice", 0, 0}};
    static const dp_calibration calibration = {"a device", 1, &library, 2, choices};
    options.calibration = "a.json";
    options.calibrated = &calibration;
  }
  if (key == "fast-math") options.fast_math = text;
  if (key == "reproducible") options.reproducible = value == "yes";
  if (key == "plain-weights") options.plain_weights = value == "yes";
  if (key == "uploads") options.uploads = value == "yes";
  if (key == "recompute") options.recompute = text;
  if (key == "offload") options.offload = text;
  if (key == "offload-bytes") {  // of the target so far: its devices have memory of their own
    targets_.push_back(*options.target);
    targets_.back().offload_bytes = atof(text);
    options.target = &targets_.back();
  }
  if (key == "stop-after") options.stop_after = text;
  if (key == "precision") options.precision = PrecisionOf(value);
  if (key == "comm-precision") options.comm_precision = PrecisionOf(value);
  if (key == "keep-fp32") {
    keep_fp32_.push_back(text);
    options.n_keep_fp32 = int(keep_fp32_.size());
    options.keep_fp32 = keep_fp32_.data();
  }
  if (key == "target") options.target = dp_backend_find(text)->target;
  if (key == "strategy") options.strategy = text;
  if (key == "loss") options.loss = text;
  if (key == "optimizer") options.optimizer = text;
  if (key == "mode") options.mode = text;
  if (key == "layout") options.layout = text;
  if (key == "batchnorm") options.batchnorm = text;
  if (key == "clip-grad-at-bound") options.clip_grad_at_bound = text;
  if (key == "schedule") options.pipeline_schedule = text;
  if (key == "isa") options.isa = text;
  if (key == "mesh") {
    std::istringstream axes(value);
    for (std::string axis; std::getline(axes, axis, ',');) {
      size_t colon = axis.find(':');
      options.mesh.axes[options.mesh.n_axes++] = {Keep(axis.substr(0, colon)), atoll(axis.c_str() + colon + 1)};
    }
  }
  if (key == "freeze") {
    freeze_.push_back(text);
    options.n_freeze = int(freeze_.size());
    options.freeze = freeze_.data();
  }
  if (key == "group") {
    groups_.push_back(text);
    options.n_groups = int(groups_.size());
    options.groups = groups_.data();
  }
  if (key == "normalize") {
    normalize_.push_back(text);
    options.n_normalize = int(normalize_.size());
    options.normalize = normalize_.data();
  }
  if (key == "split") {
    size_t colon = value.find(':');
    std::string axis = value.substr(colon + 1);
    const size_t at = axis.find('@');
    splits_.push_back({Keep(value.substr(0, colon)), axis == "none" ? int(DP_SPLIT_NONE) : atoi(axis.c_str()),
                       at == std::string::npos ? nullptr : Keep(axis.substr(at + 1))});
    options.n_splits = int(splits_.size());
    options.splits = splits_.data();
  }
}

void Options::Set(const std::string &words) {
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    size_t equals = word.find('=');
    ASSERT_NE(equals, std::string::npos) << word;
    SetOne(word.substr(0, equals), word.substr(equals + 1));
  }
}

namespace {

std::vector<const dp_pass *> FindPasses(const std::string &words) {
  std::vector<const dp_pass *> found;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    size_t dots = word.find("..");
    std::string first = word.substr(0, dots), last = dots == std::string::npos ? first : word.substr(dots + 2);
    const dp_pass *const *p = dp_pipeline_passes();
    while (*p && (*p)->name != first) p++;
    for (; *p; p++) {
      found.push_back(*p);
      if ((*p)->name == last) break;
    }
    if (!*p) ADD_FAILURE() << "there is no pass '" << word << "'";
  }
  return found;
}

struct Run {
  dp_compile compile;
  std::vector<const dp_pass *> passes;
};

dp_status RunAll(void *arg) {
  Run *run = static_cast<Run *>(arg);
  for (const dp_pass *pass : run->passes) DP_TRY(dp_pipeline_run_pass(&run->compile, pass));
  return DP_OK;
}

std::string Failure(dp_status status) {
  int code = dp_status_code(status);
  return code ? std::to_string(code) + ": " + Message(status) : "";
}

}  // namespace

std::string RunPasses(dp_model *model, const std::string &passes, const dp_options &options) {
  Run run{{model, &options, ~0u, false, nullptr, nullptr}, FindPasses(passes)};
  return Failure(dp_arena_run(model->arena, RunAll, &run));
}

std::string Transform(const std::string &text, const std::string &passes, const std::string &words) {
  Arena arena;
  dp_model *model = nullptr;
  std::string message = Parse(arena, text, &model);
  if (!message.empty()) return message;
  Options options;
  options.Set(words);
  char *notes = nullptr;
  size_t bytes = 0;
  options.options.notes_to = open_memstream(&notes, &bytes);
  std::string failure = RunPasses(model, passes, options.options);
  fclose(options.options.notes_to);
  std::istringstream lines(notes);
  std::string said;
  for (std::string line; std::getline(lines, line);) said += "note: " + line + "\n";
  free(notes);
  if (!failure.empty()) return failure;
  std::string after = Print(model);
  // Whatever a pass makes must read back.
  EXPECT_EQ(Reprint(after), after);
  return said + after;
}

std::vector<GoldenCase> ReadGoldens(const std::string &path) {
  std::vector<GoldenCase> cases;
  std::ifstream in(path);
  std::string *block = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("=== ", 0) == 0) {
      cases.emplace_back();
      cases.back().file = path.substr(path.rfind('/') + 1);
      cases.back().name = line.substr(4);
      block = nullptr;
    } else if (cases.empty()) {
      continue;
    } else if (line == "--- before") {
      block = &cases.back().before;
    } else if (line == "--- after") {
      block = &cases.back().after;
    } else if (line.rfind("--- fails ", 0) == 0) {
      cases.back().exit_code = atoi(line.c_str() + 10);
      block = &cases.back().message;
    } else if (block) {
      *block += line + "\n";
    } else if (line.rfind("run ", 0) == 0) {
      cases.back().passes = line.substr(4);
    } else if (line.rfind("options ", 0) == 0) {
      cases.back().options = line.substr(8);
    }
  }
  for (GoldenCase &c : cases)
    for (std::string *text : {&c.before, &c.after, &c.message}) {
      while (text->size() > 1 && text->back() == '\n' && (*text)[text->size() - 2] == '\n') text->pop_back();
    }
  return cases;
}

void PrintTo(const GoldenCase &c, std::ostream *out) { *out << c.file << ": " << c.name; }

CompiledModel::CompiledModel(const std::string &text, const std::string &words) {
  options.Set(words);
  failure = Parse(arena, text, &model);
  if (failure.empty()) failure = Message(dp_pipeline_run(model, &options.options, &plan));
}

std::vector<const dp_graph *> CompiledModel::Stages(const std::string &program) const {
  std::vector<const dp_graph *> graphs;
  for (int g = 0; g < model->n_graphs; g++)
    if (model->graphs[g]->logical->name == program) graphs.push_back(model->graphs[g]);
  return graphs;
}

}  // namespace dp_test
