// Result<T>: a value, or one line that says what was wrong, where, and what is allowed.
// For configuration and start-up; verdicts about packets are enums with counters.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace vroce {

/// One clear line without a full stop or newline, fit to print behind the program's name.
struct Error {
    std::string message;
};

template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    explicit operator bool() const { return std::holds_alternative<T>(state_); }
    T& value() { return std::get<T>(state_); }
    const T& value() const { return std::get<T>(state_); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const std::string& error() const { return std::get<Error>(state_).message; }

private:
    std::variant<T, Error> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace vroce
