# What goes with the program to a machine, and what its guides tell people to do there. 77: a tool that it needs is not here.
foreach(name IN ITEMS docker metrics systemd)
  add_test(NAME "packaging: ${name}"
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/packaging_${name}_test.py $<TARGET_FILE:muster>)
  set_tests_properties("packaging: ${name}" PROPERTIES LABELS program TIMEOUT 900)
endforeach()

add_test(NAME "packaging: promtool reads the alerts, their tests and the dashboard's queries"
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/packaging_promtool_test.py ${CMAKE_BINARY_DIR}/packaging)
set_tests_properties("packaging: promtool reads the alerts, their tests and the dashboard's queries"
  PROPERTIES LABELS check TIMEOUT 900 SKIP_RETURN_CODE 77)

add_test(NAME "packaging: the Debian packages are installed, run and removed"
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/packaging_debian_test.py ${CMAKE_BINARY_DIR})
add_test(NAME "docs: every command of the guides works"
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/docs_commands_test.py $<TARGET_FILE:muster> ${CMAKE_BINARY_DIR} ${CMAKE_COMMAND})
set_tests_properties("packaging: the Debian packages are installed, run and removed" "docs: every command of the guides works"
  PROPERTIES LABELS "program;slow" TIMEOUT 900 SKIP_RETURN_CODE 77)

# Builds the SDK anew, as the one command of a fresh tree does.
add_test(NAME "packaging: ./run install-sdk works in a fresh tree"
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/install_sdk_test.py ${CMAKE_CXX_COMPILER} ${CMAKE_C_COMPILER})
set_tests_properties("packaging: ./run install-sdk works in a fresh tree" PROPERTIES LABELS "program;slow" TIMEOUT 900)
