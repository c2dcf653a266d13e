// vroce dcb: iproute2's dcb words, for the ports of switches and NICs.
#include <fmt/core.h>

#include "common/dcb/dcb_request.hpp"
#include "tools/cli/command.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

/// "dcb pfc set dev Ethernet0 prio-pfc 3:on", taken apart.
struct Sentence {
    std::string object;
    std::string verb;
    std::string port;
    std::vector<std::string> words;
};

Result<Sentence> read_sentence(const std::vector<std::string>& words) {
    if (words.empty()) return Error{fmt::format("an object is missing; allowed: {}", dcb_objects())};
    Sentence sentence;
    sentence.object = words[0];
    sentence.verb = words.size() > 1 ? words[1] : "show";
    if (sentence.verb != "show") {
        // Before the port, so that a wrong verb is what is told first.
        const auto checked = parse_dcb_words(sentence.object, sentence.verb, {});
        if (!checked && checked.error().find("nothing is said") == std::string::npos) return Error{checked.error()};
    }
    if (words.size() < 4 || words[2] != "dev") {
        return Error{
            fmt::format("{} {}: 'dev PORT' is missing; allowed: Ethernet0, or sw1/Ethernet0, h1/uplink where "
                        "the name alone is not enough",
                        sentence.object, sentence.verb)};
    }
    sentence.port = words[3];
    sentence.words.assign(words.begin() + 4, words.end());
    return sentence;
}

/// A line for each table, as dcb prints them.
void print_tables(const json& tables) {
    for (const auto& [name, entries] : tables.items()) {
        std::string line = name;
        for (const auto& entry : entries) {
            const auto key = entry.at(0).get<unsigned>();
            line += " " + dcb_entry(name, key, entry.at(1).get<std::uint64_t>());
        }
        fmt::print("{}\n", line);
    }
}

Outcome show(const Arguments& arguments, const Sentence& sentence, const tools::PeerPort& port) {
    if (!sentence.words.empty()) {
        return wrong_usage(
            fmt::format("{} show: '{}' is not expected; allowed: -j", sentence.object, sentence.words[0]));
    }
    const auto answer = tools::ask(port.peer, "dcb.show", {{"dev", port.port}, {"object", sentence.object}});
    if (!answer) return failure(answer.error());
    if (arguments.has("json")) {
        fmt::print("{}\n", answer->dump(2));
    } else {
        print_tables(*answer);
    }
    return done();
}

Outcome run(const Arguments& arguments) {
    const auto sentence = read_sentence(arguments.rest());
    if (!sentence) return wrong_usage(sentence.error());
    json request;
    if (sentence->verb != "show") {
        const auto parsed = parse_dcb_words(sentence->object, sentence->verb, sentence->words);
        if (!parsed) return wrong_usage(parsed.error());
        request = dcb_to_json(*parsed);
    }
    const auto port = tools::find_port(arguments.run_dir(), sentence->port);
    if (!port) return failure(port.error());
    if (sentence->verb == "show") return show(arguments, *sentence, *port);
    request["dev"] = port->port;
    const auto answer = tools::ask(port->peer, "dcb.set", request);
    if (!answer) return failure(answer.error());
    for (const auto& line : *answer) fmt::print("{}\n", line.get<std::string>());
    return done();
}

}  // namespace

std::vector<Command> dcb_commands() {
    return {
        {"dcb",
         "priorities and flow control of a port in iproute2's words: dcb pfc set dev Ethernet0 prio-pfc all:off 3:on",
         {{Kind::rest, "OBJECT VERB dev PORT WORD…", "",
           "pfc|ets|app|apptrust|rewr|buffer|maxrate show|set (app and rewr: show|add|replace|del|flush)", true},
          json_flag()},
         run}};
}

}  // namespace vroce::cli
