/* What a build without npm has instead of the page. */
#include "analyzer/report/html/page_bytes.h"

const unsigned char xfa_page_bytes[1];
const size_t xfa_page_length = 0;
