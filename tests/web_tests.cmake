# The page's tests: its logic under node, and the page of the real binary in a browser.
#
# They are there when the page is (MUSTER_PAGE) and npm, and the second one when Chromium is (Debian: chromium). The
# program's build installs what they need into web/node_modules.

find_program(MUSTER_NPM npm)
find_program(MUSTER_CHROMIUM NAMES chromium chromium-browser)

if(MUSTER_PAGE AND MUSTER_NPM)
  add_test(NAME "page: logic" COMMAND ${MUSTER_NPM} --prefix ${CMAKE_SOURCE_DIR}/web test)
  set_tests_properties("page: logic" PROPERTIES LABELS page TIMEOUT 300)

  if(MUSTER_CHROMIUM)
    add_test(NAME "page: in a browser" COMMAND ${MUSTER_NPM} --prefix ${CMAKE_SOURCE_DIR}/web run test:page)
    # Alone: a browser, a daemon and its peers are enough for two cores.
    set_tests_properties("page: in a browser" PROPERTIES LABELS page TIMEOUT 600 RUN_SERIAL ON
      ENVIRONMENT "MUSTER_PAGE_PROGRAM=$<TARGET_FILE:muster>;MUSTER_PAGE_DIST=${CMAKE_BINARY_DIR}/src/cli/page/dist;\
MUSTER_PAGE_ARTEFACTS=${CMAKE_BINARY_DIR}/web_page;MUSTER_PAGE_CHROMIUM=${MUSTER_CHROMIUM}")
  else()
    message(STATUS "The page is not tested in a browser: chromium was not found")
  endif()
endif()
