// Runs passes on text, and reads the goldens with the expected results, for tests.
//
// A .golden file holds cases; each is text -> passes -> text, or the failure:
//
//   # Anything before the first case is prose.
//   === what the case shows
//   run cse dce                      (passes in order; a..b: all from a to b)
//   options batch=8 devices=2        (see Options::Set)
//   --- before
//   model m { ... }
//   --- after                        (notes come first, a line `note: ...` each)
//   model m { ... }
//
// or, instead of `--- after`: `--- fails 65` and the message on the next line.
#ifndef DP_TESTS_PASSES_PASSES_HELPER_H
#define DP_TESTS_PASSES_PASSES_HELPER_H

#include <list>
#include <string>
#include <vector>

#include "passes/base/pass.h"
#include "tests/ir/base/files.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {

// dp_options made from words, with the strings that they point at. The target is the CPU, unless
// DP_TEST_TARGET is set, by which whole tests run on another.
class Options {
 public:
  Options();
  Options(const Options &) = delete;
  Options &operator=(const Options &) = delete;
  // "batch=8", "devices=2", "mesh=data:2,tensor:2", "freeze=conv*", "split=x:1", "split=x:none", "precision=fp64",
  // "loss=...", any other string option by its name; "offload-bytes=1": of the target, which is named before it.
  // Separated by spaces.
  void Set(const std::string &words);
  dp_options options{};

 private:
  const char *Keep(const std::string &text);
  void SetOne(const std::string &key, const std::string &value);
  std::list<std::string> strings_;
  std::list<dp_target> targets_;
  std::vector<const char *> freeze_, groups_, normalize_, keep_fp32_;
  std::vector<dp_split> splits_;
};

// Runs the passes (as after `run` above) on a model, assuming that their needs are met. Returns "" or the failure as
// "65: message".
std::string RunPasses(dp_model *model, const std::string &passes, const dp_options &options);
// From the text of a model to the printed model, or the failure.
std::string Transform(const std::string &text, const std::string &passes, const std::string &options);

// A model compiled to a plan.
struct CompiledModel {
  Arena arena;
  Options options;
  dp_model *model = nullptr;  // its graphs are those of the last pass
  Dp__Plan *plan = nullptr;
  std::string failure;  // "" if it succeeds

  // options: as for Options::Set.
  CompiledModel(const std::string &text, const std::string &options);
  // The graphs of a program, by pipeline stage.
  std::vector<const dp_graph *> Stages(const std::string &program) const;
};

struct GoldenCase {
  std::string file, name, passes, options, before, after, message;
  int exit_code = 0;  // 0: succeeds
};
std::vector<GoldenCase> ReadGoldens(const std::string &path);
void PrintTo(const GoldenCase &c, std::ostream *out);

}  // namespace dp_test

#endif
