// The addresses of all endpoints of one NIC process: a destination among them needs no neighbour discovery.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/wire/address.hpp"

namespace vroce::nic {

/// Control thread only.
class LocalAddresses {
public:
    void set(const std::string& endpoint, MacAddress mac, std::uint16_t vlan, std::vector<Gid> gids) {
        remove(endpoint);
        owners_.push_back({endpoint, mac, vlan, std::move(gids)});
    }
    void remove(const std::string& endpoint) {
        std::erase_if(owners_, [&](const Owner& owner) { return owner.endpoint == endpoint; });
    }
    /// Endpoints of different VLANs do not reach each other without a router.
    [[nodiscard]] std::optional<MacAddress> find(const Gid& gid, std::uint16_t vlan) const {
        for (const Owner& owner : owners_)
            if (owner.vlan == vlan && std::find(owner.gids.begin(), owner.gids.end(), gid) != owner.gids.end())
                return owner.mac;
        return std::nullopt;
    }

private:
    struct Owner {
        std::string endpoint;
        MacAddress mac;
        std::uint16_t vlan;
        std::vector<Gid> gids;
    };
    std::vector<Owner> owners_;
};

}  // namespace vroce::nic
