#include "common/dpdk/telemetry.hpp"

#include <rte_telemetry.h>

#include <map>

namespace vroce {

namespace {

constexpr std::size_t kCommandsMax = 16;

std::map<std::string, std::function<nlohmann::json()>, std::less<>>& producers() {
    static std::map<std::string, std::function<nlohmann::json()>, std::less<>> registry;
    return registry;
}

void add_value(rte_tel_data* data, const std::string& key, const nlohmann::json& value);

void fill(rte_tel_data* data, const nlohmann::json& object) {
    rte_tel_data_start_dict(data);
    for (const auto& [key, value] : object.items()) add_value(data, key, value);
}

void add_value(rte_tel_data* data, const std::string& key, const nlohmann::json& value) {
    if (value.is_object()) {
        rte_tel_data* nested = rte_tel_data_alloc();
        fill(nested, value);
        rte_tel_data_add_dict_container(data, key.c_str(), nested, 0);
    } else if (value.is_number_integer()) {
        rte_tel_data_add_dict_u64(data, key.c_str(), value.get<std::uint64_t>());
    } else {
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        rte_tel_data_add_dict_string(data, key.c_str(), text.c_str());
    }
}

int answer(const char* command, const char*, rte_tel_data* data) {
    const auto producer = producers().find(std::string_view(command));
    if (producer == producers().end()) return -1;
    nlohmann::json result = producer->second();
    if (!result.is_object()) result = nlohmann::json{{"value", result}};
    fill(data, result);
    return 0;
}

}  // namespace

Status add_telemetry(const std::string& command, const std::string& help, std::function<nlohmann::json()> producer) {
    if (producers().size() >= kCommandsMax) return Error{command + ": too many telemetry commands"};
    producers()[command] = std::move(producer);
    if (rte_telemetry_register_cmd(command.c_str(), answer, help.c_str()) != 0)
        return Error{command + ": telemetry refuses the command"};
    return Done{};
}

}  // namespace vroce
