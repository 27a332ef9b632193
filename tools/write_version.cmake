# Runs at every build: writes OUTPUT from version.cpp.in if version or commit changed.
#   cmake -D SOURCE=... -D OUTPUT=... -D VERSION=... -P write_version.cmake
execute_process(COMMAND git describe --always --dirty --abbrev=40 --exclude=* WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT COMMIT)
  set(COMMIT unknown)
endif()
configure_file(${SOURCE}/tools/version.cpp.in ${OUTPUT} @ONLY)
