// vroce fault: a bad network on purpose, on any port, at run time.
#include <fmt/core.h>

#include "common/fault/fault_settings.hpp"
#include "tools/cli/command.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

Outcome send(const Arguments& arguments, const std::string& command, json request) {
    const auto port = tools::find_port(arguments.run_dir(), *arguments.get("dev"));
    if (!port) return failure(port.error());
    request["dev"] = port->port;
    const auto answer = tools::ask(port->peer, command, request);
    if (!answer) return failure(answer.error());
    const json notes = answer->value("notes", json::array());
    for (const json& note : notes) fmt::print("{}\n", note.get<std::string>());
    return done();
}

Outcome set(const Arguments& arguments) {
    std::vector<std::string> words;
    for (const char* word : {"drop", "corrupt", "reorder", "duplicate", "delay", "seed", "direction"}) {
        if (const auto value = arguments.get(word)) words.insert(words.end(), {word, *value});
    }
    if (const auto priorities = arguments.get("pfc-storm")) {
        words.insert(words.end(), {arguments.has("tx") ? "pfc-storm-tx" : "pfc-storm", *priorities});
    } else if (arguments.has("tx")) {
        return wrong_usage("'--tx' says where a pfc-storm goes; allowed: pfc-storm PRIORITIES --tx");
    }
    const auto request = parse_fault_words(words);
    return request ? send(arguments, "fault.set", fault_to_json(*request)) : wrong_usage(request.error());
}

Outcome clear(const Arguments& arguments) {
    return send(arguments, "fault.clear", json::object());
}

}  // namespace

std::vector<Command> fault_commands() {
    return {
        {"fault set",
         "damage a port's packets: probabilities from 0 to 1, decided by a seeded generator",
         {{Kind::key, "dev", "PORT", "Ethernet0, or sw1/Ethernet0, h1/uplink where the name alone is not enough", true},
          {Kind::key, "drop", "P", "lose a packet"},
          {Kind::key, "corrupt", "P", "flip bits of a packet"},
          {Kind::key, "reorder", "P", "let a packet be overtaken"},
          {Kind::key, "duplicate", "P", "send a packet twice"},
          {Kind::key, "delay", "TIME", "hold every packet: 50us, 2ms"},
          {Kind::key, "seed", "N", "of the generator, so that a run can be repeated"},
          {Kind::key, "direction", "tx|rx|both", "which way, as the port sees it (tx)"},
          {Kind::key, "pfc-storm", "PRIORITIES", "pause 3 or 3,4 without a gap, as if PFC came from the port's peer"},
          {Kind::flag, "--tx", "", "send the storm to the peer instead"}},
         set},
        {"fault clear",
         "let a port's packets pass unharmed again",
         {{Kind::key, "dev", "PORT", "as in fault set", true}},
         clear},
    };
}

}  // namespace vroce::cli
