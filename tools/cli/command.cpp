// The parser and the help, both driven by the table.
#include "tools/cli/command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace vroce::cli {
namespace {

constexpr std::string_view kDefaultRunDir = "/run/vroce";

/// "-j, --json" → {"-j", "--json"}.
std::vector<std::string_view> spellings(std::string_view name) {
    std::vector<std::string_view> all;
    while (!name.empty()) {
        const auto comma = name.find(", ");
        all.push_back(name.substr(0, comma));
        name = comma == std::string_view::npos ? std::string_view{} : name.substr(comma + 2);
    }
    return all;
}

/// The name under which a handler asks for it: the last spelling without its dashes.
std::string_view plain_name(std::string_view name) {
    const std::string_view last = spellings(name).back();
    return last.substr(std::min(last.find_first_not_of('-'), last.size()));
}

const std::vector<Parameter>& global_parameters() {
    static const std::vector<Parameter> parameters = {
        {Kind::option, "--run-dir", "DIR",
         "where the processes of a lab keep their sockets (VROCE_RUN_DIR, /run/vroce)"},
        {Kind::flag, "-h, --help", "", "print this help"},
    };
    return parameters;
}

std::vector<Parameter> accepted(const Command& command) {
    std::vector<Parameter> all = command.parameters;
    all.insert(all.end(), global_parameters().begin(), global_parameters().end());
    return all;
}

std::string shown(const Parameter& p) {
    const std::string name(spellings(p.name).front());
    switch (p.kind) {
        case Kind::flag:
            return name;
        case Kind::option:
        case Kind::key:
            return fmt::format("{} {}", name, p.value);
        case Kind::operand:
            return name;
        case Kind::rest:
            return name;
        case Kind::command:
            return "-- CMD [ARG…]";
    }
    return name;
}

std::string synopsis(const Command& command) {
    std::string line = fmt::format("vroce {}", command.words);
    for (const Parameter& p : command.parameters) line += p.required ? " " + shown(p) : fmt::format(" [{}]", shown(p));
    return line;
}

void print_command_help(const Command& command) {
    fmt::print("{}\n  {}\n", synopsis(command), command.summary);
    for (const Parameter& p : accepted(command)) {
        const bool dashed = p.kind == Kind::flag || p.kind == Kind::option;
        const std::string left = dashed ? fmt::format("{} {}", p.name, p.value) : shown(p);
        fmt::print("    {:<24} {}\n", left, p.help);
    }
}

void print_help(std::string_view object) {
    fmt::print("vroce {}: a RoCE network in user space\n\n", VROCE_VERSION);
    for (const Command& command : all_commands()) {
        if (object.empty() || command.words.substr(0, command.words.find(' ')) == object) {
            fmt::print("  {}\n      {}\n", synopsis(command), command.summary);
        }
    }
    fmt::print("\n'vroce COMMAND --help' tells more of one command; exit status 0 done, 1 failure, 2 wrong usage.\n");
}

/// The command whose words the arguments begin with, and how many of them it took.
const Command* find_command(const std::vector<std::string>& words, std::size_t& taken) {
    for (const Command& command : all_commands()) {
        std::string line;
        for (taken = 0; taken < words.size();) {
            line += (line.empty() ? "" : " ") + words[taken];
            ++taken;
            if (line == command.words) return &command;
        }
    }
    return nullptr;
}

/// What could have come at this place: objects, or the verbs of the object.
std::string allowed_words(std::string_view object) {
    std::vector<std::string_view> words;
    for (const Command& command : all_commands()) {
        const auto space = command.words.find(' ');
        const std::string_view first = command.words.substr(0, space);
        const std::string_view word = object.empty() ? first
                                      : first == object
                                          ? command.words.substr(std::min(space, command.words.size() - 1) + 1)
                                          : std::string_view{};
        if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
    std::string line;
    for (const std::string_view word : words) line += (line.empty() ? "" : ", ") + std::string(word);
    return line;
}

Outcome unknown_command(const std::vector<std::string>& words) {
    const std::string verbs = allowed_words(words[0]);
    if (verbs.empty()) {
        return wrong_usage(fmt::format("unknown command '{}'; allowed: {}", words[0], allowed_words("")));
    }
    if (words.size() == 1) return wrong_usage(fmt::format("{}: a verb is missing; allowed: {}", words[0], verbs));
    return wrong_usage(fmt::format("{}: unknown verb '{}'; allowed: {}", words[0], words[1], verbs));
}

class Parser {
public:
    Parser(const Command& command, std::vector<std::string> words)
        : parameters_(accepted(command)), words_(std::move(words)) {}

    Outcome parse(Arguments& arguments) {
        while (at_ < words_.size()) {
            if (words_[at_] == "--") {
                if (Outcome o = take_command(arguments); o.code != 0) return o;
                break;
            }
            if (Outcome o = take_word(arguments); o.code != 0) return o;
        }
        return arguments.has("help") ? done() : check_required(arguments);
    }

private:
    Outcome take_command(Arguments& arguments) {
        const bool wanted = std::any_of(parameters_.begin(), parameters_.end(),
                                        [](const Parameter& p) { return p.kind == Kind::command; });
        if (!wanted) return wrong_usage("'--' is not expected here: this command runs no other");
        arguments.set_command({words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end()});
        at_ = words_.size();
        return done();
    }

    Outcome take_word(Arguments& arguments) {
        std::string word = words_[at_++];
        std::optional<std::string> joined;  // --option=value
        if (const auto equals = word.find('='); word.rfind("--", 0) == 0 && equals != std::string::npos) {
            joined = word.substr(equals + 1);
            word.resize(equals);
        }
        for (const Parameter& p : parameters_) {
            if (p.kind == Kind::operand || p.kind == Kind::command || p.kind == Kind::rest) continue;
            const auto names = spellings(p.name);
            if (std::find(names.begin(), names.end(), word) == names.end()) continue;
            return take_named(p, word, joined, arguments);
        }
        return take_operand(word, arguments);
    }

    Outcome take_named(const Parameter& p, const std::string& word, std::optional<std::string> joined,
                       Arguments& arguments) {
        const std::string_view name = plain_name(p.name);
        if (arguments.has(name)) return wrong_usage(fmt::format("'{}' is given twice", word));
        if (p.kind == Kind::flag) {
            if (joined) return wrong_usage(fmt::format("'{}' takes no value", word));
            arguments.set(name, "");
            return done();
        }
        if (!joined && at_ >= words_.size()) return wrong_usage(fmt::format("'{}' needs a value: {}", word, p.value));
        arguments.set(name, joined ? *joined : words_[at_++]);
        return done();
    }

    Outcome take_operand(const std::string& word, Arguments& arguments) {
        const bool option_like = word.size() > 1 && word[0] == '-';
        for (const Parameter& p : parameters_) {
            if (option_like || (p.kind != Kind::operand && p.kind != Kind::rest)) continue;
            if (p.kind == Kind::rest) {
                arguments.add_rest(word);
                return done();
            }
            if (arguments.has(p.name)) continue;
            arguments.set(p.name, word);
            return done();
        }
        std::string allowed;
        for (const Parameter& p : parameters_) allowed += (allowed.empty() ? "" : ", ") + shown(p);
        return wrong_usage(fmt::format("unknown {} '{}'; allowed: {}", option_like ? "option" : "word", word, allowed));
    }

    Outcome check_required(const Arguments& arguments) const {
        for (const Parameter& p : parameters_) {
            if (!p.required) continue;
            const bool given = p.kind == Kind::command ? !arguments.command().empty()
                               : p.kind == Kind::rest  ? !arguments.rest().empty()
                                                       : arguments.has(plain_name(p.name));
            if (!given) return wrong_usage(fmt::format("{} is missing: {}", shown(p), p.help));
        }
        return done();
    }

    std::vector<Parameter> parameters_;
    std::vector<std::string> words_;
    std::size_t at_ = 0;
};

int report(std::string_view where, const Outcome& outcome) {
    if (!outcome.message.empty()) {
        std::fflush(stdout);
        fmt::print(stderr, "vroce{}{}: {}\n", where.empty() ? "" : " ", where, outcome.message);
    }
    return outcome.code;
}

bool is_help(const std::string& word) {
    return word == "-h" || word == "--help" || word == "help";
}

}  // namespace

std::optional<std::string> Arguments::get(std::string_view name) const {
    const auto found = values_.find(std::string(name));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::string Arguments::get_or(std::string_view name, std::string_view otherwise) const {
    return get(name).value_or(std::string(otherwise));
}

std::string Arguments::run_dir() const {
    const char* from_environment = std::getenv("VROCE_RUN_DIR");
    const bool set = from_environment != nullptr && *from_environment != '\0';
    std::string dir = get_or("run-dir", set ? std::string_view(from_environment) : kDefaultRunDir);
    dir = std::filesystem::absolute(dir).lexically_normal().string();
    while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
    return dir;
}

const std::vector<Command>& all_commands() {
    static const std::vector<Command> commands = [] {
        std::vector<Command> all;
        for (const auto& part : {lab_commands(), run_commands(), show_commands(), show_qos_commands(), dcb_commands(),
                                 fault_commands(), pcap_commands()}) {
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }();
    return commands;
}

int dispatch(const std::vector<std::string>& words) {
    if (words.empty()) {
        print_help("");
        return 2;
    }
    if (is_help(words[0])) {
        print_help(words.size() > 1 ? words[1] : "");
        return 0;
    }
    if (words[0] == "--version" || words[0] == "version") {
        fmt::print("vroce {}\n", VROCE_VERSION);
        return 0;
    }
    std::size_t taken = 0;
    const Command* command = find_command(words, taken);
    if (command == nullptr) {
        if (words.size() > 1 && is_help(words[1]) && !allowed_words(words[0]).empty()) {
            print_help(words[0]);
            return 0;
        }
        return report("", unknown_command(words));
    }
    Arguments arguments;
    Parser parser(*command, {words.begin() + static_cast<std::ptrdiff_t>(taken), words.end()});
    if (const Outcome parsed = parser.parse(arguments); parsed.code != 0) return report(command->words, parsed);
    if (arguments.has("help")) {
        print_command_help(*command);
        return 0;
    }
    return report(command->words, command->run(arguments));
}

Parameter json_flag() {
    return {Kind::flag, "-j, --json", "", "print JSON"};
}

}  // namespace vroce::cli
