# The files of the package that muster itself writes, into FOLDER: default.toml, and a manual and completions where this muster
# has them.
#   cmake -DMUSTER=PROGRAM -DFOLDER=FOLDER -P write_files.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

execute_process(COMMAND ${MUSTER} config --default OUTPUT_FILE ${FOLDER}/default.toml COMMAND_ERROR_IS_FATAL ANY)

# write_if_there(FILE ARGUMENT…): the output of `muster ARGUMENT…`, when there is such a command.
function(write_if_there file)
  execute_process(COMMAND ${MUSTER} ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND NOT text STREQUAL "")
    file(WRITE ${FOLDER}/${file} "${text}")
  endif()
endfunction()
write_if_there(muster.1 man)
foreach(shell IN ITEMS bash zsh fish)
  write_if_there(completion.${shell} completion ${shell})
endforeach()
