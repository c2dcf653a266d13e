// One function for each table, one line for each field.
#include "switch/config/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "switch/config/devargs.hpp"
#include "switch/config/field.hpp"

namespace vroce::sw {
namespace {

constexpr std::array kKnownTables{"PORT", "VLAN", "VLAN_MEMBER", "VROCE_PORT", "SWITCH"};
constexpr std::uint16_t kDefaultVlan = 1;

class Loader {
public:
    explicit Loader(const ConfigDocument& document) : document_(document), core_(std::make_shared<SwitchConfig>()) {}

    Result<LoadedConfig> load() {
        for (const auto step :
             {&Loader::ports, &Loader::vlans, &Loader::vlan_members, &Loader::devices, &Loader::general}) {
            if (Status status = (this->*step)(); !status) return Error{status.error()};
        }
        warn_about_vlans();
        warn_about_unknown();
        return LoadedConfig{core_, devices_, warnings_};
    }

private:
    /// Reads the entry's fields by the table of setters; others are collected for one warning each.
    Status fields(const std::string& table, const ConfigEntry& entry,
                  const std::map<std::string, FieldSetter>& setters) {
        for (const ConfigField& field : entry.fields) {
            const auto setter = setters.find(field.name);
            if (setter == setters.end()) {
                ++unknown_fields_[table + ": field " + field.name];
                continue;
            }
            const FieldPlace place{document_.file, table, entry.key, field};
            if (Status status = setter->second(place); !status) return status;
        }
        return Done{};
    }

    Error refuse(const std::string& table, const std::string& key, const std::string& why) const {
        return Error{fmt::format("{}: {}|{}: {}", document_.file, table, key, why)};
    }

    std::optional<PortId> port_by_name(const std::string& name) const {
        for (std::size_t i = 0; i < core_->ports.size(); ++i) {
            if (core_->ports[i].name == name) return static_cast<PortId>(i);
        }
        return std::nullopt;
    }

    Status ports() {
        const ConfigTable* table = document_.find("PORT");
        const std::size_t count = table == nullptr ? 0 : table->entries.size();
        if (count == 0 || count > kMaxPorts) {
            return Error{fmt::format("{}: PORT: {} ports; allowed: 1..{}", document_.file, count, kMaxPorts)};
        }
        for (const ConfigEntry& entry : table->entries) {
            if (!is_name(entry.key))
                return refuse("PORT", entry.key, std::string("not a port name; allowed: ") + kNameRule);
            PortConfig port;
            port.name = entry.key;
            std::uint64_t speed_mbps = port.speed_bps / 1'000'000;
            std::uint64_t mtu = port.mtu_bytes;
            Status status = fields("PORT", entry,
                                   {{"speed", number(speed_mbps, 1, 800'000, " (Mb/s)")},
                                    {"mtu", number(mtu, 68, 9'216, "")},
                                    {"admin_status", choice(port.admin_up, {{"up", true}, {"down", false}})}});
            if (!status) return status;
            port.speed_bps = speed_mbps * 1'000'000;
            port.mtu_bytes = static_cast<std::uint32_t>(mtu);
            core_->ports.push_back(port);
        }
        return Done{};
    }

    /// "Vlan10" is 10; 0 when it is not a VLAN's name.
    static std::uint16_t vlan_number(const std::string& name) {
        std::uint64_t id = 0;
        if (name.rfind("Vlan", 0) != 0 || !parse_number(name.substr(4), id) || id < 1 || id >= kReservedVlan) return 0;
        return name == fmt::format("Vlan{}", id) ? static_cast<std::uint16_t>(id) : std::uint16_t{0};
    }

    Status vlans() {
        const ConfigTable* table = document_.find("VLAN");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            const std::uint16_t id = vlan_number(entry.key);
            if (id == 0) return refuse("VLAN", entry.key, "not a VLAN's name; allowed: Vlan1..Vlan4094");
            std::uint64_t vlanid = id;
            Status status = fields("VLAN", entry, {{"vlanid", number(vlanid, 1, 4'094, "")}});
            if (!status) return status;
            if (vlanid != id) {
                return refuse("VLAN", entry.key,
                              fmt::format("vlanid \"{}\" contradicts the name; allowed: {}", vlanid, id));
            }
            vlans_.push_back(id);
        }
        return Done{};
    }

    Status vlan_members() {
        const ConfigTable* table = document_.find("VLAN_MEMBER");
        if (table != nullptr) {
            for (const ConfigEntry& entry : table->entries) {
                if (Status status = vlan_member(entry); !status) return status;
            }
        }
        if (vlans_.empty()) {
            for (std::size_t i = 0; i < core_->ports.size(); ++i) {
                core_->vlans.add_member(kDefaultVlan, static_cast<PortId>(i), false);
            }
        }
        return Done{};
    }

    Status vlan_member(const ConfigEntry& entry) {
        const std::size_t bar = entry.key.find('|');
        if (bar == std::string::npos) return refuse("VLAN_MEMBER", entry.key, "not a member; allowed: VlanN|PORT");
        const std::uint16_t vlan = vlan_number(entry.key.substr(0, bar));
        if (std::find(vlans_.begin(), vlans_.end(), vlan) == vlans_.end()) {
            return refuse("VLAN_MEMBER", entry.key, "unknown VLAN; allowed: the entries of table VLAN");
        }
        const std::optional<PortId> port = port_by_name(entry.key.substr(bar + 1));
        if (!port) return refuse("VLAN_MEMBER", entry.key, "unknown port; allowed: the entries of table PORT");
        std::optional<bool> tagged;
        Status status =
            fields("VLAN_MEMBER", entry, {{"tagging_mode", choice(tagged, {{"untagged", false}, {"tagged", true}})}});
        if (!status) return status;
        if (!tagged) return refuse("VLAN_MEMBER", entry.key, "tagging_mode is missing; allowed: untagged, tagged");
        const std::uint16_t native = core_->vlans.native(*port);
        if (!*tagged && native != 0) {
            return refuse(
                "VLAN_MEMBER", entry.key,
                fmt::format("tagging_mode \"untagged\" contradicts Vlan{}|{}, which is untagged too; allowed: one "
                            "untagged VLAN a port",
                            native, core_->ports[*port].name));
        }
        core_->vlans.add_member(vlan, *port, *tagged);
        return Done{};
    }

    Status devices() {
        devices_.resize(core_->ports.size());
        const ConfigTable* table = document_.find("VROCE_PORT");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            const std::optional<PortId> port = port_by_name(entry.key);
            if (!port) return refuse("VROCE_PORT", entry.key, "unknown port; allowed: the entries of table PORT");
            PortDevice device;
            Status status = fields("VROCE_PORT", entry,
                                   {{"devargs", text(device.devargs)},
                                    {"role", choice(device.role, {{"host", PortDevice::Role::kHost},
                                                                  {"switch", PortDevice::Role::kSwitch}})}});
            if (!status) return status;
            if (device.devargs.empty()) {
                return refuse("VROCE_PORT", entry.key, "devargs is missing; allowed: \"memif\" or DPDK devargs");
            }
            if (Status good = device_is_good(entry.key, device.devargs); !good) return good;
            devices_[*port] = device;
        }
        return Done{};
    }

    Status device_is_good(const std::string& key, const std::string& devargs) const {
        if (devargs == "memif") return Done{};
        if (Status status = check_devargs(devargs); !status) {
            return refuse("VROCE_PORT", key, fmt::format("devargs \"{}\": {}", devargs, status.error()));
        }
        const std::string name = devargs.substr(0, devargs.find(','));
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            if (devices_[i].devargs.substr(0, devices_[i].devargs.find(',')) == name) {
                return refuse("VROCE_PORT", key,
                              fmt::format("devargs \"{}\": device {} belongs to {} already; allowed: one port a device",
                                          devargs, name, core_->ports[i].name));
            }
        }
        return Done{};
    }

    Status general() {
        const ConfigTable* table = document_.find("SWITCH");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            if (entry.key != "switch") return refuse("SWITCH", entry.key, "unknown entry; allowed: switch");
            std::uint64_t ageing_s = 300;
            Status status =
                fields("SWITCH", entry, {{"fdb_aging_time", number(ageing_s, 0, 1'000'000, " (s, 0 is never)")}});
            if (!status) return status;
            core_->fdb_ageing = seconds(static_cast<std::int64_t>(ageing_s));
        }
        return Done{};
    }

    void warn_about_vlans() {
        for (std::size_t i = 0; i < core_->ports.size(); ++i) {
            const auto member = [&](std::uint16_t vlan) {
                return core_->vlans.is_member(vlan, static_cast<PortId>(i));
            };
            if (vlans_.empty() || std::any_of(vlans_.begin(), vlans_.end(), member)) continue;
            warnings_.push_back(fmt::format("{}: PORT|{}: member of no VLAN, so it forwards nothing", document_.file,
                                            core_->ports[i].name));
        }
    }

    void warn_about_unknown() {
        for (const ConfigTable& table : document_.tables) {
            if (std::find(kKnownTables.begin(), kKnownTables.end(), table.name) != kKnownTables.end()) continue;
            std::string keys;
            for (const ConfigEntry& entry : table.entries) keys += (keys.empty() ? ": " : ", ") + entry.key;
            warnings_.push_back(
                fmt::format("{}: table {} is not known and has no effect{}", document_.file, table.name, keys));
        }
        for (const auto& [field, count] : unknown_fields_) {
            warnings_.push_back(
                fmt::format("{}: {} is not known and has no effect (in {} entries)", document_.file, field, count));
        }
    }

    const ConfigDocument& document_;
    std::shared_ptr<SwitchConfig> core_;
    std::vector<std::uint16_t> vlans_;
    std::vector<PortDevice> devices_;
    std::vector<std::string> warnings_;
    std::map<std::string, std::size_t> unknown_fields_;
};

}  // namespace

Result<LoadedConfig> parse_config(std::string_view text, const std::string& file) {
    const Result<ConfigDocument> document = parse_document(text, file);
    if (!document) return Error{document.error()};
    return Loader(*document).load();
}

Result<LoadedConfig> load_config(const std::string& file) {
    const Result<ConfigDocument> document = read_document(file);
    if (!document) return Error{document.error()};
    return Loader(*document).load();
}

}  // namespace vroce::sw
