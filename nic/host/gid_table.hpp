// The port's GID table: index 0 is the link-local address of the MAC, the others are the interface's addresses; a GID
// keeps its index until it goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/wire/address.hpp"

namespace vroce::nic {

/// The EUI-64 of a MAC (RFC 4291 appendix A), as GUIDs and link-local addresses have it.
[[nodiscard]] std::array<std::uint8_t, 8> eui64(const MacAddress& mac);
[[nodiscard]] Gid link_local_gid(const MacAddress& mac);
/// The MAC in a link-local address that was made from one; no neighbour discovery is needed then.
[[nodiscard]] std::optional<MacAddress> mac_of_link_local(const Gid& gid);
/// fe80:0000:… as sysfs has it.
[[nodiscard]] std::string format_gid(const Gid& gid);
[[nodiscard]] bool is_zero(const Gid& gid);

/// Index of a GID is what applications name it by.
class GidTable {
public:
    static constexpr std::size_t kEntries = 16;

    explicit GidTable(const MacAddress& mac) { gids_[0] = link_local_gid(mac); }

    /// Takes the interface's present addresses; what the table has no room for is left out. Returns the indexes that
    /// changed.
    std::vector<std::size_t> set(const std::vector<Gid>& addresses);
    /// Zero where there is none.
    [[nodiscard]] const Gid& at(std::size_t index) const { return gids_.at(index); }
    [[nodiscard]] const std::array<Gid, kEntries>& entries() const { return gids_; }
    [[nodiscard]] std::vector<Gid> in_use() const;

private:
    std::array<Gid, kEntries> gids_{};
};

}  // namespace vroce::nic
