#!/bin/sh
# Tests count.awk on events and test.xml files of each kind, written as GoogleTest 1.12 and Bazel 4.2 write them.
set -eu
awk_script=$1
cd "$TEST_TMPDIR"

event() {  # LABEL STATUS XML
  echo '{"id":{"testResult":{"label":"'"$1"'","run":1}},"testResult":{"testActionOutput":[{"name":"test.log","uri":"file:///l"},' \
    '{"name":"test.xml","uri":"file://'"$TEST_TMPDIR/$3"'"}],"cachedLocally":true,"status":"'"$2"'","executionInfo":{}}}' |
    sed 's/, {/,{/'
}

cat >mixed.xml <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" time="0" name="AllTests">
  <testsuite name="S" tests="4" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="good" file="a.cc" line="7" status="run" result="completed" time="0" classname="S" />
    <testcase name="bad" file="a.cc" line="9" status="run" result="completed" time="0" classname="S">
      <failure message="a.cc:9&#x0A;Failure" type=""><![CDATA[a.cc:9
Failure]]></failure>
      <failure message="a.cc:10&#x0A;Failure" type=""><![CDATA[a.cc:10]]></failure>
    </testcase>
    <testcase name="idle" file="a.cc" line="14" status="run" result="skipped" time="0" classname="S">
      <skipped message="a.cc:14&#x0A;no &quot;GPU&quot;"><![CDATA[a.cc:14]]></skipped>
    </testcase>
    <testcase name="DISABLED_x" file="a.cc" line="20" status="notrun" result="suppressed" time="0" classname="S" />
    <testcase name="param/0" value_param="&lt;1&gt;" file="a.cc" line="21" status="run" result="completed" classname="I/S" />
  </testsuite>
</testsuites>
XML
cat >crash.xml <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a/crash" tests="1" failures="0" errors="1">
    <testcase name="a/crash" status="run" duration="1" time="1"><error message="exited with error code 134"></error></testcase>
      <system-out>
Generated test.log (if the file is not UTF-8, then this may be unreadable):
<![CDATA[
    <testcase name="printed" status="run" classname="S" />
]]>
      </system-out>
    </testsuite>
</testsuites>
XML
cat >fine.xml <<'XML'
<testsuites>
    <testcase name="one" status="run" result="completed" classname="S" />
</testsuites>
XML

{
  event //a:mixed FAILED mixed.xml
  event //a:crash FAILED crash.xml
  event //a:leak FAILED fine.xml
  event //a:fine PASSED fine.xml
  event //a:late TIMEOUT absent.xml
  event //a:empty PASSED absent.xml
  echo '{"id":{"targetConfigured":{"label":"//a:fine"}},"configured":{}}'
  echo '{"id":{"targetCompleted":{"label":"//a:fine","configuration":{"id":"1"}}},"completed":{"success":true,"testSize":"SMALL"}}'
  echo '{"id":{"targetCompleted":{"label":"//a:broken","configuration":{"id":"1"}}},"completed":{"failureDetail":{"message":"m"}}}'
  echo '{"id":{"targetCompleted":{"label":"//a:lost","configuration":{"id":"1"}}},"aborted":{"reason":"ANALYSIS_FAILURE"}}'
} >events.json

cat >expected <<'TEXT'
failed plain //a:mixed S.bad: a.cc:9 Failure
skipped plain //a:mixed S.idle: a.cc:14 no "GPU"
failed plain //a:crash a/crash: exited with error code 134
failed plain //a:leak ended with FAILED, no case failed
failed plain //a:late ended with TIMEOUT, no case failed
failed plain //a:empty ran no case
failed plain //a:broken does not build
failed plain //a:lost does not build
count 4 7 1
TEXT
awk -v part=plain -f "$OLDPWD/$awk_script" events.json >found
diff -u expected found
