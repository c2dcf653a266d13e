// vroce show: what the running processes know, asked over their control sockets.
#include <fmt/core.h>

#include "tools/cli/collect.hpp"
#include "tools/cli/command.hpp"
#include "tools/cli/table.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

using Printer = void (*)(const std::string& name, const json& answer);

void print_any(const std::string& name, const json& answer) {
    fmt::print("{}\n{}\n", name, describe(answer));
}

void print_ports(const std::string& name, const json& answer) {
    Table table({"PORT", "LINK", "SPEED", "DETAIL"});
    for (const json& port : answer) {
        json detail = port;
        for (const char* shown : {"name", "link_up", "speed_bps"}) detail.erase(shown);
        std::string text;
        for (const auto& [key, value] : detail.items())
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, cell(value));
        table.add({name + "/" + port.value("name", "?"), port.value("link_up", false) ? "up" : "down",
                   speed_text(port.value("speed_bps", json())), text});
    }
    fmt::print("{}\n", table.text());
}

/// "a 1, b 2", without what is 0.
std::string counted(const json& counters) {
    std::string text;
    for (const auto& [key, value] : counters.items()) {
        if (value != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, cell(value));
    }
    return text;
}

void print_endpoints(const std::string& name, const json& answer) {
    Table table({"ENDPOINT", "LINK", "DEVICE", "INTERFACE", "MAC", "VLAN", "MTU", "ACTIVE MTU", "SESSIONS", "GIDS"});
    std::string counters;
    for (const json& endpoint : answer) {
        const std::string full_name = fmt::format("{}/{}", name, endpoint.value("name", "?"));
        std::string gids;
        for (const json& gid : endpoint.value("gids", json::array())) gids.append(gid.value("gid", "?")).append(" ");
        table.add({full_name, endpoint.value("link_up", false) ? "up" : "down", cell(endpoint["device"]),
                   cell(endpoint["interface"]), cell(endpoint["mac"]), cell(endpoint["vlan"]), cell(endpoint["mtu"]),
                   cell(endpoint["active_mtu"]), std::to_string(endpoint["sessions"].size()), gids});
        const std::string text = counted(endpoint["counters"]);
        if (!text.empty()) counters += fmt::format("{}: {}\n", full_name, text);
    }
    fmt::print("{}{}\n", table.text(), counters);
}

/// {"Ethernet0": {…}, …}, all with the same keys, as a table with a line for each port.
void print_by_port(const std::string& name, const json& answer) {
    if (!answer.is_object() || answer.empty()) return;
    std::vector<std::string> head = {"port"};
    for (const auto& [key, unused] : answer.front().items()) head.push_back(key);
    Table table(head);
    for (const auto& [port, values] : answer.items()) {
        std::vector<std::string> row = {fmt::format("{}/{}", name, port)};
        for (std::size_t i = 1; i < head.size(); ++i)
            row.push_back(values.contains(head[i]) ? cell(values[head[i]]) : "-");
        table.add(row);
    }
    fmt::print("{}\n", table.text());
}

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// A size or a limit is set, not counted.
bool is_setting(const std::string& key) {
    return ends_with(key, "_size_bytes") || ends_with(key, "_limit_bytes");
}

/// Zeros say nothing to a person; JSON has them all.
json without_zeros(const json& value) {
    if (!value.is_object()) return value;
    json out = json::object();
    for (const auto& [key, inner] : value.items()) {
        if (is_setting(key)) continue;
        const json kept = without_zeros(inner);
        if (kept == 0 || kept == false) continue;
        if (kept.is_object() && kept.empty()) continue;
        out[key] = kept;
    }
    return out;
}

void print_counters(const std::string& name, const json& answer) {
    const json kept = without_zeros(answer);
    fmt::print("{}\n{}\n", name, kept.empty() ? "(all zero)\n" : describe(kept));
}

Outcome show(const Arguments& arguments, const Collected& collected, Printer print) {
    if (collected.answers.empty() && !collected.error.empty()) return failure(collected.error);
    if (arguments.has("json")) {
        fmt::print("{}\n", collected.answers.dump(2));
    } else {
        for (const auto& [name, answer] : collected.answers.items()) print(name, answer);
    }
    return collected.error.empty() ? done() : failure(collected.error);
}

Outcome ports(const Arguments& arguments) {
    Collected collected = collect(arguments, Who::all, "status");
    for (auto& [name, answer] : collected.answers.items()) answer = answer.value("ports", json::array());
    return show(arguments, collected, print_ports);
}
Outcome counters(const Arguments& arguments) {
    return show(arguments, collect(arguments, Who::all, "counters"), print_counters);
}
Outcome fdb(const Arguments& arguments) {
    return show(arguments, collect(arguments, Who::switches, "fdb"), print_any);
}
Outcome qp(const Arguments& arguments) {
    return show(arguments, collect(arguments, Who::nics, "qp"), print_any);
}
Outcome mr(const Arguments& arguments) {
    return show(arguments, collect(arguments, Who::nics, "mr"), print_any);
}
Outcome endpoints(const Arguments& arguments) {
    return show(arguments, collect(arguments, Who::nics, "endpoints"), print_endpoints);
}
Outcome faults(const Arguments& arguments) {
    const Collected collected = collect(arguments, Who::all, "fault.show");
    bool any = arguments.has("json") || !collected.error.empty();
    for (const auto& [name, answer] : collected.answers.items()) any = any || !answer.empty();
    if (!any) fmt::print("no fault is set\n");
    return show(arguments, collected, print_by_port);
}

}  // namespace

std::vector<Command> show_commands() {
    const std::vector<Parameter> common = {{Kind::key, "on", "PROCESS", "only this one: sw1, h1"}, json_flag()};
    return {
        {"show ports", "ports with their links and speeds", common, ports},
        {"show counters", "counters that are not zero; with -j all", common, counters},
        {"show fdb", "MAC addresses that the switches learned", common, fdb},
        {"show qp", "queue pairs of the NICs", common, qp},
        {"show mr", "memory regions of the NICs", common, mr},
        {"show endpoints", "what applications can open", common, endpoints},
        {"show fault", "faults that are set", common, faults},
        {"fault show", "the same as show fault", common, faults},
    };
}

}  // namespace vroce::cli
