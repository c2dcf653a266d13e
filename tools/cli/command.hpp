// The words of the command: one table gives the parser what to accept and the help what to print.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vroce::cli {

/// How a handler ended: 0 done, 1 failure, 2 wrong usage; the message is one line for stderr.
struct Outcome {
    int code = 0;
    std::string message;
};
inline Outcome done() {
    return {};
}
inline Outcome failure(std::string message) {
    return {1, std::move(message)};
}
inline Outcome wrong_usage(std::string message) {
    return {2, std::move(message)};
}

enum class Kind {
    flag,     // -j
    option,   // -w FILE
    key,      // drop 0.01: a word and its value, in any order
    operand,  // FILE, by position
    command,  // -- CMD [ARG…]: everything after the two dashes
    rest,     // WORD…: all words that are nothing else, for a grammar of its own
};

struct Parameter {
    Kind kind;
    std::string_view name;   // "-j, --json", "dev", "FILE"
    std::string_view value;  // what follows an option or a key: "FILE"; empty for flags and operands
    std::string_view help;
    bool required = false;
};

/// What a person typed, checked against the command's table.
class Arguments {
public:
    bool has(std::string_view name) const { return values_.count(std::string(name)) != 0; }
    /// The value of an option, key or operand by its long name without dashes ("json", "dev", "FILE").
    std::optional<std::string> get(std::string_view name) const;
    std::string get_or(std::string_view name, std::string_view otherwise) const;
    const std::vector<std::string>& command() const { return command_; }
    const std::vector<std::string>& rest() const { return rest_; }
    std::string run_dir() const;

    void set(std::string_view name, std::string value) { values_[std::string(name)] = std::move(value); }
    void add_rest(std::string word) { rest_.push_back(std::move(word)); }
    void set_command(std::vector<std::string> command) { command_ = std::move(command); }

private:
    std::map<std::string, std::string> values_;
    std::vector<std::string> command_;
    std::vector<std::string> rest_;
};

struct Command {
    std::string_view words;  // "lab up"
    std::string_view summary;
    std::vector<Parameter> parameters;
    Outcome (*run)(const Arguments&);
};

/// The whole table, in the order of the help.
const std::vector<Command>& all_commands();

/// Parses argv[1..], runs the command found, prints its message. Returns the exit code.
int dispatch(const std::vector<std::string>& words);

// One object per file; each gives its part of the table.
std::vector<Command> lab_commands();
std::vector<Command> run_commands();
std::vector<Command> fault_commands();
std::vector<Command> dcb_commands();
std::vector<Command> show_commands();
std::vector<Command> show_qos_commands();
std::vector<Command> pcap_commands();

/// The options that every command of an object shares.
Parameter json_flag();

}  // namespace vroce::cli
