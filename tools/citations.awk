# tools/citations: reads sources and documents, prints "FILE:LINE: WORD is not here" for each cited path that does not
# exist. files, made: lists of the project's files and of what its build makes.
BEGIN {
  while ((getline path < files) > 0) add(path)
  while ((getline path < made) > 0) exists[path] = 1
}

function add(path,  n, part, i, folder) {
  exists[path] = 1
  n = split(path, part, "/")
  named[part[n]]++
  if (n > 1) top[part[1]] = 1
  for (i = 1; i < n; i++) {
    folder = folder part[i]
    exists[folder] = 1
    folder = folder "/"
  }
}

FNR == 1 {
  here = FILENAME
  sub(/[^\/]*$/, "", here)
  quoted = 0
}

# The part of the line that people read: all of a document, comments of the rest, docstrings.
function prose(line,  quotes) {
  # What opens a block may name a file that the reader is to write.
  if (FILENAME ~ /\.md$/) return line ~ /^```/ ? "" : line
  if (FILENAME ~ /\.(c|h|cc|cu|proto)$/) return match(line, /(^|[ \t])\/\/[ \t]/) ? substr(line, RSTART) : ""
  quotes = gsub(/"""/, "\"\"\"", line)
  if (quotes % 2) quoted = !quoted
  if (quoted || quotes) return line
  return match(line, /(^|[ \t])#[ \t]/) ? substr(line, RSTART) : ""
}

function known(word,  path) {
  path = word
  sub(/:/, "/", path)
  return (path in exists) || ((here path) in exists) || (word !~ /\// && named[word] == 1)
}

# DIR/../FILE as FILE.
function resolved(path) {
  while (sub(/[^\/]+\/\.\.\//, "", path)) continue
  return path
}

function missing(word) {
  print FILENAME ":" FNR ": " word " is not here"
  status = 1
}

{
  text = prose($0)
  while (match(text, /\]\([^) ,#:]+[)#]/)) {  # links of documents
    link = substr(text, RSTART + 2, RLENGTH - 3)
    text = substr(text, 1, RSTART) " " substr(text, RSTART + RLENGTH)
    if (!(resolved(here link) in exists)) missing(link)
  }
  while (match(text, /[A-Za-z0-9_.\/:-]+/)) {
    before = RSTART > 1 ? substr(text, RSTART - 1, 1) : " "
    word = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    # Not ours to find: system headers, patterns and variables, absolute paths and addresses.
    if (before ~ /[<*$%{}~]/ || text ~ /^[<*$%{=]/) continue
    label = sub(/^\/\//, "", word)
    if (word !~ /[A-Za-z0-9_]/ || word ~ /^[\/.]/ || word ~ /\/\//) continue
    sub(/[.:\/-]+$/, "", word)
    sub(/:([0-9]+|uint(8|16|32))$/, "", word)  # a line; what dprun finds in the file
    split(word, part, "/")
    if (!label && word !~ /\.(c|h|cc|cu|md|proto|py|sh|awk|bzl)$/ && !(word ~ /\// && part[1] in top)) continue
    if (word ~ /(^|\/)(NAME|FILE|DIR)([.\/]|$)/ || known(word)) continue
    missing((label ? "//" : "") word)
  }
}

END { exit status }
