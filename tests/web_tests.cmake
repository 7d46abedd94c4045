# The page's tests: its logic under node, its files, and the page of the real binary in a browser. Where npm or Chromium
# (Debian: chromium) is missing they are skipped, and say so.

set(page_dist ${CMAKE_BINARY_DIR}/src/cli/page/dist)
set(page_tests ${CMAKE_CURRENT_LIST_DIR}/web_tests.sh)

add_test(NAME "page: gets into the program where npm works"
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/web_build_test.py)
set_tests_properties("page: gets into the program where npm works" PROPERTIES LABELS program TIMEOUT 300)

if(MUSTER_PAGE)
  add_test(NAME "page: logic" COMMAND ${page_tests} logic)
  add_test(NAME "page: files" COMMAND ${page_tests} files ${page_dist})
  add_test(NAME "page: in a browser" COMMAND ${page_tests} browser)
  # One at a time, since the first installs what npm has not yet. The browser alone: with a daemon and its peers it is
  # enough for two cores.
  set_tests_properties("page: logic" "page: files" "page: in a browser" PROPERTIES LABELS page TIMEOUT 600
    SKIP_RETURN_CODE 77 RESOURCE_LOCK node_modules)
  set_tests_properties("page: in a browser" PROPERTIES RUN_SERIAL ON
    ENVIRONMENT "MUSTER_PAGE_PROGRAM=$<TARGET_FILE:muster>;MUSTER_PAGE_DIST=${page_dist};\
MUSTER_PAGE_ARTEFACTS=${CMAKE_BINARY_DIR}/web_page")
endif()
