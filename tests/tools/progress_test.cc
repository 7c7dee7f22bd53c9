// The progress line fits one line of the terminal, whatever its width.
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <regex>

#include "tests/tools/tool.h"

namespace {

class Progress : public Tools {
 protected:
  void SetUp() override {
    Tools::SetUp();
    int terminal, other;
    if (openpty(&terminal, &other, nullptr, nullptr, nullptr))
      GTEST_SKIP() << "no pseudo-terminal can be opened: " << std::strerror(errno) << " (is /dev/pts mounted?)";
    close(terminal);
    close(other);
  }

  // What `words` prints on a terminal with this many columns.
  std::string OnTerminal(unsigned short columns, std::vector<std::string> words) {
    winsize size = {24, columns, 0, 0};
    int terminal;
    pid_t pid = forkpty(&terminal, nullptr, nullptr, &size);
    if (!pid) {
      setenv("TERM", "xterm", 1);
      std::vector<char *> argv;
      for (std::string &word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(99);
    }
    std::string text;
    char buffer[4096];
    for (ssize_t r; (r = read(terminal, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(r));
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << text;
    close(terminal);
    return text;
  }
};

TEST_F(Progress, FitsTheTerminal) {
  Must("dpc compile examples/mlp.dpt --batch=8 -o " + File("plan.bin"));
  const std::string folder = "examples/data/digits/";
  for (unsigned short columns : {200, 80, 40, 20, 10}) {
    std::string text =
        OnTerminal(columns, {"tools/dprun", File("plan.bin"), "--data", "image=" + folder + "train-images-idx3-ubyte",
                             "--data", "label=" + folder + "train-labels-idx1-ubyte", "--epochs=2"});
    const std::regex line("\r([^\r\n\033]+)\033\\[K");
    int drawn = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; at++, drawn++) {
      const std::string shown = (*at)[1];
      EXPECT_LT(shown.size(), columns) << shown;
      EXPECT_NE(shown.find("/180"), std::string::npos) << shown;
      // Speed is dropped first, then the epoch, then the loss.
      if (columns >= 40) {
        EXPECT_NE(shown.find("loss "), std::string::npos) << shown;
        EXPECT_NE(shown.find("epoch "), std::string::npos) << shown;
        EXPECT_NE(shown.find("["), std::string::npos) << shown;
      }
      EXPECT_EQ(shown.find("samples/s") != std::string::npos, columns > 40) << shown;
    }
    EXPECT_GE(drawn, 2) << text;
  }
}

}  // namespace
