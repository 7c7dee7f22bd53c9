// Checkpoints that are damaged, and what else lies in their folder.
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "ir/base/base.h"
#include "tests/tools/checkpoints.h"

namespace {

// What is damaged is named and passed over; if nothing is left, training does not start afresh as if nothing had been.
class Damaged : public Checkpoints {
 protected:
  void SetUp() override {
    Checkpoints::SetUp();
    Must(Train(Save("whole") + "--steps=6"));
    Must(Train(Save("good") + "--steps=4 --save-every=2"));
  }
  void Fresh() { ASSERT_EQ(Shell("rm -rf " + File("run") + "; cp -r " + File("good") + " " + File("run")).code, 0); }
  // Goes on from step 2 although there was a step 4.
  void PassedOver(const std::string &what) {
    SCOPED_TRACE(what);
    Result result = Must(Train(Save() + "--resume --steps=6 --save-every=2 --keep=2"));
    EXPECT_NE(result.err.find("passed over a damaged checkpoint"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("step-4"), std::string::npos) << result.err;
    EXPECT_EQ(Names("run"), (Strings{"step-4", "step-6"}));
    EXPECT_TRUE(Weights(6) == Weights(6, "whole"));
    EXPECT_TRUE(Weights(4) == Weights(4, "good"));
  }
};

TEST_F(Damaged, AnythingMissingCutOrChanged) {
  std::minstd_rand random(11);
  for (const char *name : {"weights.safetensors", "checkpoint.json"}) {
    const std::string path = std::string("run/step-4/") + name, good = Read(File(std::string("good/step-4/") + name));
    Fresh();
    unlink(File(path).c_str());
    PassedOver(path + " is missing");
    Fresh();
    Write(path, "");
    PassedOver(path + " is empty");
    Fresh();
    Write(path, good.substr(0, good.size() / 2));
    PassedOver(path + " is cut");
    for (int i = 0; i < 8; i++) {
      std::string bad = good;
      const size_t at = random() % (bad.size() - 1);
      bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 7);
      Fresh();
      Write(path, bad);
      PassedOver(path + " has another bit at " + std::to_string(at));
    }
  }
  Fresh();
  ASSERT_EQ(Shell("cp " + File("run/step-2/weights.safetensors") + " " + File("run/step-4/")).code, 0);
  PassedOver("the weights are those of another step");
}

TEST_F(Damaged, AllOfThem) {
  Fresh();
  for (const char *step : {"2", "4"}) Write(std::string("run/step-") + step + "/checkpoint.json", "{}");
  Refused(Train(Save() + "--resume --steps=6"), 65, {"none of the 2 checkpoints", "passed over"});
  EXPECT_EQ(Names("run"), (Strings{"step-2", "step-4"}));
}

TEST_F(Damaged, WhatIsNotOursIsLeftAlone) {
  Fresh();
  Write("run/notes.txt", "mine");
  mkdir(File("run/step-007").c_str(), 0700);
  mkdir(File("run/.step-3.saving").c_str(), 0700);
  Write("run/.step-3.saving/weights.safetensors.abcdef", "half");
  mkdir(File("run/.step-2.deleting").c_str(), 0700);
  mkdir(File("run/.step-mine").c_str(), 0700);
  Must(Train(Save() + "--resume --steps=6 --keep=1"));
  EXPECT_EQ(Names("run"), (Strings{"notes.txt", "step-007", "step-6"}));
  EXPECT_EQ(Names("run", true), Strings{".step-mine"});
}

// The record with another number, and the check that belongs to it.
std::string With(const std::string &path, const char *name, int64_t number) {
  json_error_t error;
  json_t *record = json_load_file(path.c_str(), 0, &error);
  EXPECT_NE(record, nullptr) << error.text;
  json_object_del(record, "check");
  json_object_set_new(record, name, json_integer(number));
  char *text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS), check[17];
  snprintf(check, sizeof check, "%016llx", static_cast<unsigned long long>(dp_hash64(text, strlen(text))));
  free(text);
  json_object_set_new(record, "check", json_string(check));
  text = json_dumps(record, 0);
  const std::string whole = text;
  free(text);
  json_decref(record);
  return whole;
}

TEST_F(Damaged, ALaterVersionIsNotDamage) {
  Fresh();
  Write("run/step-4/checkpoint.json", With(File("good/step-4/checkpoint.json"), "version", 2));
  Refused(Train(Save() + "--resume --steps=6"), 69, {"step-4", "version 2"});
  Write("run/step-4/checkpoint.json", With(File("good/step-4/checkpoint.json"), "version", 1));
  Must(Train(Save() + "--resume --steps=6"));
  EXPECT_TRUE(Weights(6) == Weights(6, "whole"));
}

// Whoever made the check right as well: numbers that no training has.
TEST_F(Damaged, ImpossibleNumbers) {
  const int64_t most = INT64_MAX;
  const std::string good = File("good/step-4/checkpoint.json");
  for (const char *name : {"step", "epoch", "position", "batch", "samples"})
    for (int64_t number : {most, most / 2, int64_t(-1)}) {
      Fresh();
      Write("run/step-4/checkpoint.json", With(good, name, number));
      PassedOver(name + std::to_string(number));
    }
  Fresh();
  Write("run/step-4/checkpoint.json", With(good, "epoch", most / 16));
  Refused(Train(Save() + "--resume --steps=6"), 65, {"impossible", "epoch"});
  // Beyond the end of its epoch.
  Write("run/step-4/checkpoint.json", With(good, "position", most / 16));
  Must(Train(Save() + "--resume --epochs=1"));
}

}  // namespace
