# The files of the package that muster itself writes, into FOLDER: muster.toml, and a manual and completions where this muster
# has them.
#   cmake -DMUSTER=PROGRAM -DFOLDER=FOLDER -P write_files.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

execute_process(COMMAND ${MUSTER} config --default OUTPUT_VARIABLE config COMMAND_ERROR_IS_FATAL ANY)

# Says `to` instead of `from`, which must be there.
function(change from to)
  string(FIND "${config}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "muster config --default has no line ${from}")
  endif()
  string(REPLACE "${from}" "${to}" changed "${config}")
  set(config "${changed}" PARENT_SCOPE)
endfunction()

# As the service sees them: see muster.service.
change("\npath = \"muster.db\"" "\npath = \"/var/lib/muster/muster.db\"")
foreach(secret IN ITEMS server_token matchmaker_token admin_token player_key)
  change("${secret}_file = \"/etc/muster/${secret}\""
         "${secret}_file = \"/run/credentials/muster.service/muster_${secret}\"  # is /etc/muster/secrets/${secret}")
endforeach()
file(WRITE ${FOLDER}/muster.toml "${config}")

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
