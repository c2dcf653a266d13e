#include "nic/host/port_state.hpp"

#include <array>

namespace vroce::nic {
namespace {

/// IPv6 (40) + UDP (8) + BTH (12) + RETH (16) + immediate (4) + ICRC (4): the largest first-or-only request of the
/// operations here. IPv6 is assumed, so that the answer does not depend on which GID is used.
constexpr std::uint32_t kHeaderBytes = 40 + 8 + 12 + 16 + 4 + 4;

struct RateRow {
    std::uint64_t bps;
    PortRate rate;
};
constexpr std::uint64_t kGiga = 1'000'000'000;
constexpr std::array<RateRow, 8> kRates{{
    {400 * kGiga, {2, 128, "400 Gb/sec (4X NDR)"}},
    {200 * kGiga, {2, 64, "200 Gb/sec (4X HDR)"}},
    {100 * kGiga, {2, 32, "100 Gb/sec (4X EDR)"}},
    {50 * kGiga, {1, 64, "50 Gb/sec (1X HDR)"}},
    {40 * kGiga, {2, 8, "40 Gb/sec (4X FDR10)"}},
    {25 * kGiga, {1, 32, "25 Gb/sec (1X EDR)"}},
    {10 * kGiga, {1, 8, "10 Gb/sec (1X FDR10)"}},
    {0, {1, 1, "2.5 Gb/sec (1X SDR)"}},
}};

}  // namespace

std::uint32_t active_mtu(std::uint32_t mtu_bytes) {
    for (std::uint32_t mtu = kMaxMtu; mtu > 1; --mtu)
        if ((128u << mtu) + kHeaderBytes <= mtu_bytes) return mtu;
    return 1;
}

const PortRate& port_rate(std::uint64_t speed_bps) {
    for (const RateRow& row : kRates)
        if (row.bps <= speed_bps) return row.rate;
    return kRates.back().rate;
}

}  // namespace vroce::nic
