// A page of dprun report in Chromium: nothing on it is blank, nothing goes to the network or the console, charts zoom,
// and it can be read on a telephone and on a wide screen, in light and dark.
#include <cmath>
#include <map>

#include "tests/browser/browser.h"
#include "tests/tools/tool.h"

namespace {

class ReportBrowser : public Tools {
 protected:
  void SetUp() override {
    ASSERT_EQ(browser_.problem(), "");
    Must("dpc compile examples/digits_cnn.dpt --strategy=data --devices=2 --batch=64 --metrics=accuracy -o " +
         File("plan.bin"));
    Must("dprun " + File("plan.bin") + " " + digits + " " + eval_digits + " --epochs=2 --shuffle --threads=2 --save=" +
         File("run") + " --metrics=" + File("run/m.jsonl") + " --trace=" + File("run/trace.json"));
    Must("dprun report " + File("run") + " -o " + File("page.html"));
    page_ = File("page.html");
    if (page_[0] != '/') page_ = Shell("pwd").out.substr(0, Shell("pwd").out.find('\n')) + "/" + page_;
  }

  double Of(const std::string &selector, const std::string &field) {
    return browser_.Number("document.querySelector('" + selector + "').getBoundingClientRect()." + field);
  }
  // An element as it is drawn.
  Picture Shot(const std::string &selector) {
    const double x = Of(selector, "x"), y = Of(selector, "y") + browser_.Number("scrollY");
    return browser_.Shot(x, y, Of(selector, "width"), Of(selector, "height"));
  }
  std::string ViewBox() { return browser_.Value("document.querySelector('#timeline svg').getAttribute('viewBox')"); }

  Browser browser_;
  std::string page_;
};

// Share of the pixels that have not the most frequent colour, and the number of colours.
struct Ink {
  double share;
  size_t colours;
};

Ink InkOf(const Picture &picture) {
  std::map<unsigned, size_t> count;
  size_t most = 0;
  for (const unsigned pixel : picture.pixels) most = std::max(most, ++count[pixel]);
  if (picture.pixels.empty()) return {0, 0};
  return {1 - static_cast<double>(most) / static_cast<double>(picture.pixels.size()), count.size()};
}

TEST_F(ReportBrowser, EverySectionIsDrawnEverywhere) {
  for (const int width : {400, 900, 1600})
    for (const bool dark : {false, true}) {
      SCOPED_TRACE(std::to_string(width) + (dark ? " dark" : " light"));
      browser_.Open(page_, width, 900, dark);
      EXPECT_TRUE(browser_.Errors().empty()) << browser_.Errors()[0];
      EXPECT_EQ(browser_.requests().size(), 1u);  // the page itself
      EXPECT_LE(browser_.Number("document.documentElement.scrollWidth"), width);
      EXPECT_GE(browser_.Number("Math.min(...[...document.querySelectorAll('main *')].filter(e => e.innerText)"
                                ".map(e => parseFloat(getComputedStyle(e).fontSize)))"),
                10);
      for (const char *id : {"overview", "curves", "rate", "times", "timeline", "traffic", "memory", "placements",
                             "checkpoints", "machine", "commands"}) {
        SCOPED_TRACE(id);
        ASSERT_EQ(browser_.Number("document.querySelectorAll('#" + std::string(id) + "').length"), 1);
        const Ink ink = InkOf(Shot("#" + std::string(id)));
        EXPECT_GT(ink.share, 0.01);
        EXPECT_GT(ink.colours, 20u);
      }
      // In the fields of charts, beside their axes.
      for (const char *id : {"curves", "rate", "times", "timeline", "memory"})
        EXPECT_GT(InkOf(Shot("#" + std::string(id) + " .field svg")).share, 0.004) << id;
      const unsigned ground = Shot("header").pixels.at(0);
      EXPECT_EQ((ground & 0xFF) < 128, dark) << std::hex << ground;
    }
}

// No label lies on another one.
TEST_F(ReportBrowser, LabelsHaveRoom) {
  for (const int width : {400, 1600}) {
    browser_.Open(page_, width, 900, false);
    EXPECT_EQ(browser_.Value(R"((() => {
      for (const axis of document.querySelectorAll('.x, .y')) {
        const boxes = [...axis.children].map(e => [e.textContent, e.getBoundingClientRect()]);
        for (const [a, p] of boxes) for (const [b, q] of boxes)
          if (p !== q && p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom)
            return a + ' lies on ' + b;
      }
      return 'none'; })())"),
              "none")
        << width;
  }
}

TEST_F(ReportBrowser, ChartsZoom) {
  browser_.Open(page_, 1200, 900, false);
  browser_.Value("document.querySelector('#timeline').scrollIntoView()");
  const std::string field = "#timeline .field";
  const double x = Of(field, "x"), width = Of(field, "width"), y = Of(field, "y") + Of(field, "height") / 2;
  const std::string high = "+document.querySelector('#timeline .plot').dataset.high";
  const std::string labels = "document.querySelector('#timeline .x').textContent";
  const std::string all = browser_.Value(labels);
  const Picture before = Shot(field);
  EXPECT_EQ(ViewBox().substr(0, 9), "0 0 1000 ");
  browser_.Drag(x + width * 0.25, x + width * 0.5, y);
  double from = 0, span = 0;
  ASSERT_EQ(sscanf(ViewBox().c_str(), "%lf 0 %lf", &from, &span), 2) << ViewBox();
  EXPECT_NEAR(from, 250, 3);
  EXPECT_NEAR(span, 250, 3);
  EXPECT_NE(browser_.Value(labels), all);
  EXPECT_NE(Shot(field).pixels, before.pixels);
  // Each label is where its value is.
  const double from_value = browser_.Number(high) * from / 1000, span_value = browser_.Number(high) * span / 1000;
  const int n = static_cast<int>(browser_.Number("document.querySelectorAll('#timeline .x span').length"));
  EXPECT_GE(n, 3);
  for (int i = 0; i < n; i++) {
    const std::string label = "document.querySelectorAll('#timeline .x span')[" + std::to_string(i) + "]";
    const double at = browser_.Number("parseFloat(" + label + ".style.left)") / 100;
    EXPECT_NEAR(browser_.Number(label + ".textContent"), from_value + at * span_value, span_value * 1e-3);
  }
  // A slice that fills most of the field shows its name.
  EXPECT_GE(browser_.Number("document.querySelectorAll('#timeline .names span').length"), 1);
  browser_.DoubleClick(x + width / 2, y);
  EXPECT_EQ(ViewBox().substr(0, 9), "0 0 1000 ");
  EXPECT_EQ(browser_.Value(labels), all);
  browser_.Value("document.querySelectorAll('#timeline .tools button')[0].click()");
  EXPECT_EQ(ViewBox().substr(0, 10), "250 0 500 ");
  browser_.Value("document.querySelectorAll('#timeline .tools button')[2].click()");
  EXPECT_EQ(ViewBox().substr(0, 9), "0 0 1000 ");
  EXPECT_TRUE(browser_.Errors().empty());
}

// The test would notice: a page with a broken script, and one that asks for something.
TEST_F(ReportBrowser, WhatIsWrongIsNoticed) {
  const std::string page = Read(page_), end = "</body>";
  std::string broken = page;
  browser_.Open(Write("broken.html", broken.replace(broken.find(end), 0, "<script>nothing.at.all()</script>")), 800,
                600, false);
  EXPECT_GE(browser_.Errors().size(), 1u);
  std::string asking = page;
  browser_.Open(Write("asking.html", asking.replace(asking.find(end), 0, "<img src=\"other.png\"/>")), 800, 600, false);
  EXPECT_GE(browser_.Errors().size(), 1u);  // the page's own policy refuses
}

}  // namespace
