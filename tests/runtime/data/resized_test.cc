// --augment image=resized:... chooses the parts that torchvision's RandomResizedCrop chooses of the same random
// numbers, and enlarges them as PyTorch does. make_resized.py made resized.txt with both.
#include "runtime/data/resized.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/data/augment.h"

namespace {

std::vector<std::string> Cases(const std::string &kind) {
  std::ifstream file("tests/runtime/data/resized.txt");
  std::vector<std::string> cases;
  for (std::string line; std::getline(file, line);)
    if (line.rfind(kind + " ", 0) == 0) cases.push_back(line.substr(kind.size()));
  return cases;
}

TEST(Resized, ChoosesWhatTorchvisionChooses) {
  const std::vector<std::string> cases = Cases("choose");
  EXPECT_EQ(cases.size(), 400u);
  for (const std::string &text : cases) {
    std::istringstream in(text);
    int64_t height, width, epoch, sample;
    uint64_t seed;
    double low, high;
    dp_part_of_picture part;
    in >> height >> width >> low >> high >> seed >> epoch >> sample >> part.top >> part.left >> part.height >>
        part.width;
    ASSERT_TRUE(in) << text;
    const dp_part_of_picture found = dp_resized_choose(low, high, height, width, seed, epoch, sample);
    EXPECT_EQ(found.top, part.top) << text;
    EXPECT_EQ(found.left, part.left) << text;
    EXPECT_EQ(found.height, part.height) << text;
    EXPECT_EQ(found.width, part.width) << text;
  }
}

std::vector<double> Numbers(std::istringstream &in, int64_t count) {
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double &number : numbers) in >> number;
  return numbers;
}

// Channels last here, planes one by one below: both layouts are used.
TEST(Resized, EnlargesAsPyTorchDoes) {
  const std::vector<std::string> cases = Cases("enlarge");
  EXPECT_EQ(cases.size(), 15u);
  for (const std::string &text : cases) {
    SCOPED_TRACE(text.substr(0, 40));
    std::istringstream in(text);
    std::string type;
    int64_t height, width, channels;
    dp_part_of_picture part;
    in >> type >> height >> width >> channels >> part.top >> part.left >> part.height >> part.width;
    const dp_dtype dtype = dp_type_from_name(type.c_str());
    const int64_t plane = height * width;
    const std::vector<double> picture = Numbers(in, plane * channels), expected = Numbers(in, plane * channels);
    ASSERT_TRUE(in);
    const size_t bytes = dp_type_bytes(dtype);
    std::vector<char> from(picture.size() * bytes), to(from.size()), last(from.size()), last_to(from.size());
    for (int64_t i = 0; i < plane * channels; i++) {
      const double value = picture[static_cast<size_t>(i)];
      dp_element_set(dtype, &from[static_cast<size_t>(i) * bytes], value);
      dp_element_set(dtype, &last[static_cast<size_t>(i % plane * channels + i / plane) * bytes], value);
    }
    for (int64_t c = 0; c < channels; c++)
      dp_resized_enlarge(dtype, 1, height, width, &part, &from[static_cast<size_t>(c * plane) * bytes],
                         &to[static_cast<size_t>(c * plane) * bytes]);
    dp_resized_enlarge(dtype, channels, height, width, &part, last.data(), last_to.data());
    const double tolerance = dtype == DP_FLOAT32 ? 2e-5 : dtype == DP_FLOAT64 ? 1e-11 : 0;
    for (int64_t i = 0; i < plane * channels; i++) {
      const double value = expected[static_cast<size_t>(i)];
      EXPECT_NEAR(dp_element_get(dtype, &to[static_cast<size_t>(i) * bytes]), value, tolerance) << i;
      const size_t place = static_cast<size_t>(i % plane * channels + i / plane);
      EXPECT_NEAR(dp_element_get(dtype, &last_to[place * bytes]), value, tolerance) << i;
    }
  }
}

// What --augment does to a sample is what the two above do; flip and crop come after it, by the same numbers as alone.
TEST(Resized, ComesBeforeFlipAndCrop) {
  const dp_type type = {DP_UINT8, {4, {{1, 0}, {0, 3}, {0, 12}, {0, 10}}}};
  dp_augment all = {}, resized = {}, moved = {};
  ASSERT_EQ(dp_augment_parse("flip,resized:0.2..0.6,crop:2", &all), DP_OK);
  ASSERT_EQ(dp_augment_parse("resized:0.2..0.6", &resized), DP_OK);
  ASSERT_EQ(dp_augment_parse("crop:2,flip", &moved), DP_OK);
  for (dp_augment *a : {&all, &resized, &moved}) ASSERT_EQ(dp_augment_fit("image", &type, 0, a), DP_OK);
  std::set<std::vector<uint8_t>> seen;
  for (int64_t sample = 0; sample < 50; sample++) {
    std::vector<uint8_t> picture(360), scratch(360), expected(360);
    for (size_t i = 0; i < picture.size(); i++) picture[i] = static_cast<uint8_t>(i * 37 % 251);
    std::vector<uint8_t> one = picture, two = picture;
    const dp_part_of_picture part = dp_resized_choose(0.2, 0.6, 12, 10, 5, 3, sample);
    EXPECT_GE(static_cast<double>(part.height * part.width), 0.1 * 120);
    EXPECT_LE(static_cast<double>(part.height * part.width), 0.7 * 120);
    for (size_t c = 0; c < 3; c++)
      dp_resized_enlarge(DP_UINT8, 1, 12, 10, &part, &picture[c * 120], &expected[c * 120]);
    dp_augment_run(&resized, 5, 3, sample, one.data(), scratch.data());
    EXPECT_EQ(one, expected) << sample;
    dp_augment_run(&moved, 5, 3, sample, one.data(), scratch.data());
    dp_augment_run(&all, 5, 3, sample, two.data(), scratch.data());
    EXPECT_EQ(two, one) << sample;
    seen.insert(two);
  }
  EXPECT_EQ(seen.size(), 50u);
}

TEST(Resized, AreasAreParsed) {
  for (const char *text : {"resized:0.08", "resized:1", "resized:0.25..0.5", "resized:1..1", "resized:0.5..1,flip"}) {
    dp_augment augment = {};
    EXPECT_EQ(dp_augment_parse(text, &augment), DP_OK) << text;
    EXPECT_GT(augment.area_min, 0) << text;
    EXPECT_EQ(augment.area_max, std::string(text).find("0.5", 10) == std::string::npos ? 1 : 0.5) << text;
  }
  for (const char *text : {"resized", "resized:", "resized:0", "resized:1.5", "resized:0.5..", "resized:0.5..0.4",
                           "resized:-1", "resized:nan", "resized:0.5x", "resized:0.5...1", "resized:0.5,resized:0.5"}) {
    dp_augment augment = {};
    dp_status status = dp_augment_parse(text, &augment);
    EXPECT_EQ(dp_status_code(status), EX_USAGE) << text;
    dp_status_free(status);
  }
}

}  // namespace
