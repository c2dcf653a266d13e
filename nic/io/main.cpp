// vroce-nic: the NIC of one host. See --help and configs/hosts.
#include <fmt/core.h>

#include <cstdio>

#include "nic/io/nic_process.hpp"

int main(int argc, char** argv) {
    const vroce::nic::OptionsOutcome outcome = vroce::nic::parse_options(argc, argv);
    if (!outcome.options) {
        if (outcome.exit_code == 0)
            fmt::print("{}", outcome.text);
        else
            fmt::print(stderr, "vroce-nic: {}\n", outcome.text);
        return outcome.exit_code;
    }
    const vroce::Status status = vroce::nic::run_nic(*outcome.options);
    if (status) return 0;
    fmt::print(stderr, "vroce-nic: {}\n", status.error());
    return 1;
}
