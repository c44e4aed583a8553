#ifndef CARILLON_PLUGIN_TEMPLATES_H
#define CARILLON_PLUGIN_TEMPLATES_H

// The text of each file in Sources/PluginTemplates/Templates and of examples, which ends with a zero byte.

#define TEMPLATE(name) const char *_Nonnull template_##name(void);
TEMPLATE(cargo_toml)
TEMPLATE(carillon_py)
TEMPLATE(crate_abi_rs)
TEMPLATE(crate_cargo_toml)
TEMPLATE(crate_filter_rs)
TEMPLATE(crate_guard_rs)
TEMPLATE(crate_host_rs)
TEMPLATE(crate_json_rs)
TEMPLATE(crate_lib_rs)
TEMPLATE(crate_message_rs)
TEMPLATE(crate_testing_rs)
TEMPLATE(crate_stream_rs)
TEMPLATE(crate_testing_services_rs)
TEMPLATE(crate_ticket_rs)
TEMPLATE(crate_timer_rs)
TEMPLATE(crate_transport_rs)
TEMPLATE(entry_swift)
TEMPLATE(filter_c)
TEMPLATE(filter_cpp)
TEMPLATE(filter_py)
TEMPLATE(filter_rs)
TEMPLATE(filter_swift)
TEMPLATE(filter_test_c)
TEMPLATE(filter_test_py)
TEMPLATE(filter_test_swift)
TEMPLATE(json_h)
TEMPLATE(makefile_python)
TEMPLATE(makefile)
TEMPLATE(package_swift)
TEMPLATE(plugin_exports)
TEMPLATE(plugin_h)
TEMPLATE(readme_md)
TEMPLATE(transport_c)
TEMPLATE(transport_cpp)
TEMPLATE(transport_py)
TEMPLATE(transport_rs)
TEMPLATE(transport_swift)
TEMPLATE(transport_test_c)
TEMPLATE(transport_test_py)
TEMPLATE(transport_test_swift)
#undef TEMPLATE

#endif
