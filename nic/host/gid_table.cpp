#include "nic/host/gid_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vroce::nic {
namespace {

constexpr std::array<std::uint8_t, 8> kLinkLocalPrefix{0xfe, 0x80, 0, 0, 0, 0, 0, 0};

bool contains(const std::vector<Gid>& gids, const Gid& gid) {
    return std::find(gids.begin(), gids.end(), gid) != gids.end();
}

}  // namespace

std::array<std::uint8_t, 8> eui64(const MacAddress& mac) {
    const auto& m = mac.bytes;
    return {static_cast<std::uint8_t>(m[0] ^ 2), m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
}

Gid link_local_gid(const MacAddress& mac) {
    Gid gid;
    const auto id = eui64(mac);
    std::copy(kLinkLocalPrefix.begin(), kLinkLocalPrefix.end(), gid.bytes.begin());
    std::copy(id.begin(), id.end(), gid.bytes.begin() + 8);
    return gid;
}

std::optional<MacAddress> mac_of_link_local(const Gid& gid) {
    const auto& b = gid.bytes;
    if (!std::equal(kLinkLocalPrefix.begin(), kLinkLocalPrefix.end(), b.begin())) return std::nullopt;
    if (b[11] != 0xff || b[12] != 0xfe) return std::nullopt;
    const MacAddress mac{{static_cast<std::uint8_t>(b[8] ^ 2), b[9], b[10], b[13], b[14], b[15]}};
    if ((mac.bytes[0] & 1) != 0) return std::nullopt;  // a group is nobody's own address
    return mac;
}

std::string format_gid(const Gid& gid) {
    std::string text;
    for (std::size_t i = 0; i < 16; i += 2)
        text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
    return text;
}

bool is_zero(const Gid& gid) {
    return gid == Gid{};
}

std::vector<std::size_t> GidTable::set(const std::vector<Gid>& addresses) {
    const auto before = gids_;
    for (std::size_t i = 1; i < kEntries; ++i)
        if (!contains(addresses, gids_[i])) gids_[i] = Gid{};
    for (const Gid& gid : addresses) {
        if (is_zero(gid) || std::find(gids_.begin(), gids_.end(), gid) != gids_.end()) continue;
        const auto room = std::find_if(gids_.begin() + 1, gids_.end(), is_zero);
        if (room != gids_.end()) *room = gid;
    }
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < kEntries; ++i)
        if (gids_[i] != before[i]) changed.push_back(i);
    return changed;
}

std::vector<Gid> GidTable::in_use() const {
    std::vector<Gid> gids;
    std::copy_if(gids_.begin(), gids_.end(), std::back_inserter(gids), [](const Gid& gid) { return !is_zero(gid); });
    return gids;
}

}  // namespace vroce::nic
