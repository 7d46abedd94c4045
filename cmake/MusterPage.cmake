# The page (web/) as part of the program. Nothing but the program waits for it.
#
#   MUSTER_PAGE=AUTO   built when npm is there and works; a program without it says so (the default)
#   MUSTER_PAGE=ON     a page that cannot be built fails the build, and says why
#   MUSTER_PAGE=OFF    never

set(MUSTER_PAGE AUTO CACHE STRING "Build the dashboard into the program: AUTO, ON or OFF")
set_property(CACHE MUSTER_PAGE PROPERTY STRINGS AUTO ON OFF)

# muster_page(program): gives the program its page.
function(muster_page program)
  if(NOT MUSTER_PAGE OR NOT EXISTS ${CMAKE_SOURCE_DIR}/web/package.json)
    return()
  endif()
  set(required OFF)
  if(NOT MUSTER_PAGE STREQUAL "AUTO")
    set(required ON)
  endif()
  set(output ${CMAKE_CURRENT_BINARY_DIR}/page/embedded_page.cpp)
  # There once the page is. Until then every build tries again, since npm or its registry may be back.
  set(built ${CMAKE_CURRENT_BINARY_DIR}/page/built)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/* ${CMAKE_SOURCE_DIR}/web/public/*)
  add_custom_command(OUTPUT ${output} ${built}
    COMMAND ${CMAKE_COMMAND} -DWEB=${CMAKE_SOURCE_DIR}/web -DSCRIPTS=${CMAKE_SOURCE_DIR}/cmake
            -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/page/dist -DOUTPUT=${output} -DBUILT=${built} -DREQUIRED=${required}
            -P ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/web/index.html ${CMAKE_SOURCE_DIR}/web/package-lock.json
            ${CMAKE_SOURCE_DIR}/web/vite.config.ts ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
            ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    COMMENT "Building the page" VERBATIM)
  target_sources(${program} PRIVATE ${output} ${built})
endfunction()
