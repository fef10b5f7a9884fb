# src/kernel/isa/*.c, compiled once per instruction set: name, floats in a vector, the compiler's flags. Which one runs
# is chosen at start (src/kernel/isa.c). Leaves the objects in kernel_objects.
file(GLOB kernel_sources CONFIGURE_DEPENDS src/kernel/isa/*.c)
set(kernel_objects "")

function(heed_kernels name width)
    add_library(kernels_${name} OBJECT ${kernel_sources})
    target_include_directories(kernels_${name} PRIVATE include src)
    target_compile_definitions(kernels_${name} PRIVATE ISA_SUFFIX=${name} VW=${width})
    target_compile_options(kernels_${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -ffp-contract=fast -fno-math-errno
        -fno-trapping-math ${ARGN})
    if(HEED_FUZZ) # the readers, which are what is fuzzed, call no kernel; clang takes minutes to instrument these
        target_compile_options(kernels_${name} PRIVATE -fno-sanitize=all)
    endif()
    target_compile_definitions(heed_objects PRIVATE HEED_ISA_${name})
    set(kernel_objects ${kernel_objects} $<TARGET_OBJECTS:kernels_${name}> PARENT_SCOPE)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(heed_isas ${HEED_ISAS})
    if(NOT heed_isas)
        set(heed_isas baseline avx2 avx512)
    elseif(NOT "baseline" IN_LIST heed_isas)
        message(FATAL_ERROR "HEED_ISAS is '${HEED_ISAS}'; baseline, which every CPU has, must be among them")
    endif()
    set(avx2 -mavx2 -mfma -mf16c -mbmi2)
    foreach(isa ${heed_isas})
        if(isa STREQUAL "baseline")
            heed_kernels(baseline 4)
        elseif(isa STREQUAL "avx2")
            heed_kernels(avx2 8 ${avx2})
        elseif(isa STREQUAL "avx512")
            heed_kernels(avx512 16 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
        elseif(isa STREQUAL "wide") # AVX-512's vectors on AVX2's instructions: tests its logic on CPUs without AVX-512
            # Vectors wider than a register never cross a call: all are inlined. UBSan sees the same sources in other sets.
            heed_kernels(wide 16 ${avx2} -Wno-psabi -fno-sanitize=undefined)
        else()
            message(FATAL_ERROR "HEED_ISAS: '${isa}' is not one of: baseline, avx2, avx512, wide")
        endif()
    endforeach()
else()
    set(heed_isas portable)
    heed_kernels(portable 4)
endif()
