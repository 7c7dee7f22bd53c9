// Files for tests: reading one whole, and a fixture with a folder of its own.
#ifndef DP_TESTS_IR_BASE_FILES_H
#define DP_TESTS_IR_BASE_FILES_H

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace dp_test {

// The content of a file; the test fails if it cannot be read.
inline std::string ReadText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return text.str();
}

// Creates a folder before each test and removes it afterwards.
class FolderTest : public testing::Test {
 protected:
  std::string folder = testing::TempDir() + "folder_test." + std::to_string(getpid());
  void SetUp() override { ASSERT_EQ(mkdir(folder.c_str(), 0700), 0); }
  void TearDown() override { ASSERT_EQ(system(("rm -rf '" + folder + "'").c_str()), 0); }
  std::string Path(const std::string &name) const { return folder + "/" + name; }
  void Put(const std::string &name, const std::string &content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
  }
  std::string Get(const std::string &name) const { return ReadText(Path(name)); }
  // A message without the folder's path.
  std::string WithoutFolder(std::string message) const {
    for (size_t at; (at = message.find(folder + "/")) != std::string::npos;) message.erase(at, folder.size() + 1);
    return message;
  }
};

}  // namespace dp_test
#endif
