# Makes files part of a program: a source file that defines `muster::<SYMBOL>` (src/http/embedded_file.h), and beside it
# a compressed copy of each file.
#
#   cmake -DSYMBOL=embedded_page -DFOLDER=dir -DFILES=a,b -DOUTPUT=page.cpp -P embed_files.cmake

string(REPLACE "," ";" files "${FILES}")
get_filename_component(beside "${OUTPUT}" DIRECTORY)
set(bytes "")
set(names "")
set(rows "")
foreach(name IN LISTS files)
  set(plain "${FOLDER}/${name}")
  set(packed "${beside}/${SYMBOL}_${name}.gz")
  execute_process(COMMAND gzip --best --no-name --stdout "${plain}" OUTPUT_FILE "${packed}" COMMAND_ERROR_IS_FATAL ANY)
  file(SIZE "${plain}" plain_size)
  file(SIZE "${packed}" packed_size)
  file(SHA256 "${plain}" hash)
  string(SUBSTRING "${hash}" 0 32 hash)
  string(MAKE_C_IDENTIFIER "${SYMBOL}_${name}" id)
  string(APPEND bytes "${id}: .incbin \"${plain}\"\n${id}_gzip: .incbin \"${packed}\"\n")
  string(APPEND names "extern \"C\" const char ${id}[];\nextern \"C\" const char ${id}_gzip[];\n")
  string(APPEND rows "    {\"${name}\", {${id}, ${plain_size}}, {${id}_gzip, ${packed_size}}, \"\\\"${hash}\\\"\"},\n")
endforeach()

file(WRITE "${OUTPUT}" "// Made by cmake/embed_files.cmake.
#include \"http/embedded_file.h\"

asm(R\"(
.pushsection .rodata
${bytes}.popsection
)\");

${names}
namespace muster {
namespace {
const EmbeddedFile files[] = {
${rows}};
}  // namespace
extern const EmbeddedFiles ${SYMBOL}{files};
}  // namespace muster
")
