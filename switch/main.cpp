// vroce-switch: an Ethernet switch in user space. Exit code 0 after SIGTERM or SIGINT, 1 for failure, 2 for usage.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "switch/io/options.hpp"
#include "switch/io/process.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

/// Names and values in messages come from files and arguments: whatever they contain, a message is one line.
int fail(int code, std::string message) {
    std::replace_if(
        message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    fmt::print(stderr, "vroce-switch: {}\n", message);
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const vroce::Result<vroce::sw::Options> options = vroce::sw::parse_options(argc, argv);
        if (!options) return fail(kUsage, options.error());
        if (options->help) {
            fmt::print("{}", vroce::sw::options_help());
            return 0;
        }
        if (options->version) {
            fmt::print("vroce-switch {}\n", VROCE_VERSION);
            return 0;
        }
        const vroce::Status status = vroce::sw::run_process(*options);
        return status ? 0 : fail(kFailure, status.error());
    } catch (const std::exception& problem) {
        return fail(kFailure, problem.what());
    }
}
