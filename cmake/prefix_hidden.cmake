# cmake -DARCHIVE=libheed.a -DNM=… -DOBJCOPY=… -P prefix_hidden.cmake
#
# Hidden names are global in an archive: a program with a function map_find of its own would replace ours, or not link. So
# every name that is not public gets the prefix heed__; members stay apart, so that a program links only what it uses.
execute_process(COMMAND ${NM} -g --defined-only -P ${ARCHIVE} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${lines}")
list(FILTER lines EXCLUDE REGEX ":$|^heed_")
list(TRANSFORM lines REPLACE "^([^ ]+) .*$" "\\1 heed__\\1")
list(REMOVE_DUPLICATES lines)
list(JOIN lines "\n" lines)
file(WRITE ${ARCHIVE}.names "${lines}\n")
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${ARCHIVE}.names ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE ${ARCHIVE}.names)
