// Keys of net_memif, DPDK 22.11.
#include "switch/config/devargs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "switch/config/field.hpp"

namespace vroce::sw {
namespace {

constexpr std::array<std::string_view, 11> kMemifKeys{
    "id",        "role",      "bsize", "rsize",  "socket",   "socket-abstract",
    "owner-uid", "owner-gid", "mac",   "secret", "zero-copy"};
constexpr std::string_view kMemifAllowed =
    "id, role, bsize, rsize, socket, socket-abstract, owner-uid, owner-gid, mac, secret, zero-copy";

}  // namespace

Status check_devargs(const std::string& devargs) {
    std::string_view rest = devargs;
    const auto next = [&rest] {
        const std::string_view part = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), part.size() + 1));
        return part;
    };
    if (next().rfind("net_memif", 0) != 0) return Done{};
    bool socket = false;
    while (!rest.empty()) {
        const std::string_view part = next();
        const std::string_view key = part.substr(0, part.find('='));
        if (std::find(kMemifKeys.begin(), kMemifKeys.end(), key) == kMemifKeys.end() || key.size() + 1 >= part.size()) {
            return Error{fmt::format("\"{}\" is not KEY=VALUE of a memif; allowed keys: {}", part, kMemifAllowed)};
        }
        socket |= key == "socket";
    }
    if (!socket) return Error{fmt::format("a memif needs socket=PATH; allowed keys: {}", kMemifAllowed)};
    return Done{};
}

std::uint32_t ring_slots(const std::string& devargs) {
    constexpr std::string_view kKey = ",rsize=";
    constexpr std::uint64_t kLog2Most = 14;
    const std::size_t at = devargs.find(kKey);
    std::uint64_t log2 = 8;
    if (at != std::string::npos) {
        const std::string value = devargs.substr(at + kKey.size());
        parse_number(value.substr(0, value.find(',')), log2);
    }
    return 1U << std::min(log2, kLog2Most);
}

}  // namespace vroce::sw
