// vroce fault: a bad network on purpose, on any port, at run time.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "tools/cli/command.hpp"
#include "tools/cli/table.hpp"
#include "tools/lab/peer.hpp"

namespace vroce::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kProbabilities = {"drop", "corrupt", "reorder", "duplicate"};

/// A number that is the whole text, or NaN.
double number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' ? value : std::nan("");
}

/// "50us" → 50000; negative when it is no delay.
std::int64_t delay_ns(const std::string& text) {
    const auto unit_at = text.find_first_not_of("0123456789.");
    if (unit_at == 0 || unit_at == std::string::npos) return -1;
    const double value = number(text.substr(0, unit_at));
    const std::string unit = text.substr(unit_at);
    const double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : -1;
    const double ns = value * scale;
    return ns >= 0 && ns <= 10e9 ? static_cast<std::int64_t>(ns) : -1;
}

Outcome take_probabilities(const Arguments& arguments, json& out) {
    for (const std::string_view name : kProbabilities) {
        const auto text = arguments.get(name);
        if (!text) continue;
        const double p = number(*text);
        if (!(p >= 0 && p <= 1)) {
            return wrong_usage(fmt::format("{} '{}' is not a probability; 0 to 1 is, as in 0.01", name, *text));
        }
        out[std::string(name)] = p;
    }
    return done();
}

Outcome take_others(const Arguments& arguments, json& out) {
    if (const auto text = arguments.get("delay")) {
        const std::int64_t ns = delay_ns(*text);
        if (ns < 0) return wrong_usage(fmt::format("delay '{}' is not a time; 0ns to 10s is, as in 50us", *text));
        out["delay_ns"] = ns;
    }
    if (const auto text = arguments.get("seed")) {
        const bool digits =
            !text->empty() && text->size() <= 18 && text->find_first_not_of("0123456789") == std::string::npos;
        if (!digits) return wrong_usage(fmt::format("seed '{}' is not a whole number of up to 18 digits", *text));
        out["seed"] = std::strtoull(text->c_str(), nullptr, 10);
    }
    if (const auto text = arguments.get("direction")) {
        if (*text != "tx" && *text != "rx" && *text != "both") {
            return wrong_usage(fmt::format("direction '{}' is not allowed; tx, rx and both are", *text));
        }
        out["direction"] = *text;
    }
    return done();
}

Outcome send(const Arguments& arguments, const std::string& command, json request) {
    const auto port = tools::find_port(arguments.run_dir(), *arguments.get("dev"));
    if (!port) return failure(port.error());
    request["dev"] = port->port;
    const auto answer = tools::ask(port->peer, command, request);
    return answer ? done() : failure(answer.error());
}

Outcome set(const Arguments& arguments) {
    json out = json::object();
    if (const Outcome o = take_probabilities(arguments, out); o.code != 0) return o;
    if (const Outcome o = take_others(arguments, out); o.code != 0) return o;
    if (out.empty()) {
        return wrong_usage("nothing to set; allowed: drop, corrupt, reorder, duplicate, delay, seed, direction");
    }
    return send(arguments, "fault.set", out);
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
          {Kind::key, "corrupt", "P", "flip a bit of a packet"},
          {Kind::key, "reorder", "P", "let a packet be overtaken"},
          {Kind::key, "duplicate", "P", "send a packet twice"},
          {Kind::key, "delay", "TIME", "hold every packet: 50us, 2ms"},
          {Kind::key, "seed", "N", "of the generator, so that a run can be repeated"},
          {Kind::key, "direction", "tx|rx|both", "which way, as the port sees it"}},
         set},
        {"fault clear",
         "let a port's packets pass unharmed again",
         {{Kind::key, "dev", "PORT", "as in fault set", true}},
         clear},
    };
}

}  // namespace vroce::cli
