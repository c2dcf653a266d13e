// vroce run, and the common end of it and `vroce lab exec`: enter the view, become the command.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tools/cli/exec.hpp"
#include "tools/lab/netns.hpp"
#include "tools/view/device_view.hpp"

namespace vroce::cli {
namespace {

namespace fs = std::filesystem;

// As shells, env and nsenter answer.
constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

Outcome become(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    return {error == ENOENT ? kNotFound : kNotExecutable, fmt::format("{}: {}", command[0], std::strerror(error))};
}

Outcome run(const Arguments& arguments) {
    std::error_code error;
    const std::string path = fs::absolute(*arguments.get("vm")).lexically_normal().string();
    if (!fs::is_directory(path + "/class", error)) {
        return failure(fmt::format(
            "{}: no endpoint; its folder is expected, as /run/vroce/h1/vm1, with class/ and session.sock", path));
    }
    const Status entered = tools::enter_device_view(
        {path + "/class", tools::find_plugin(), /*fresh_sysfs=*/false, /*user_namespace=*/::geteuid() != 0});
    return entered ? become(arguments.command()) : failure(entered.error());
}

}  // namespace

Outcome exec_on_host(const tools::LabPlace& place, const std::vector<std::string>& command) {
    if (::geteuid() != 0) return failure("needs root to enter a network namespace; 'vroce run' works without");
    if (Status s = tools::enter_netns(place.netns); !s) return failure(s.error());
    const Status entered = tools::enter_device_view(
        {place.path + "/class", tools::find_plugin(), /*fresh_sysfs=*/true, /*user_namespace=*/false});
    return entered ? become(command) : failure(entered.error());
}

std::vector<Command> run_commands() {
    return {
        {"run",
         "run a command with the endpoint's RDMA device, in the network namespace where we are",
         {{Kind::option, "--vm", "PATH", "the endpoint's folder, as /run/vroce/h1/vm1", true},
          {Kind::command, "CMD", "", "the command and its arguments", true}},
         run},
    };
}

}  // namespace vroce::cli
