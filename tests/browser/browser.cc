#include "tests/browser/browser.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <jansson.h>
#include <png.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace {

constexpr int kPatienceMs = 60000;

using Json = std::unique_ptr<json_t, void (*)(json_t *)>;

Json Parse(const std::string &text) {
  return Json(json_loadb(text.data(), text.size(), JSON_ALLOW_NUL, nullptr), [](json_t *j) { json_decref(j); });
}

const json_t *At(const json_t *value, const std::vector<const char *> &names) {
  for (const char *name : names) value = json_object_get(value, name);
  return value;
}

std::string Text(const json_t *value) {
  if (json_is_string(value)) return json_string_value(value);
  if (!value) return "";
  char *dump = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  const std::string text = dump ? dump : "";
  free(dump);
  return text;
}

std::string Quoted(const std::string &text) {
  const Json value(json_stringn(text.data(), text.size()), [](json_t *j) { json_decref(j); });
  char *dump = json_dumps(value.get(), JSON_ENCODE_ANY);
  const std::string quoted = dump;
  free(dump);
  return quoted;
}

std::string FromBase64(const std::string &text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    const char *digit = strchr(digits, c);
    if (!digit || !c) break;
    bits = bits << 6 | static_cast<unsigned>(digit - digits);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  return bytes;
}

Picture FromPng(const std::string &data) {
  Picture picture;
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, data.data(), data.size())) return picture;
  image.format = PNG_FORMAT_RGB;
  std::vector<unsigned char> bytes(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr)) return picture;
  picture.width = static_cast<int>(image.width);
  picture.height = static_cast<int>(image.height);
  for (size_t i = 0; i + 2 < bytes.size(); i += 3)
    picture.pixels.push_back(static_cast<unsigned>(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]));
  return picture;
}

// The child's side: the protocol is on descriptors 3 and 4.
[[noreturn]] void Become(int commands, int answers, const std::string &folder) {
  const int in = fcntl(commands, F_DUPFD, 10), out = fcntl(answers, F_DUPFD, 10);
  dup2(in, 3);
  dup2(out, 4);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, 0);
  dup2(nothing, 1);
  dup2(nothing, 2);
  const std::string profile = "--user-data-dir=" + folder;
  for (const char *program : {"chromium-headless-shell", "chromium"})
    execlp(program, program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
           "--disable-dev-shm-usage", profile.c_str(), "--remote-debugging-pipe", "about:blank", nullptr);
  _exit(127);
}

}  // namespace

Browser::Browser() {
  int commands[2], answers[2];
  const char *folder = getenv("TEST_TMPDIR");
  folder_ = std::string(folder ? folder : "/tmp") + "/browser";
  signal(SIGPIPE, SIG_IGN);
  if (pipe2(commands, O_CLOEXEC) || pipe2(answers, O_CLOEXEC)) {
    problem_ = "no pipes";
    return;
  }
  pid_ = fork();
  if (!pid_) Become(commands[0], answers[1], folder_);
  close(commands[0]);
  close(answers[1]);
  out_ = commands[1];
  in_ = answers[0];
  const Json made = Parse(Call("Target.createTarget", R"({"url":"about:blank"})", false));
  const std::string target = Text(At(made.get(), {"targetId"}));
  const Json attached =
      Parse(Call("Target.attachToTarget", R"({"flatten":true,"targetId":)" + Quoted(target) + "}", false));
  session_ = Text(At(attached.get(), {"sessionId"}));
  if (session_.empty())
    problem_ = "Chromium cannot be run (chromium-headless-shell or chromium): tools/setup --browser installs it";
  else
    for (const char *domain : {"Page", "Runtime", "Log", "Network"}) Call(std::string(domain) + ".enable", "{}");
}

Browser::~Browser() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(in_);
  close(out_);
}

bool Browser::Receive(std::string *message) {
  for (;;) {
    const size_t end = received_.find('\0');
    if (end != std::string::npos) {
      *message = received_.substr(0, end);
      received_.erase(0, end + 1);
      return true;
    }
    pollfd ready = {in_, POLLIN, 0};
    char bytes[65536];
    if (poll(&ready, 1, kPatienceMs) <= 0) return false;
    const ssize_t n = read(in_, bytes, sizeof bytes);
    if (n <= 0) return false;
    received_.append(bytes, static_cast<size_t>(n));
  }
}

void Browser::Take(const std::string &event) {
  const Json json = Parse(event);
  const std::string method = Text(At(json.get(), {"method"}));
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Runtime.exceptionThrown" || method == "Runtime.consoleAPICalled" || method == "Log.entryAdded")
    errors_.push_back(event.substr(0, 500));
  if (method == "Network.requestWillBeSent") requests_.push_back(Text(At(json.get(), {"params", "request", "url"})));
}

std::string Browser::Call(const std::string &method, const std::string &parameters, bool page) {
  const int id = ++calls_;
  std::string message = R"({"id":)" + std::to_string(id) + R"(,"method":")" + method + "\"";
  if (page) message += R"(,"sessionId":)" + Quoted(session_);
  message += R"(,"params":)" + parameters + "}";
  message.push_back('\0');
  if (write(out_, message.data(), message.size()) != static_cast<ssize_t>(message.size())) return "";
  for (std::string answer; Receive(&answer);) {
    const Json json = Parse(answer);
    if (json_integer_value(At(json.get(), {"id"})) != id) {
      Take(answer);
      continue;
    }
    if (At(json.get(), {"error"})) ADD_FAILURE() << method << ": " << answer;
    return Text(At(json.get(), {"result"}));
  }
  return "";
}

void Browser::Open(const std::string &path, int width, int height, bool dark) {
  Call("Emulation.setDeviceMetricsOverride", R"({"deviceScaleFactor":1,"mobile":false,"width":)" +
                                                 std::to_string(width) + R"(,"height":)" + std::to_string(height) +
                                                 "}");
  Call("Emulation.setEmulatedMedia",
       R"({"features":[{"name":"prefers-color-scheme","value":")" + std::string(dark ? "dark" : "light") + "\"}]}");
  errors_.clear();
  requests_.clear();
  loaded_ = false;
  Call("Page.navigate", R"({"url":)" + Quoted("file://" + path) + "}");
  for (std::string event; !loaded_ && Receive(&event);) Take(event);
  EXPECT_TRUE(loaded_) << path;
}

std::string Browser::Value(const std::string &expression) {
  const Json json =
      Parse(Call("Runtime.evaluate", R"({"returnByValue":true,"expression":)" + Quoted(expression) + "}"));
  EXPECT_FALSE(At(json.get(), {"exceptionDetails"})) << expression;
  return Text(At(json.get(), {"result", "value"}));
}

double Browser::Number(const std::string &expression) { return atof(Value(expression).c_str()); }

Picture Browser::Shot(double x, double y, double width, double height) {
  char clip[256];
  snprintf(clip, sizeof clip,
           R"({"captureBeyondViewport":true,"clip":{"x":%g,"y":%g,"width":%g,"height":%g,"scale":1}})", x, y, width,
           height);
  const Json json = Parse(Call("Page.captureScreenshot", clip));
  return FromPng(FromBase64(Text(At(json.get(), {"data"}))));
}

void Browser::Mouse(const std::string &type, double x, double y, int clicks) {
  char event[256];
  snprintf(event, sizeof event, R"({"type":"%s","x":%g,"y":%g,"button":"left","buttons":%d,"clickCount":%d})",
           type.c_str(), x, y, type != "mouseReleased", clicks);
  Call("Input.dispatchMouseEvent", event);
}

void Browser::Drag(double from_x, double to_x, double y) {
  Mouse("mousePressed", from_x, y, 1);
  Mouse("mouseMoved", (from_x + to_x) / 2, y, 1);
  Mouse("mouseMoved", to_x, y, 1);
  Mouse("mouseReleased", to_x, y, 1);
}

void Browser::DoubleClick(double x, double y) {
  for (int click = 1; click <= 2; click++) {
    Mouse("mousePressed", x, y, click);
    Mouse("mouseReleased", x, y, click);
  }
}

std::vector<std::string> Browser::Errors() {
  Value("1");  // what was reported before is received before its answer
  return errors_;
}
