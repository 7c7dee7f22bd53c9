// Chromium without a window, driven by its DevTools protocol over two pipes (--remote-debugging-pipe): messages of
// JSON, each ended by a zero byte.
#ifndef DP_TESTS_BROWSER_BROWSER_H
#define DP_TESTS_BROWSER_BROWSER_H

#include <string>
#include <vector>

// Pixels, row by row.
struct Picture {
  int width = 0, height = 0;
  std::vector<unsigned> pixels;  // 0xRRGGBB
};

class Browser {
 public:
  Browser();
  ~Browser();
  // "": it runs. Otherwise why it does not.
  const std::string &problem() const { return problem_; }

  // Opens a file in a window of this size; dark: as the reader's choice of colours.
  void Open(const std::string &path, int width, int height, bool dark);
  // The value of an expression as text; numbers as JavaScript prints them.
  std::string Value(const std::string &expression);
  double Number(const std::string &expression);
  // A part of the page, in its pixels.
  Picture Shot(double x, double y, double width, double height);
  void Drag(double from_x, double to_x, double y);
  void DoubleClick(double x, double y);
  // Exceptions, messages on the console and failures of the page since it was opened.
  std::vector<std::string> Errors();
  // What the page asked for since it was opened.
  const std::vector<std::string> &requests() const { return requests_; }

 private:
  // Sends a command and returns its result as JSON; parameters are JSON too.
  std::string Call(const std::string &method, const std::string &parameters, bool page = true);
  bool Receive(std::string *message);
  void Take(const std::string &event);
  void Mouse(const std::string &type, double x, double y, int clicks);

  std::string problem_, session_, received_, folder_;
  std::vector<std::string> errors_, requests_;
  int pid_ = 0, in_ = -1, out_ = -1, calls_ = 0;
  bool loaded_ = false;
};

#endif
