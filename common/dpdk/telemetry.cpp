#include "common/dpdk/telemetry.hpp"

#include <rte_telemetry.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <mutex>

namespace vroce {

namespace {

constexpr std::size_t kCommandsMax = 16;

using Producer = std::function<nlohmann::json()>;
struct Registry {
    std::mutex mutex;
    std::map<std::string, Producer, std::less<>> producers;
};

Registry& registry() {
    static Registry the_registry;
    return the_registry;
}

/// DPDK refuses names with anything but letters, digits, '_' and '/'.
std::string name_of(const std::string& key) {
    std::string name = key.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '/'; },
        '_');
    return name;
}

std::string text_of(const nlohmann::json& value) {
    const std::string text = value.is_string() ? value.get<std::string>()
                                               : value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return text.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
}

bool is_count(const nlohmann::json& value) {
    return value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
}

void fill(rte_tel_data* data, const nlohmann::json& object);

/// Numbers as numbers when all are, else everything as text.
void fill_array(rte_tel_data* data, const nlohmann::json& array) {
    const bool numbers = std::all_of(array.begin(), array.end(), is_count);
    rte_tel_data_start_array(data, numbers ? RTE_TEL_U64_VAL : RTE_TEL_STRING_VAL);
    for (const nlohmann::json& value : array) {
        if (numbers)
            rte_tel_data_add_array_u64(data, value.get<std::uint64_t>());
        else
            rte_tel_data_add_array_string(data, text_of(value).c_str());
    }
}

void add_value(rte_tel_data* data, const std::string& key, const nlohmann::json& value) {
    const std::string name = name_of(key);
    if (value.is_structured()) {
        rte_tel_data* nested = rte_tel_data_alloc();
        if (nested == nullptr) return;
        value.is_object() ? fill(nested, value) : fill_array(nested, value);
        if (rte_tel_data_add_dict_container(data, name.c_str(), nested, 0) != 0) rte_tel_data_free(nested);
    } else if (is_count(value)) {
        rte_tel_data_add_dict_u64(data, name.c_str(), value.get<std::uint64_t>());
    } else if (value.is_number_integer() && value.get<std::int64_t>() >= INT32_MIN) {
        rte_tel_data_add_dict_int(data, name.c_str(), value.get<int>());
    } else {
        rte_tel_data_add_dict_string(data, name.c_str(), text_of(value).c_str());
    }
}

void fill(rte_tel_data* data, const nlohmann::json& object) {
    rte_tel_data_start_dict(data);
    for (const auto& [key, value] : object.items()) add_value(data, key, value);
}

int answer(const char* command, const char*, rte_tel_data* data) {
    Producer producer;
    {
        const std::lock_guard<std::mutex> lock(registry().mutex);
        const auto found = registry().producers.find(std::string_view(command));
        if (found == registry().producers.end()) return -1;
        producer = found->second;
    }
    try {
        nlohmann::json result = producer();
        if (!result.is_object()) result = nlohmann::json{{"value", result}};
        fill(data, result);
    } catch (const std::exception&) {
        return -1;  // DPDK's thread has no handler; it answers null
    }
    return 0;
}

}  // namespace

Status add_telemetry(const std::string& command, const std::string& help, std::function<nlohmann::json()> producer) {
    {
        const std::lock_guard<std::mutex> lock(registry().mutex);
        if (registry().producers.size() >= kCommandsMax) return Error{command + ": too many telemetry commands"};
        registry().producers[command] = std::move(producer);
    }
    if (rte_telemetry_register_cmd(command.c_str(), answer, help.c_str()) != 0)
        return Error{command + ": telemetry refuses the command"};
    return Done{};
}

}  // namespace vroce
