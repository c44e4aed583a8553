//! Checks that the crate's structs have the sizes and offsets of those in `carillon/plugin.h`. Needs a C compiler.

use carillon_plugin::abi;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

macro_rules! places {
    ($($c:literal $rust:ident { $($field:ident),* })*) => {
        vec![$((concat!("sizeof(carillon_", $c, ")"), size_of::<abi::$rust>()),
            $((concat!("offsetof(carillon_", $c, ", ", stringify!($field), ")"), offset_of!(abi::$rust, $field)),)*)*]
    };
}

#[test]
fn structs_are_those_of_the_header() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../include");
    if !include.join("carillon/plugin.h").exists() || Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler, or no header");
        return;
    }
    let places = places! {
        "bytes" Bytes { ptr, len }
        "field" Field { name, value }
        "error" Error { buf, capacity, len }
        "registration" Registration { struct_size, token, fields, field_count, registered_unix_ms }
        "action" Action { struct_size, id, label, url, icon }
        "notification" Notification {
            struct_size, mode, urgency, count, id, signal, title, subtitle, body, category, thread, collapse_key, url, actions,
            action_count, data, native, expires_unix_ms, sealed
        }
        "outcome" Outcome { struct_size, kind, provider_status, retry_after_ms, reason, scope }
        "http_request" HttpRequest {
            struct_size, flags, method, url, headers, header_count, body, timeout_ms, max_response_bytes, connection
        }
        "http_response" HttpResponse { struct_size, status, headers, header_count, body, failure }
        "host" Host { struct_size, abi_minor, host_data, log, complete, http_request, query }
        "transport" Transport {
            struct_size, flags, platform, create, destroy, validate, deliver, cancel, command, describe, check,
            deliver_many, deliver_many_limit, receive
        }
        "delivery" Delivery { struct_size, ticket, registration, notification }
        "inbound_request" InboundRequest { struct_size, method, path, query, headers, header_count, body }
        "inbound_answer" InboundAnswer { struct_size, status, headers, header_count, body }
        "client_certificates" ClientCertificates { struct_size, present }
        "timers" Timers { struct_size, start, cancel }
        "states" States { struct_size, get, set }
        "stream_target" StreamTarget {
            struct_size, flags, host, port, connect_timeout_ms, idle_timeout_ms, authorities
        }
        "stream_events" StreamEvents { struct_size, opened, received, drained, closed }
        "streams" Streams { struct_size, open, write, start_tls, close }
        "inbound" Inbound { struct_size, url }
        "filter_call" FilterCall {
            struct_size, event, recipient, recipient_events, recipient_event_count, signal, notification, edit, set, author,
            zap_millisats, now_unix_ms, follow_distance, relation
        }
        "filter" Filter { struct_size, flags, name, wanted_kinds, wanted_kind_count, create, destroy, decide, needs }
        "plugin" Plugin { struct_size, abi_minor, id, version, transports, transport_count, filters, filter_count }
    };
    let mut source = String::from("#include <carillon/plugin.h>\n#include <stddef.h>\n");
    for (place, value) in &places {
        source += &format!("_Static_assert({place} == {value}, \"{place}\");\n");
    }
    source += &format!("_Static_assert(CARILLON_ABI_MINOR == {}, \"minor\");\n", abi::MINOR);
    let file = std::env::temp_dir().join(format!("carillon-layout-{}.c", std::process::id()));
    std::fs::write(&file, source).unwrap();
    let run = Command::new("cc").args(["-std=c11", "-fsyntax-only", "-I"]).arg(&include).arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
