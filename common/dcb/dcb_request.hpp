// What people say with iproute2's `dcb` (man dcb-pfc, dcb-ets, dcb-app, dcb-apptrust, dcb-rewr, dcb-buffer,
// dcb-maxrate): arrays of KEY:VALUE, where `all` is every key and the later word wins. A priority of dcb is our traffic
// class, a TC of dcb our egress queue, a buffer our priority group.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace vroce {

enum class DcbVerb : std::uint8_t {
    kSet,      ///< pfc, ets, apptrust, buffer, maxrate: change the entries that are named
    kAdd,      ///< app, rewr: add entries
    kReplace,  ///< app, rewr: give entries a new value, adding those that are not there
    kDel,      ///< app, rewr: remove entries
    kFlush,    ///< app, rewr: remove all entries of the tables that are named, or of all of them
};

/// 802.1Qaz's transmission selection algorithms, as the standard numbers them.
inline constexpr std::uint64_t kTsaStrict = 0;
inline constexpr std::uint64_t kTsaEts = 2;

/// Entries by key: {"prio-pfc": {3: 1}}. Values are numbers: on 1, off 0; strict 0, ets 2; rates in bits per second;
/// sizes in bytes. "default-prio" and "order" have keys 0, 1, …; in "order" DSCP is 0 and PCP 1.
using DcbTables = std::map<std::string, std::map<unsigned, std::uint64_t>>;

struct DcbRequest {
    std::string object;  ///< pfc, ets, app, apptrust, rewr, buffer, maxrate
    DcbVerb verb = DcbVerb::kSet;
    DcbTables tables;
};

/// "pfc", "set", "prio-pfc all:off 3:on": words behind `dev PORT`. What is not understood is refused with what is
/// allowed.
Result<DcbRequest> parse_dcb_words(std::string_view object, std::string_view verb, std::span<const std::string> words);

/// The control socket's form: {"object": "pfc", "verb": "set", "prio-pfc": {"3": 1}}; other keys than "dev" are
/// refused. Checked as words are.
Result<DcbRequest> dcb_from_json(const nlohmann::json& args);
nlohmann::json dcb_to_json(const DcbRequest& request);

/// A table's entry as dcb prints it: "3:on", "0:25Gbit", "26:3"; for "default-prio" and "order" the value alone.
std::string dcb_entry(std::string_view table, unsigned key, std::uint64_t value);

/// "pfc, ets, app, …".
std::string dcb_objects();

}  // namespace vroce
