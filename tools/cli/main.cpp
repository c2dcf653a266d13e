// vroce: the command that people type.
#include <fmt/core.h>

#include <exception>

#include "tools/cli/command.hpp"

int main(int argc, char** argv) {
    try {
        return vroce::cli::dispatch({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        fmt::print(stderr, "vroce: {}\n", error.what());
        return 1;
    }
}
