# What `make install` puts where: libraries, headers, the command, heed.pc, the CMake package, recipes, docs.
include(CMakePackageConfigHelpers)

install(TARGETS heed_shared EXPORT heedTargets)
install(TARGETS heed_static EXPORT heedStaticTargets)
install(TARGETS heed)
install(DIRECTORY include/heed DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The manual and the completions come from the option tables: the command prints them.
foreach(page bash zsh)
    add_custom_command(OUTPUT heed.${page} DEPENDS heed VERBATIM
        COMMAND sh -c "$<TARGET_FILE:heed> docs ${page} > heed.${page}")
    list(APPEND pages ${CMAKE_CURRENT_BINARY_DIR}/heed.${page})
endforeach()
add_custom_command(OUTPUT man/heed.1 DEPENDS heed ${PROJECT_SOURCE_DIR}/cmake/man.sh VERBATIM
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/man.sh $<TARGET_FILE:heed> man)
list(APPEND pages ${CMAKE_CURRENT_BINARY_DIR}/man/heed.1)
add_custom_target(pages ALL DEPENDS ${pages})
add_dependencies(product pages)
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME heed)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _heed)

install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}) # as README.md links to it
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/heed FILES_MATCHING PATTERN "*.recipe")
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/heed FILES_MATCHING PATTERN "*.awk")
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/heed USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.sh")

# heed.pc finds itself from where it lies, so that a staged or moved tree works. An absolute libdir is kept as it is.
foreach(dir LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
        set(PC_${dir} "${CMAKE_INSTALL_${dir}}")
    else()
        set(PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    string(REGEX REPLACE "[^/]+" ".." up "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    set(PC_PREFIX "\${pcfiledir}/${up}")
endif()
# What a static program links beside libheed.a, spelt out: pkg-config gives the include paths and definitions of what is
# named in Requires.private to everybody.
execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --static --libs jansson zlib cairo libutf8proc libpcre2-8 libpng libjpeg
    OUTPUT_VARIABLE PC_LIBS_PRIVATE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file(heed.pc.in heed.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The static target stands apart: its dependencies must be there to link it, and users of libheed.so need none of them.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(EXPORT heedTargets NAMESPACE heed:: DESTINATION ${package_dir})
install(EXPORT heedStaticTargets NAMESPACE heed:: DESTINATION ${package_dir})
configure_package_config_file(cmake/heedConfig.cmake.in heedConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/heedConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/heedConfigVersion.cmake
    DESTINATION ${package_dir})
