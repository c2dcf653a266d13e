// An intrusive list: members link and unlink in constant time, and nothing is allocated. The round robin of queue pairs
// and the port window's order of age are such lists.
#pragma once

namespace vroce::nic {

struct Hook {
    Hook* previous = nullptr;
    Hook* next = nullptr;
    void* owner = nullptr;  ///< the object this hook is a part of

    [[nodiscard]] bool linked() const { return next != nullptr; }
    void unlink() {
        if (!linked()) return;
        previous->next = next;
        next->previous = previous;
        previous = next = nullptr;
    }
};

template <typename T>
class HookList {
public:
    HookList() { root_.previous = root_.next = &root_; }
    HookList(const HookList&) = delete;
    HookList& operator=(const HookList&) = delete;

    void push_back(Hook& hook) { insert(hook, *root_.previous); }
    void push_front(Hook& hook) { insert(hook, root_); }
    [[nodiscard]] bool empty() const { return root_.next == &root_; }
    /// nullptr when empty.
    [[nodiscard]] T* front() const { return empty() ? nullptr : static_cast<T*>(root_.next->owner); }
    T* pop_front() {
        if (empty()) return nullptr;
        Hook& hook = *root_.next;
        hook.unlink();
        return static_cast<T*>(hook.owner);
    }

private:
    static void insert(Hook& hook, Hook& after) {
        hook.previous = &after;
        hook.next = after.next;
        after.next->previous = &hook;
        after.next = &hook;
    }
    Hook root_;
};

}  // namespace vroce::nic
