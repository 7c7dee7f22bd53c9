#include "tests/tools/page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace page {
namespace {

// The text after `before`, from `from` on, up to `after`.
std::string Between(const std::string &text, const std::string &before, const std::string &after, size_t from = 0) {
  const size_t at = text.find(before, from);
  if (at == std::string::npos) return "";
  const size_t begin = at + before.size(), end = text.find(after, begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

double Attribute(const std::string &element, const std::string &name) {
  return atof(Between(element, " " + name + "=\"", "\"").c_str());
}

// "5k" as 5000.
double Number(const std::string &label) {
  const double factor = label.back() == 'k' ? 1e3 : label.back() == 'M' ? 1e6 : 1;
  return atof(label.c_str()) * factor;
}

bool IsEntity(const std::string &text, size_t at) {
  for (const char *entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"})
    if (!text.compare(at, strlen(entity), entity)) return true;
  return false;
}

// A tag from '<' to '>' with its quoted attributes: its length, or 0 if it is none.
size_t TagLength(const std::string &page, size_t at) {
  size_t i = at + 1 + (page[at + 1] == '/');
  if (!isalpha(static_cast<unsigned char>(page[i]))) return 0;
  while (isalnum(static_cast<unsigned char>(page[i]))) i++;
  while (page[i] == ' ') {
    const size_t name = ++i;
    while (isalpha(static_cast<unsigned char>(page[i])) || page[i] == '-') i++;
    if (i == name || page[i] != '=' || page[i + 1] != '"') return 0;
    for (i += 2; page[i] != '"'; i++)
      if (!page[i] || page[i] == '<' || (page[i] == '&' && !IsEntity(page, i))) return 0;
    i++;
  }
  i += page[i] == '/';
  return page[i] == '>' ? i + 1 - at : 0;
}

std::string NameOf(const std::string &tag) {
  const size_t begin = 1 + (tag[1] == '/');
  return tag.substr(begin, tag.find_first_of(" />", begin) - begin);
}

}  // namespace

std::string Fault(const std::string &page) {
  const std::string first = "<!DOCTYPE html>\n", raw = "<![CDATA[";
  std::vector<std::string> open;
  if (page.compare(0, first.size(), first)) return "the first line";
  for (size_t i = first.size(); i < page.size();) {
    const auto c = static_cast<unsigned char>(page[i]);
    if (!page.compare(i, raw.size(), raw)) {
      i = page.find("]]>", i);
      if (i == std::string::npos) return "CDATA without an end";
      i += 3;
    } else if (c == '<') {
      const size_t length = TagLength(page, i);
      const std::string tag = page.substr(i, length), name = NameOf(tag + ">");
      if (!length) return "no tag: " + page.substr(i, 60);
      if (tag[1] == '/' && (open.empty() || open.back() != name)) return "closes what is not open: " + tag;
      if (tag[1] == '/')
        open.pop_back();
      else if (tag[tag.size() - 2] != '/')
        open.push_back(name);
      i += length;
    } else if ((c == '&' && !IsEntity(page, i)) || (c < 0x20 && c != '\n' && c != '\t')) {
      return "a bare character: " + page.substr(i, 60);
    } else if (c != '\n' && open.empty()) {
      return "text outside of the page";
    } else {
      i++;
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

size_t Count(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

std::string Tile(const std::string &page, const std::string &name) {
  return Between(page, "<dt>" + name + "</dt><dd>", "</dd>");
}

Figure Figure::Find(const std::string &page, const std::string &title) {
  Figure f;
  f.title = title;
  const size_t at = page.find("<b>" + title + "</b>");
  EXPECT_NE(at, std::string::npos) << title;
  if (at == std::string::npos) return f;
  f.body = page.substr(at, page.find("</figure>", at) - at);
  f.low = Attribute(f.body, "data-low");
  f.high = Attribute(f.body, "data-high");
  const std::string labels = Between(f.body, "<div class=\"y\"", "</div>");
  std::vector<std::pair<double, double>> ticks;
  for (size_t i = labels.find("top:"); i != std::string::npos; i = labels.find("top:", i + 1))
    ticks.emplace_back(atof(labels.c_str() + i + 4) / 100, Number(Between(labels, ">", "<", i)));
  if (ticks.size() < 2 || labels.find('%') == std::string::npos) return f;
  f.first_at = ticks.front().first, f.first = ticks.front().second;
  f.last_at = ticks.back().first, f.last = ticks.back().second;
  // Of three labels at equal distances, a logarithmic scale has equal ratios.
  const size_t n = ticks.size();
  const double step = n > 2 ? ticks[1].second - ticks[0].second : 0;
  f.log = n > 2 && std::abs(ticks[2].second - ticks[1].second - step) > 0.01 * std::abs(step);
  return f;
}

double Figure::YRange() const { return last - first; }

double Figure::YAt(double share) const {
  const double part = (share - first_at) / (last_at - first_at);
  return log ? first * std::pow(last / first, part) : first + part * (last - first);
}

double Figure::FieldHeight() const { return atof(Between(body, "viewBox=\"0 0 1000 ", "\"").c_str()); }

double Figure::Height(const Rect &rect) const { return YAt(rect.y / FieldHeight()); }

std::string Figure::PathOf(const std::string &style) const {
  const std::string path = Between(body, "class=\"" + style + "\" d=\"", "\"");
  EXPECT_NE(path, "") << title << " " << style;
  return path;
}

std::vector<Point> Figure::Curve(const std::string &style) const {
  std::vector<Point> points;
  const std::string path = PathOf(style);
  for (size_t i = path.find_first_of("ML"); i != std::string::npos; i = path.find_first_of("ML", i + 1)) {
    char *end;
    const double x = strtod(path.c_str() + i + 1, &end), y = strtod(end, nullptr);
    points.push_back({low + x / 1000 * (high - low), YAt(y / FieldHeight())});
  }
  return points;
}

size_t Figure::Strokes(const std::string &style) const { return Count(PathOf(style), "M"); }

std::vector<Rect> Figure::Rects(const std::string &style) const {
  std::vector<Rect> rects;
  const std::string begin = "<rect class=\"" + style;
  for (size_t i = body.find(begin); i != std::string::npos; i = body.find(begin, i + 1)) {
    const std::string element = body.substr(i, body.find('>', i) - i);
    rects.push_back({Attribute(element, "x"), Attribute(element, "y"), Attribute(element, "width"),
                     Attribute(element, "height"), ""});
    if (body.compare(i + element.size(), 8, "><title>") == 0) rects.back().title = Between(body, "<title>", "<", i);
  }
  return rects;
}

}  // namespace page
