# cmake -DFROM=FILE -DTO=FILE.c -DNAME=NAME -DHEADER=HEADER -P embed.cmake: a file as a C array, NAME, and its size,
# NAME_size, which HEADER declares.
file(READ "${FROM}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${TO}" "#include \"${HEADER}\"\nconst unsigned char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
