#include "tools/lab/lab_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/base/units.hpp"
#include "tools/lab/json_object.hpp"

namespace vroce::tools {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t kSpeedMinBps = 1'000'000;
constexpr std::uint64_t kSpeedMaxBps = 800'000'000'000;
constexpr int kMtuMin = 1280;  // IPv6 needs it
constexpr int kMtuMax = 9100;

std::vector<std::string> read_addresses(const JsonObject& object) {
    if (!object.has("address")) return {};
    const json& v = object.at("address");
    const std::string where = object.path("address");
    std::vector<std::string> addresses;
    for (const json& item : v.is_array() ? v : json::array({v})) {
        if (!item.is_string()) throw Wrong{fmt::format("{}: a string is expected, not {}", where, item.dump())};
        check_address(where, item.get<std::string>());
        addresses.push_back(item.get<std::string>());
    }
    return addresses;
}

LabEndpoint read_endpoint(const std::string& name, const json& value, const std::string& where, std::size_t index) {
    const JsonObject object(value, where);
    object.allow_only({"device", "interface", "address", "mac", "vlan", "vendor-id", "vendor-part-id"});
    LabEndpoint endpoint;
    endpoint.name = name;
    endpoint.device = object.text_or("device", fmt::format("vroce{}", index));
    endpoint.interface = object.text_or("interface", fmt::format("eth{}", index));
    endpoint.addresses = read_addresses(object);
    endpoint.mac = object.text_or("mac", "");
    endpoint.vlan = object.number_or("vlan", 0, 0, 4094);
    endpoint.vendor_id = object.text_or("vendor-id", "");
    endpoint.vendor_part_id = object.text_or("vendor-part-id", "");
    check_name(where, name);
    check_name(object.path("device"), endpoint.device);
    if (endpoint.device.rfind("vroce", 0) != 0) {
        throw Wrong{
            fmt::format("{}: '{}' does not begin with vroce, as vroce0 does", object.path("device"), endpoint.device)};
    }
    check_interface_name(object.path("interface"), endpoint.interface);
    if (!endpoint.mac.empty()) check_mac(object.path("mac"), endpoint.mac);
    return endpoint;
}

void read_uplink(const JsonObject& object, LabHost& host) {
    const json& uplink = object.at("uplink");
    const bool pair = uplink.is_array() && uplink.size() == 2 && uplink[0].is_string() && uplink[1].is_string();
    if (!pair)
        throw Wrong{
            fmt::format("{}: [\"switch\", \"port\"] is expected, not {}", object.path("uplink"), uplink.dump())};
    host.switch_name = uplink[0].get<std::string>();
    host.port = uplink[1].get<std::string>();
}

LabHost read_host(const std::string& name, const json& value, const std::string& where) {
    const JsonObject object(value, where);
    object.allow_only({"uplink", "speed", "mtu", "pfc", "endpoints"});
    LabHost host;
    host.name = name;
    check_name(where, name);
    read_uplink(object, host);
    const Result<std::uint64_t> speed = parse_speed(object.text_or("speed", "10G"));
    if (!speed) throw Wrong{fmt::format("{}: {}", object.path("speed"), speed.error())};
    host.speed_bps = *speed;
    host.mtu = object.number_or("mtu", 4200, kMtuMin, kMtuMax);
    host.pfc = object.text_or("pfc", "");
    std::set<std::string> interfaces;
    const JsonObject endpoints(object.at("endpoints"), object.path("endpoints"));
    for (const auto& [vm, definition] : object.at("endpoints").items()) {
        host.endpoints.push_back(read_endpoint(vm, definition, endpoints.path(vm), host.endpoints.size()));
        if (!interfaces.insert(host.endpoints.back().interface).second) {
            throw Wrong{fmt::format("{}: interface '{}' is another endpoint's", endpoints.path(vm),
                                    host.endpoints.back().interface)};
        }
    }
    if (host.endpoints.empty())
        throw Wrong{fmt::format("{}: at least one endpoint is needed", object.path("endpoints"))};
    return host;
}

LabSwitch read_switch(const std::string& name, const json& value, const std::string& where, const fs::path& folder) {
    const JsonObject object(value, where);
    object.allow_only({"config"});
    check_name(where, name);
    LabSwitch result{name, json::object()};
    if (!object.has("config")) return result;
    result.config = object.at("config");
    if (result.config.is_string()) {
        const fs::path file = folder / result.config.get<std::string>();
        try {
            result.config = read_json(file.string());
        } catch (const Wrong& wrong) {
            throw Wrong{fmt::format("{}: {}: {}", object.path("config"), file.string(), wrong.message)};
        }
    }
    const JsonObject checked(result.config, object.path("config"));
    return result;
}

LabFault read_fault(const json& value, const std::string& where) {
    const JsonObject object(value, where);
    object.allow_only({"dev", "drop", "corrupt", "reorder", "duplicate", "delay_ns", "seed", "direction", "pfc_storm",
                       "pfc_storm_tx"});
    LabFault fault{object.text("dev"), value};
    fault.arguments.erase("dev");
    return fault;
}

/// Gives the switch's file what the wiring already says: a memif port of the host's speed.
void plug_in(LabSwitch& sw, const LabHost& host) {
    json& port = sw.config["PORT"][host.port];
    const std::string speed_mbps = fmt::format("{}", host.speed_bps / 1'000'000);
    const std::string where = fmt::format("switches.{}.config.PORT.{}", sw.name, host.port);
    if (port.is_null()) port = json::object();
    if (!port.is_object()) throw Wrong{fmt::format("{}: an object {{…}} is expected", where)};
    if (port.contains("speed") && port["speed"] != json(speed_mbps)) {
        throw Wrong{fmt::format("{}.speed: {} contradicts the speed of hosts.{}, which is \"{}\" (Mb/s)", where,
                                port["speed"].dump(), host.name, speed_mbps)};
    }
    port["speed"] = speed_mbps;
    if (!port.contains("admin_status")) port["admin_status"] = "up";
    if (!port.contains("mtu")) port["mtu"] = "9100";
    json& device = sw.config["VROCE_PORT"][host.port];
    if (device.is_null()) device = {{"devargs", "memif"}, {"role", "host"}};
}

void wire(Lab& lab) {
    std::set<std::string> taken;
    for (const LabHost& host : lab.hosts) {
        const auto sw = std::find_if(lab.switches.begin(), lab.switches.end(),
                                     [&](const LabSwitch& s) { return s.name == host.switch_name; });
        const std::string where = fmt::format("hosts.{}.uplink", host.name);
        if (sw == lab.switches.end())
            throw Wrong{fmt::format("{}: no switch '{}' in 'switches'", where, host.switch_name)};
        if (!taken.insert(host.switch_name + "/" + host.port).second) {
            throw Wrong{fmt::format("{}: {}/{} is another host's", where, host.switch_name, host.port)};
        }
        check_interface_name(where, host.port);
        plug_in(*sw, host);
    }
}

void check_unique_names(const Lab& lab) {
    std::set<std::string> names, addresses;
    for (const LabSwitch& sw : lab.switches) names.insert(sw.name);
    for (const LabHost& host : lab.hosts) {
        if (!names.insert(host.name).second) throw Wrong{fmt::format("hosts.{}: the name is another's", host.name)};
        for (const LabEndpoint& endpoint : host.endpoints) {
            for (const std::string& address : endpoint.addresses) {
                if (addresses.insert(address.substr(0, address.find('/'))).second) continue;
                throw Wrong{fmt::format("hosts.{}.endpoints.{}: address {} is another endpoint's", host.name,
                                        endpoint.name, address)};
            }
        }
    }
}

Lab read_lab(const fs::path& path) {
    Lab lab;
    lab.definition = read_json(path.string());
    const JsonObject object(lab.definition, "");
    object.allow_only({"name", "poll", "memory-mib", "hugepages", "switches", "hosts", "faults"});
    lab.name = object.text_or("name", path.stem().string());
    check_name("name", lab.name);
    lab.poll = object.one_of("poll", {"busy", "adaptive"});
    lab.hugepages = object.one_of("hugepages", {"auto", "off"}) != "off";
    lab.memory_mib = object.number_or("memory-mib", 0, 32, 65536);
    const JsonObject switches(object.at("switches"), "switches");
    for (const auto& [name, value] : object.at("switches").items()) {
        lab.switches.push_back(read_switch(name, value, switches.path(name), path.parent_path()));
    }
    const JsonObject hosts(object.at("hosts"), "hosts");
    for (const auto& [name, value] : object.at("hosts").items()) {
        lab.hosts.push_back(read_host(name, value, hosts.path(name)));
    }
    if (object.has("faults")) {
        if (!object.at("faults").is_array()) throw Wrong{"faults: a list […] is expected"};
        for (const json& value : object.at("faults")) lab.faults.push_back(read_fault(value, "faults"));
    }
    check_unique_names(lab);
    wire(lab);
    return lab;
}

}  // namespace

Result<Lab> load_lab(const std::string& path) {
    try {
        Lab lab = read_lab(path);
        lab.file = fs::absolute(path).lexically_normal().string();
        // A switch's own file counts as part of the definition.
        for (const LabSwitch& sw : lab.switches) lab.definition["switches"][sw.name]["config"] = sw.config;
        return lab;
    } catch (const Wrong& wrong) {
        return Error{fmt::format("{}: {}", path, wrong.message)};
    }
}

Status rename_lab(Lab& lab, const std::string& name) {
    try {
        check_name("name", name);
    } catch (const Wrong& wrong) {
        return Error{wrong.message};
    }
    lab.name = name;
    lab.definition["name"] = name;
    return Done{};
}

Result<std::uint64_t> parse_speed(const std::string& text) {
    const Result<std::uint64_t> bps = parse_rate_bps(text);
    // Whole Mb/s, since that is what CONFIG_DB's PORT table counts in.
    if (bps && *bps >= kSpeedMinBps && *bps <= kSpeedMaxBps && *bps % kSpeedMinBps == 0) return *bps;
    return Error{fmt::format("'{}' is not a speed; 1M to 800G is, as in 10G or 2500M", text)};
}

}  // namespace vroce::tools
