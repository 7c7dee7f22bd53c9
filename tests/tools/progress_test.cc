// The progress line fits one line of the terminal, whatever its width.
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <regex>
#include <sstream>

#include "tests/tools/array.h"
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
      // Speed is dropped first, then the time that is left, then the epoch, then the loss.
      if (columns >= 40) {
        EXPECT_NE(shown.find("loss "), std::string::npos) << shown;
        EXPECT_NE(shown.find("epoch "), std::string::npos) << shown;
        EXPECT_NE(shown.find("["), std::string::npos) << shown;
      }
      EXPECT_EQ(shown.find("samples/s") != std::string::npos, columns > 40) << shown;
      const std::regex left("^epoch [12]/2 \\[[#.]{8,30}\\] .*  [0-9]+:[0-9]{2} left$");
      EXPECT_EQ(std::regex_search(shown, left), columns > 40) << shown;
    }
    EXPECT_GE(drawn, 2) << text;
    EXPECT_EQ(text.find("\033["), text.find("\033[K")) << "nothing but the end of a line is erased";
    EXPECT_EQ(std::regex_replace(text, std::regex("\033\\[K"), "").find('\033'), std::string::npos) << "colours";
    EXPECT_TRUE(std::regex_search(text, std::regex("2/2\\s+loss\\s"))) << text;
  }
}

// Lines about epochs and about the whole run are broken between words where they do not fit, and lose none.
TEST_F(Progress, LinesFitTheTerminal) {
  const std::string folder = "examples/data/digits/";
  Must("dpc compile examples/mlp.dpt --batch=64 --strategy=data --devices=2 --metrics=accuracy,top5 -o " +
       File("plan.bin"));
  const std::string number = "[0-9.e+-]+", measured = "loss " + number + " accuracy " + number + " % top5 " + number;
  const std::regex words(" epoch 2/2 " + measured + " % [0-9]+ samples/s eval " + measured + " % memory: .* of " +
                         "libraries, data and tables [^ ]*: .* of it during computation accuracy " + number + " % $");
  for (unsigned short columns : {200, 100, 60, 40, 30}) {
    SCOPED_TRACE(columns);
    std::string text =
        OnTerminal(columns, {"tools/dprun", File("plan.bin"), "--data", "image=" + folder + "train-images-idx3-ubyte",
                             "--data", "label=" + folder + "train-labels-idx1-ubyte", "--eval-data",
                             "image=" + folder + "test-images-idx3-ubyte", "--eval-data",
                             "label=" + folder + "test-labels-idx1-ubyte", "--epochs=2", "--trace=" + File("t.json")});
    text = std::regex_replace(text, std::regex("\r(?!\n)[^\n\033]*\033\\[K"), "");  // bars
    text.erase(std::remove(text.begin(), text.end(), '\r'), text.end());
    EXPECT_EQ(text.find('\033'), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool is_one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;  // a path
      EXPECT_TRUE(is_one_word || line.size() < columns) << line;
    }
    EXPECT_TRUE(std::regex_search(std::regex_replace(" " + text, std::regex("\\s+"), " "), words)) << text;
    // Between figures, not within them.
    EXPECT_EQ(text.find("\nepoch 2/2  loss "), text.rfind("\nepoch 2/2")) << text;
    if (columns < 100 && columns >= 40) {
      EXPECT_TRUE(std::regex_search(text, std::regex(" %\n  [a-z0-9]"))) << text;
    }
  }
}

// Where no label counts there is nothing to take the mean of, and the lines say so. x86 gives such a NaN a sign.
TEST_F(Progress, NoLabelCounts) {
  Write("m.dpt",
        "model m {\n  opset 18\n  loss \"softmax_cross_entropy(y,label)\"\n  optimizer \"sgd(lr=0.1)\"\n"
        "  input x: float32[N,3]\n  input label: int64[N]\n  parameter w: float32[3,5] = kaiming_uniform(3)\n"
        "  y = MatMul(x, w)\n  output y\n}\n");
  Must("dpc compile " + File("m.dpt") + " --batch=2 --metrics=accuracy -o " + File("m.bin"));
  const std::string x = "x=" + Write("x.npy", Npy({3, 3}, std::vector<double>(9, 0.5)));
  const std::string ignored = "label=" + Write("ignored.npy", Npy({3}, std::vector<double>(3, -100)));
  const std::string counted = "label=" + Write("counted.npy", Npy({3}, {-100, 1, -100}));
  const std::string run = "dprun " + File("m.bin") + " --metrics=" + File("m.jsonl") + " --data " + x + " --data ";
  const Result none = Must(run + ignored);
  EXPECT_EQ(none.out, "loss nan (training, mean of steps 1 to 2: no label counted)\n");
  EXPECT_EQ(none.err.find("epoch 1/1  loss nan  no label counted  "), 0u) << none.err;
  const Result neither = Must(run + ignored + " --eval-data " + x + " --eval-data " + ignored);
  EXPECT_EQ(neither.out, "loss nan (evaluation: no label counted)\n");
  EXPECT_NE(neither.err.find("samples/s  eval loss nan  no label counted\n"), std::string::npos) << neither.err;
  EXPECT_TRUE(std::isnan(Metrics(File("m.jsonl")).back()["loss"]));
  const Result one = Must(run + counted + " --eval-data " + x + " --eval-data " + ignored);
  EXPECT_EQ(one.err.find("no label counted"), one.err.find("no label counted\n")) << one.err;
  // Numbers that overflow are no lack of labels.
  Must("dpc compile " + File("m.dpt") + " --batch=2 --optimizer=sgd(lr=1e39) -o " + File("m.bin"));
  const std::string contradictory = "label=" + Write("contradictory.npy", Npy({3}, {0, 1, 2}));
  const Result over = Must(run + contradictory + " --epochs=9");
  EXPECT_EQ(over.out, "loss nan (training, mean of steps 17 to 18)\n");
  for (const Result &result : {none, neither, one, over})
    EXPECT_EQ((result.out + result.err).find(" -nan"), std::string::npos) << result.out << result.err;
}

// Off a terminal there is no bar, but a line each five seconds, and one for each epoch with the losses and accuracies
// of training and evaluation.
TEST_F(Progress, LinesElsewhere) {
  const std::string folder = "examples/data/digits/";
  Must("dpc compile examples/mlp.dpt --batch=64 --metrics=accuracy -o " + File("plan.bin"));
  const std::string lines = Must("dprun " + File("plan.bin") + " --epochs=2 " + digits + " " + eval_digits).err;
  const std::string number = "[0-9.e+-]+";
  const std::regex epoch("\nepoch ([12])/2  loss " + number + "  accuracy " + number +
                         " %  [0-9]+ samples/s  eval loss " + number + "  accuracy " + number + " %\n");
  EXPECT_TRUE(std::regex_search("\n" + lines, epoch)) << lines;
  EXPECT_EQ(lines.find_first_of("\r\033"), std::string::npos) << lines;
  EXPECT_EQ(lines.find(" left"), std::string::npos) << "it has not taken five seconds: " << lines;

  // An epoch of four million steps takes longer than five seconds anywhere; its own line begins the five seconds anew.
  const std::string model = Write("slow.dpt", line_model);
  const std::string millions = Write("millions.npy", Npy({4000000, 1}, std::vector<double>(4000000, 1)));
  Must("dpc compile " + model + " --batch=1 -o " + File("slow.bin"));
  Start("dprun " + File("slow.bin") + " --epochs=100 --check-nan --threads=1 --data x=" + millions +
        " --data target=" + millions);
  sleep(12);
  Signal(SIGINT);
  const Result slow = Wait();
  EXPECT_EQ(slow.code, 75) << slow.err;
  const std::regex line("(^|\n)epoch 1/100 [0-9]+/4000000  loss " + number + "  [0-9]+ samples/s  [0-9:]+ left\n");
  const auto count =
      std::distance(std::sregex_iterator(slow.err.begin(), slow.err.end(), line), std::sregex_iterator());
  EXPECT_GE(count, 1) << slow.err;
  EXPECT_LE(count, 2) << slow.err;
}

}  // namespace
