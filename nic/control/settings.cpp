#include "nic/control/settings.hpp"

#include <fmt/core.h>
#include <sys/un.h>

#include <set>
#include <utility>

#include "common/fault/fault_settings.hpp"

namespace vroce::nic {
namespace {

constexpr std::uint32_t kMtuMin = 1'280;
constexpr std::uint32_t kMtuMax = 9'100;
constexpr std::uint32_t kMaxCpu = 1'023;
constexpr std::uint32_t kMaxMemoryMib = 1'048'576;
constexpr std::size_t kMaxEndpoints = 64;
/// Beside it there will be a doorbell's socket, whose name is a little longer.
constexpr std::size_t kMemifPathMax = 100;
constexpr const char* kNameRule = "up to 32 letters, digits, '-' and '_', a letter or digit first";

template <typename T, typename Value>
bool store(T& target, const std::optional<Value>& value) {
    if (value) target = static_cast<T>(*value);
    return value.has_value();
}

bool store_word(bool& target, const std::string& text, const char* yes, const char* no) {
    target = text == yes;
    return target || text == no;
}

bool store_text(std::string& target, const std::string& text, bool good) {
    target = text;
    return good;
}

/// "3,4" as a mask; "" is none.
std::optional<std::uint8_t> priorities_in(const std::string& text) {
    if (text.empty()) return std::uint8_t{0};
    const Result<std::uint8_t> mask = parse_priorities(text);
    return mask ? std::optional(*mask) : std::nullopt;
}

bool is_path(const std::string& text) {
    return text.size() > 1 && text[0] == '/';
}

/// DPDK's device names begin with the driver's: net_af_packet0,iface=x or a PCI address.
bool is_uplink(const std::string& text) {
    if (text.rfind("memif:", 0) == 0) return is_path(text.substr(6)) && text.size() - 6 <= kMemifPathMax;
    return !text.empty() && text.find_first_of(" \t") == std::string::npos;
}

bool is_device_name(const std::string& text) {
    return is_name(text) && text.rfind("vroce", 0) == 0;
}

/// FNV-1a. The address is locally administered and unicast.
MacAddress make_mac(const std::string& name) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
    MacAddress mac;
    mac.bytes[0] = 0x02;
    for (std::size_t i = 1; i < 6; ++i) mac.bytes[i] = static_cast<std::uint8_t>(hash >> (8 * i));
    return mac;
}

/// Values that every endpoint has for itself.
class Unique {
public:
    explicit Unique(const char* key) : key_(key) {}
    /// Empty, or who has it already.
    std::string claim(const std::string& value, const std::string& endpoint) {
        const auto [at, inserted] = taken_.emplace(value, endpoint);
        if (inserted) return {};
        return fmt::format("[{}] {} = {}: [{}] has it; a value that no other endpoint has is allowed", endpoint, key_,
                           value, at->second);
    }

private:
    struct ByValue {
        bool operator()(const auto& a, const auto& b) const { return a.first < b.first; }
    };
    const char* key_;
    std::set<std::pair<std::string, std::string>, ByValue> taken_;
};

std::string check_duplicates(const NicOptions& options) {
    Unique devices("device");
    Unique interfaces("interface");
    Unique macs("mac");
    Unique addresses("address");
    for (const EndpointOptions& e : options.endpoints) {
        for (std::string& wrong :
             std::vector<std::string>{devices.claim(e.device, e.name), interfaces.claim(e.interface, e.name),
                                      macs.claim(text_of(e.mac), e.name)}) {
            if (!wrong.empty()) return std::move(wrong);
        }
        for (const InterfaceAddress& a : e.addresses) {
            if (std::string wrong = addresses.claim(text_of(a.address), e.name); !wrong.empty()) return wrong;
        }
    }
    return {};
}

/// Paths of sockets have to fit into their address.
std::string check_paths(const NicOptions& options) {
    for (const EndpointOptions& e : options.endpoints) {
        const std::string path = fmt::format("{}/{}/{}/session.sock", options.run_dir, options.name, e.name);
        // The socket is made under a longer name and then renamed.
        if (path.size() + 8 >= sizeof sockaddr_un{}.sun_path) {
            return fmt::format("run-dir = {}: {} is too long for a socket, by {} bytes; a shorter path is allowed",
                               options.run_dir, path, path.size() + 9 - sizeof sockaddr_un{}.sun_path);
        }
    }
    return {};
}

}  // namespace

const std::vector<Setting<NicOptions>>& nic_settings() {
    using O = NicOptions;
    using T = const std::string&;
    static const std::vector<Setting<O>> table = {
        {"name", "of this host; its files are in RUN-DIR/NAME", kNameRule, true, false,
         [](O& o, T t) { return store_text(o.name, t, is_name(t)); }},
        {"run-dir", "run directory (default: $VROCE_RUN_DIR or /run/vroce)", "an absolute path", false, false,
         [](O& o, T t) { return store_text(o.run_dir, t, is_path(t)); }},
        {"uplink", "port to the network",
         "memif:/path/of/socket (up to 100 bytes) or DPDK device arguments (net_af_packet0,iface=eth1)", true, false,
         [](O& o, T t) { return store_text(o.uplink, t, is_uplink(t)); }},
        {"speed", "that the port is paced to (default 10G)", "10M to 800G, as 10G or 2500M", false, false,
         [](O& o, T t) { return store(o.speed_bps, parse_speed(t)); }},
        {"pfc", "priorities that are lossless on the uplink, as 3 or 3,4 (default: none)", "numbers 0 to 7 with commas",
         false, false, [](O& o, T t) { return store(o.pfc_priorities, priorities_in(t)); }},
        {"mtu", "of the IP interfaces (default 4200)", "1280 to 9100", false, false,
         [](O& o, T t) { return store(o.mtu, parse_number(t, kMtuMin, kMtuMax)); }},
        {"cpu", "core of the worker thread (default: any)", "0 to 1023", false, false,
         [](O& o, T t) { return store(o.cpu, parse_number(t, 0, kMaxCpu)); }},
        {"memory-mib", "memory for packets (default: what the ports need)", "32 to 1048576", false, false,
         [](O& o, T t) { return store(o.memory_mib, parse_number(t, 32, kMaxMemoryMib)); }},
        {"no-huge", "use ordinary pages instead of hugepages", "true, false", false, false,
         [](O& o, T t) { return store_word(o.no_huge, t, "true", "false"); }},
        {"poll", "how the worker waits (default adaptive: sleeps without work)", "busy, adaptive", false, false,
         [](O& o, T t) { return store_word(o.busy, t, "busy", "adaptive"); }},
        {"netns", "network namespace of the IP interfaces (default: the process's own)",
         "an absolute path, as /run/netns/h1, or nothing", false, false,
         [](O& o, T t) { return store_text(o.netns, t, t.empty() || is_path(t)); }},
    };
    return table;
}

const std::vector<Setting<EndpointOptions>>& endpoint_settings() {
    using E = EndpointOptions;
    using T = const std::string&;
    static const std::vector<Setting<E>> table = {
        {"device", "name of the RDMA device", "a name that begins with vroce, as vroce0, up to 32 letters and digits",
         true, false, [](E& e, T t) { return store_text(e.device, t, is_device_name(t)); }},
        {"interface", "name of the IP interface", "up to 15 letters, digits, '-', '_' and '.'", true, false,
         [](E& e, T t) { return store_text(e.interface, t, is_interface_name(t)); }},
        {"mac", "of the endpoint (default: made from the names)", "a unicast MAC address, as 02:00:00:00:00:01", false,
         false, [](E& e, T t) { return store(e.mac, parse_mac(t)); }},
        {"address", "of the IP interface; may repeat", "an IP address with its prefix length, as 10.0.0.1/24", false,
         true,
         [](E& e, T t) {
             const auto address = parse_interface_address(t);
             if (address) e.addresses.push_back(*address);
             return address.has_value();
         }},
        {"vlan", "VLAN on the wire (default 0: untagged)", "0 to 4094", false, false,
         [](E& e, T t) { return store(e.vlan, parse_number(t, 0, 4'094)); }},
        {"vendor-id", "that the device reports", "0 to 0xffffff", false, false,
         [](E& e, T t) { return store(e.vendor_id, parse_number(t, 0, 0xFFFFFF)); }},
        {"vendor-part-id", "that the device reports (4119: perftest uses inline and ibv_wr_*)", "0 to 0xffffffff",
         false, false, [](E& e, T t) { return store(e.vendor_part_id, parse_number(t, 0, UINT32_MAX)); }},
    };
    return table;
}

std::string complete(NicOptions& options) {
    if (options.endpoints.empty()) {
        return "no endpoint; a section for each is needed, as [vm1] with device and interface";
    }
    if (options.endpoints.size() > kMaxEndpoints) {
        return fmt::format("{} endpoints; up to {} are allowed", options.endpoints.size(), kMaxEndpoints);
    }
    for (EndpointOptions& e : options.endpoints) {
        if (!is_name(e.name)) return fmt::format("[{}]: not the name of an endpoint; allowed: {}", e.name, kNameRule);
        // Both stand in the same folder as the endpoints'.
        if (e.name == "log" || e.name == "dpdk") {
            return fmt::format("[{}]: is taken by the process's own files; any other name is allowed", e.name);
        }
        if (e.mac == MacAddress{}) e.mac = make_mac(options.name + "/" + e.name);
    }
    if (std::string wrong = check_duplicates(options); !wrong.empty()) return wrong;
    return check_paths(options);
}

}  // namespace vroce::nic
