#include "nic/control/values.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace vroce::nic {
namespace {

constexpr double kSlowestBps = 10e6;
constexpr double kFastestBps = 800e9;
constexpr std::size_t kNameMax = 32;
constexpr std::size_t kInterfaceNameMax = 15;

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

template <typename Number, typename... Base>
bool read_all(const char* begin, const char* end, Number& value, Base... base) {
    const auto [stop, error] = std::from_chars(begin, end, value, base...);
    return begin != end && error == std::errc() && stop == end;
}

bool made_of(const std::string& text, std::size_t max, const std::string& others) {
    if (text.empty() || text.size() > max || !is_letter_or_digit(text[0])) return false;
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return is_letter_or_digit(c) || others.find(c) != std::string::npos; });
}

}  // namespace

std::optional<MacAddress> parse_mac(const std::string& text) {
    MacAddress mac;
    if (text.size() != 17) return std::nullopt;
    for (std::size_t i = 0; i < 6; ++i) {
        const char* digits = text.data() + 3 * i;
        if (i != 0 && digits[-1] != ':') return std::nullopt;
        if (!read_all(digits, digits + 2, mac.bytes[i], 16)) return std::nullopt;
    }
    if ((mac.bytes[0] & 1) != 0 || mac == MacAddress{}) return std::nullopt;
    return mac;
}

std::optional<InterfaceAddress> parse_interface_address(const std::string& text) {
    const auto slash = text.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const std::string host = text.substr(0, slash);
    InterfaceAddress out;
    int max = 128;
    if (host.find(':') == std::string::npos) {
        out.address.bytes[10] = out.address.bytes[11] = 0xFF;
        max = 32;
    }
    auto* bytes = out.address.bytes.data() + (max == 32 ? 12 : 0);
    if (::inet_pton(max == 32 ? AF_INET : AF_INET6, host.c_str(), bytes) != 1) return std::nullopt;
    // Unspecified, loopback and group addresses are not a host's.
    if (bytes[0] == 0 || (max == 32 ? bytes[0] == 127 || bytes[0] >= 224 : bytes[0] == 0xFF)) return std::nullopt;
    int length = 0;
    if (!read_all(text.data() + slash + 1, text.data() + text.size(), length) || length < 1 || length > max) {
        return std::nullopt;
    }
    out.prefix_length = static_cast<std::uint8_t>(length);
    return out;
}

std::optional<std::uint64_t> parse_speed(const std::string& text) {
    if (text.size() < 2) return std::nullopt;
    const double unit = text.back() == 'G' ? 1e9 : text.back() == 'M' ? 1e6 : 0;
    double value = 0;
    if (unit == 0 || !read_all(text.data(), text.data() + text.size() - 1, value)) return std::nullopt;
    const double bps = value * unit;
    if (!(bps >= kSlowestBps && bps <= kFastestBps)) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(bps));
}

std::optional<std::uint32_t> parse_number(const std::string& text, std::uint32_t low, std::uint32_t high) {
    const bool hexadecimal = text.rfind("0x", 0) == 0;
    const char* begin = text.data() + (hexadecimal ? 2 : 0);
    std::uint32_t value = 0;
    if (!read_all(begin, text.data() + text.size(), value, hexadecimal ? 16 : 10)) return std::nullopt;
    if (value < low || value > high) return std::nullopt;
    return value;
}

bool is_name(const std::string& text) {
    return made_of(text, kNameMax, "-_");
}

bool is_interface_name(const std::string& text) {
    return made_of(text, kInterfaceNameMax, "-_.");
}

std::string text_of(const MacAddress& mac) {
    const auto& m = mac.bytes;
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3], m[4], m[5]);
}

std::string text_of(const Gid& address) {
    char text[INET6_ADDRSTRLEN] = "";
    const bool ipv4 = address.is_ipv4();
    ::inet_ntop(ipv4 ? AF_INET : AF_INET6, address.bytes.data() + (ipv4 ? 12 : 0), text, sizeof text);
    return text;
}

}  // namespace vroce::nic
