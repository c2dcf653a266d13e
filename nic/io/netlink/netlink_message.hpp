// rtnetlink messages, built and read (RFC 3549): a header, a fixed part that the type names, attributes.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vroce::nic {

class NetlinkMessage {
public:
    /// `Fixed` is the type's own header: ifinfomsg, ifaddrmsg, ndmsg, rtmsg.
    template <typename Fixed>
    NetlinkMessage(std::uint16_t type, std::uint16_t flags, const Fixed& fixed) : bytes_(NLMSG_HDRLEN) {
        nlmsghdr header{};
        header.nlmsg_type = type;
        header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
        std::memcpy(bytes_.data(), &header, sizeof header);
        append(&fixed, sizeof fixed);
    }

    void put(std::uint16_t attribute, std::span<const std::uint8_t> value) {
        const std::size_t at = begin(attribute);
        append(value.data(), value.size());
        end(at);
    }
    void put_u32(std::uint16_t attribute, std::uint32_t value) { put_number(attribute, value); }
    void put_u8(std::uint16_t attribute, std::uint8_t value) { put_number(attribute, value); }

    /// Attributes put between begin and end are nested.
    std::size_t begin(std::uint16_t attribute) {
        const std::size_t at = bytes_.size();
        const rtattr header{0, attribute};
        append(&header, sizeof header);
        return at;
    }
    void end(std::size_t at) {
        const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
        std::memcpy(bytes_.data() + at, &length, sizeof length);
        bytes_.resize(NLMSG_ALIGN(bytes_.size()));
    }

    /// Complete, with its length and sequence number.
    std::span<const std::uint8_t> finish(std::uint32_t sequence) {
        nlmsghdr header{};
        std::memcpy(&header, bytes_.data(), sizeof header);
        header.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
        header.nlmsg_seq = sequence;
        std::memcpy(bytes_.data(), &header, sizeof header);
        return bytes_;
    }

private:
    template <typename T>
    void put_number(std::uint16_t attribute, T value) {
        std::uint8_t bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        put(attribute, bytes);
    }
    void append(const void* data, std::size_t size) {
        if (size == 0) return;
        const std::size_t at = bytes_.size();
        bytes_.resize(at + size);
        std::memcpy(bytes_.data() + at, data, size);
    }

    std::vector<std::uint8_t> bytes_;
};

/// One message that came; the kernel is trusted for its contents, not for their presence.
class NetlinkReply {
public:
    explicit NetlinkReply(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::uint16_t type() const {
        nlmsghdr header{};
        std::memcpy(&header, bytes_.data(), sizeof header);
        return header.nlmsg_type;
    }
    /// False when the message is too short for it.
    template <typename Fixed>
    [[nodiscard]] bool fixed(Fixed& out) const {
        if (bytes_.size() < NLMSG_HDRLEN + sizeof out) return false;
        std::memcpy(&out, bytes_.data() + NLMSG_HDRLEN, sizeof out);
        return true;
    }
    /// The attribute's value behind the fixed part, empty when it is not there.
    template <typename Fixed>
    [[nodiscard]] std::span<const std::uint8_t> find(std::uint16_t attribute) const {
        std::size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(Fixed));
        while (at + sizeof(rtattr) <= bytes_.size()) {
            rtattr header{};
            std::memcpy(&header, bytes_.data() + at, sizeof header);
            if (header.rta_len < sizeof header || at + header.rta_len > bytes_.size()) break;
            if (header.rta_type == attribute) return bytes_.subspan(at + sizeof header, header.rta_len - sizeof header);
            at += RTA_ALIGN(header.rta_len);
        }
        return {};
    }
    template <typename Fixed>
    [[nodiscard]] std::uint32_t find_u32(std::uint16_t attribute, std::uint32_t otherwise) const {
        const auto value = find<Fixed>(attribute);
        if (value.size() != sizeof otherwise) return otherwise;
        std::memcpy(&otherwise, value.data(), sizeof otherwise);
        return otherwise;
    }

private:
    std::span<const std::uint8_t> bytes_;
};

}  // namespace vroce::nic
