// Text of frames, in the order of their headers.
#include "nic/wire/describe.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <string_view>

#include "nic/wire/frame.hpp"

namespace vroce::nic {
namespace {

std::string text(const Gid& gid) {
    char buffer[INET6_ADDRSTRLEN] = "";
    if (gid.is_ipv4())
        inet_ntop(AF_INET, gid.bytes.data() + 12, buffer, sizeof buffer);
    else
        inet_ntop(AF_INET6, gid.bytes.data(), buffer, sizeof buffer);
    return buffer;
}

std::string_view text(FrameVerdict verdict) {
    switch (verdict) {
        case FrameVerdict::Ok:
            return "ok";
        case FrameVerdict::Truncated:
            return "truncated";
        case FrameVerdict::NotRoce:
            return "not RoCE";
        case FrameVerdict::BadIpHeader:
            return "IP options";
        case FrameVerdict::Fragment:
            return "fragment";
        case FrameVerdict::BadLength:
            return "bad length";
        case FrameVerdict::ReservedOpcode:
            return "reserved opcode";
    }
    return "?";
}

std::string text(const Aeth& aeth) {
    const unsigned value = aeth.syndrome & kSyndromeValueMask;
    switch (aeth.syndrome & kSyndromeKindMask) {
        case kSyndromeKindAck:
            return fmt::format("ACK msn {}", aeth.msn);
        case kSyndromeKindRnr:
            return fmt::format("RNR timer {} msn {}", value, aeth.msn);
        case kSyndromeKindNak:
            break;
        default:
            return fmt::format("syndrome {:#04x} msn {}", aeth.syndrome, aeth.msn);
    }
    static constexpr std::string_view kNames[] = {"sequence error", "invalid request", "remote access error",
                                                  "remote operational error", "invalid RD request"};
    const std::string_view what = value < std::size(kNames) ? kNames[value] : "reserved code";
    return fmt::format("NAK {:#04x} {} msn {}", aeth.syndrome, what, aeth.msn);
}

void append_headers(std::string& line, const RoceFrame& frame) {
    const auto out = std::back_inserter(line);
    if (frame.op->has(kHasDeth))
        fmt::format_to(out, " qkey {:#x} from {:#x}", frame.deth().qkey, frame.deth().source_qpn);
    if (frame.op->has(kHasReth)) {
        const Reth reth = frame.reth();
        fmt::format_to(out, " va {:#x} rkey {:#x} dma {}", reth.va, reth.rkey, reth.length);
    }
    if (frame.op->has(kHasAeth)) fmt::format_to(out, " {}", text(frame.aeth()));
    if (frame.op->has(kHasImm)) fmt::format_to(out, " imm {:#010x}", __builtin_bswap32(frame.imm().raw));
    if (frame.op->has(kHasIeth)) fmt::format_to(out, " invalidate {:#x}", frame.ieth().rkey);
    if (frame.op->has(kOpPayload)) fmt::format_to(out, " len {}", frame.payload.size());
}

}  // namespace

std::string describe(std::span<const std::uint8_t> bytes) {
    const std::size_t l3 = locate_l3(bytes);
    if (l3 == 0) return fmt::format("{} bytes, not RoCE", bytes.size());
    RoceFrame frame;
    if (const FrameVerdict verdict = parse_envelope(bytes.subspan(l3), frame); verdict != FrameVerdict::Ok)
        return fmt::format("{} bytes, {}", bytes.size(), text(verdict));

    const Bth& bth = frame.bth;
    std::string line = fmt::format("{} > {} ", text(frame.source()), text(frame.destination()));
    const FrameVerdict verdict = parse_transport(frame);
    const auto out = std::back_inserter(line);
    if (frame.op->valid())
        fmt::format_to(out, "{} {}", name(frame.op->transport), frame.op->name);
    else
        fmt::format_to(out, "opcode {:#04x}", bth.opcode);
    fmt::format_to(out, " qp {:#x} psn {}{}{}{}", bth.destination_qpn, bth.psn.value(), bth.ack_request ? " A" : "",
                   bth.solicited ? " SE" : "", bth.becn ? " BECN" : "");
    if (verdict == FrameVerdict::Ok)
        append_headers(line, frame);
    else
        fmt::format_to(out, ", {}", text(verdict));
    if (bth.version != 0) fmt::format_to(out, ", version {}", bth.version);
    if (!icrc_ok(frame)) line += ", bad ICRC";
    return line;
}

}  // namespace vroce::nic
