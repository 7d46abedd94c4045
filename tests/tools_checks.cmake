# The checks of the source itself, and the tests of the tools that make them: ctest -L check.
find_package(Python3 3.11 COMPONENTS Interpreter REQUIRED)

set(tools ${CMAKE_SOURCE_DIR}/tools)

add_test(NAME "check: the source is laid out by clang-format" COMMAND ${tools}/check_format.sh)
add_test(NAME "check: folders include only what they may" COMMAND Python3::Interpreter ${tools}/check_includes.py)
add_test(NAME "check: nothing in core calls back upstream" COMMAND Python3::Interpreter ${tools}/check_core.py)
add_test(NAME "check: no machine's paths, no unfinished work" COMMAND ${tools}/check_words.sh)
add_test(NAME "check: every built requirement has a test that names it"
  COMMAND Python3::Interpreter ${tools}/check_requirements.py --check ${tools}/requirements_open.txt)
add_test(NAME "check: the table of the bug zoo names the bugs that are planted"
  COMMAND Python3::Interpreter ${tools}/zoo.py --check)
set(checks
  "check: the table of the bug zoo names the bugs that are planted"
  "check: the source is laid out by clang-format"
  "check: folders include only what they may"
  "check: nothing in core calls back upstream"
  "check: no machine's paths, no unfinished work"
  "check: every built requirement has a test that names it")

foreach(tool IN ITEMS build check_core check_includes check_requirements check_words setup test_report zoo)
  add_test(NAME "tools: ${tool}" COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/tools_${tool}_test.py)
  list(APPEND checks "tools: ${tool}")
endforeach()

# 77: the tool that the check needs is not installed.
set_tests_properties(${checks} PROPERTIES LABELS check TIMEOUT 900 SKIP_RETURN_CODE 77)
