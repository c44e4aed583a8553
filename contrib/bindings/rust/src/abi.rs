//! `carillon/plugin.h` in Rust: the same structs with the same layout. Plugins do not need it; the other modules wrap it.

use std::ffi::c_void;
use std::os::raw::c_char;

/// The minor version that this crate knows.
pub const MINOR: u32 = 0;

/// Borrowed bytes. Texts of the ABI are such bytes in UTF-8.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    pub ptr: *const c_void,
    pub len: usize,
}

pub type Str = Bytes;

impl Bytes {
    pub const EMPTY: Bytes = Bytes { ptr: std::ptr::null(), len: 0 };

    pub const fn of(text: &str) -> Bytes {
        Bytes { ptr: text.as_ptr() as *const c_void, len: text.len() }
    }

    pub fn of_bytes(bytes: &[u8]) -> Bytes {
        Bytes { ptr: bytes.as_ptr() as *const c_void, len: bytes.len() }
    }

    /// # Safety
    /// `ptr` must be valid for `len` bytes for the whole of `'a`, or `len` must be 0.
    pub unsafe fn slice<'a>(self) -> &'a [u8] {
        if self.len == 0 || self.ptr.is_null() {
            return &[];
        }
        std::slice::from_raw_parts(self.ptr as *const u8, self.len)
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Field {
    pub name: Str,
    pub value: Bytes,
}

#[repr(C)]
pub struct Error {
    pub buf: *mut c_char,
    pub capacity: usize,
    pub len: usize,
}

pub type Status = i32;
pub const OK: Status = 0;
pub const INVALID: Status = 1;
pub const BUSY: Status = 2;
pub const UNSUPPORTED: Status = 3;
pub const FAILED: Status = 4;

/// A struct of the host that starts with `struct_size` and grows at its end.
///
/// # Safety
/// A value with all bits zero must be valid.
pub unsafe trait Growing: Copy {}

/// Copies the fields that both the struct and this crate have; the rest is zero.
///
/// # Safety
/// `pointer` must point to a struct of the host.
pub unsafe fn adopt<T: Growing>(pointer: *const T) -> T {
    let mut own: T = std::mem::zeroed();
    if !pointer.is_null() {
        let size = (pointer as *const u32).read_unaligned() as usize;
        let count = size.min(std::mem::size_of::<T>());
        std::ptr::copy_nonoverlapping(pointer as *const u8, &mut own as *mut T as *mut u8, count);
    }
    own
}

macro_rules! growing {
    ($($(#[$meta:meta])* struct $name:ident { $($field:ident: $kind:ty,)* })*) => {$(
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            pub struct_size: u32,
            $(pub $field: $kind,)*
        }
        // Numbers, pointers, and optional functions.
        unsafe impl Growing for $name {}
    )*};
}

pub type HttpDone = unsafe extern "C" fn(context: *mut c_void, response: *const HttpResponse);
pub type CommandDone = unsafe extern "C" fn(context: *mut c_void, status: Status, answer: Str);
pub type InboundDone = unsafe extern "C" fn(context: *mut c_void, answer: *const InboundAnswer);
pub type ValueTaker = unsafe extern "C" fn(context: *mut c_void, value: Bytes);
pub type TimerFired = unsafe extern "C" fn(context: *mut c_void);
pub type Create =
    unsafe extern "C" fn(host: *const Host, config: Str, instance: *mut *mut c_void, error: *mut Error) -> Status;

growing! {
    struct Registration {
        reserved: u32,
        token: Str,
        fields: *const Field,
        field_count: usize,
        registered_unix_ms: u64,
    }
    struct Action {
        reserved: u32,
        id: Str,
        label: Str,
        url: Str,
        icon: Str,
    }
    struct Notification {
        mode: i32,
        urgency: i32,
        count: u32,
        id: Str,
        signal: Str,
        title: Str,
        subtitle: Str,
        body: Str,
        category: Str,
        thread: Str,
        collapse_key: Str,
        url: Str,
        actions: *const *const Action,
        action_count: usize,
        data: Str,
        native: Str,
        expires_unix_ms: u64,
        sealed: Str,
    }
    struct Outcome {
        kind: i32,
        provider_status: u32,
        retry_after_ms: u32,
        reason: Str,
        scope: i32,
        reserved: u32,
    }
    struct HttpRequest {
        flags: u32,
        method: Str,
        url: Str,
        headers: *const Field,
        header_count: usize,
        body: Bytes,
        timeout_ms: u32,
        max_response_bytes: u32,
        connection: Str,
    }
    struct HttpResponse {
        status: u32,
        headers: *const Field,
        header_count: usize,
        body: Bytes,
        failure: Str,
    }
    struct Host {
        abi_minor: u32,
        host_data: *mut c_void,
        log: Option<unsafe extern "C" fn(host: *const Host, level: i32, message: Str)>,
        complete: Option<unsafe extern "C" fn(host: *const Host, ticket: u64, outcome: *const Outcome)>,
        http_request: Option<
            unsafe extern "C" fn(
                host: *const Host,
                request: *const HttpRequest,
                done: HttpDone,
                context: *mut c_void,
            ) -> Status,
        >,
        query: Option<unsafe extern "C" fn(host: *const Host, service: Str) -> *const c_void>,
    }
    struct Transport {
        flags: u32,
        platform: Str,
        create: Option<Create>,
        destroy: Option<unsafe extern "C" fn(instance: *mut c_void)>,
        validate: Option<
            unsafe extern "C" fn(
                instance: *mut c_void,
                registration: *const Registration,
                error: *mut Error,
            ) -> Status,
        >,
        deliver: Option<
            unsafe extern "C" fn(
                instance: *mut c_void,
                ticket: u64,
                registration: *const Registration,
                notification: *const Notification,
            ) -> Status,
        >,
        cancel: Option<unsafe extern "C" fn(instance: *mut c_void, ticket: u64)>,
        command: Option<
            unsafe extern "C" fn(
                instance: *mut c_void,
                words: *const Str,
                word_count: usize,
                done: CommandDone,
                context: *mut c_void,
            ) -> Status,
        >,
        describe: Str,
        check: Option<unsafe extern "C" fn(block: Str, error: *mut Error) -> Status>,
        deliver_many: Option<
            unsafe extern "C" fn(instance: *mut c_void, deliveries: *const *const Delivery, count: usize) -> Status,
        >,
        deliver_many_limit: u32,
        reserved: u32,
        receive: Option<
            unsafe extern "C" fn(
                instance: *mut c_void,
                request: *const InboundRequest,
                done: InboundDone,
                context: *mut c_void,
            ) -> Status,
        >,
    }
    struct Delivery {
        reserved: u32,
        ticket: u64,
        registration: *const Registration,
        notification: *const Notification,
    }
    struct InboundRequest {
        reserved: u32,
        method: Str,
        path: Str,
        query: Str,
        headers: *const Field,
        header_count: usize,
        body: Bytes,
    }
    struct InboundAnswer {
        status: u32,
        headers: *const Field,
        header_count: usize,
        body: Bytes,
    }
    // The fields that all services start with.
    struct Service {
        reserved: u32,
    }
    struct ClientCertificates {
        reserved: u32,
        present: Option<
            unsafe extern "C" fn(
                host: *const Host,
                connection: Str,
                certificates: Str,
                key: Str,
                error: *mut Error,
            ) -> Status,
        >,
    }
    struct Timers {
        reserved: u32,
        start: Option<
            unsafe extern "C" fn(
                host: *const Host,
                after_ms: u64,
                every_ms: u64,
                fired: TimerFired,
                context: *mut c_void,
                timer: *mut u64,
            ) -> Status,
        >,
        cancel: Option<unsafe extern "C" fn(host: *const Host, timer: u64) -> Status>,
    }
    struct States {
        reserved: u32,
        get: Option<
            unsafe extern "C" fn(host: *const Host, key: Str, value: ValueTaker, context: *mut c_void) -> Status,
        >,
        set: Option<unsafe extern "C" fn(host: *const Host, key: Str, value: Bytes) -> Status>,
    }
    struct StreamTarget {
        flags: u32,
        host: Str,
        port: u32,
        connect_timeout_ms: u32,
        idle_timeout_ms: u32,
        reserved: u32,
        authorities: Str,
    }
    struct StreamEvents {
        reserved: u32,
        opened: Option<unsafe extern "C" fn(context: *mut c_void)>,
        received: Option<unsafe extern "C" fn(context: *mut c_void, bytes: Bytes)>,
        drained: Option<unsafe extern "C" fn(context: *mut c_void)>,
        closed: Option<unsafe extern "C" fn(context: *mut c_void, failure: Str)>,
    }
    struct Streams {
        reserved: u32,
        open: Option<
            unsafe extern "C" fn(
                host: *const Host,
                target: *const StreamTarget,
                events: *const StreamEvents,
                context: *mut c_void,
                stream: *mut u64,
            ) -> Status,
        >,
        write: Option<unsafe extern "C" fn(host: *const Host, stream: u64, bytes: Bytes) -> Status>,
        start_tls: Option<unsafe extern "C" fn(host: *const Host, stream: u64) -> Status>,
        close: Option<unsafe extern "C" fn(host: *const Host, stream: u64) -> Status>,
    }
    struct Inbound {
        reserved: u32,
        url: Option<unsafe extern "C" fn(host: *const Host, value: ValueTaker, context: *mut c_void) -> Status>,
    }
    struct FilterCall {
        reserved: u32,
        event: Str,
        recipient: Str,
        recipient_events: *const Str,
        recipient_event_count: usize,
        signal: Str,
        notification: *const Notification,
        edit: *mut c_void,
        set: Option<unsafe extern "C" fn(edit: *mut c_void, field: Str, value: Bytes) -> Status>,
        author: Str,
        zap_millisats: u64,
        now_unix_ms: u64,
        follow_distance: i32,
        reserved2: u32,
        relation: Str,
    }
    struct Filter {
        flags: u32,
        name: Str,
        wanted_kinds: *const u32,
        wanted_kind_count: usize,
        create: Option<Create>,
        destroy: Option<unsafe extern "C" fn(instance: *mut c_void)>,
        decide: Option<
            unsafe extern "C" fn(instance: *mut c_void, call: *const FilterCall, verdict: *mut i32) -> Status,
        >,
        needs: Option<unsafe extern "C" fn(instance: *mut c_void) -> u32>,
    }
    struct Plugin {
        abi_minor: u32,
        id: Str,
        version: Str,
        transports: *const *const Transport,
        transport_count: usize,
        filters: *const *const Filter,
        filter_count: usize,
    }
}

// Tables that are created once and never change.
unsafe impl Sync for Transport {}
unsafe impl Sync for Filter {}
unsafe impl Sync for Plugin {}
unsafe impl Sync for ClientCertificates {}
unsafe impl Sync for Timers {}
unsafe impl Sync for States {}
unsafe impl Sync for Streams {}
unsafe impl Sync for Inbound {}

pub const CLIENT_CERTIFICATES: &str = "carillon.client-certificate/1";
pub const TIMERS: &str = "carillon.timer/1";
pub const STATES: &str = "carillon.state/1";
pub const STREAMS: &str = "carillon.stream/1";
pub const INBOUND: &str = "carillon.inbound/1";

pub const HTTP_MULTIPLEX: u32 = 1;
pub const HTTP_UNTRUSTED_URL: u32 = 1 << 1;
pub const TRANSPORT_ENCRYPTS: u32 = 1;
pub const TRANSPORT_SHOWS: u32 = 1 << 1;
pub const TRANSPORT_MANY_PER_TOKEN: u32 = 1 << 2;
pub const STREAM_TLS: u32 = 1;
pub const STREAM_UNTRUSTED_HOST: u32 = 1 << 1;
pub const FILTER_RENDERED: u32 = 1;
pub const FILTER_ASKS_DISTANCE: u32 = 1 << 1;
pub const FILTER_ASKS_FOLLOWED: u32 = 1 << 2;
