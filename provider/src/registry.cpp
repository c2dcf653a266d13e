#include "provider/src/registry.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "provider/src/context.hpp"

namespace vroce::provider {
namespace {

/// Belongs to one process: a forked child may find the parent's mutex held for ever, so it gets a table of its own when
/// it opens a device itself.
struct Table {
    std::uint32_t epoch;
    std::mutex mutex;
    std::vector<Context*> contexts;
};
std::atomic<Table*> current{nullptr};

Table* usable_table() {
    Table* table = current.load();
    return table != nullptr && ProcessGuard::is_in(table->epoch) ? table : nullptr;
}

/// Lives as long as the process. Of two threads at once the first wins.
Table* make_table() {
    Table* before = current.load();
    if (Table* made = usable_table()) return made;
    auto* table = new Table{ProcessGuard::enter(), {}, {}};
    if (current.compare_exchange_strong(before, table)) return table;
    delete table;
    return before;
}

}  // namespace

void Registry::add(Context& context) {
    Table* table = usable_table();
    if (table == nullptr) table = make_table();
    const std::lock_guard guard(table->mutex);
    table->contexts.push_back(&context);
}

void Registry::remove(Context& context) {
    Table* table = usable_table();
    if (table == nullptr) return;
    const std::lock_guard guard(table->mutex);
    table->contexts.erase(std::remove(table->contexts.begin(), table->contexts.end(), &context), table->contexts.end());
}

Context* Registry::by_command_fd(int fd) {
    Table* table = usable_table();
    if (table == nullptr) return nullptr;
    const std::lock_guard guard(table->mutex);
    for (Context* context : table->contexts) {
        if (context->verbs.context.cmd_fd == fd) return context;
    }
    return nullptr;
}

void Registry::drop_channel(int fd) {
    Table* table = usable_table();
    if (table == nullptr) return;
    const std::lock_guard guard(table->mutex);
    for (Context* context : table->contexts) {
        if (context->drop_channel(fd)) return;
    }
}

}  // namespace vroce::provider
