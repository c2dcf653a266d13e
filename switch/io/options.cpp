// Options by Boost.Program_options; its exceptions end here.
#include "switch/io/options.hpp"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdlib>
#include <sstream>

#include "switch/config/field.hpp"

namespace vroce::sw {
namespace {

namespace po = boost::program_options;

constexpr unsigned kMaxCpu = 1'023;
constexpr unsigned kMinMemoryMib = 32;
constexpr unsigned kMaxMemoryMib = 65'536;

po::options_description describe() {
    po::options_description description("Options");
    auto add = description.add_options();
    add("name", po::value<std::string>(), "name of the switch; its files are in RUN-DIR/NAME");
    add("config", po::value<std::string>(), "configuration, JSON in the shape of SONiC's CONFIG_DB");
    add("run-dir", po::value<std::string>(), "run directory (default: $VROCE_RUN_DIR or /run/vroce)");
    add("cpu", po::value<std::string>(), "core of the worker thread (default: any)");
    add("memory-mib", po::value<std::string>(), "memory for packets (default: what the ports need)");
    add("no-huge", po::bool_switch(), "use ordinary pages instead of hugepages");
    add("poll", po::value<std::string>()->default_value("adaptive"), "busy or adaptive (sleep when idle)");
    add("rx-hold", po::value<std::string>()->default_value("on"),
        "on or off: leave packets in the ring when memory is low");
    add("help", po::bool_switch(), "show this help");
    add("version", po::bool_switch(), "show the version");
    return description;
}

Error refuse(const char* option, const std::string& value, const std::string& allowed) {
    return Error{fmt::format("--{} \"{}\"; allowed: {}", option, value, allowed)};
}

Status read_number(const po::variables_map& map, const char* option, unsigned low, unsigned high,
                   std::optional<unsigned>& target) {
    if (map.count(option) == 0) return Done{};
    const auto& text = map[option].as<std::string>();
    std::uint64_t value = 0;
    if (!parse_number(text, value) || value < low || value > high) {
        return refuse(option, text, fmt::format("{}..{}", low, high));
    }
    target = static_cast<unsigned>(value);
    return Done{};
}

Status read_word(const po::variables_map& map, const char* option, const char* yes, const char* no, bool& target) {
    const auto& text = map[option].as<std::string>();
    if (text != yes && text != no) return refuse(option, text, fmt::format("{}, {}", yes, no));
    target = text == yes;
    return Done{};
}

std::string default_run_dir() {
    const char* directory = std::getenv("VROCE_RUN_DIR");
    return directory != nullptr && *directory != '\0' ? directory : "/run/vroce";
}

Result<Options> from_map(const po::variables_map& map) {
    Options options;
    options.help = map["help"].as<bool>();
    options.version = map["version"].as<bool>();
    if (options.help || options.version) return options;
    for (const char* required : {"name", "config"}) {
        if (map.count(required) == 0) return Error{fmt::format("--{} is missing; see --help", required)};
    }
    options.name = map["name"].as<std::string>();
    if (!is_name(options.name)) return refuse("name", options.name, kNameRule);
    options.config = map["config"].as<std::string>();
    options.run_dir = map.count("run-dir") != 0 ? map["run-dir"].as<std::string>() : default_run_dir();
    if (options.run_dir.empty()) return refuse("run-dir", "", "a directory");
    options.no_huge = map["no-huge"].as<bool>();
    for (const Status& status : {read_number(map, "cpu", 0, kMaxCpu, options.cpu),
                                 read_number(map, "memory-mib", kMinMemoryMib, kMaxMemoryMib, options.memory_mib),
                                 read_word(map, "poll", "busy", "adaptive", options.busy),
                                 read_word(map, "rx-hold", "on", "off", options.rx_hold)}) {
        if (!status) return Error{status.error()};
    }
    return options;
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
    try {
        po::variables_map map;
        // No abbreviations: a script must not change its meaning when an option is added.
        const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(argc, argv).options(describe()).positional({}).style(style).run(), map);
        po::notify(map);
        return from_map(map);
    } catch (const po::error& problem) {
        return Error{fmt::format("{}; see --help", problem.what())};
    }
}

std::string options_help() {
    std::ostringstream text;
    text << "Usage: vroce-switch --name NAME --config FILE [options]\n" << describe();
    return text.str();
}

}  // namespace vroce::sw
