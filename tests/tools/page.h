// Reads a page of dprun report as its reader does: figures by their titles, values by the labels of the axes.
#ifndef DP_TESTS_TOOLS_PAGE_H
#define DP_TESTS_TOOLS_PAGE_H

#include <string>
#include <vector>

namespace page {

// What keeps the page from being well-formed XML after its first line; "": nothing.
std::string Fault(const std::string &page);
size_t Count(const std::string &text, const std::string &part);
// The value of the tile of that name; "": there is none.
std::string Tile(const std::string &page, const std::string &name);

struct Point {
  double x, y;
};

struct Rect {
  double x, y, width, height;  // in the field's units
  std::string title;
};

struct Figure {
  std::string title, body;
  double low = 0, high = 0;  // of x
  bool log = false;
  // Of y: a value of the first label and of the last, and their places from 0 (top) to 1.
  double first = 0, last = 0, first_at = 0, last_at = 1;

  static Figure Find(const std::string &page, const std::string &title);
  double YRange() const;
  double Height(const Rect &rect) const;  // in the values of y, from 0
  std::vector<Point> Curve(const std::string &style) const;
  size_t Strokes(const std::string &style) const;  // how many parts the curve is in
  std::vector<Rect> Rects(const std::string &style) const;

 private:
  std::string PathOf(const std::string &style) const;
  double YAt(double share) const;
  double FieldHeight() const;
};

}  // namespace page

#endif
