// Names become indices here; the buffer manager's plan turns profiles into limits.
#include "switch/config/buffer_tables.hpp"

#include <algorithm>
#include <bitset>

#include "switch/config/default_buffers.hpp"
#include "switch/mmu/plan.hpp"

namespace vroce::sw {
namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr std::uint64_t kCableMax_m = 300'000;
constexpr std::size_t kPoolsMax = 64;
constexpr std::size_t kProfilesMax = 1'024;

FieldSetter optional_bytes(std::optional<std::uint64_t>& target) {
    return [&target](const FieldPlace& place) -> Status {
        std::uint64_t bytes = 0;
        Status status = number(bytes, 0, kBytesMax, " (bytes)")(place);
        if (status) target = bytes;
        return status;
    };
}

FieldSetter exponent(std::optional<std::int8_t>& target) {
    return [&target](const FieldPlace& place) -> Status {
        const std::string& text = place.field.text;
        const bool minus = !text.empty() && text.front() == '-';
        std::uint64_t size = 0;
        if (!place.field.scalar || !parse_number(text.substr(minus ? 1 : 0), size) || size > (minus ? 8 : 7)) {
            return place.refuse("-8..7 (n: 2^n times what the pool has left)");
        }
        target = static_cast<std::int8_t>(minus ? -static_cast<int>(size) : static_cast<int>(size));
        return Done{};
    };
}

/// "40m"; a cable of no length is one that nobody has measured.
bool parse_cable(const std::string& text, std::uint64_t& length_m) {
    return text.size() > 1 && text.back() == 'm' && parse_number(text.substr(0, text.size() - 1), length_m) &&
           length_m >= 1 && length_m <= kCableMax_m;
}

class BufferLoader {
public:
    BufferLoader(TableReader& reader, std::span<const PortDevice> devices, SwitchConfig& core)
        : reader_(reader), devices_(devices), core_(core), buffers_(core.buffers) {}

    Status load(bool preset) {
        buffers_.ports.resize(core_.ports.size());
        if (Status status = cables(); !status) return status;
        const ConfigTable* pools = reader_.find("BUFFER_POOL");
        const bool needed = preset || core_.pfc_in_use || has_link_pause();
        if (pools == nullptr && needed) start_from_default(preset);
        for (const auto step : {&BufferLoader::pools, &BufferLoader::profiles, &BufferLoader::groups,
                                &BufferLoader::queues, &BufferLoader::lossless_groups, &BufferLoader::promises}) {
            if (Status status = (this->*step)(); !status) return status;
        }
        if (buffers_.profiles.empty()) buffers_.ports.clear();
        return Done{};
    }

private:
    [[nodiscard]] bool has_link_pause() const {
        return std::any_of(core_.ports.begin(), core_.ports.end(),
                           [](const PortConfig& port) { return port.qos.flow_control.link_pause; });
    }

    void start_from_default(bool preset) {
        add_default_buffers(core_, devices_);
        for (std::size_t i = 0; i < buffers_.pools.size(); ++i) pool_index_[buffers_.pools[i].name] = index16(i);
        for (std::size_t i = 0; i < buffers_.profiles.size(); ++i)
            profile_index_[buffers_.profiles[i].name] = index16(i);
        if (preset) return;
        reader_.warn(fmt::format("there is no BUFFER_POOL: the lossless classes have {} bytes, the lossy ones {}",
                                 buffers_.pools[0].size_bytes, buffers_.pools[1].size_bytes));
    }
    static std::uint16_t index16(std::size_t i) { return static_cast<std::uint16_t>(i); }

    /// Fields are ports, values lengths.
    Status cables() {
        const std::string table = "CABLE_LENGTH";
        return reader_.each(table, [&](const ConfigEntry& entry) -> Status {
            for (const ConfigField& field : entry.fields) {
                const std::optional<PortId> port = reader_.port_by_name(field.name);
                if (!port) {
                    return reader_.refuse(
                        table, entry.key,
                        fmt::format("unknown port \"{}\"; allowed: the entries of table PORT", field.name));
                }
                std::uint64_t length_m = 0;
                if (!field.scalar || !parse_cable(field.text, length_m)) {
                    return FieldPlace{reader_.file(), table, entry.key, field}.refuse(
                        fmt::format("1m..{}m", kCableMax_m));
                }
                std::uint32_t& cable_m = buffers_.ports[*port].cable_m;
                if (cable_m != 0) {
                    return reader_.refuse(
                        table, entry.key,
                        fmt::format("{} is in another entry already; allowed: one entry", field.name));
                }
                cable_m = static_cast<std::uint32_t>(length_m);
            }
            return Done{};
        });
    }

    Status pools() {
        return reader_.each("BUFFER_POOL", [this](const ConfigEntry& entry) -> Status {
            BufferPoolConfig pool;
            pool.name = entry.key;
            std::optional<std::uint64_t> size;
            std::optional<BufferPoolType> type;
            std::optional<BufferPoolMode> mode;
            Status status = reader_.fields(
                "BUFFER_POOL", entry,
                {{"type", choice(type, {{"ingress", BufferPoolType::kIngress},
                                        {"egress", BufferPoolType::kEgress},
                                        {"both", BufferPoolType::kBoth}})},
                 {"mode", choice(mode, {{"static", BufferPoolMode::kStatic}, {"dynamic", BufferPoolMode::kDynamic}})},
                 {"size", optional_bytes(size)},
                 {"xoff", number(pool.xoff_bytes, 0, kBytesMax, " (bytes)")},
                 {"percentage", reader_.without_effect()}});
            if (!status) return status;
            if (!type) return missing("BUFFER_POOL", entry.key, "type", "ingress, egress, both");
            if (!mode) return missing("BUFFER_POOL", entry.key, "mode", "static, dynamic");
            if (!size) {
                reader_.warn(fmt::format("BUFFER_POOL|{}: there is no size: it has {} bytes", entry.key,
                                         default_pool_bytes(core_, devices_)));
            }
            pool.size_bytes = size.value_or(default_pool_bytes(core_, devices_));
            pool.type = *type;
            pool.mode = *mode;
            return add("BUFFER_POOL", buffers_.pools, pool_index_, pool, kPoolsMax);
        });
    }

    Status profiles() {
        return reader_.each("BUFFER_PROFILE", [this](const ConfigEntry& entry) { return profile(entry); });
    }

    Status profile(const ConfigEntry& entry) {
        const std::string table = "BUFFER_PROFILE";
        BufferProfileConfig profile;
        profile.name = entry.key;
        const std::uint16_t* pool = nullptr;
        std::optional<std::uint64_t> xoff;
        bool drops = true;
        bool headroom_by_switch = false;
        Status status =
            reader_.fields(table, entry,
                           {{"pool", reference(pool, "BUFFER_POOL", pool_index_)},
                            {"size", number(profile.size_bytes, 0, kBytesMax, " (bytes)")},
                            {"dynamic_th", exponent(profile.dynamic_alpha)},
                            {"static_th", optional_bytes(profile.static_bytes)},
                            {"xon", number(profile.xon_bytes, 0, kBytesMax, " (bytes)")},
                            {"xoff", optional_bytes(xoff)},
                            {"xon_offset", number(profile.xon_offset_bytes, 0, kBytesMax, " (bytes)")},
                            {"headroom_type", choice(headroom_by_switch, {{"static", false}, {"dynamic", true}})},
                            {"packet_discard_action", choice(drops, {{"drop", true}})}});
        if (!status) return status;
        if (pool == nullptr) return missing(table, entry.key, "pool", "an entry of table BUFFER_POOL");
        if (profile.dynamic_alpha.has_value() == profile.static_bytes.has_value()) {
            return reader_.refuse(table, entry.key,
                                  profile.static_bytes ? "dynamic_th and static_th; allowed: one of the two"
                                                       : "dynamic_th or static_th is missing; allowed: one of the two");
        }
        profile.pool = *pool;
        profile.lossless = xoff.has_value() || headroom_by_switch;
        profile.xoff_bytes = xoff.value_or(0);
        if (profile.lossless && buffers_.pools[*pool].type == BufferPoolType::kEgress) {
            return reader_.refuse(
                table, entry.key,
                fmt::format("xoff in pool \"{}\" of type egress; allowed: ingress, both", buffers_.pools[*pool].name));
        }
        return add(table, buffers_.profiles, profile_index_, profile, kProfilesMax);
    }

    /// One of a name that the default has replaces it, and its users keep it.
    template <typename Entry>
    Status add(const std::string& table, std::vector<Entry>& entries, Named<std::uint16_t>& index, const Entry& entry,
               std::size_t most) {
        if (const auto known = index.find(entry.name); known != index.end()) {
            entries[known->second] = entry;
            return Done{};
        }
        if (entries.size() == most)
            return Error{fmt::format("{}: {}: allowed: {} entries", reader_.file(), table, most)};
        index[entry.name] = index16(entries.size());
        entries.push_back(entry);
        return Done{};
    }

    Status groups() {
        std::array<std::bitset<kPriorityGroups>, kMaxPorts> seen;
        return reader_.each("BUFFER_PG", [&](const ConfigEntry& entry) {
            return users(
                "BUFFER_PG", entry, seen, BufferPoolType::kEgress, [this](PortId port, unsigned g) -> auto& {
                    return buffers_.ports[port].pg[g];
                });
        });
    }
    Status queues() {
        std::array<std::bitset<kQueues>, kMaxPorts> seen;
        return reader_.each("BUFFER_QUEUE", [&](const ConfigEntry& entry) {
            return users(
                "BUFFER_QUEUE", entry, seen, BufferPoolType::kIngress, [this](PortId port, unsigned q) -> auto& {
                    return buffers_.ports[port].queue[q];
                });
        });
    }

    /// "NULL" is SONiC's word for a profile that the switch makes: the default of a lossless group.
    template <typename Seen, typename Place>
    Status users(const std::string& table, const ConfigEntry& entry, Seen& seen, BufferPoolType wrong, Place place) {
        const Result<PortsAndRange> where = reader_.ports_and_range(table, entry.key);
        if (!where) return Error{where.error()};
        const std::uint16_t* profile = nullptr;
        bool automatic = false;
        const FieldSetter named = reference(profile, "BUFFER_PROFILE", profile_index_);
        Status status = reader_.fields(table, entry, {{"profile", [&](const FieldPlace& field) -> Status {
                                                           automatic =
                                                               table == "BUFFER_PG" && field.field.text == "NULL";
                                                           return automatic ? Status(Done{}) : named(field);
                                                       }}});
        if (!status) return status;
        if (automatic) return make_lossless(table, entry.key, *where);
        if (profile == nullptr) return missing(table, entry.key, "profile", "an entry of table BUFFER_PROFILE");
        const BufferPoolConfig& pool = buffers_.pools[buffers_.profiles[*profile].pool];
        if (pool.type == wrong) {
            const bool ingress = wrong == BufferPoolType::kEgress;
            return reader_.refuse(table, entry.key,
                                  fmt::format("profile \"{}\" is in pool \"{}\" of type {}; allowed: {}, both",
                                              buffers_.profiles[*profile].name, pool.name,
                                              ingress ? "egress" : "ingress", ingress ? "ingress" : "egress"));
        }
        for (const PortId port : where->ports) {
            for (unsigned i = where->first; i <= where->last; ++i) {
                if (seen[port][i]) {
                    return reader_.refuse(table, entry.key,
                                          fmt::format("{}|{} is in another entry already; allowed: one entry",
                                                      core_.ports[port].name, i));
                }
                seen[port].set(i);
                place(port, i) = *profile;
            }
        }
        return Done{};
    }

    Status make_lossless(const std::string& table, const std::string& key, const PortsAndRange& where) {
        const std::optional<std::uint16_t> profile = automatic_profile();
        if (!profile) {
            return reader_.refuse(table, key,
                                  "profile \"NULL\" without an ingress pool; allowed: a BUFFER_POOL of type "
                                  "ingress or both");
        }
        for (const PortId port : where.ports)
            for (unsigned g = where.first; g <= where.last; ++g) buffers_.ports[port].pg[g] = *profile;
        return Done{};
    }

    /// In the ingress pool that has "lossless" in its name, or else the first one.
    std::optional<std::uint16_t> automatic_profile() {
        const auto is_ingress = [](const BufferPoolConfig& pool) { return pool.type != BufferPoolType::kEgress; };
        const auto is_lossless = [&](const BufferPoolConfig& pool) {
            return is_ingress(pool) && pool.name.find("lossless") != std::string::npos;
        };
        const auto begin = buffers_.pools.begin();
        const auto end = buffers_.pools.end();
        auto pool = std::find_if(begin, end, is_lossless);
        if (pool == end) pool = std::find_if(begin, end, is_ingress);
        if (pool == end) return std::nullopt;
        BufferProfileConfig profile = lossless_profile(buffers_, index16(static_cast<std::size_t>(pool - begin)));
        if (const auto known = profile_index_.find(profile.name); known != profile_index_.end()) return known->second;
        profile_index_[profile.name] = index16(buffers_.profiles.size());
        buffers_.profiles.push_back(profile);
        return profile_index_[profile.name];
    }

    /// A priority that pauses must have headroom: the switch's own choice where the file has none, never a lossy one.
    Status lossless_groups() {
        for (std::size_t p = 0; p < core_.ports.size(); ++p) {
            const PortConfig& port = core_.ports[p];
            const std::uint8_t pausing = pausing_groups(port.qos);
            for (unsigned g = 0; g < kPriorityGroups; ++g) {
                std::optional<std::uint16_t>& profile = buffers_.ports[p].pg[g];
                const bool pauses = (pausing >> g & 1) != 0;
                if (pauses && !profile) profile = automatic_profile();
                const std::string key = fmt::format("{}|{}", port.name, g);
                if (pauses && !profile) {
                    return reader_.refuse("BUFFER_PG", key,
                                          "a lossless priority without a profile; allowed: one with "
                                          "xoff, or a BUFFER_POOL of type ingress or both");
                }
                const bool lossless = profile && buffers_.profiles[*profile].lossless;
                if (pauses && !lossless) {
                    return reader_.refuse("BUFFER_PG", key,
                                          fmt::format("profile \"{}\" has no headroom, but {} of the port needs it; "
                                                      "allowed: a profile with xoff",
                                                      buffers_.profiles[*profile].name,
                                                      port.qos.flow_control.link_pause ? "link_pause" : "pfc_enable"));
                }
                if (lossless && !pauses) {
                    reader_.warn(
                        fmt::format("BUFFER_PG|{}: lossless, but without pfc_enable the peer is never paused", key));
                }
            }
        }
        return Done{};
    }

    /// What the file promises has to fit; what ports need on top of it is the buffer manager's to add.
    Status promises() {
        const std::vector<std::uint64_t> needed(core_.ports.size());
        const Result<BufferPlan> plan = plan_buffers(core_, needed);
        if (!plan) return Error{fmt::format("{}: {}", reader_.file(), plan.error())};
        return Done{};
    }

    Error missing(const std::string& table, const std::string& key, const char* field,
                  const std::string& allowed) const {
        return reader_.refuse(table, key, fmt::format("{} is missing; allowed: {}", field, allowed));
    }

    TableReader& reader_;
    std::span<const PortDevice> devices_;
    SwitchConfig& core_;
    BufferConfig& buffers_;
    Named<std::uint16_t> pool_index_;
    Named<std::uint16_t> profile_index_;
};

}  // namespace

Status load_buffers(TableReader& reader, bool preset, std::span<const PortDevice> devices, SwitchConfig& core) {
    return BufferLoader(reader, devices, core).load(preset);
}

}  // namespace vroce::sw
