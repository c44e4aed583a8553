/* The layout of include/carillon/plugin.h, asserted in every build: a field that moved, changed
 * its width or appeared anywhere but at the end is a broken ABI. A new field gets its line
 * here, and the SIZE of its struct grows, in the commit that raises CARILLON_ABI_MINOR.
 */
#include <carillon/plugin.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "the size of " #type " changed")
#define FIELD(type, name, offset, bytes) \
    _Static_assert(offsetof(type, name) == (offset) && sizeof(((type *)0)->name) == (bytes), #type "." #name " moved")
#define VALUE(name, value) _Static_assert((int32_t)(name) == (value), #name " changed")

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the plugin ABI is for 64-bit machines");

SIZE(carillon_bytes, 16);
FIELD(carillon_bytes, ptr, 0, 8);
FIELD(carillon_bytes, len, 8, 8);

SIZE(carillon_field, 32);
FIELD(carillon_field, name, 0, 16);
FIELD(carillon_field, value, 16, 16);

SIZE(carillon_error, 24);
FIELD(carillon_error, buf, 0, 8);
FIELD(carillon_error, capacity, 8, 8);
FIELD(carillon_error, len, 16, 8);

SIZE(carillon_registration, 48);
FIELD(carillon_registration, struct_size, 0, 4);
FIELD(carillon_registration, reserved, 4, 4);
FIELD(carillon_registration, token, 8, 16);
FIELD(carillon_registration, fields, 24, 8);
FIELD(carillon_registration, field_count, 32, 8);
FIELD(carillon_registration, registered_unix_ms, 40, 8);

SIZE(carillon_action, 72);
FIELD(carillon_action, struct_size, 0, 4);
FIELD(carillon_action, reserved, 4, 4);
FIELD(carillon_action, id, 8, 16);
FIELD(carillon_action, label, 24, 16);
FIELD(carillon_action, url, 40, 16);
FIELD(carillon_action, icon, 56, 16);

SIZE(carillon_notification, 232);
FIELD(carillon_notification, struct_size, 0, 4);
FIELD(carillon_notification, mode, 4, 4);
FIELD(carillon_notification, urgency, 8, 4);
FIELD(carillon_notification, count, 12, 4);
FIELD(carillon_notification, id, 16, 16);
FIELD(carillon_notification, signal, 32, 16);
FIELD(carillon_notification, title, 48, 16);
FIELD(carillon_notification, subtitle, 64, 16);
FIELD(carillon_notification, body, 80, 16);
FIELD(carillon_notification, category, 96, 16);
FIELD(carillon_notification, thread, 112, 16);
FIELD(carillon_notification, collapse_key, 128, 16);
FIELD(carillon_notification, url, 144, 16);
FIELD(carillon_notification, actions, 160, 8);
FIELD(carillon_notification, action_count, 168, 8);
FIELD(carillon_notification, data, 176, 16);
FIELD(carillon_notification, native, 192, 16);
FIELD(carillon_notification, expires_unix_ms, 208, 8);
FIELD(carillon_notification, sealed, 216, 16);

SIZE(carillon_outcome, 40);
FIELD(carillon_outcome, struct_size, 0, 4);
FIELD(carillon_outcome, kind, 4, 4);
FIELD(carillon_outcome, provider_status, 8, 4);
FIELD(carillon_outcome, retry_after_ms, 12, 4);
FIELD(carillon_outcome, reason, 16, 16);
FIELD(carillon_outcome, scope, 32, 4);
FIELD(carillon_outcome, reserved, 36, 4);

SIZE(carillon_http_request, 96);
FIELD(carillon_http_request, struct_size, 0, 4);
FIELD(carillon_http_request, flags, 4, 4);
FIELD(carillon_http_request, method, 8, 16);
FIELD(carillon_http_request, url, 24, 16);
FIELD(carillon_http_request, headers, 40, 8);
FIELD(carillon_http_request, header_count, 48, 8);
FIELD(carillon_http_request, body, 56, 16);
FIELD(carillon_http_request, timeout_ms, 72, 4);
FIELD(carillon_http_request, max_response_bytes, 76, 4);
FIELD(carillon_http_request, connection, 80, 16);

SIZE(carillon_http_response, 56);
FIELD(carillon_http_response, struct_size, 0, 4);
FIELD(carillon_http_response, status, 4, 4);
FIELD(carillon_http_response, headers, 8, 8);
FIELD(carillon_http_response, header_count, 16, 8);
FIELD(carillon_http_response, body, 24, 16);
FIELD(carillon_http_response, failure, 40, 16);

SIZE(carillon_host, 48);
FIELD(carillon_host, struct_size, 0, 4);
FIELD(carillon_host, abi_minor, 4, 4);
FIELD(carillon_host, host_data, 8, 8);
FIELD(carillon_host, log, 16, 8);
FIELD(carillon_host, complete, 24, 8);
FIELD(carillon_host, http_request, 32, 8);
FIELD(carillon_host, query, 40, 8);

SIZE(carillon_client_certificates, 16);
FIELD(carillon_client_certificates, struct_size, 0, 4);
FIELD(carillon_client_certificates, reserved, 4, 4);
FIELD(carillon_client_certificates, present, 8, 8);

SIZE(carillon_timers, 24);
FIELD(carillon_timers, struct_size, 0, 4);
FIELD(carillon_timers, reserved, 4, 4);
FIELD(carillon_timers, start, 8, 8);
FIELD(carillon_timers, cancel, 16, 8);

SIZE(carillon_states, 24);
FIELD(carillon_states, struct_size, 0, 4);
FIELD(carillon_states, reserved, 4, 4);
FIELD(carillon_states, get, 8, 8);
FIELD(carillon_states, set, 16, 8);

SIZE(carillon_stream_target, 56);
FIELD(carillon_stream_target, struct_size, 0, 4);
FIELD(carillon_stream_target, flags, 4, 4);
FIELD(carillon_stream_target, host, 8, 16);
FIELD(carillon_stream_target, port, 24, 4);
FIELD(carillon_stream_target, connect_timeout_ms, 28, 4);
FIELD(carillon_stream_target, idle_timeout_ms, 32, 4);
FIELD(carillon_stream_target, reserved, 36, 4);
FIELD(carillon_stream_target, authorities, 40, 16);

SIZE(carillon_stream_events, 40);
FIELD(carillon_stream_events, struct_size, 0, 4);
FIELD(carillon_stream_events, reserved, 4, 4);
FIELD(carillon_stream_events, opened, 8, 8);
FIELD(carillon_stream_events, received, 16, 8);
FIELD(carillon_stream_events, drained, 24, 8);
FIELD(carillon_stream_events, closed, 32, 8);

SIZE(carillon_streams, 40);
FIELD(carillon_streams, struct_size, 0, 4);
FIELD(carillon_streams, reserved, 4, 4);
FIELD(carillon_streams, open, 8, 8);
FIELD(carillon_streams, write, 16, 8);
FIELD(carillon_streams, start_tls, 24, 8);
FIELD(carillon_streams, close, 32, 8);

SIZE(carillon_inbound, 16);
FIELD(carillon_inbound, struct_size, 0, 4);
FIELD(carillon_inbound, reserved, 4, 4);
FIELD(carillon_inbound, url, 8, 8);

SIZE(carillon_inbound_request, 88);
FIELD(carillon_inbound_request, struct_size, 0, 4);
FIELD(carillon_inbound_request, reserved, 4, 4);
FIELD(carillon_inbound_request, method, 8, 16);
FIELD(carillon_inbound_request, path, 24, 16);
FIELD(carillon_inbound_request, query, 40, 16);
FIELD(carillon_inbound_request, headers, 56, 8);
FIELD(carillon_inbound_request, header_count, 64, 8);
FIELD(carillon_inbound_request, body, 72, 16);

SIZE(carillon_inbound_answer, 40);
FIELD(carillon_inbound_answer, struct_size, 0, 4);
FIELD(carillon_inbound_answer, status, 4, 4);
FIELD(carillon_inbound_answer, headers, 8, 8);
FIELD(carillon_inbound_answer, header_count, 16, 8);
FIELD(carillon_inbound_answer, body, 24, 16);

SIZE(carillon_transport, 120);
FIELD(carillon_transport, struct_size, 0, 4);
FIELD(carillon_transport, flags, 4, 4);
FIELD(carillon_transport, platform, 8, 16);
FIELD(carillon_transport, create, 24, 8);
FIELD(carillon_transport, destroy, 32, 8);
FIELD(carillon_transport, validate, 40, 8);
FIELD(carillon_transport, deliver, 48, 8);
FIELD(carillon_transport, cancel, 56, 8);
FIELD(carillon_transport, command, 64, 8);
FIELD(carillon_transport, describe, 72, 16);
FIELD(carillon_transport, check, 88, 8);
FIELD(carillon_transport, deliver_many, 96, 8);
FIELD(carillon_transport, deliver_many_limit, 104, 4);
FIELD(carillon_transport, reserved, 108, 4);
FIELD(carillon_transport, receive, 112, 8);

SIZE(carillon_delivery, 32);
FIELD(carillon_delivery, struct_size, 0, 4);
FIELD(carillon_delivery, reserved, 4, 4);
FIELD(carillon_delivery, ticket, 8, 8);
FIELD(carillon_delivery, registration, 16, 8);
FIELD(carillon_delivery, notification, 24, 8);

SIZE(carillon_filter_call, 152);
FIELD(carillon_filter_call, struct_size, 0, 4);
FIELD(carillon_filter_call, reserved, 4, 4);
FIELD(carillon_filter_call, event, 8, 16);
FIELD(carillon_filter_call, recipient, 24, 16);
FIELD(carillon_filter_call, recipient_events, 40, 8);
FIELD(carillon_filter_call, recipient_event_count, 48, 8);
FIELD(carillon_filter_call, signal, 56, 16);
FIELD(carillon_filter_call, notification, 72, 8);
FIELD(carillon_filter_call, edit, 80, 8);
FIELD(carillon_filter_call, set, 88, 8);
FIELD(carillon_filter_call, author, 96, 16);
FIELD(carillon_filter_call, zap_millisats, 112, 8);
FIELD(carillon_filter_call, now_unix_ms, 120, 8);
FIELD(carillon_filter_call, follow_distance, 128, 4);
FIELD(carillon_filter_call, reserved2, 132, 4);
FIELD(carillon_filter_call, relation, 136, 16);

SIZE(carillon_filter, 72);
FIELD(carillon_filter, struct_size, 0, 4);
FIELD(carillon_filter, flags, 4, 4);
FIELD(carillon_filter, name, 8, 16);
FIELD(carillon_filter, wanted_kinds, 24, 8);
FIELD(carillon_filter, wanted_kind_count, 32, 8);
FIELD(carillon_filter, create, 40, 8);
FIELD(carillon_filter, destroy, 48, 8);
FIELD(carillon_filter, decide, 56, 8);
FIELD(carillon_filter, needs, 64, 8);

SIZE(carillon_plugin, 72);
FIELD(carillon_plugin, struct_size, 0, 4);
FIELD(carillon_plugin, abi_minor, 4, 4);
FIELD(carillon_plugin, id, 8, 16);
FIELD(carillon_plugin, version, 24, 16);
FIELD(carillon_plugin, transports, 40, 8);
FIELD(carillon_plugin, transport_count, 48, 8);
FIELD(carillon_plugin, filters, 56, 8);
FIELD(carillon_plugin, filter_count, 64, 8);

SIZE(carillon_status, 4);
SIZE(carillon_outcome_kind, 4);
SIZE(carillon_mode, 4);
SIZE(carillon_scope, 4);
SIZE(carillon_urgency, 4);
SIZE(carillon_verdict, 4);
SIZE(carillon_follow_distance, 4);
SIZE(carillon_log_level, 4);

VALUE(CARILLON_OK, 0);
VALUE(CARILLON_INVALID, 1);
VALUE(CARILLON_BUSY, 2);
VALUE(CARILLON_UNSUPPORTED, 3);
VALUE(CARILLON_FAILED, 4);
VALUE(CARILLON_DELIVERED, 0);
VALUE(CARILLON_GONE, 1);
VALUE(CARILLON_REJECTED, 2);
VALUE(CARILLON_RETRY, 3);
VALUE(CARILLON_MISCONFIGURED, 4);
VALUE(CARILLON_SCOPE_DEFAULT, 0);
VALUE(CARILLON_SCOPE_DEVICE, 1);
VALUE(CARILLON_SCOPE_HOST, 2);
VALUE(CARILLON_SCOPE_TRANSPORT, 3);
VALUE(CARILLON_WAKE, 0);
VALUE(CARILLON_NUDGE, 1);
VALUE(CARILLON_SEALED, 2);
VALUE(CARILLON_ALERT, 3);
VALUE(CARILLON_LOW, 0);
VALUE(CARILLON_NORMAL, 1);
VALUE(CARILLON_HIGH, 2);
VALUE(CARILLON_PASS, 0);
VALUE(CARILLON_DROP, 1);
VALUE(CARILLON_DEBUG, 0);
VALUE(CARILLON_INFO, 1);
VALUE(CARILLON_WARNING, 2);
VALUE(CARILLON_ERROR, 3);
VALUE(CARILLON_HTTP_MULTIPLEX, 1);
VALUE(CARILLON_HTTP_UNTRUSTED_URL, 2);
VALUE(CARILLON_DISTANCE_UNKNOWN, 0);
VALUE(CARILLON_DISTANCE_FOLLOWED, 1);
VALUE(CARILLON_DISTANCE_SECOND, 2);
VALUE(CARILLON_DISTANCE_STRANGER, 3);
VALUE(CARILLON_DISTANCE_NOT_FOLLOWED, 4);
VALUE(CARILLON_FILTER_RENDERED, 1);
VALUE(CARILLON_FILTER_ASKS_DISTANCE, 2);
VALUE(CARILLON_FILTER_ASKS_FOLLOWED, 4);
VALUE(CARILLON_TRANSPORT_ENCRYPTS, 1);
VALUE(CARILLON_TRANSPORT_SHOWS, 2);
