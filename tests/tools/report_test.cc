// dprun report: a page has the numbers of its run, whatever else its files hold.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tools/page.h"
#include "tests/tools/tool.h"

namespace {

using Strings = std::vector<std::string>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string Step(int64_t step, double loss, double ms = 10, const std::string &more = "") {
  std::ostringstream line;
  line.precision(12);
  line << R"({"event":"step","step":)" << step << R"(,"epoch":1,"loss":)";
  if (std::isfinite(loss))
    line << loss;
  else
    line << "null";
  line << R"(,"lr":0.1,"samples":4,"ms":)" << ms << more << "}\n";
  return line.str();
}

class Report : public Tools {
 protected:
  void SetUp() override { Must("dpc compile examples/mlp.dpt --strategy=data --devices=2 --batch=64 -o " + Plan()); }

  std::string Plan() const { return File("plan.bin"); }
  std::string Train(const std::string &more) const {
    return "dprun " + Plan() + " " + digits + " " + eval_digits + " --shuffle --threads=2 " + more;
  }

  // The page of a folder that holds only these metrics.
  std::string PageOf(const std::string &metrics) {
    mkdir(File("lines").c_str(), 0777);
    Write("lines/m.jsonl", metrics);
    return Page("lines");
  }

  // The page of a folder; what dprun report says goes to err_.
  std::string Page(const std::string &folder, const std::string &more = "") {
    err_ = Must("dprun report " + File(folder) + " -o " + File("page.html") + " " + more).err;
    const std::string page = Read(File("page.html"));
    EXPECT_EQ(page::Fault(page), "");
    return page;
  }

  std::string err_;
};

// Where a curve goes, by the labels of its axes: what a reader of the page would take from it.
void ExpectCurve(const page::Figure &figure, const std::string &style, const std::vector<double> &steps,
                 const std::vector<double> &values) {
  const std::vector<page::Point> points = figure.Curve(style);
  ASSERT_EQ(points.size(), values.size()) << figure.title << " " << style;
  for (size_t i = 0; i < points.size(); i++) {
    EXPECT_NEAR(points[i].x, steps[i], 1e-3 * (figure.high - figure.low)) << style;
    EXPECT_NEAR(points[i].y, values[i], figure.log ? 2e-3 * values[i] : 2e-3 * figure.YRange()) << style;
  }
}

TEST_F(Report, HasTheNumbersOfATraining) {
  const std::string said = Must(Train("--epochs=3 --save=" + File("run") + " --metrics=" + File("run/m.jsonl") +
                                      " --trace=" + File("run/t.json")))
                               .err;
  const std::string page = Page("run");
  EXPECT_EQ(err_, "");
  std::vector<double> steps, losses, at, evals, ms;
  for (const Event &e : Metrics(File("run/m.jsonl"))) {
    (e.event == "step" ? steps : at).push_back(e["step"]);
    (e.event == "step" ? losses : evals).push_back(e["loss"]);
    if (e.event == "step") ms.push_back(e["ms"]);
  }
  ASSERT_EQ(steps.size(), 69u);
  ASSERT_EQ(evals.size(), 3u);
  const page::Figure loss = page::Figure::Find(page, "loss");
  ExpectCurve(loss, "line train", steps, losses);
  ExpectCurve(loss, "line eval", at, evals);
  ExpectCurve(loss, "dots eval", at, evals);
  EXPECT_EQ(page::Tile(page, "steps"), "69");
  EXPECT_EQ(page::Tile(page, "epochs"), "3");
  EXPECT_EQ(page::Tile(page, "devices"), "2");
  EXPECT_NEAR(std::stod(page::Tile(page, "loss of the last evaluation")), evals.back(), 1e-3 * evals.back());
  std::sort(ms.begin(), ms.end());
  EXPECT_NEAR(std::stod(page::Tile(page, "median time of a step")), ms[34] < 1 ? ms[34] * 1e3 : ms[34],
              0.01 * ms[34] + 0.5);
  // What dprun itself said of the trace.
  std::smatch share;
  ASSERT_TRUE(std::regex_search(said, share, std::regex("([0-9.]+) ms of communication between devices, (\\d+) %")));
  EXPECT_EQ(page::Tile(page, "communication that was hidden"), share[2].str() + " %");
  for (const char *id :
       {"curves", "rate", "times", "timeline", "traffic", "memory", "placements", "checkpoints", "machine", "commands"})
    EXPECT_NE(page.find("<section id=\"" + std::string(id) + "\">"), std::string::npos) << id;
  EXPECT_EQ(page.find("id=\"missing\""), std::string::npos);
  EXPECT_NE(page.find("--epochs=3 --save="), std::string::npos);
  EXPECT_NE(page.find("dpc compile --strategy=data --devices=2 "), std::string::npos);
}

// The slices of the step that is shown are those of one run in the trace, at their times.
TEST_F(Report, DrawsAStepOfTheTrace) {
  Must(Train("--steps=9 --save=" + File("run") + " --trace=" + File("run/trace.json")));
  const std::string page = Page("run");
  std::smatch run;
  ASSERT_TRUE(std::regex_search(page, run, std::regex("Run (\\d+) of the trace \\(train\\), ([0-9.]+) ")));
  const std::regex slice(
      "\"pid\":(\\d+),\"tid\":(\\d+),\"ts\":([0-9.]+),\"dur\":([0-9.]+),\"name\":\"([^\"]*)\",\"cat\":\"(\\w+)\","
      "\"args\":"
      "\\{\"run\":(\\d+)");
  struct Slice {
    double begin, end;
    std::string name;
  };
  std::vector<Slice> slices;
  std::istringstream lines(Read(File("run/trace.json")));
  std::map<int, std::pair<double, double>> runs;  // from when to when each worked
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (!std::regex_search(line, m, slice) || m[6] != "train") continue;
    if (m[5] == "wait") continue;
    const double from = std::stod(m[3]), to = from + std::stod(m[4]);
    auto &span = runs.emplace(std::stoi(m[7]), std::make_pair(from, to)).first->second;
    span = {std::min(span.first, from), std::max(span.second, to)};
    if (m[7] == run[1]) slices.push_back({from, to, m[5]});
  }
  EXPECT_EQ(runs.size(), 9u);
  std::vector<double> times;
  for (const auto &[number, span] : runs) times.push_back(span.second - span.first);
  std::sort(times.begin(), times.end());
  const auto &shown = runs[std::stoi(run[1])];
  EXPECT_NEAR(shown.second - shown.first, times[4], 1e-2);
  ASSERT_GT(slices.size(), 50u);
  double begin = INFINITY, end = 0;
  for (const Slice &s : slices) begin = std::min(begin, s.begin), end = std::max(end, s.end);
  const page::Figure figure = page::Figure::Find(page, "one step");
  const std::vector<page::Rect> drawn = figure.Rects("slice ");
  ASSERT_EQ(drawn.size(), slices.size());
  const double unit = (end - begin) >= 2000 ? 1e3 : 1;
  EXPECT_NEAR(figure.high * unit, end - begin, 1e-2);
  for (size_t i = 0; i < slices.size(); i++) {
    EXPECT_NEAR(drawn[i].x / 1000 * (end - begin), slices[i].begin - begin, 1e-4 * (end - begin));
    EXPECT_NEAR(drawn[i].width / 1000 * (end - begin), slices[i].end - slices[i].begin, 1e-4 * (end - begin));
    EXPECT_EQ(drawn[i].title.substr(0, slices[i].name.size() + 1), slices[i].name + ":");
  }
}

// Blocks lie where dpc show says, and no two meet unless one is made in the other's place.
TEST_F(Report, DrawsMemoryAsThePlanHasIt) {
  Must(Train("--steps=1 --save=" + File("run")));
  const std::string page = Page("run"), show = Must("dpc show " + Plan()).out;
  const size_t train = show.find("program train");
  ASSERT_NE(train, std::string::npos);
  const std::string program = show.substr(train, show.find("\n  program ", train + 1) - train);
  std::set<std::string> placed, drawn;
  const std::regex tensor("(?:->|<-) (\\S+): [^\\n]* transient (\\+\\d+, \\d+ bytes)");
  for (std::sregex_iterator at(program.begin(), program.end(), tensor), end; at != end; at++)
    placed.insert((*at)[1].str() + ": " + (*at)[2].str());
  const page::Figure figure = page::Figure::Find(page, "transient memory");
  for (const page::Rect &r : figure.Rects("block "))
    if (r.title.rfind("scratch:", 0) != 0) drawn.insert(r.title.substr(0, r.title.find(" bytes") + 6));
  ASSERT_GT(placed.size(), 10u);
  EXPECT_EQ(drawn, placed);
  EXPECT_NE(page.find("<td class=\"wrap\">hidden.weight</td><td class=\"\">parameter</td>"), std::string::npos);
}

TEST_F(Report, ThinsLongCurvesAndKeepsTheirExtremes) {
  const bool full = getenv("DP_FULL") != nullptr;
  const int n = full ? 1000000 : 150000, high = n / 3, low = n / 2 + 7;
  std::string lines;
  for (int i = 1; i <= n; i++)
    lines += Step(i, i == high ? 9 : i == low ? 1 : 3 + 0.1 * (i % 7), i == 77 ? 5000 : 10 + i % 5);
  const std::string page = PageOf(lines);
  EXPECT_LT(page.size(), 400000u);
  const page::Figure figure = page::Figure::Find(page, "loss");
  double most = 0, least = 100, at_most = 0, at_least = 0;
  const std::vector<page::Point> points = figure.Curve("line faint");
  for (const page::Point &p : points) {
    if (p.y > most) most = p.y, at_most = p.x;
    if (p.y < least) least = p.y, at_least = p.x;
  }
  EXPECT_LE(points.size(), 4004u);
  EXPECT_NEAR(most, 9, 0.05);
  EXPECT_NEAR(least, 1, 0.05);
  EXPECT_NEAR(at_most, high, n * 1e-3);
  EXPECT_NEAR(at_least, low, n * 1e-3);
  EXPECT_NE(page.find("1 outlier of more than"), std::string::npos);
  EXPECT_NE(page.find("step 77 (5 s)"), std::string::npos);
}

// Alternating gaps cannot make a page longer either.
TEST_F(Report, LeavesGapsWhereNothingIsFinite) {
  std::string lines;
  for (int i = 1; i <= 20000; i++) lines += Step(i, i % 2 ? 1 + i % 3 : kNaN);
  EXPECT_LT(PageOf(lines).size(), 300000u);
  EXPECT_NE(Read(File("page.html")).find("10000 steps without a finite loss"), std::string::npos);
  const std::string few = PageOf(Step(1, 4) + Step(2, 2) + Step(3, kNaN) + Step(4, 3) + Step(5, 4));
  const page::Figure figure = page::Figure::Find(few, "loss");
  EXPECT_EQ(figure.Curve("line train").size(), 4u);
  EXPECT_EQ(figure.Strokes("line train"), 2u);
}

TEST_F(Report, TimesHaveMedianAndOutliers) {
  std::string lines;
  for (int i = 1; i <= 99; i++) lines += Step(i, 1, i);  // 1 to 99 ms
  lines += Step(100, 1, 2000) + Step(101, 1, 3000);
  const std::string page = PageOf(lines);
  // NumPy: np.percentile of these, 50 and 95; the quartiles are 26 and 76, the fence is 226 ms.
  EXPECT_EQ(page::Tile(page, "median time of a step"), "51 ms");
  EXPECT_NE(page.find("95 of 100 steps within 96 ms, slowest 3 s"), std::string::npos);
  EXPECT_NE(page.find("2 outliers of more than 226 ms, not drawn: step 101 (3 s), step 100 (2 s)."), std::string::npos);
  double drawn = 0;
  const page::Figure figure = page::Figure::Find(page, "steps by time");
  for (const page::Rect &r : figure.Rects("compute")) drawn += figure.Height(r);
  EXPECT_NEAR(drawn, 99, 0.5);
}

TEST_F(Report, EscapesWhatFilesHold) {
  const std::string evil = R"(<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u0001\u202e)";
  mkdir(File("evil").c_str(), 0777);
  Write("evil/m.jsonl", Step(1, 2, 1, ",\"<b onclick='x'>\\\"]]><i>\":1") + Step(2, 1));
  Write("evil/runs.jsonl", R"({"event":"run","date":")" + evil + R"(","folder":")" + evil + R"(","plan":")" + evil +
                               R"(","plan_hash":"zz","first_step":-5,"metrics":null,"trace":null,"machine":{"host":")" +
                               evil + R"(","processor":")" + evil + R"("},"command":["dprun",")" + evil +
                               R"(","a'b"]})" + "\n");
  Write("evil/trace.json", std::string(R"({"otherData":{"communication_ns":5,"hidden_ns":9},"traceEvents":[)") + "\n" +
                               R"({"ph":"M","pid":0,"name":"process_name","args":{"name":")" + evil + "\"}},\n" +
                               R"({"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":")" + evil + "\"}},\n" +
                               R"({"ph":"X","pid":0,"tid":0,"ts":1,"dur":5,"name":")" + evil +
                               R"(","cat":"train","args":{"run":1,"kernel":"k"}})" + "\n]}\n");
  const std::string page = Page("evil");
  EXPECT_EQ(page::Count(page, "<script"), 1u);
  EXPECT_EQ(page::Count(page, "<img"), 0u);
  EXPECT_EQ(page::Count(page, "<b onclick"), 0u);
  EXPECT_EQ(page::Count(page, "<i>"), 0u);
  EXPECT_GE(page::Count(page, "&lt;script&gt;alert(1)&lt;/script&gt;"), 5u);
  EXPECT_EQ(page.find("\xE2\x80\xAE"), std::string::npos);  // what turns the direction of text
  EXPECT_NE(page.find("a&#39;\\&#39;&#39;b"), std::string::npos);
  EXPECT_EQ(page::Count(page, "http://") + page::Count(page, "https://"), 0u);
}

TEST_F(Report, NamesWhatIsMissing) {
  const std::string page = PageOf(Step(1, 2) + Step(2, 1));
  for (const char *what : {"dprun --trace=DIR/trace.json", "the plan was not found", "Checkpoints: there are none",
                           "Machine: it was not recorded", "Commands: they were not recorded"})
    EXPECT_NE(page.find(what), std::string::npos) << what;
  for (const char *id : {"timeline", "memory", "placements", "checkpoints", "machine", "commands"})
    EXPECT_EQ(page.find("<section id=\"" + std::string(id) + "\">"), std::string::npos) << id;
  mkdir(File("empty").c_str(), 0777);
  Refused("dprun report " + File("empty"), 66, {"nothing of a run is there"});
  Refused("dprun report " + File("none"), 66, {"No such file"});
  Refused("dprun report " + Plan(), 66, {"not a folder"});
  Refused("dprun report", 64, {"name the folder"});
  Refused("dprun report a b", 64, {"one folder"});
  Refused("dprun report " + File("lines") + " --metrcs=x", 64, {"did you mean 'metrics'"});
  Refused("dprun report " + File("lines") + " -o " + File("page.pdf"), 64, {".html"});
  Refused("dprun report " + File("lines") + " -o " + File("no/page.html"), 73, {"cannot be written"});
  Refused("dprun report " + File("lines") + " --plan=" + File("lines/m.jsonl"), 65, {"plan"});
}

TEST_F(Report, LeavesOutDamagedLines) {
  const std::string good = Step(1, 3) + Step(2, 2.5), page = PageOf(good + "{\"event\":\"step\",\"st\n" + Step(4, 1) +
                                                                    "[[[[\n{\"event\":\"step\",\"step\":-1}\n" +
                                                                    std::string(3000, '[') + "\n" + Step(5, 2));
  EXPECT_NE(err_.find("m.jsonl: lines 3, 5, 6, 7 are no events and are left out"), std::string::npos) << err_;
  EXPECT_NE(page.find("lines 3, 5, 6, 7 are no events"), std::string::npos);
  EXPECT_EQ(page::Figure::Find(page, "loss").Curve("line train").size(), 4u);
  // Numbers that no one measures, and kinds of events that this version does not know.
  PageOf(Step(1, 1e308) + Step(2, -1e308) + Step(3, 1) + "{\"event\":\"later\",\"step\":\"?\"}\n");
  EXPECT_EQ(err_, "");
  // The file of a run that was stopped in the middle of a line, and one that is two runs.
  PageOf(good + R"({"event":"step","step":3,"ep)");
  EXPECT_NE(err_.find("line 3 is no event"), std::string::npos) << err_;
  const std::string twice = PageOf(Step(1, 9) + Step(2, 9) + Step(3, 9) + Step(2, 1) + Step(3, 1));
  EXPECT_NE(err_.find("begin again at line 4"), std::string::npos) << err_;
  EXPECT_EQ(page::Tile(twice, "steps"), "3");
  EXPECT_EQ(page::Figure::Find(twice, "loss").Curve("line train").size(), 3u);
  mkdir(File("bad").c_str(), 0777);
  const std::string bad = Write("bad/m.jsonl", "not\nJSON\n");
  Write("bad/trace.json", "{\"traceEvents\":[]}");
  Refused("dprun report " + File("lines") + " --metrics=" + bad, 65, {"no line of it is an event"});
  Refused("dprun report " + File("lines") + " --trace=" + File("bad/trace.json"), 65, {"not a trace"});
  Refused("dprun report " + File("lines") + " --metrics=" + File("lines") + " -o " + File("page.html"), 65,
          {"not a regular file"});
  Refused("dprun report " + File("lines") + " --metrics=" + bad + " -o " + bad, 64, {".html"});
}

TEST_F(Report, TracesMayBeDamaged) {
  Must(Train("--steps=3 --save=" + File("run") + " --trace=" + File("run/trace.json")));
  const std::string trace = Read(File("run/trace.json"));
  Write("run/trace.json", trace.substr(0, trace.size() * 2 / 3));
  Page("run");
  EXPECT_NE(err_.find("its end is missing"), std::string::npos) << err_;
  EXPECT_NE(err_.find("is no event"), std::string::npos) << err_;
  Write("run/trace.json", trace.substr(0, trace.find('\n') + 1) + "]}\n");
  EXPECT_NE(Page("run").find("no trace was found"), std::string::npos);
}

// A step of more slices than a page can hold: neighbours that nobody could tell apart are drawn as one.
TEST_F(Report, JoinsShortSlices) {
  std::string trace = R"({"otherData":{},"traceEvents":[)"
                      "\n"
                      R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"device 0"}},)"
                      "\n"
                      R"({"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":"compute"}})";
  for (int i = 0; i < 50000; i++)
    trace += ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":" + std::to_string(i * 10) + R"(,"dur":9,"name":"Relu r)" +
             std::to_string(i) + R"(","cat":"train","args":{"run":1,"kernel":"k"}})";
  mkdir(File("many").c_str(), 0777);
  Write("many/trace.json", trace + "\n]}\n");
  const std::string page = Page("many");
  EXPECT_LT(page.size(), 1500000u);
  const std::vector<page::Rect> drawn = page::Figure::Find(page, "one step").Rects("slice ");
  EXPECT_LE(drawn.size(), 4000u);
  EXPECT_GE(drawn.size(), 500u);
  EXPECT_NEAR(drawn.back().x + drawn.back().width, 1000, 0.1);
  EXPECT_NE(page.find("are drawn together"), std::string::npos);
}

// A folder says what runs wrote to it, and a run that goes on adds itself.
TEST_F(Report, RunsAreRecorded) {
  const std::string save = "--save=" + File("run") + " --resume ", runs = File("run/runs.jsonl");
  Must(Train(save + "--steps=5 --metrics=" + File("elsewhere.jsonl")));
  const std::string first = Read(runs);
  Must(Train(save + "--steps=8 --metrics=" + File("elsewhere.jsonl")));
  EXPECT_EQ(Read(runs).substr(0, first.size()), first);
  const std::string page = Page("run");
  EXPECT_NE(page.find(", from step 6 on"), std::string::npos);
  EXPECT_NE(page.find("--steps=5"), std::string::npos);
  EXPECT_NE(err_.find("metrics went to " + File("elsewhere.jsonl")), std::string::npos) << err_;
  EXPECT_EQ(page::Tile(Page("run", "--metrics=" + File("elsewhere.jsonl")), "steps"), "8");
  Refused(Train(save + "--steps=9 --metrics=" + runs), 78, {"runs.jsonl"});
  // A line that was cut off stays, and does not swallow the next one.
  Write("run/runs.jsonl", first.substr(0, first.size() / 2));
  Must(Train(save + "--steps=9"));
  Page("run");
  EXPECT_NE(err_.find("line 1 is no run"), std::string::npos) << err_;
  EXPECT_NE(Read(File("page.html")).find("--steps=9"), std::string::npos);
}

// A record may not make a report read whatever it names.
TEST_F(Report, FindsThePlanByItsHash) {
  Must(Train("--steps=1 --save=" + File("run")));
  EXPECT_NE(Page("run").find("id=\"placements\""), std::string::npos);
  Must("dpc compile examples/mlp.dpt --batch=32 -o " + Plan());
  EXPECT_EQ(Page("run").find("id=\"placements\""), std::string::npos);
  EXPECT_NE(err_.find("no longer the plan of this run"), std::string::npos) << err_;
  EXPECT_NE(Page("run", "--plan=" + Plan()).find("id=\"placements\""), std::string::npos);
  unlink(Plan().c_str());
  Page("run");
  EXPECT_NE(err_.find("the plan is not there any more"), std::string::npos) << err_;
  EXPECT_EQ(Must("dprun report " + File("run") + " -o -").out.substr(0, 15), "<!DOCTYPE html>");
  const std::string lines = Write("m.txt", Step(1, 3) + Step(2, 2));
  EXPECT_EQ(page::Tile(Shell("cat " + lines + " | dprun report " + File("run") + " --metrics=- -o -").out, "steps"),
            "2");
}

TEST_F(Report, PipelinesHaveAStageEach) {
  Must("dpc compile examples/mlp.dpt --strategy=pipeline --devices=2 --microbatches=4 --batch=64 -o " + Plan());
  Must(Train("--steps=4 --save=" + File("run") + " --trace=" + File("run/trace.json")));
  const std::string page = Page("run");
  EXPECT_EQ(page::Count(page, "<b>transient memory, "), 2u);
  EXPECT_NE(page.find("<th>stages</th>"), std::string::npos);
  EXPECT_EQ(page.find("micro = "), std::string::npos);
}

}  // namespace
