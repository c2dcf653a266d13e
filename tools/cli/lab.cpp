// vroce lab: whole networks from one file.
#include <fmt/core.h>

#include "tools/cli/command.hpp"
#include "tools/cli/exec.hpp"
#include "tools/cli/table.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/netns.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;
using tools::LabPlace;
using tools::LabProcess;
using tools::LabState;

Outcome from(const Status& status) {
    return status ? done() : failure(status.error());
}

Outcome up(const Arguments& arguments) {
    Result<tools::Lab> lab = tools::load_lab(*arguments.get("FILE"));
    if (!lab) return failure(lab.error());
    if (const auto name = arguments.get("name")) {
        if (const Status named = tools::rename_lab(*lab, *name); !named) return wrong_usage(named.error());
    }
    return from(tools::lab_up(*lab, arguments.run_dir()));
}

Outcome down(const Arguments& arguments) {
    return from(tools::lab_down(arguments.run_dir(), arguments.has("force")));
}

json process_json(const std::string& run_dir, const LabProcess& process) {
    json out = {{"name", process.name}, {"kind", process.kind}, {"pid", process.id.pid}, {"log", process.log}};
    out["state"] = tools::alive(process.id) ? "running" : "dead";
    const auto answer = tools::ask({process.name, fmt::format("{}/{}/control.sock", run_dir, process.name)}, "status");
    if (answer) out["ports"] = answer->value("ports", json::array());
    if (!answer && tools::alive(process.id)) out["state"] = "silent";
    return out;
}

json place_json(const LabPlace& place) {
    return {{"name", place.host + "/" + place.vm}, {"device", place.device}, {"interface", place.interface},
            {"address", place.addresses},          {"netns", place.netns},   {"path", place.path}};
}

json status_json(const std::string& run_dir, const LabState& state) {
    json out = {{"name", state.name}, {"file", state.file}, {"processes", json::array()}, {"endpoints", json::array()}};
    for (const LabProcess& process : state.processes) out["processes"].push_back(process_json(run_dir, process));
    for (const LabPlace& place : state.places) out["endpoints"].push_back(place_json(place));
    return out;
}

std::string ports_text(const json& process) {
    std::string text;
    for (const json& port : process.value("ports", json::array())) {
        text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", port.value("name", "?"),
                            port.value("link_up", false) ? "up" : "down", speed_text(port.value("speed_bps", json())));
    }
    return text.empty() ? "-" : text;
}

void print_status(const json& status) {
    fmt::print("lab {} from {}\n\n", status["name"].get<std::string>(), status["file"].get<std::string>());
    Table processes({"PROCESS", "KIND", "PID", "STATE", "PORTS"});
    for (const json& p : status["processes"]) {
        processes.add({p["name"], p["kind"], p["pid"].dump(), p["state"], ports_text(p)});
    }
    Table endpoints({"ENDPOINT", "DEVICE", "INTERFACE", "ADDRESS", "NAMESPACE"});
    for (const json& e : status["endpoints"]) {
        std::string addresses;
        for (const json& a : e["address"]) addresses += (addresses.empty() ? "" : ",") + a.get<std::string>();
        endpoints.add({e["name"], e["device"], e["interface"], addresses, e["netns"]});
    }
    fmt::print("{}\n{}", processes.text(), endpoints.text());
}

Outcome status(const Arguments& arguments) {
    const std::string run_dir = arguments.run_dir();
    const auto state = tools::read_state(run_dir);
    if (!state) return failure(state.error());
    if (!*state) return failure(fmt::format("no lab is up in {}", run_dir));
    const json out = status_json(run_dir, **state);
    if (arguments.has("json")) {
        fmt::print("{}\n", out.dump(2));
    } else {
        print_status(out);
    }
    for (const json& process : out["processes"]) {
        if (process["state"] != "running")
            return failure(
                fmt::format("{} is {}", process["name"].get<std::string>(), process["state"].get<std::string>()));
    }
    return done();
}

Outcome exec(const Arguments& arguments) {
    const std::string run_dir = arguments.run_dir();
    const auto state = tools::read_state(run_dir);
    if (!state) return failure(state.error());
    if (!*state) return failure(fmt::format("no lab is up in {}", run_dir));
    const Result<LabPlace> place = tools::find_place(**state, *arguments.get("HOST[/VM]"));
    if (!place) return failure(place.error());
    return exec_on_host(*place, arguments.command());
}

}  // namespace

std::vector<Command> lab_commands() {
    return {
        {"lab up",
         "bring up the switches and hosts that FILE describes, and wait until the hosts reach each other",
         {{Kind::operand, "FILE", "", "the lab's JSON file, as configs/lab/two-hosts.json", true},
          {Kind::key, "name", "NAME", "another name than the file's, so that one file can be up twice"}},
         up},
        {"lab status", "show the lab's processes, ports and endpoints", {json_flag()}, status},
        {"lab exec",
         "run a command as on host HOST: its network interfaces, its RDMA device",
         {{Kind::operand, "HOST[/VM]", "", "a host of the lab, and one of its endpoints when it has several", true},
          {Kind::command, "CMD", "", "the command and its arguments", true}},
         exec},
        {"lab down",
         "end the lab and remove all that it made, also what a crash left",
         {{Kind::flag, "--force", "", "end commands that still run on its hosts; go on where lab.json is damaged"}},
         down},
    };
}

}  // namespace vroce::cli
