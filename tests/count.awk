# awk -v part=NAME -f count.awk EVENTS: what `bazel test --build_event_json_file=EVENTS` ran, case by case. Prints
# "failed PART LABEL CASE: MESSAGE" and "skipped PART LABEL CASE: REASON" lines, then "count PASSED FAILED SKIPPED". The
# events name each test's own test.xml, so results of an earlier run are never counted. A test that fails without a
# failing case (a leak found at exit, a time limit), one that passes without any case, and a target that does not build
# count as one failure each.

function between(text, before, after, at) {
  at = index(text, before)
  if (!at) return ""
  text = substr(text, at + length(before))
  return substr(text, 1, index(text, after) - 1)
}

function plain(text) {
  gsub(/&#x0A;/, " ", text)
  gsub(/&quot;/, "\"", text)
  gsub(/&apos;/, "'", text)
  gsub(/&lt;/, "<", text)
  gsub(/&gt;/, ">", text)
  gsub(/&amp;/, "\\&", text)
  return text
}

function fail(label, what) {
  failed++
  print "failed", part, label, what
}

function finish_case(label) {
  if (state == "failed") fail(label, name (message == "" ? "" : ": " substr(message, 1, 400)))
  else if (state == "skipped") { skipped++; print "skipped", part, label, name ": " (reason == "" ? "no reason given" : reason) }
  else if (state == "passed") passed++
  state = ""
}

# A JUnit file of GoogleTest or, for other tests and for crashes, of Bazel. What a test printed (<system-out>) is not read
# as cases, nor are cases that GoogleTest lists but did not run (disabled, filtered out).
function read_cases(label, file, line, printed, group) {
  while ((getline line < file) > 0) {
    if (index(line, "<system-out>")) printed = 1
    if (printed) {
      if (index(line, "</system-out>")) printed = 0
      continue
    }
    if (line ~ /^ *<testcase /) {
      finish_case(label)
      group = between(line, " classname=\"", "\"")
      name = plain((group == "" ? "" : group ".") between(line, " name=\"", "\""))
      reason = message = ""
      if (index(line, " status=\"notrun\"")) continue
      state = index(line, " result=\"skipped\"") ? "skipped" : "passed"
    }
    if (state != "" && line ~ /<(failure|error) /) {
      state = "failed"
      if (message == "") message = plain(between(line, "message=\"", "\""))
    }
    if (state == "skipped" && index(line, "<skipped message=")) reason = plain(between(line, "message=\"", "\""))
  }
  close(file)
  finish_case(label)
}

/^{"id":{"targetCompleted":/ && !/"completed":{"success":true/ {
  fail(between($0, "\"label\":\"", "\""), "does not build")
}

/^{"id":{"testResult":/ {
  label = between($0, "\"label\":\"", "\"")
  status = between($0, "\"status\":\"", "\"")
  failed_before = failed
  cases_before = passed + failed + skipped
  read_cases(label, between($0, "\"name\":\"test.xml\",\"uri\":\"file://", "\""))
  if (status != "PASSED" && failed == failed_before) fail(label, "ended with " status ", no case failed")
  else if (passed + failed + skipped == cases_before) fail(label, "ran no case")
}

END { print "count", passed + 0, failed + 0, skipped + 0 }
