# Builds the page in web/ with npm and makes it part of the binary (run at build time, for the program alone).
#
#   cmake -DWEB=dir -DSCRIPTS=dir -DBUILD=dir -DOUTPUT=page.cpp -DBUILT=file -DREQUIRED=ON|OFF -P build_page.cmake
#
# What is missing or fails leaves a program without the page, which says so itself, and no file BUILT; with REQUIRED it
# fails the build.

cmake_policy(VERSION 3.25)

function(give_up why)
  if(REQUIRED)
    message(FATAL_ERROR "The page cannot be built: ${why}")
  endif()
  message(STATUS "Muster is built without its page: ${why}")
  file(REMOVE "${BUILT}")
  # Only written when it changes, so that nothing is compiled or linked again.
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// The page was not built.\n")
endfunction()

function(run_npm what result)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WEB}" RESULT_VARIABLE failed TIMEOUT 300
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    string(STRIP "${said}" said)
    set(${result} "${what} failed (${failed})\n${said}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

find_program(NPM npm)
if(NOT NPM)
  give_up("npm was not found")
  return()
endif()

# Several build folders share the one of npm: one at a time.
file(MAKE_DIRECTORY "${WEB}/node_modules")
file(LOCK "${WEB}/node_modules" DIRECTORY GUARD PROCESS TIMEOUT 600)

set(installed "${WEB}/node_modules/.package-lock.json")
if(NOT EXISTS "${installed}" OR "${WEB}/package-lock.json" IS_NEWER_THAN "${installed}")
  run_npm("npm ci" problem ${NPM} ci --no-audit --no-fund --prefer-offline)
  if(problem)
    give_up("${problem}")
    return()
  endif()
endif()

run_npm("vite" problem ${NPM} exec --offline -- vite build --logLevel warn --emptyOutDir --outDir "${BUILD}")
if(problem)
  give_up("${problem}")
  return()
endif()
file(GLOB files RELATIVE "${BUILD}" "${BUILD}/*")
list(SORT files)
if(NOT "index.html" IN_LIST files)
  give_up("vite made no index.html")
  return()
endif()

string(REPLACE ";" "," FILES "${files}")
set(FOLDER "${BUILD}")
set(SYMBOL embedded_page)
include("${SCRIPTS}/embed_files.cmake")
file(TOUCH "${BUILT}")
