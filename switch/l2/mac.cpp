// Prints MAC addresses.
#include "switch/l2/mac.hpp"

#include <fmt/format.h>

namespace vroce::sw {

std::string to_string(Mac mac) {
    return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac >> 40 & 0xff, mac >> 32 & 0xff,
                       mac >> 24 & 0xff, mac >> 16 & 0xff, mac >> 8 & 0xff, mac & 0xff);
}

}  // namespace vroce::sw
