# Refills the prose of a Markdown document at 120 columns: paragraphs and list items. Tables, headings, fences and
# indented code stay as they are. A code span is not broken, and no line begins with what would start a list.
function width(text) {
  gsub(/[\200-\277]/, "", text)  # the bytes of a character after its first; LC_ALL=C
  return length(text)
}

function flush(    n, i, word, line, open, words) {
  if (text == "") return
  n = split(text, words, " ")
  line = first
  for (i = 1; i <= n; i++) {
    word = words[i]
    open = gsub(/`/, "`", word) % 2
    while (i < n && (open || words[i + 1] ~ /^([-+*]|[0-9]+[.)]|[#>|].*)$/)) {
      word = word " " words[++i]
      if (gsub(/`/, "`", words[i]) % 2) open = !open
    }
    if (line != first && width(line " " word) > 120) {
      print line
      line = rest word
    } else {
      line = line (line == first ? "" : " ") word
    }
  }
  print line
  text = ""
}

/^```/ { flush(); fenced = !fenced; print; next }
fenced || /^ *$/ || /^ ? ? ?[#|<]/ || /^    / { flush(); print; next }
/^(- |[0-9]+\. )/ {
  flush()
  match($0, /^(- |[0-9]+\. )/)
  first = substr($0, 1, RLENGTH)
  rest = first
  gsub(/./, " ", rest)
  text = substr($0, RLENGTH + 1)
  next
}
{
  if (text == "") {
    match($0, /^ */)
    first = rest = substr($0, 1, RLENGTH)
  }
  text = text " " $0
}
END { flush() }
