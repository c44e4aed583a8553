#include "CPluginTemplates.h"

// In C, because the Swift compiler needs half a minute for the same bytes as a literal, which SwiftPM's `embedInCode`
// generates.

#pragma clang diagnostic ignored "-Wc23-extensions"
#define TEMPLATE(name) const char *template_##name(void) { return name; }

static const char cargo_toml[] = {
#embed "../Templates/cargo.toml.txt" suffix(, 0)
};
TEMPLATE(cargo_toml)

static const char carillon_py[] = {
#embed "../../../../../Sources/PluginHost/PluginHost/Python/carillon-plugin-python/carillon.py" suffix(, 0)
};
TEMPLATE(carillon_py)

static const char crate_abi_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/abi.rs" suffix(, 0)
};
TEMPLATE(crate_abi_rs)

static const char crate_cargo_toml[] = {
#embed "../Templates/crate-cargo.toml.txt" suffix(, 0)
};
TEMPLATE(crate_cargo_toml)

static const char crate_filter_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/filter.rs" suffix(, 0)
};
TEMPLATE(crate_filter_rs)

static const char crate_guard_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/guard.rs" suffix(, 0)
};
TEMPLATE(crate_guard_rs)

static const char crate_host_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/host.rs" suffix(, 0)
};
TEMPLATE(crate_host_rs)

static const char crate_json_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/json.rs" suffix(, 0)
};
TEMPLATE(crate_json_rs)

static const char crate_lib_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/lib.rs" suffix(, 0)
};
TEMPLATE(crate_lib_rs)

static const char crate_message_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/message.rs" suffix(, 0)
};
TEMPLATE(crate_message_rs)

static const char crate_testing_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/testing.rs" suffix(, 0)
};
TEMPLATE(crate_testing_rs)

static const char crate_stream_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/stream.rs" suffix(, 0)
};
TEMPLATE(crate_stream_rs)

static const char crate_testing_services_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/testing_services.rs" suffix(, 0)
};
TEMPLATE(crate_testing_services_rs)

static const char crate_ticket_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/ticket.rs" suffix(, 0)
};
TEMPLATE(crate_ticket_rs)

static const char crate_timer_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/timer.rs" suffix(, 0)
};
TEMPLATE(crate_timer_rs)

static const char crate_transport_rs[] = {
#embed "../../../../../contrib/bindings/rust/src/transport.rs" suffix(, 0)
};
TEMPLATE(crate_transport_rs)

static const char entry_swift[] = {
#embed "../Templates/entry.swift.txt" suffix(, 0)
};
TEMPLATE(entry_swift)

static const char filter_c[] = {
#embed "../../../../../contrib/examples/plugins/wordlist.c" suffix(, 0)
};
TEMPLATE(filter_c)

static const char filter_cpp[] = {
#embed "../../../../../contrib/examples/plugins/wordlist.cpp" suffix(, 0)
};
TEMPLATE(filter_cpp)

static const char filter_py[] = {
#embed "../../../../../contrib/examples/plugins/wordlist.py" suffix(, 0)
};
TEMPLATE(filter_py)

static const char filter_rs[] = {
#embed "../../../../../contrib/bindings/rust/examples/wordlist.rs" suffix(, 0)
};
TEMPLATE(filter_rs)

static const char filter_swift[] = {
#embed "../Templates/filter.swift.txt" suffix(, 0)
};
TEMPLATE(filter_swift)

static const char filter_test_c[] = {
#embed "../Templates/filter.test.c.txt" suffix(, 0)
};
TEMPLATE(filter_test_c)

static const char filter_test_py[] = {
#embed "../Templates/filter.test.py.txt" suffix(, 0)
};
TEMPLATE(filter_test_py)

static const char filter_test_swift[] = {
#embed "../Templates/filter.test.swift.txt" suffix(, 0)
};
TEMPLATE(filter_test_swift)

static const char form_h[] = {
#embed "../../../../../include/carillon/form.h" suffix(, 0)
};
TEMPLATE(form_h)

static const char json_h[] = {
#embed "../../../../../include/carillon/json.h" suffix(, 0)
};
TEMPLATE(json_h)

static const char makefile_python[] = {
#embed "../Templates/makefile.python.txt" suffix(, 0)
};
TEMPLATE(makefile_python)

static const char makefile[] = {
#embed "../Templates/makefile.txt" suffix(, 0)
};
TEMPLATE(makefile)

static const char package_swift[] = {
#embed "../Templates/package.swift.txt" suffix(, 0)
};
TEMPLATE(package_swift)

static const char plugin_exports[] = {
#embed "../../../../../Plugins/plugin.exports" suffix(, 0)
};
TEMPLATE(plugin_exports)

static const char plugin_h[] = {
#embed "../../../../../include/carillon/plugin.h" suffix(, 0)
};
TEMPLATE(plugin_h)

static const char readme_md[] = {
#embed "../Templates/readme.md.txt" suffix(, 0)
};
TEMPLATE(readme_md)

static const char transport_c[] = {
#embed "../../../../../contrib/examples/plugins/webhook.c" suffix(, 0)
};
TEMPLATE(transport_c)

static const char transport_cpp[] = {
#embed "../../../../../contrib/examples/plugins/webhook.cpp" suffix(, 0)
};
TEMPLATE(transport_cpp)

static const char transport_py[] = {
#embed "../../../../../contrib/examples/plugins/webhook.py" suffix(, 0)
};
TEMPLATE(transport_py)

static const char transport_rs[] = {
#embed "../../../../../contrib/bindings/rust/examples/webhook.rs" suffix(, 0)
};
TEMPLATE(transport_rs)

static const char transport_swift[] = {
#embed "../Templates/transport.swift.txt" suffix(, 0)
};
TEMPLATE(transport_swift)

static const char transport_test_c[] = {
#embed "../Templates/transport.test.c.txt" suffix(, 0)
};
TEMPLATE(transport_test_c)

static const char transport_test_py[] = {
#embed "../Templates/transport.test.py.txt" suffix(, 0)
};
TEMPLATE(transport_test_py)

static const char transport_test_swift[] = {
#embed "../Templates/transport.test.swift.txt" suffix(, 0)
};
TEMPLATE(transport_test_swift)
