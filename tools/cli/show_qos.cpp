// vroce show pfc, queue, priority-group, buffer: what flow control and buffers do, as tables.
#include <fmt/core.h>

#include <algorithm>

#include "tools/cli/collect.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/table.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

std::string time_text(const json& ns) {
    return fmt::format("{:.3f} ms", static_cast<double>(ns.get<std::int64_t>()) / 1e6);
}

bool all_zero(const json& value) {
    if (value.is_object())
        return std::all_of(value.begin(), value.end(), [](const json& inner) { return all_zero(inner); });
    return value.is_number() ? value == 0 : value.is_boolean() && !value.get<bool>();
}

/// Calls row(process/port, index, values) for each entry of a port's table that is not all zeros. False: there was
/// none.
template <typename F>
bool for_each_entry(const json& answers, const char* table, F&& row) {
    bool any = false;
    for (const auto& [process, answer] : answers.items()) {
        const json ports = answer.value("ports", json::object());
        for (const auto& [port, counters] : ports.items()) {
            if (!counters.contains(table)) continue;
            for (const auto& [index, values] : counters[table].items()) {
                if (all_zero(values)) continue;
                row(fmt::format("{}/{}", process, port), index, values);
                any = true;
            }
        }
    }
    return any;
}

std::string drops_text(const json& values) {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : values["drop"].items()) sum += count.get<std::uint64_t>();
    return std::to_string(sum);
}

/// The tables of `counters`, reduced to the one that is shown.
json only(const json& answers, const char* table) {
    json out = json::object();
    for (const auto& [process, answer] : answers.items()) {
        const json ports = answer.value("ports", json::object());
        for (const auto& [port, counters] : ports.items()) {
            if (counters.contains(table)) out[process][port] = counters[table];
        }
    }
    return out;
}

Outcome ended(const Collected& collected) {
    return collected.error.empty() ? done() : failure(collected.error);
}

Outcome pfc(const Arguments& arguments) {
    Collected collected = collect(arguments, Who::all, "counters");
    if (collected.answers.empty()) return ended(collected);
    if (arguments.has("json")) {
        fmt::print("{}\n", only(collected.answers, "pause").dump(2));
        return ended(collected);
    }
    for (auto& [process, answer] : collected.answers.items()) {
        for (auto& [port, counters] : answer["ports"].items()) {
            if (counters.contains("pause")) counters["pause"] = counters["pause"]["priority"];
        }
    }
    Table table({"PORT", "PRIORITY", "RX PAUSE", "RX RESUME", "RX PAUSED", "RX STORM", "TX XOFF", "TX REFRESH",
                 "TX XON", "TX PAUSED"});
    const bool any =
        for_each_entry(collected.answers, "pause", [&](const auto& port, const auto& priority, const json& v) {
            table.add({port, priority, v["rx_pause"].dump(), v["rx_resume"].dump(), time_text(v["rx_paused_ns"]),
                       v.contains("rx_storm_ns") ? time_text(v["rx_storm_ns"]) : "-", v["tx_xoff"].dump(),
                       v["tx_refresh"].dump(), v["tx_xon"].dump(), time_text(v["tx_paused_ns"])});
        });
    fmt::print("{}", any ? table.text() : "no pause was said or heard\n");
    return ended(collected);
}

/// The delay that this share of the packets did not pass, from a histogram in powers of two.
std::string delay_text(const json& delay, double share) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets;
    std::uint64_t packets = 0;
    for (const auto& [name, count] : delay.items()) {
        constexpr std::size_t kPrefix = 6;  // below_
        buckets.emplace_back(std::stoull(name.substr(kPrefix)), count.get<std::uint64_t>());
        packets += buckets.back().second;
    }
    std::sort(buckets.begin(), buckets.end());
    std::uint64_t seen = 0;
    for (const auto& [limit_ns, count] : buckets) {
        seen += count;
        if (static_cast<double>(seen) >= share * static_cast<double>(packets))
            return fmt::format("< {:.1f} us", static_cast<double>(limit_ns) / 1e3);
    }
    return "-";
}

Outcome queue(const Arguments& arguments) {
    const Collected collected = collect(arguments, Who::switches, "counters");
    if (collected.answers.empty()) return ended(collected);
    if (arguments.has("json")) {
        fmt::print("{}\n", only(collected.answers, "queue").dump(2));
        return ended(collected);
    }
    Table table(
        {"PORT", "QUEUE", "PACKETS", "BYTES", "WAITING", "WATERMARK", "DROPS", "ECN MARKS", "DELAY 50 %", "99 %"});
    const bool any = for_each_entry(collected.answers, "queue", [&](const auto& port, const auto& q, const json& v) {
        table.add({port, q, v["packets"].dump(), v["bytes"].dump(), v["backlog_bytes"].dump(),
                   v["backlog_bytes_max"].dump(), drops_text(v),
                   std::to_string(v["ecn_marked"].template get<std::uint64_t>() +
                                  v["ecn_marked_after_gap"].template get<std::uint64_t>()),
                   delay_text(v["delay"], 0.5), delay_text(v["delay"], 0.99)});
    });
    fmt::print("{}", any ? table.text() : "no queue was used\n");
    return ended(collected);
}

/// A limit alone is no reason to show a group.
void forget_unused_groups(json& groups) {
    for (json& values : groups) {
        json used = values;
        used.erase("shared_limit_bytes");
        if (all_zero(used)) values = json::object();
    }
}

Outcome priority_group(const Arguments& arguments) {
    Collected collected = collect(arguments, Who::switches, "counters");
    if (collected.answers.empty()) return ended(collected);
    if (arguments.has("json")) {
        fmt::print("{}\n", only(collected.answers, "priority_group").dump(2));
        return ended(collected);
    }
    Table table(
        {"PORT", "PG", "RESERVED", "SHARED", "WATERMARK", "LIMIT", "HEADROOM", "WATERMARK", "SIZE", "DROPS", "STATE"});
    for (auto& [process, answer] : collected.answers.items()) {
        for (auto& [port, counters] : answer["ports"].items()) forget_unused_groups(counters["priority_group"]);
    }
    const bool any =
        for_each_entry(collected.answers, "priority_group", [&](const auto& port, const auto& pg, const json& v) {
            const bool lossless = v["headroom_size_bytes"] != 0;
            table.add({port, pg, v["reserved_bytes"].dump(), v["shared_bytes"].dump(), v["shared_bytes_max"].dump(),
                       v["shared_limit_bytes"].dump(), v["headroom_bytes"].dump(), v["headroom_bytes_max"].dump(),
                       v["headroom_size_bytes"].dump(), drops_text(v),
                       v["congested"].template get<bool>() ? "XOFF"
                       : lossless                          ? "lossless"
                                                           : "lossy"});
        });
    fmt::print("{}", any ? table.text() : "no priority group was used\n");
    return ended(collected);
}

Outcome buffer(const Arguments& arguments) {
    const std::string by = arguments.get_or("by", "ingress,egress");
    if (by != "ingress,egress") return wrong_usage(fmt::format("--by '{}': allowed: ingress,egress", by));
    const Collected collected = collect(arguments, Who::switches, "buffer.holders");
    if (collected.answers.empty()) return ended(collected);
    if (arguments.has("json")) {
        fmt::print("{}\n", collected.answers.dump(2));
        return ended(collected);
    }
    Table table({"INGRESS", "PG", "HOLDS EGRESS", "QUEUE", "PACKETS", "BYTES"});
    bool any = false;
    for (const auto& [process, holders] : collected.answers.items()) {
        for (const json& held : holders) {
            table.add({process + "/" + held["ingress"].get<std::string>(), held["priority_group"].dump(),
                       process + "/" + held["egress"].get<std::string>(), held["queue"].dump(), held["packets"].dump(),
                       held["bytes"].dump()});
            any = true;
        }
    }
    fmt::print("{}", any ? table.text() : "nothing waits\n");
    return ended(collected);
}

}  // namespace

std::vector<Command> show_qos_commands() {
    const std::vector<Parameter> common = {{Kind::key, "on", "PROCESS", "only this one: sw1, h1"}, json_flag()};
    std::vector<Parameter> by = common;
    by.push_back({Kind::option, "--by", "ingress,egress", "which ingress priority group holds which egress queue"});
    return {
        {"show pfc", "pause frames and paused time of each priority, both ways", common, pfc},
        {"show queue", "egress queues with their watermarks, marks and delays", common, queue},
        {"show priority-group", "ingress buffers with their watermarks and limits", common, priority_group},
        {"show buffer", "what waits in the switches now", by, buffer},
    };
}

}  // namespace vroce::cli
