# muster_folder(NAME base
#   SOURCES  a.cpp b.cpp     sources of the library muster_base (a folder of headers only names none)
#   HEADERS  a.h b.h         every one of them is compiled alone
#   TESTS    a_test.cpp      become the test program base_tests, one CTest test per case
#   LINKS    muster::x fmt   what the library needs, public
#   TEST_LINKS …             what only the tests need
#   COST …                   CTest timeout in seconds per test case; 900 by default, against a hang
#   ONE_BY_ONE lib tests     sources that share names and cannot be compiled together; for single ones set the property
#                            SKIP_UNITY_BUILD_INCLUSION)
#
# Declares the library muster::base with the warnings and flags of the house.
function(muster_folder)
  cmake_parse_arguments(F "" "NAME;COST" "SOURCES;HEADERS;TESTS;LINKS;TEST_LINKS;ONE_BY_ONE" ${ARGN})
  set(lib muster_${F_NAME})

  if(F_SOURCES)
    add_library(${lib} STATIC ${F_SOURCES})
    target_link_libraries(${lib} PRIVATE muster_build PUBLIC ${F_LINKS})
    target_include_directories(${lib} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    if(NOT "lib" IN_LIST F_ONE_BY_ONE)
      muster_together(${lib} 24)
    endif()
  else()
    add_library(${lib} INTERFACE)
    target_link_libraries(${lib} INTERFACE ${F_LINKS})
    target_include_directories(${lib} INTERFACE ${CMAKE_SOURCE_DIR}/src)
  endif()
  add_library(muster::${F_NAME} ALIAS ${lib})

  if(F_HEADERS AND MUSTER_HEADERS_ALONE)
    muster_headers_alone(${F_NAME} ${lib} ${F_HEADERS})
  endif()

  if(F_TESTS AND MUSTER_TESTS)
    if(NOT F_COST)
      set(F_COST 900)
    endif()
    add_executable(${F_NAME}_tests ${F_TESTS})
    target_link_libraries(${F_NAME}_tests PRIVATE ${lib} ${F_TEST_LINKS})
    muster_unit_tests(${F_NAME}_tests)
    if(NOT "tests" IN_LIST F_ONE_BY_ONE)
      muster_together(${F_NAME}_tests 10)
    endif()
    doctest_discover_tests(${F_NAME}_tests TEST_PREFIX "${F_NAME}: " ADD_LABELS 0
      PROPERTIES LABELS unit TIMEOUT ${F_COST}
      FAIL_REGULAR_EXPRESSION "test cases: +0 ")  # a name that matched nothing must not pass
  endif()
endfunction()

# muster_together(target files): compiles so many of its sources as one file. Parsing headers is most of a build's time, so
# this takes about a fifth of it. Libraries are joined in the same way in every preset, so that ./test sees every clash of
# local names that ./run would stumble over.
# That each header stands alone is still seen by tools/check_tidy.py (./test --lint).
function(muster_together target files)
  if(MUSTER_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
endfunction()

# muster_not_hot(target…): in an optimised build, compiles with -O1 what runs rarely or waits for others, such as commands
# and the reading of a config. It takes a quarter to a third less time than -O2.
function(muster_not_hot)
  if(MUSTER_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE -O1)
  endforeach()
endfunction()

# muster_unit_tests(program): a program of doctest's test cases, which is built with the target unit_tests.
function(muster_unit_tests program)
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
    # doctest itself, compiled once. An assertion is one call, which compiles faster than code at each place; an exception
    # in it still fails the test case.
    add_library(muster_doctest OBJECT ${CMAKE_SOURCE_DIR}/tests/doctest_main.cpp)
    target_link_libraries(muster_doctest PUBLIC muster_build doctest::doctest)
    target_compile_definitions(muster_doctest PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  endif()
  target_link_libraries(${program} PRIVATE muster_doctest)
  add_dependencies(unit_tests ${program})
  # Most of a build's time goes into optimising tests, which nobody waits for. The libraries under test are optimised as
  # ever; what stands in headers only is as the test is.
  if(MUSTER_SANITIZE)
    target_compile_options(${program} PRIVATE -O0)
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${program} PRIVATE -O1)
  endif()
endfunction()

# Compiles each header as a file of its own, so that none leans on what its includer happened to include first.
function(muster_headers_alone name lib)
  set(units "")
  foreach(header IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH header OUTPUT_VARIABLE full)
    muster_included_first(${full} compiled)
    if(compiled)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${header} id)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${id}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${full}\"\n" @ONLY)
    list(APPEND units ${unit})
  endforeach()
  if(NOT units)
    return()
  endif()
  add_library(${name}_headers_alone OBJECT ${units})
  target_link_libraries(${name}_headers_alone PRIVATE muster_build ${lib})
  target_compile_options(${name}_headers_alone PRIVATE -O0 -g0)  # nobody runs it
endfunction()

# Sets `result` when the header's own source, or its test, begins with it: then that one compiles it alone already.
function(muster_included_first header result)
  cmake_path(REMOVE_EXTENSION header LAST_ONLY OUTPUT_VARIABLE stem)
  cmake_path(GET header FILENAME name)
  set(${result} FALSE PARENT_SCOPE)
  foreach(source IN ITEMS ${stem}.cpp ${stem}_test.cpp)
    if(EXISTS ${source})
      file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
      if(first MATCHES "[/\"]${name}\"$")
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()
