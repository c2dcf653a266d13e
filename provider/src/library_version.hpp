// The private ABI must be exactly that of the loaded libibverbs, and its number alone does not say so.
#pragma once

#include <string_view>

namespace vroce::provider {

/// rdma-core's release from a libibverbs file name ("libibverbs.so.1.14.44.0" is 44); -1 when the name has none.
int release_of_library(std::string_view file_name);

/// True when the libibverbs in this process is a release whose private ABI we declare; else says so on stderr.
bool library_is_known();

}  // namespace vroce::provider
