// What the tests of the configuration's tables share: a file's text to a configuration or to a refusal.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "switch/config/loader.hpp"

namespace vroce::sw::test {

/// Two ports, then more tables.
inline std::string with_ports(const std::string& tables) {
    return R"({"PORT": {"E0": {}, "E1": {}}, )" + tables + "}";
}

inline LoadedConfig good_config(const std::string& text) {
    Result<LoadedConfig> config = parse_config(text, "sw.json");
    if (!config) {
        ADD_FAILURE() << config.error();
        auto empty = std::make_shared<SwitchConfig>();
        empty->ports.resize(2);
        return {empty, {}, {}};
    }
    return *config;
}

inline std::string refusal_of(const std::string& text) {
    const Result<LoadedConfig> config = parse_config(text, "sw.json");
    return config ? "accepted" : config.error();
}

struct TableRefusal {
    const char* name;
    const char* tables;
    const char* message;  ///< how the line starts
};

inline void expect_refusal(const TableRefusal& refusal) {
    const std::string message = refusal_of(with_ports(refusal.tables));
    EXPECT_EQ(message.substr(0, std::string(refusal.message).size()), refusal.message);
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_NE(message.find("allowed: "), std::string::npos) << message;
}

}  // namespace vroce::sw::test
