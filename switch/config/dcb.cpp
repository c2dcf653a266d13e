#include "switch/config/dcb.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vroce::sw {
namespace {

constexpr unsigned kWeightsInAll = 100;
constexpr std::uint64_t kSelectorDscp = 0;  // of apptrust's order
constexpr std::uint64_t kSelectorPcp = 1;

using Entries = std::map<unsigned, std::uint64_t>;

std::uint8_t narrow(std::uint64_t value) {
    return static_cast<std::uint8_t>(value);
}

/// Both selectors in their order; {} is trust in nothing but the port.
std::vector<std::uint64_t> order_of(Trust trust) {
    switch (trust) {
        case Trust::kPort:
            return {};
        case Trust::kPcp:
            return {kSelectorPcp};
        case Trust::kDscp:
            return {kSelectorDscp};
        case Trust::kDscpThenPcp:
            return {kSelectorDscp, kSelectorPcp};
        case Trust::kPcpThenDscp:
            return {kSelectorPcp, kSelectorDscp};
    }
    return {};
}

Trust trust_of(const std::vector<std::uint64_t>& order) {
    if (order.empty()) return Trust::kPort;
    if (order.size() == 1) return order[0] == kSelectorDscp ? Trust::kDscp : Trust::kPcp;
    return order[0] == kSelectorDscp ? Trust::kDscpThenPcp : Trust::kPcpThenDscp;
}

class Change {
public:
    Change(const SwitchConfig& config, PortId port, const DcbRequest& request)
        : request_(request), change_{config, {}}, port_(change_.config.ports[port]), id_(port) {}

    Result<DcbChange> run() {
        Status status = Done{};
        if (request_.object == "pfc") status = pfc();
        if (request_.object == "ets") status = ets();
        if (request_.object == "app") app();
        if (request_.object == "apptrust") apptrust();
        if (request_.object == "rewr") rewr();
        if (request_.object == "buffer") status = buffer();
        if (request_.object == "maxrate") maxrate();
        if (!status) return Error{status.error()};
        auto& ports = change_.config.ports;
        change_.config.pfc_in_use = std::any_of(ports.begin(), ports.end(),
                                                [](const PortConfig& p) { return p.qos.flow_control.pfc_enable != 0; });
        return std::move(change_);
    }

private:
    [[nodiscard]] const Entries* table(const char* name) const {
        const auto found = request_.tables.find(name);
        return found == request_.tables.end() ? nullptr : &found->second;
    }
    template <typename F>
    void for_each(const char* name, F&& visit) const {
        if (const Entries* entries = table(name)) {
            for (const auto& [key, value] : *entries) visit(key, value);
        }
    }
    /// A flush without names is of all tables.
    [[nodiscard]] bool flushes(const char* name) const {
        return request_.verb == DcbVerb::kFlush && (request_.tables.empty() || table(name) != nullptr);
    }

    Status pfc() {
        FlowControlConfig& flow = port_.qos.flow_control;
        for_each("prio-pfc", [&](unsigned priority, std::uint64_t on) {
            const auto bit = narrow(1u << priority);
            flow.pfc_enable = narrow(on != 0 ? flow.pfc_enable | bit : flow.pfc_enable & ~bit);
        });
        if (flow.link_pause && flow.pfc_enable != 0) {
            return Error{fmt::format("{}: prio-pfc: the port has 802.3x pause, which excludes PFC; allowed: all:off",
                                     port_.name)};
        }
        return Done{};
    }

    Status ets() {
        auto& queues = port_.qos.queues;
        for_each("prio-tc",
                 [&](unsigned priority, std::uint64_t tc) { port_.qos.ingress.tc_to_queue[priority] = narrow(tc); });
        for_each("tc-tsa", [&](unsigned tc, std::uint64_t tsa) {
            queues[tc].scheduler.type = tsa == kTsaEts ? SchedulerType::kDwrr : SchedulerType::kStrict;
        });
        if (table("tc-bw") == nullptr) return Done{};
        std::array<std::uint64_t, kQueues> bandwidth{};
        for_each("tc-bw", [&](unsigned tc, std::uint64_t percent) { bandwidth[tc] = percent; });
        std::uint64_t sum = 0;
        for (unsigned tc = 0; tc < kQueues; ++tc) {
            const bool ets = queues[tc].scheduler.type == SchedulerType::kDwrr;
            if (!ets && bandwidth[tc] != 0) {
                return Error{fmt::format("{}: tc-bw {}:{}: TC {} is strict and has no share; allowed: 0", port_.name,
                                         tc, bandwidth[tc], tc)};
            }
            sum += bandwidth[tc];
            if (ets) queues[tc].scheduler.weight = narrow(std::max<std::uint64_t>(bandwidth[tc], 1));
        }
        if (sum == kWeightsInAll) return Done{};
        return Error{fmt::format("{}: tc-bw: the shares of the ets TCs sum to {}; allowed: {} (802.1Q 37.3)",
                                 port_.name, sum, kWeightsInAll)};
    }

    void app() {
        ClassMaps& maps = port_.qos.ingress;
        const bool removes = request_.verb == DcbVerb::kDel;
        if (flushes("dscp-prio")) maps.dscp_to_tc.fill(maps.default_tc);
        if (flushes("pcp-prio")) maps.pcp_to_tc.fill(maps.default_tc);
        if (flushes("default-prio")) maps.default_tc = 0;
        for_each("default-prio", [&](unsigned, std::uint64_t tc) { maps.default_tc = removes ? 0 : narrow(tc); });
        for_each("dscp-prio", [&](unsigned dscp, std::uint64_t tc) {
            if (!removes || maps.dscp_to_tc[dscp] == tc) maps.dscp_to_tc[dscp] = removes ? maps.default_tc : narrow(tc);
        });
        for_each("pcp-prio", [&](unsigned pcp, std::uint64_t tc) {
            if (!removes || maps.pcp_to_tc[pcp] == tc) maps.pcp_to_tc[pcp] = removes ? maps.default_tc : narrow(tc);
        });
        if (removes || request_.verb == DcbVerb::kFlush) return;
        if (table("dscp-prio") != nullptr) trust_in(kSelectorDscp, "dscp");
        if (table("pcp-prio") != nullptr) trust_in(kSelectorPcp, "pcp");
    }

    /// An entry of a mark that the port does not trust would do nothing: trust follows, as drivers do it.
    void trust_in(std::uint64_t selector, const char* name) {
        std::vector<std::uint64_t> order = order_of(port_.qos.ingress.trust);
        if (std::find(order.begin(), order.end(), selector) != order.end()) return;
        order.push_back(selector);
        port_.qos.ingress.trust = trust_of(order);
        change_.notes.push_back(fmt::format("{}: the port now trusts {} too (dcb apptrust)", port_.name, name));
    }

    void apptrust() {
        std::vector<std::uint64_t> order;
        for_each("order", [&](unsigned, std::uint64_t selector) { order.push_back(selector); });
        port_.qos.ingress.trust = trust_of(order);
    }

    void rewr() {
        RemarkMaps& remark = port_.qos.remark;
        rewrite("prio-dscp", remark.dscp, remark.tc_to_dscp);
        rewrite("prio-pcp", remark.pcp, remark.tc_to_pcp);
    }

    /// A map that comes into use changes only what is named: other classes get what they had without it.
    void rewrite(const char* name, bool& in_use, std::array<std::uint8_t, kTrafficClasses>& map) {
        if (flushes(name)) in_use = false;
        if (request_.verb == DcbVerb::kFlush || table(name) == nullptr) return;
        if (request_.verb == DcbVerb::kDel) {
            for_each(name, [&](unsigned tc, std::uint64_t) { map[tc] = narrow(tc); });
            return;
        }
        if (!in_use) map = identity_map<kTrafficClasses>();
        in_use = true;
        for_each(name, [&](unsigned tc, std::uint64_t mark) { map[tc] = narrow(mark); });
    }

    Status buffer() {
        for_each("prio-buffer", [&](unsigned priority, std::uint64_t group) {
            port_.qos.ingress.tc_to_priority[priority] = narrow(group);
        });
        for_each("buffer-size", [&](unsigned group, std::uint64_t bytes) { reserve(group, bytes); });
        return Done{};
    }

    /// The group's own profile, with another size.
    void reserve(unsigned group, std::uint64_t bytes) {
        BufferConfig& buffers = change_.config.buffers;
        buffers.ports.resize(change_.config.ports.size());
        auto& slot = buffers.ports[id_].pg[group];
        BufferProfileConfig profile;
        if (slot) {
            profile = buffers.profiles[*slot];
        } else {
            if (buffers.pools.empty()) {
                BufferPoolConfig pool;
                pool.name = "dcb";
                pool.size_bytes = std::uint64_t{4} << 20;
                buffers.pools.push_back(pool);
            }
            profile.dynamic_alpha = std::int8_t{0};
            profile.lossless = true;
        }
        profile.name = fmt::format("dcb:{}:{}", port_.name, group);
        profile.size_bytes = bytes;
        const auto same = std::find_if(buffers.profiles.begin(), buffers.profiles.end(),
                                       [&](const BufferProfileConfig& p) { return p.name == profile.name; });
        slot = static_cast<std::uint16_t>(same - buffers.profiles.begin());
        if (same == buffers.profiles.end()) {
            buffers.profiles.push_back(profile);
        } else {
            *same = profile;
        }
    }

    void maxrate() {
        for_each("tc-maxrate",
                 [&](unsigned tc, std::uint64_t rate_bps) { port_.qos.queues[tc].scheduler.max_rate_bps = rate_bps; });
    }

    const DcbRequest& request_;
    DcbChange change_;
    PortConfig& port_;
    PortId id_;
};

template <typename Array>
Entries entries_of(const Array& array) {
    Entries entries;
    for (unsigned i = 0; i < array.size(); ++i) entries[i] = array[i];
    return entries;
}

DcbTables ets_tables(const PortQosConfig& qos) {
    DcbTables tables;
    tables["prio-tc"] = entries_of(qos.ingress.tc_to_queue);
    for (unsigned tc = 0; tc < kQueues; ++tc) {
        const bool ets = qos.queues[tc].scheduler.type == SchedulerType::kDwrr;
        tables["tc-tsa"][tc] = ets ? kTsaEts : kTsaStrict;
        tables["tc-bw"][tc] = ets ? qos.queues[tc].scheduler.weight : 0;
    }
    return tables;
}

DcbTables app_tables(const ClassMaps& maps) {
    return {{"dscp-prio", entries_of(maps.dscp_to_tc)},
            {"pcp-prio", entries_of(maps.pcp_to_tc)},
            {"default-prio", {{0, maps.default_tc}}}};
}

}  // namespace

Result<DcbChange> apply_dcb(const SwitchConfig& config, PortId port, const DcbRequest& request) {
    return Change(config, port, request).run();
}

Result<DcbTables> show_dcb(const SwitchConfig& config, PortId port, const std::string& object) {
    const PortQosConfig& qos = config.ports[port].qos;
    DcbTables tables;
    if (object == "ets") return ets_tables(qos);
    if (object == "app") return app_tables(qos.ingress);
    if (object == "pfc") {
        for (unsigned p = 0; p < kPriorities; ++p) tables["prio-pfc"][p] = qos.flow_control.lossless(p) ? 1 : 0;
        return tables;
    }
    if (object == "apptrust") {
        Entries& order = tables["order"];
        for (const std::uint64_t selector : order_of(qos.ingress.trust))
            order[static_cast<unsigned>(order.size())] = selector;
        return tables;
    }
    if (object == "rewr") {
        if (qos.remark.dscp) tables["prio-dscp"] = entries_of(qos.remark.tc_to_dscp);
        if (qos.remark.pcp) tables["prio-pcp"] = entries_of(qos.remark.tc_to_pcp);
        return tables;
    }
    if (object == "buffer") {
        tables["prio-buffer"] = entries_of(qos.ingress.tc_to_priority);
        for (unsigned g = 0; g < kPriorityGroups; ++g) {
            const bool known = port < config.buffer_limits.ports.size() && config.buffer_limits.ports[port].groups[g];
            tables["buffer-size"][g] = known ? config.buffer_limits.ports[port].groups[g]->reserved_bytes : 0;
        }
        return tables;
    }
    if (object == "maxrate") {
        for (unsigned tc = 0; tc < kQueues; ++tc) tables["tc-maxrate"][tc] = qos.queues[tc].scheduler.max_rate_bps;
        return tables;
    }
    return Error{fmt::format("unknown object '{}'; allowed: {}", object, dcb_objects())};
}

}  // namespace vroce::sw
