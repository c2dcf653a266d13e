// Boost.Program_options takes texts apart; its exceptions end here. What values mean is in settings.cpp.
#include "nic/control/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "nic/control/settings.hpp"

namespace vroce::nic {
namespace {

namespace po = boost::program_options;

/// What was written, before anybody knows what it means.
struct Written {
    std::string key;  ///< "speed", "vm1.mac"
    std::string value;
    std::string where;  ///< "h1.ini: [vm1] mac = zz"
};

struct Refusal {
    int exit_code;
    std::string text;
};

std::string help_text() {
    std::string text = "Usage: vroce-nic --config FILE [--KEY VALUE] [--ENDPOINT.KEY VALUE]\n\n";
    const auto line = [&text](const auto& s) {
        text +=
            fmt::format("  {:<16}{}{}\n{:18}{}\n", s.key, s.meaning, s.required ? " (required)" : "", "", s.allowed);
    };
    text += "Settings, in the file as KEY = VALUE:\n";
    for (const auto& s : nic_settings()) line(s);
    text += "\nSettings of an endpoint, below [NAME]:\n";
    for (const auto& s : endpoint_settings()) line(s);
    return text + "\n  --help, --version\n";
}

template <typename Table>
std::string keys_of(const Table& table) {
    std::string text;
    for (const auto& s : table) text += fmt::format("{}{}", text.empty() ? "" : ", ", s.key);
    return text;
}

/// Endpoints can have any name, so their options are known only from what stands there.
std::vector<std::string> sections_of(int argc, const char* const* argv) {
    std::vector<std::string> sections;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto dot = word.find('.');
        if (word.rfind("--", 0) != 0 || dot == std::string::npos || word.find('=') < dot) continue;
        const std::string section = word.substr(2, dot - 2);
        if (std::find(sections.begin(), sections.end(), section) == sections.end()) sections.push_back(section);
    }
    return sections;
}

po::options_description describe(const std::vector<std::string>& sections) {
    po::options_description description;
    auto add = description.add_options();
    add("help", po::bool_switch());
    add("version", po::bool_switch());
    add("config", po::value<std::string>());
    for (const auto& s : nic_settings()) {
        auto* value = po::value<std::vector<std::string>>();
        if (std::strcmp(s.key, "no-huge") == 0) value->implicit_value({"true"}, "true");
        add(s.key, value);
    }
    for (const std::string& section : sections) {
        for (const auto& s : endpoint_settings()) {
            add((section + "." + s.key).c_str(), po::value<std::vector<std::string>>());
        }
    }
    return description;
}

po::parsed_options parse_words(int argc, const char* const* argv) {
    const po::options_description description = describe(sections_of(argc, argv));
    // No abbreviations: a script must not change its meaning when an option is added.
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::parsed_options parsed = po::command_line_parser(argc, argv).options(description).style(style).run();
    parsed.description = nullptr;  // ends with this function
    return parsed;
}

std::vector<Written> written_on_command_line(const po::parsed_options& parsed) {
    std::vector<Written> out;
    for (const auto& option : parsed.options) {
        if (option.string_key.empty()) {
            throw po::error(fmt::format("'{}' is not an option; see --help", option.value.at(0)));
        }
        const std::string value = option.value.empty() ? "true" : option.value[0];
        out.push_back({option.string_key, value, fmt::format("--{} {}", option.string_key, value)});
    }
    return out;
}

std::vector<Written> written_in_file(const std::string& path, std::istream& stream) {
    const po::options_description nothing_known;  // settings.cpp knows, and says what is allowed
    std::vector<Written> out;
    for (const auto& option : po::parse_config_file(stream, nothing_known, true).options) {
        const std::string& key = option.string_key;
        const auto dot = key.rfind('.');
        const std::string place =
            dot == std::string::npos ? key : fmt::format("[{}] {}", key.substr(0, dot), key.substr(dot + 1));
        const std::string value = option.value.empty() ? "" : option.value[0];
        out.push_back({key, value, fmt::format("{}: {} = {}", path, place, value)});
    }
    return out;
}

template <typename Target>
void take(const std::vector<Setting<Target>>& table, Target& target, const std::string& key, const Written& written) {
    const auto setting = std::find_if(table.begin(), table.end(), [&](const auto& s) { return key == s.key; });
    if (setting == table.end()) {
        throw Refusal{2, fmt::format("{}: there is no '{}'; allowed: {}", written.where, key, keys_of(table))};
    }
    if (!setting->take(target, written.value)) {
        throw Refusal{2, fmt::format("{}: not allowed; allowed: {}", written.where, setting->allowed)};
    }
}

EndpointOptions& endpoint_named(NicOptions& options, const std::string& name) {
    auto& all = options.endpoints;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == name; });
    if (found != all.end()) return *found;
    all.push_back({});
    all.back().name = name;
    return all.back();
}

bool may_repeat(const std::string& key) {
    const auto& table = endpoint_settings();
    return std::any_of(table.begin(), table.end(), [&](const auto& s) { return s.repeated && key == s.key; });
}

/// Takes all of one source; `others` has the keys of the source that wins.
void take_all(const std::vector<Written>& source, const std::map<std::string, int>& others, NicOptions& options) {
    std::map<std::string, int> seen;
    for (const Written& written : source) {
        const auto dot = written.key.rfind('.');
        const std::string key = dot == std::string::npos ? written.key : written.key.substr(dot + 1);
        if (++seen[written.key] > 1 && !(dot != std::string::npos && may_repeat(key))) {
            throw Refusal{2, fmt::format("{}: stands there twice; once is allowed", written.where)};
        }
        if (others.count(written.key) != 0) continue;
        if (dot == std::string::npos) {
            take(nic_settings(), options, key, written);
        } else {
            take(endpoint_settings(), endpoint_named(options, written.key.substr(0, dot)), key, written);
        }
    }
}

/// Settings that must stand somewhere.
void check_required(const std::map<std::string, int>& given, const NicOptions& options, const std::string& place) {
    for (const auto& s : nic_settings()) {
        if (!s.required || given.count(s.key) != 0) continue;
        throw Refusal{2, fmt::format("{}{} is missing; allowed: {}", place, s.key, s.allowed)};
    }
    for (const EndpointOptions& e : options.endpoints) {
        for (const auto& s : endpoint_settings()) {
            if (!s.required || given.count(e.name + "." + s.key) != 0) continue;
            throw Refusal{2, fmt::format("{}[{}] {} is missing; allowed: {}", place, e.name, s.key, s.allowed)};
        }
    }
}

std::string default_run_dir() {
    const char* directory = std::getenv("VROCE_RUN_DIR");
    return directory != nullptr && *directory == '/' ? directory : "/run/vroce";
}

/// The command line's option, taken out of what will be settings.
std::string extract(std::vector<Written>& words, const std::string& key) {
    const auto at = std::find_if(words.begin(), words.end(), [&](const Written& w) { return w.key == key; });
    if (at == words.end()) return {};
    std::string value = at->value;
    words.erase(at);
    return value;
}

NicOptions combine(const std::string& path, const std::vector<Written>& file, const std::vector<Written>& words) {
    NicOptions options;
    options.run_dir = default_run_dir();
    std::map<std::string, int> given;
    for (const Written& w : words) ++given[w.key];
    take_all(file, given, options);
    take_all(words, {}, options);
    for (const Written& w : file) ++given[w.key];
    const std::string place = path.empty() ? "" : path + ": ";
    check_required(given, options, place);
    if (const std::string wrong = complete(options); !wrong.empty()) throw Refusal{2, place + wrong};
    return options;
}

std::vector<Written> read_file(const std::string& path) {
    std::ifstream stream(path);
    std::stringstream text;
    // A folder can be opened and not read.
    if (!stream || !(text << stream.rdbuf())) {
        throw Refusal{1, fmt::format("{}: cannot be read ({}); a file with settings is allowed", path,
                                     errno != 0 ? std::strerror(errno) : "it is empty")};
    }
    try {
        return written_in_file(path, text);
    } catch (const po::error& problem) {
        throw Refusal{2, fmt::format("{}: {}; lines as KEY = VALUE and [NAME] are allowed", path, problem.what())};
    }
}

}  // namespace

OptionsOutcome parse_options(int argc, const char* const* argv) {
    OptionsOutcome outcome;
    try {
        std::vector<Written> words = written_on_command_line(parse_words(argc, argv));
        if (!extract(words, "help").empty()) return {std::nullopt, 0, help_text()};
        if (!extract(words, "version").empty()) return {std::nullopt, 0, "vroce-nic " VROCE_VERSION "\n"};
        const std::string path = extract(words, "config");
        outcome.options = combine(path, path.empty() ? std::vector<Written>{} : read_file(path), words);
    } catch (const Refusal& refusal) {
        outcome = {std::nullopt, refusal.exit_code, refusal.text};
    } catch (const po::error& problem) {
        outcome = {std::nullopt, 2, fmt::format("{}; see --help", problem.what())};
    }
    return outcome;
}

}  // namespace vroce::nic
