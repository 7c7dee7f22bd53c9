// Models as files: text or protobuf, told by content, with large tensors in a second file.
#include "ir/file/model_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/ir/base/files.h"
#include "tests/ir/text/text_helper.h"

namespace {

using dp_test::Arena;
using dp_test::Parse;
using dp_test::Print;

class ModelFile : public dp_test::FolderTest {
 protected:
  // Returns the model as text, or the message without the folder; *code is the exit code.
  std::string Read(const std::string &name, int *code = nullptr) {
    Arena arena;
    dp_model *model;
    dp_status status = dp_model_file_read(arena, Path(name).c_str(), &model);
    if (code) *code = dp_status_code(status);
    if (!status) return Print(model);
    return WithoutFolder(dp_test::Message(status));
  }
  void Write(const std::string &text, const std::string &name) {
    Arena arena;
    dp_model *model;
    ASSERT_EQ(Parse(arena, text, &model), "");
    ASSERT_EQ(dp_test::Message(dp_model_file_write(model, Path(name).c_str())), "");
  }
};

TEST_F(ModelFile, BothFormsReadBack) {
  Write(dp_test::kSource, "a.dpt");
  EXPECT_EQ(Get("a.dpt"), dp_test::kSource);
  Write(dp_test::kSource, "a.pb");
  EXPECT_EQ(Get("a.pb").substr(0, 2), std::string("\x08\x01", 2));
  EXPECT_EQ(Read("a.dpt"), dp_test::kSource);
  EXPECT_EQ(Read("a.pb"), dp_test::kSource);
  Put("b.bin", "// names do not matter\n" + std::string(dp_test::kSource));
  EXPECT_EQ(Read("b.bin"), dp_test::kSource);
  Put("b.dpt", Get("a.pb"));
  EXPECT_EQ(Read("b.dpt"), dp_test::kSource);
  EXPECT_NE(access(Path("a.pb.safetensors").c_str(), F_OK), 0);
}

std::string WithWeights(size_t count) {
  std::string digits;
  digits.resize((count * 4 + 2) / 3 * 4, 'A');
  for (size_t i = 0; i < digits.size() - 4; i++)
    digits[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[i * 7 % 61];
  if (count * 4 % 3 == 1) digits.replace(digits.size() - 4, 4, "AA==");
  if (count * 4 % 3 == 2) digits.replace(digits.size() - 4, 4, "AAA=");
  std::string type = "int32[" + std::to_string(count) + "]";
  return "model m {\n  opset 18\n  parameter w: " + type + " = tensor base64 \"" + digits +
         "\"\n  constant w2: " + type + " = base64 \"" + digits + "\"\n}\n";
}

TEST_F(ModelFile, LargeTensorsLieBeside) {
  std::string text = WithWeights((1 << 18) + 1);
  Write(text, "a.pb");
  EXPECT_LT(Get("a.pb").size(), 300u);
  EXPECT_GT(Get("a.pb.safetensors").size(), 2u << 20);
  EXPECT_EQ(Read("a.pb"), text);
  std::string small = WithWeights(1 << 18);
  Write(small, "b.pb");
  EXPECT_NE(access(Path("b.pb.safetensors").c_str(), F_OK), 0);
  EXPECT_EQ(Read("b.pb"), small);
}

TEST_F(ModelFile, LargeTensorsThatAreNotTheModels) {
  Write(WithWeights((1 << 18) + 1), "a.pb");
  std::string weights = Get("a.pb.safetensors");
  int code;
  std::string damaged = weights;
  damaged[damaged.size() - 5] ^= 1;
  Put("a.pb.safetensors", damaged);
  EXPECT_NE(Read("a.pb", &code).find("is not the one that a.pb was written with (its XXH3 differs)"),
            std::string::npos);
  EXPECT_EQ(code, EX_DATAERR);
  unlink(Path("a.pb.safetensors").c_str());
  EXPECT_NE(Read("a.pb", &code).find("a.pb keeps its large tensors in a file beside it: a.pb.safetensors"),
            std::string::npos);
  EXPECT_EQ(code, EX_NOINPUT);
  Write(WithWeights((1 << 18) + 2), "b.pb");
  Put("a.pb.safetensors", Get("b.pb.safetensors"));
  EXPECT_NE(Read("a.pb", &code).find("does not have the type and shape"), std::string::npos);
  EXPECT_EQ(code, EX_DATAERR);
  Put("a.pb.safetensors", weights.substr(0, weights.size() - 1));
  EXPECT_NE(Read("a.pb", &code).substr(0, 6), "model ");
  EXPECT_EQ(code, EX_DATAERR);
  ASSERT_EQ(unlink(Path("a.pb.safetensors").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("a.pb.safetensors").c_str(), 0600), 0);
  EXPECT_NE(Read("a.pb", &code).substr(0, 6), "model ");
  EXPECT_EQ(code, EX_DATAERR);
}

TEST_F(ModelFile, WhatIsNoModel) {
  int code;
  EXPECT_EQ(Read("none.dpt", &code), "none.dpt: cannot be read: No such file or directory");
  EXPECT_EQ(code, EX_NOINPUT);
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
  ASSERT_EQ(symlink("/dev/zero", Path("zero").c_str()), 0);
  for (const char *name : {"fifo", "folder", "zero"}) {
    EXPECT_EQ(Read(name, &code), std::string(name) + ": not a regular file");
    EXPECT_EQ(code, EX_DATAERR);
  }
  Put("empty", "");
  EXPECT_EQ(Read("empty", &code),
            "empty: expected a model as text (.dpt), protobuf (.pb) or ONNX (.onnx), but the file is empty");
  EXPECT_EQ(code, EX_DATAERR);
  Put("plan.bin", "DPPLAN\r\n and so on");
  EXPECT_EQ(Read("plan.bin", &code),
            "plan.bin: expected a model as text (.dpt), protobuf (.pb) or ONNX (.onnx), but this is a plan, which is "
            "already compiled; dprun executes it, dpc show prints it");
  EXPECT_EQ(code, EX_DATAERR);
  Put("page.html", "<!DOCTYPE html>");
  EXPECT_EQ(Read("page.html", &code).substr(0, 96),
            "page.html: neither a model's text, which begins with 'model', nor a complete protobuf: byte 0 of");
  EXPECT_EQ(code, EX_DATAERR);
}

TEST_F(ModelFile, AFileBeyondTwoGibibytesIsRefusedUnread) {
  int fd = open(Path("huge").c_str(), O_CREAT | O_WRONLY, 0600), code;
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, (off_t)3 << 30), 0);
  close(fd);
  EXPECT_EQ(Read("huge", &code).substr(0, 6), "huge: ");
  EXPECT_EQ(code, EX_DATAERR);
}

TEST_F(ModelFile, TruncatedAtEveryByteAndDamaged) {
  Write(dp_test::kSource, "a.pb");
  std::string whole = Get("a.pb");
  int code;
  for (size_t bytes = 0; bytes < whole.size(); bytes++) {
    Put("t.pb", whole.substr(0, bytes));
    Read("t.pb", &code);
    // Cut between two fields, a protobuf is valid again, but a model of this size is not legal.
    EXPECT_EQ(code, EX_DATAERR) << bytes;
  }
  uint64_t state = 99;
  for (int round = 0; round < 500; round++) {
    std::string damaged = whole;
    for (int i = round % 3; i >= 0; i--) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 33) % damaged.size()] = (char)(state >> 20);
    }
    Put("t.pb", damaged);
    std::string text = Read("t.pb", &code);
    if (code) continue;
    Put("t.dpt", text);
    EXPECT_EQ(Read("t.dpt", &code), text);
  }
}

}  // namespace
