// Bodies of the checks.
#include "nic/transport/request_checks.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint32_t kLongestMessage = 1U << 31;

}  // namespace

Verdict check_sequence(const OpcodeInfo& op, Message current) {
    const bool starts = !op.has(kOpMiddle | kOpLast);
    if (starts) return current == Message::None ? Verdict::Execute : Verdict::BadSequence;
    const Message kind = op.has(kOpSend) ? Message::Send : Message::Write;
    return current == kind ? Verdict::Execute : Verdict::BadSequence;
}

Verdict check_enabled(const OpcodeInfo& op, std::uint32_t access) {
    if (op.has(kOpWrite)) return (access & kAccessRemoteWrite) != 0 ? Verdict::Execute : Verdict::NotEnabled;
    if (op.has(kOpReadRequest)) return (access & kAccessRemoteRead) != 0 ? Verdict::Execute : Verdict::NotEnabled;
    if (op.has(kOpSend) && !op.has(kHasIeth)) return Verdict::Execute;
    return Verdict::Unsupported;
}

Verdict check_packet_length(const OpcodeInfo& op, std::size_t payload, std::uint32_t mtu) {
    bool good = payload <= mtu;
    if (op.has(kOpFirst | kOpMiddle)) good = payload == mtu;
    if (op.has(kOpLast)) good = payload >= 1 && payload <= mtu;
    return good ? Verdict::Execute : Verdict::BadLength;
}

Verdict check_write_length(const OpcodeInfo& op, std::uint64_t received, std::size_t payload, std::uint32_t promised) {
    const std::uint64_t total = received + payload;
    const bool good = op.has(kOpLast | kOpOnly) ? total == promised : total < promised;
    return good ? Verdict::Execute : Verdict::BadLength;
}

Verdict check_receive_length(std::uint64_t received, std::size_t payload, std::uint64_t room) {
    return received + payload <= room ? Verdict::Execute : Verdict::ReceiveTooShort;
}

Verdict check_reth_length(const Reth& reth) {
    return reth.length <= kLongestMessage ? Verdict::Execute : Verdict::BadLength;
}

Verdict verdict_of(RemoteAccess access) {
    switch (access) {
        case RemoteAccess::Ok:
            return Verdict::Execute;
        case RemoteAccess::BadKey:
            return Verdict::BadKey;
        case RemoteAccess::WrongPd:
            return Verdict::WrongPd;
        case RemoteAccess::OutOfBounds:
            return Verdict::OutOfBounds;
        case RemoteAccess::NoPermission:
            return Verdict::NoPermission;
    }
    return Verdict::BadKey;
}

bool begins_receive(const OpcodeInfo& op) {
    if (op.has(kOpSend)) return op.has(kOpFirst | kOpOnly);
    return op.has(kOpWrite) && op.has(kHasImm);
}

}  // namespace vroce::nic
