// See tool.h.
#include "tests/tools/tool.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

extern char **environ;

#define DIGITS "examples/data/digits/"
const char digits[] = "--data image=" DIGITS "train-images-idx3-ubyte --data label=" DIGITS "train-labels-idx1-ubyte";
const char eval_digits[] =
    "--eval-data image=" DIGITS "test-images-idx3-ubyte --eval-data label=" DIGITS "test-labels-idx1-ubyte";

const char line_model[] = R"dpt(
model m {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.1)"
  input x: float64[N,1]
  input target: float64[N,1]
  parameter w: float64[1,1] = [1]
  y = MatMul(x, w)
  output y
}
)dpt";

double Event::operator[](const std::string &name) const {
  auto found = numbers.find(name);
  EXPECT_NE(found, numbers.end()) << "the event has no " << name;
  return found == numbers.end() ? NAN : found->second;
}

Tools::Tools() {
  const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = info->name();
  for (char &c : name)
    if (c == '/') c = '_';  // in the name of a parameterized test
  folder_ = std::string(getenv("TEST_TMPDIR")) + "/" + name;
  mkdir(folder_.c_str(), 0700);
}

Tools::~Tools() {
  if (!pid_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Tools::Start(const std::string &command) {
  std::istringstream in(command);
  std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  // Whole tests can run on another target: tests/passes/passes_helper.h.
  const char *target = getenv("DP_TEST_TARGET");
  if (target && words.size() > 1 && words[0] == "dpc" && words[1] == "compile")
    words.push_back(std::string("--target=") + target);
  words[0] = "tools/" + words[0];
  Spawn(words);
}

Result Tools::Shell(const std::string &script, const std::string &folder) {
  StartShell(script, folder);
  return Wait();
}

void Tools::StartShell(const std::string &script, const std::string &folder) {
  char here[4096];
  EXPECT_NE(getcwd(here, sizeof here), nullptr);
  std::string setup =
      std::string("PATH=") + here + "/tools:$PATH; cd \"" + (folder.empty() ? here : folder) + "\" || exit 99\n";
  Spawn({"/bin/sh", "-c", setup + script});
}

void Tools::Spawn(const std::vector<std::string> &words) {
  std::vector<char *> argv;
  for (const std::string &word : words) argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, File(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, File(".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_EQ(posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0) << words[0];
  posix_spawn_file_actions_destroy(&files);
}

void Tools::Signal(int number) { kill(pid_, number); }

Result Tools::Wait() {
  int status = 0;
  EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
  pid_ = 0;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), Read(File(".out")), Read(File(".err"))};
}

Result Tools::Run(const std::string &command) {
  Start(command);
  return Wait();
}

Result Tools::Must(const std::string &command) {
  Result result = Run(command);
  EXPECT_EQ(result.code, 0) << command << "\n" << result.err;
  return result;
}

void Tools::Refused(const std::string &command, int code, const std::vector<std::string> &words) {
  Result result = Run(command);
  EXPECT_EQ(result.code, code) << command << "\n" << result.out << result.err;
  for (const std::string &word : words)
    EXPECT_NE(result.err.find(word), std::string::npos) << command << "\nshould say " << word << "\n" << result.err;
  EXPECT_FALSE(result.err.empty()) << command;
  EXPECT_LT(result.err.size(), 1000u) << result.err;
}

std::string Tools::Write(const std::string &name, const std::string &content) const {
  std::ofstream(File(name), std::ios::binary) << content;
  return File(name);
}

std::string Tools::Read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool Tools::Exists(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

static std::vector<Event> AllMetrics(const std::string &path) {
  std::vector<Event> events;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    json_error_t error;
    json_t *object = json_loads(line.c_str(), JSON_REJECT_DUPLICATES, &error);
    EXPECT_TRUE(json_is_object(object)) << line;
    Event event;
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value) {
      if (json_is_string(value))
        event.event = json_string_value(value);
      else
        event.numbers[name] = json_is_null(value) ? NAN : json_number_value(value);
    }
    json_decref(object);
    events.push_back(event);
  }
  return events;
}

std::vector<Event> Tools::Metrics(const std::string &path) {
  std::vector<Event> events = AllMetrics(path);
  if (!events.empty() && events.back().event == "memory") events.pop_back();
  for (const Event &event : events) EXPECT_NE(event.event, "memory") << "not at the end";
  return events;
}

Event Tools::Memory(const std::string &path) {
  std::vector<Event> events = AllMetrics(path);
  return events.empty() ? Event() : events.back();
}

std::vector<double> Tools::Losses(const std::string &path) {
  std::vector<double> losses;
  for (const Event &event : Metrics(path))
    if (event.event == "step") losses.push_back(event["loss"]);
  return losses;
}
