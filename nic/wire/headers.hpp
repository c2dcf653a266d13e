// InfiniBand transport headers as values: load() reads one from the wire, store() writes it (IBTA 9.2, 9.3).
// The caller has checked that the bytes are there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/wire/bytes.hpp"
#include "nic/wire/psn.hpp"

namespace vroce::nic {

/// Base transport header. MigReq is 1 on everything that hardware sends today.
struct Bth {
    static constexpr std::size_t kBytes = 12;
    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migration = true;
    std::uint8_t pad = 0;      ///< 0..3 zero bytes behind the payload
    std::uint8_t version = 0;  ///< TVer
    std::uint16_t pkey = 0xFFFF;
    bool fecn = false;
    bool becn = false;
    std::uint32_t destination_qpn = 0;
    bool ack_request = false;
    Psn psn;

    static Bth load(const std::uint8_t* p) {
        return {.opcode = p[0],
                .solicited = (p[1] & 0x80) != 0,
                .migration = (p[1] & 0x40) != 0,
                .pad = static_cast<std::uint8_t>(p[1] >> 4 & 3),
                .version = static_cast<std::uint8_t>(p[1] & 0x0F),
                .pkey = load_be16(p + 2),
                .fecn = (p[4] & 0x80) != 0,
                .becn = (p[4] & 0x40) != 0,
                .destination_qpn = load_be24(p + 5),
                .ack_request = (p[8] & 0x80) != 0,
                .psn = Psn(load_be24(p + 9))};
    }
    void store(std::uint8_t* p) const {
        p[0] = opcode;
        p[1] = static_cast<std::uint8_t>((solicited ? 0x80 : 0) | (migration ? 0x40 : 0) | pad << 4 | version);
        store_be16(p + 2, pkey);
        p[4] = static_cast<std::uint8_t>((fecn ? 0x80 : 0) | (becn ? 0x40 : 0));
        store_be24(p + 5, destination_qpn);
        p[8] = ack_request ? 0x80 : 0;
        store_be24(p + 9, psn.value());
    }
    bool operator==(const Bth&) const = default;
};

/// RDMA extended transport header.
struct Reth {
    static constexpr std::size_t kBytes = 16;
    std::uint64_t va = 0;
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;

    static Reth load(const std::uint8_t* p) { return {load_be64(p), load_be32(p + 8), load_be32(p + 12)}; }
    void store(std::uint8_t* p) const {
        store_be64(p, va);
        store_be32(p + 8, rkey);
        store_be32(p + 12, length);
    }
    bool operator==(const Reth&) const = default;
};

struct AtomicEth {
    static constexpr std::size_t kBytes = 28;
    std::uint64_t va = 0;
    std::uint32_t rkey = 0;
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;

    static AtomicEth load(const std::uint8_t* p) {
        return {load_be64(p), load_be32(p + 8), load_be64(p + 12), load_be64(p + 20)};
    }
    void store(std::uint8_t* p) const {
        store_be64(p, va);
        store_be32(p + 8, rkey);
        store_be64(p + 12, swap_add);
        store_be64(p + 20, compare);
    }
    bool operator==(const AtomicEth&) const = default;
};

/// Acknowledge extended transport header.
struct Aeth {
    static constexpr std::size_t kBytes = 4;
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;

    static Aeth load(const std::uint8_t* p) { return {p[0], load_be24(p + 1)}; }
    void store(std::uint8_t* p) const {
        p[0] = syndrome;
        store_be24(p + 1, msn);
    }
    bool operator==(const Aeth&) const = default;
};

/// AETH syndromes (IBTA table 43): bits 6:5 say which kind, bits 4:0 credit count, RNR timer code or NAK code.
constexpr std::uint8_t kSyndromeKindMask = 0xE0;
constexpr std::uint8_t kSyndromeValueMask = 0x1F;
constexpr std::uint8_t kSyndromeAck = 0x1F;  ///< kind 00 with "credits not used"
constexpr std::uint8_t kSyndromeKindAck = 0x00;
constexpr std::uint8_t kSyndromeKindRnr = 0x20;
constexpr std::uint8_t kSyndromeKindNak = 0x60;
constexpr std::uint8_t kNakSequenceError = 0x60;
constexpr std::uint8_t kNakInvalidRequest = 0x61;
constexpr std::uint8_t kNakRemoteAccess = 0x62;
constexpr std::uint8_t kNakRemoteOperation = 0x63;

/// Datagram extended transport header.
struct Deth {
    static constexpr std::size_t kBytes = 8;
    std::uint32_t qkey = 0;
    std::uint32_t source_qpn = 0;

    static Deth load(const std::uint8_t* p) { return {load_be32(p), load_be24(p + 5)}; }
    void store(std::uint8_t* p) const {
        store_be32(p, qkey);
        p[4] = 0;
        store_be24(p + 5, source_qpn);
    }
    bool operator==(const Deth&) const = default;
};

/// Immediate data: the application's bytes, passed unchanged (it keeps them in network order itself).
struct ImmDt {
    static constexpr std::size_t kBytes = 4;
    std::uint32_t raw = 0;

    static ImmDt load(const std::uint8_t* p) { return {load_raw32(p)}; }
    void store(std::uint8_t* p) const { store_raw32(p, raw); }
    bool operator==(const ImmDt&) const = default;
};

/// R_Key to invalidate.
struct Ieth {
    static constexpr std::size_t kBytes = 4;
    std::uint32_t rkey = 0;

    static Ieth load(const std::uint8_t* p) { return {load_be32(p)}; }
    void store(std::uint8_t* p) const { store_be32(p, rkey); }
    bool operator==(const Ieth&) const = default;
};

struct Xrceth {
    static constexpr std::size_t kBytes = 4;
    std::uint32_t srqn = 0;

    static Xrceth load(const std::uint8_t* p) { return {load_be24(p + 1)}; }
    void store(std::uint8_t* p) const {
        p[0] = 0;
        store_be24(p + 1, srqn);
    }
    bool operator==(const Xrceth&) const = default;
};

}  // namespace vroce::nic
