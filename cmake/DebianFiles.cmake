# Run by cpack before it builds the package: what Debian wants there instead of, or in addition to, what is
# installed anywhere. Copyright, changelog, and why lintian need not warn.
set(doc "${CPACK_TEMPORARY_DIRECTORY}/usr/share/doc/xferscope")
set(maintainer "${CPACK_PACKAGE_CONTACT}")

file(REMOVE "${doc}/LICENSE")
file(GLOB licences "${doc}/licences/*.txt")
set(others "")
foreach(licence IN LISTS licences)
  get_filename_component(name "${licence}" NAME_WE)
  file(READ "${licence}" text)
  # Debian has that text itself, and does not want it again.
  string(REGEX REPLACE " *Apache License\n +Version 2\\.0, January 2004\n.*limitations under the License\\.\n"
         "Licensed under the Apache License, Version 2.0: /usr/share/common-licenses/Apache-2.0\n" text "${text}")
  string(APPEND others "\nOf ${name}, which is compiled in:\n\n${text}")
endforeach()
file(REMOVE_RECURSE "${doc}/licences")
file(WRITE "${doc}/copyright" "xferscope, by its maintainers: ${maintainer}
Copyright: 2026 the authors of xferscope

Licensed under the Apache License, Version 2.0; on Debian systems its text is
in /usr/share/common-licenses/Apache-2.0.
${others}")

file(STRINGS "${CPACK_XFERSCOPE_CHANGES}" headings REGEX "^## ${CPACK_PACKAGE_VERSION} ")
string(REGEX REPLACE "^.*\\((.*)\\)$" "\\1" date "${headings}")
execute_process(COMMAND env LC_ALL=C date --utc --rfc-email --date "${date}" OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${doc}/changelog" "xferscope (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGES.md lists what is new.

 -- ${maintainer}  ${date}
")
execute_process(COMMAND gzip -9n "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)

file(WRITE "${CPACK_TEMPORARY_DIRECTORY}/usr/share/lintian/overrides/xferscope"
"# cpack adds the call to every package with a library below /usr/lib; this one's are in a folder of
# their own, which the loader does not know and need not.
xferscope: maintscript-calls-ldconfig [postinst]
xferscope: maintscript-calls-ldconfig [postrm]
")
file(CHMOD "${doc}/copyright" "${doc}/changelog.gz" "${CPACK_TEMPORARY_DIRECTORY}/usr/share/lintian/overrides/xferscope"
     PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
