# cmake -DPAGE=FILE -DSOURCE=FILE.c -DLICENCES=FILE -P EmbedPage.cmake
# The page of the HTML report as an array in C (page_bytes.h), and the licences that its script's
# first comment has.
file(READ "${PAGE}" bytes HEX)
string(LENGTH "${bytes}" length)
math(EXPR length "${length} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(.....................................................................................)" "\\1\n"
       bytes "${bytes}")
file(WRITE "${SOURCE}" "/* Made by cmake/EmbedPage.cmake. */
#include \"analyzer/report/html/page_bytes.h\"

const unsigned char xfa_page_bytes[] = {
${bytes}
};
const size_t xfa_page_length = ${length};
")

file(READ "${PAGE}" text)
string(FIND "${text}" "<script>/*!" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${PAGE}: no licences before the script")
endif()
math(EXPR begin "${begin} + 11")
string(SUBSTRING "${text}" ${begin} -1 text)
string(FIND "${text}" "*/" end)
string(SUBSTRING "${text}" 0 ${end} text)
string(STRIP "${text}" text)
file(WRITE "${LICENCES}" "The page of `xferscope analyze --format html`. ${text}\n")
