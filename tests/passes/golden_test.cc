// Text -> pass -> text: every case of every .golden file in this folder and below.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

std::vector<GoldenCase> AllGoldens() {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const auto &entry : fs::recursive_directory_iterator("tests/passes"))
    if (entry.path().extension() == ".golden") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<GoldenCase> all;
  for (const std::string &file : files) {
    std::vector<GoldenCase> cases = ReadGoldens(file);
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::string NameOf(const testing::TestParamInfo<GoldenCase> &info) {
  std::string name = info.param.file.substr(0, info.param.file.size() - 7) + "_" + info.param.name;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, TextToText) {
  const GoldenCase &c = GetParam();
  std::string found = Transform(c.before, c.passes, c.options);
  if (c.exit_code)
    EXPECT_EQ(found + "\n", std::to_string(c.exit_code) + ": " + c.message);
  else
    EXPECT_EQ(found, c.after);
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(AllGoldens()), NameOf);

TEST(Goldens, AreThere) { EXPECT_GT(AllGoldens().size(), 20u); }

}  // namespace
}  // namespace dp_test
