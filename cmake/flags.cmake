# How heed's own code is compiled: for this directory and below, so that nothing of it reaches a program that uses heed.
add_compile_options(-std=gnu17 -fvisibility=hidden -fopenmp-simd -Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion)
# Only the kernels contract a * b + c: elsewhere the bits must not depend on what a compiler happens to fuse.
add_compile_options(-ffp-contract=off)
if(HEED_WERROR)
    add_compile_options(-Werror)
endif()

if(HEED_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "HEED_FUZZ needs clang (libFuzzer), not ${CMAKE_C_COMPILER_ID}")
    endif()
    set(instrument -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
elseif(HEED_SANITIZE STREQUAL "address")
    set(instrument -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(HEED_SANITIZE STREQUAL "thread")
    set(instrument -fsanitize=thread)
elseif(HEED_SANITIZE)
    message(FATAL_ERROR "HEED_SANITIZE is '${HEED_SANITIZE}'; it may be address, thread or empty")
endif()
if(instrument)
    add_compile_options(${instrument} -O1 -g1 -fno-omit-frame-pointer) # -g1: lines for stack traces
    add_link_options(${instrument})
endif()
