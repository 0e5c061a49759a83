#pragma once

#include <string_view>

namespace blockvec::examples {

/// Writes everything to a file descriptor. 0, or the errno of what went wrong.
int write_all(int file, std::string_view text);

/// The same to standard output, where everybody sees it at once.
int print(std::string_view text);

/// One line to standard error: what it is, and the message.
void print_error(std::string_view message, std::string_view what = "error");

/// Where standard input, output or error is closed, the next file that anybody opens would take its place and get what
/// is printed. Opens something in its place that can neither be read nor written. The first thing in main.
void guard_standard_streams();

}  // namespace blockvec::examples
