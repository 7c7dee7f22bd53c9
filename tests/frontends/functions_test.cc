// ONNX's own node tests of operators that are composed of others, as files: functions/NAME.onnx, with inputs and
// outputs in NAME.safetensors. Uses neither Python nor the onnx library.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "ir/file/safetensors.h"
#include "tests/ir/text/text_helper.h"
#include "tools/embed/embed.h"

namespace {

const std::string kFolder = "tests/frontends/functions/";

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  DIR *folder = opendir(kFolder.c_str());
  for (dirent *entry; folder && (entry = readdir(folder));) {
    std::string name = entry->d_name;
    if (name.size() > 5 && name.substr(name.size() - 5) == ".onnx") names.push_back(name.substr(0, name.size() - 5));
  }
  if (folder) closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

class Functions : public testing::TestWithParam<std::string> {
 protected:
  Functions() {
    std::string path = kFolder + GetParam() + ".safetensors";
    EXPECT_EQ(dp_test::Message(dp_safetensors_open(arena_, path.c_str(), &file_)), "");
  }
  ~Functions() override {
    dp_embed_destroy(embed_);
    dp_safetensors_close(&file_);
  }
  // The bytes of tensor `name`, which must be as many as `like` has.
  std::string Stored(const std::string &name, const dp_embed_tensor &like) {
    const dp_safetensor *stored = dp_safetensors_find(&file_, name.c_str());
    if (!stored) {
      ADD_FAILURE() << "there is no " << name;
      return std::string(like.bytes, 0);
    }
    EXPECT_EQ(stored->tensor.dtype, like.dtype) << name;
    EXPECT_EQ(stored->tensor.rank, like.rank) << name;
    for (int d = 0; d < like.rank; d++) EXPECT_EQ(stored->tensor.extents[d], like.extents[d]) << name;
    std::string bytes(std::max(stored->tensor.bytes, size_t(like.bytes)), 0);
    EXPECT_EQ(dp_test::Message(dp_safetensors_read(&file_, stored, &bytes[0])), "");
    return bytes;
  }

  dp_test::Arena arena_;
  dp_safetensors file_{};
  dp_embed *embed_ = nullptr;
};

TEST_P(Functions, GiveWhatOnnxExpects) {
  std::ifstream in(kFolder + GetParam() + ".onnx", std::ios::binary);
  std::string model((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  char message[512] = "";
  ASSERT_EQ(dp_embed_compile(model.data(), model.size(), "m.onnx", nullptr, 1, &embed_, message, sizeof message), 0)
      << message;
  size_t n = 0;
  dp_embed_tensor tensor{};
  for (; dp_embed_input(embed_, n, &tensor); n++)
    memcpy(tensor.data, Stored(std::string("in ") + tensor.name, tensor).data(), tensor.bytes);
  ASSERT_EQ(dp_embed_run(embed_, message, sizeof message), 0) << message;
  size_t outputs = 0;
  for (; dp_embed_output(embed_, outputs, &tensor); outputs++) {
    std::string expected = Stored(std::string("out ") + tensor.name, tensor);
    size_t each = dp_type_bytes(dp_dtype(tensor.dtype));
    double slack = each == 2 ? 2e-3 : 1e-6;
    for (size_t at = 0; at < tensor.bytes; at += each) {
      double wanted = dp_element_get(dp_dtype(tensor.dtype), expected.data() + at);
      double found = dp_element_get(dp_dtype(tensor.dtype), static_cast<const char *>(tensor.data) + at);
      EXPECT_NEAR(found, wanted, slack * (1 + std::fabs(wanted))) << tensor.name << ", element " << at / each;
    }
  }
  EXPECT_EQ(n + outputs, file_.count) << "inputs and outputs";
}

INSTANTIATE_TEST_SUITE_P(Onnx, Functions, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

TEST(FunctionCases, AreThere) { EXPECT_GE(Cases().size(), 19u); }

}  // namespace
