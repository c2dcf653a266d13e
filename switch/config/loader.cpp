// One function for each table, one line for each field.
#include "switch/config/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "switch/config/buffer_tables.hpp"
#include "switch/config/devargs.hpp"
#include "switch/config/field.hpp"
#include "switch/config/qos_tables.hpp"
#include "switch/config/reader.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint16_t kDefaultVlan = 1;

class Loader {
public:
    explicit Loader(const ConfigDocument& document)
        : core_(std::make_shared<SwitchConfig>()), reader_(document, *core_) {}

    Result<LoadedConfig> load() {
        for (const auto step : {&Loader::ports, &Loader::vlans, &Loader::vlan_members, &Loader::devices,
                                &Loader::general, &Loader::priorities}) {
            if (Status status = (this->*step)(); !status) return Error{status.error()};
        }
        warn_about_vlans();
        return LoadedConfig{core_, devices_, reader_.finish()};
    }

private:
    Status ports() {
        const ConfigTable* table = reader_.find("PORT");
        const std::size_t count = table == nullptr ? 0 : table->entries.size();
        if (count == 0 || count > kMaxPorts) {
            return Error{fmt::format("{}: PORT: {} ports; allowed: 1..{}", reader_.file(), count, kMaxPorts)};
        }
        for (const ConfigEntry& entry : table->entries) {
            if (!is_name(entry.key))
                return reader_.refuse("PORT", entry.key, std::string("not a port name; allowed: ") + kNameRule);
            PortConfig port;
            port.name = entry.key;
            std::uint64_t speed_mbps = port.speed_bps / 1'000'000;
            std::uint64_t mtu = port.mtu_bytes;
            FlowControlConfig& flow = port.qos.flow_control;
            Status status = reader_.fields("PORT", entry,
                                           {{"speed", number(speed_mbps, 1, 800'000, " (Mb/s)")},
                                            {"mtu", number(mtu, 68, 9'216, "")},
                                            {"admin_status", choice(port.admin_up, {{"up", true}, {"down", false}})},
                                            {"pfc_asym", choice(flow.pfc_asymmetric, {{"on", true}, {"off", false}})},
                                            {"link_pause", choice(flow.link_pause, {{"on", true}, {"off", false}})}});
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
        const ConfigTable* table = reader_.find("VLAN");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            const std::uint16_t id = vlan_number(entry.key);
            if (id == 0) return reader_.refuse("VLAN", entry.key, "not a VLAN's name; allowed: Vlan1..Vlan4094");
            std::uint64_t vlanid = id;
            Status status = reader_.fields("VLAN", entry, {{"vlanid", number(vlanid, 1, 4'094, "")}});
            if (!status) return status;
            if (vlanid != id) {
                return reader_.refuse("VLAN", entry.key,
                                      fmt::format("vlanid \"{}\" contradicts the name; allowed: {}", vlanid, id));
            }
            vlans_.push_back(id);
        }
        return Done{};
    }

    Status vlan_members() {
        const ConfigTable* table = reader_.find("VLAN_MEMBER");
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
        if (bar == std::string::npos)
            return reader_.refuse("VLAN_MEMBER", entry.key, "not a member; allowed: VlanN|PORT");
        const std::uint16_t vlan = vlan_number(entry.key.substr(0, bar));
        if (std::find(vlans_.begin(), vlans_.end(), vlan) == vlans_.end()) {
            return reader_.refuse("VLAN_MEMBER", entry.key, "unknown VLAN; allowed: the entries of table VLAN");
        }
        const std::optional<PortId> port = reader_.port_by_name(entry.key.substr(bar + 1));
        if (!port) return reader_.refuse("VLAN_MEMBER", entry.key, "unknown port; allowed: the entries of table PORT");
        std::optional<bool> tagged;
        Status status = reader_.fields("VLAN_MEMBER", entry,
                                       {{"tagging_mode", choice(tagged, {{"untagged", false}, {"tagged", true}})}});
        if (!status) return status;
        if (!tagged)
            return reader_.refuse("VLAN_MEMBER", entry.key, "tagging_mode is missing; allowed: untagged, tagged");
        const std::uint16_t native = core_->vlans.native(*port);
        if (!*tagged && native != 0) {
            return reader_.refuse(
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
        const ConfigTable* table = reader_.find("VROCE_PORT");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            const std::optional<PortId> port = reader_.port_by_name(entry.key);
            if (!port)
                return reader_.refuse("VROCE_PORT", entry.key, "unknown port; allowed: the entries of table PORT");
            PortDevice device;
            Status status = reader_.fields("VROCE_PORT", entry,
                                           {{"devargs", text(device.devargs)},
                                            {"role", choice(device.role, {{"host", PortDevice::Role::kHost},
                                                                          {"switch", PortDevice::Role::kSwitch}})}});
            if (!status) return status;
            if (device.devargs.empty()) {
                return reader_.refuse("VROCE_PORT", entry.key,
                                      "devargs is missing; allowed: \"memif\" or DPDK devargs");
            }
            if (Status good = device_is_good(entry.key, device.devargs); !good) return good;
            devices_[*port] = device;
        }
        return Done{};
    }

    Status device_is_good(const std::string& key, const std::string& devargs) const {
        if (devargs == "memif") return Done{};
        if (Status status = check_devargs(devargs); !status) {
            return reader_.refuse("VROCE_PORT", key, fmt::format("devargs \"{}\": {}", devargs, status.error()));
        }
        const std::string name = devargs.substr(0, devargs.find(','));
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            if (devices_[i].devargs.substr(0, devices_[i].devargs.find(',')) == name) {
                return reader_.refuse(
                    "VROCE_PORT", key,
                    fmt::format("devargs \"{}\": device {} belongs to {} already; allowed: one port a device", devargs,
                                name, core_->ports[i].name));
            }
        }
        return Done{};
    }

    Status general() {
        const ConfigTable* table = reader_.find("SWITCH");
        if (table == nullptr) return Done{};
        for (const ConfigEntry& entry : table->entries) {
            if (entry.key != "switch") return reader_.refuse("SWITCH", entry.key, "unknown entry; allowed: switch");
            std::uint64_t ageing_s = 300;
            Status status = reader_.fields("SWITCH", entry,
                                           {{"fdb_aging_time", number(ageing_s, 0, 1'000'000, " (s, 0 is never)")}});
            if (!status) return status;
            core_->fdb_ageing = seconds(static_cast<std::int64_t>(ageing_s));
        }
        return Done{};
    }

    Status priorities() {
        const Result<QosPreset> preset = read_qos_settings(reader_, core_->buffers);
        if (!preset) return Error{preset.error()};
        if (Status status = load_qos(reader_, *preset, devices_, *core_); !status) return status;
        return load_buffers(reader_, *preset != QosPreset::kNone, devices_, *core_);
    }

    void warn_about_vlans() {
        for (std::size_t i = 0; i < core_->ports.size(); ++i) {
            const auto member = [&](std::uint16_t vlan) {
                return core_->vlans.is_member(vlan, static_cast<PortId>(i));
            };
            if (vlans_.empty() || std::any_of(vlans_.begin(), vlans_.end(), member)) continue;
            reader_.warn(fmt::format("PORT|{}: member of no VLAN, so it forwards nothing", core_->ports[i].name));
        }
    }

    std::shared_ptr<SwitchConfig> core_;
    TableReader reader_;
    std::vector<std::uint16_t> vlans_;
    std::vector<PortDevice> devices_;
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
