// Redirects calls that one loaded library makes through its global offset table. libibverbs and librdmacm speak to the
// kernel through libc's write, open and so on; the calls that have no provider operation are answered by replacing
// those slots in these libraries only, never for the application or anybody else.
#pragma once

#include <cstddef>
#include <span>

namespace vroce::provider {

struct GotHook {
    const char* library;  ///< file name begins with this, as "libibverbs.so"
    const char* symbol;   ///< as the library imports it
    void* replacement;
};

/// Patches every loaded library that a hook names; what is patched already stays as it is. Returns the number of slots
/// that lead to a replacement now.
std::size_t install_got_hooks(std::span<const GotHook> hooks);

}  // namespace vroce::provider
