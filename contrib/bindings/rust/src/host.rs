//! The router's services for a plugin: HTTP, the log, and others by name.

use crate::abi;
use crate::guard::guarded;
use crate::message::Response;
use std::ffi::c_void;
use std::sync::{Arc, RwLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

/// The reason why a call was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bad argument, configuration or registration. The notification is dropped.
    Invalid,
    /// Not accepted now: the router retries.
    Busy,
    /// The mode or the command is not supported.
    Unsupported,
    /// An error: the router retries.
    Failed,
}

impl Refusal {
    pub(crate) fn status(self) -> abi::Status {
        match self {
            Refusal::Invalid => abi::INVALID,
            Refusal::Busy => abi::BUSY,
            Refusal::Unsupported => abi::UNSUPPORTED,
            Refusal::Failed => abi::FAILED,
        }
    }

    pub(crate) fn result(status: abi::Status) -> Result<(), Refusal> { Refusal::of(status).map_or(Ok(()), Err) }

    pub(crate) fn of(status: abi::Status) -> Option<Refusal> {
        match status {
            abi::OK => None,
            abi::INVALID => Some(Refusal::Invalid),
            abi::BUSY => Some(Refusal::Busy),
            abi::UNSUPPORTED => Some(Refusal::Unsupported),
            _ => Some(Refusal::Failed),
        }
    }
}

/// The router, for one instance. Clones are cheap; after the instance is destroyed they do nothing.
#[derive(Clone)]
pub struct Host(Arc<RwLock<Option<Pointer>>>);

#[derive(Clone, Copy)]
struct Pointer(*const abi::Host);
// Every function of the host may be called from any thread.
unsafe impl Send for Pointer {}
unsafe impl Sync for Pointer {}

impl Host {
    pub(crate) fn new(pointer: *const abi::Host) -> Host { Host(Arc::new(RwLock::new(Some(Pointer(pointer))))) }

    /// Invalidates the pointer.
    pub(crate) fn close(&self) {
        *self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        crate::timer::forget(self.identity());
    }

    /// A number that is unique in this process while the instance exists.
    pub(crate) fn identity(&self) -> usize { Arc::as_ptr(&self.0) as usize }

    /// Calls a function of a service with its table. UNSUPPORTED: the router does not have the service. BUSY: the
    /// instance is gone.
    pub(crate) fn service<T: abi::Growing>(
        &self,
        name: &str,
        body: impl FnOnce(&T, *const abi::Host) -> abi::Status,
    ) -> abi::Status {
        self.with(|host, pointer| {
            let table = match host.query {
                Some(query) => unsafe { query(pointer, abi::Str::of(name)) as *const T },
                None => std::ptr::null(),
            };
            if table.is_null() {
                return abi::UNSUPPORTED;
            }
            body(&unsafe { abi::adopt(table) }, pointer)
        })
        .unwrap_or(abi::BUSY)
    }

    pub(crate) fn with<R>(&self, body: impl FnOnce(&abi::Host, *const abi::Host) -> R) -> Option<R> {
        let pointer = self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        pointer.map(|pointer| body(&unsafe { abi::adopt(pointer.0) }, pointer.0))
    }

    /// Writes one line to the router's log. Never log tokens, keys or payloads.
    pub fn log(&self, level: LogLevel, message: &str) {
        self.with(|host, pointer| {
            if let Some(log) = host.log {
                unsafe { log(pointer, level as i32, abi::Str::of(message)) }
            }
        });
    }

    /// Sends a request. After `Ok` the closure is called exactly once, on a thread of the host; otherwise never.
    pub fn http_request(
        &self,
        request: Request,
        done: impl FnOnce(Response<'_>) + Send + 'static,
    ) -> Result<(), Refusal> {
        type Done = Box<dyn FnOnce(Response<'_>) + Send>;

        unsafe extern "C" fn answered(context: *mut c_void, response: *const abi::HttpResponse) {
            let done = Box::from_raw(context as *mut Done);
            guarded((), || done(Response::new(response)));
        }

        let headers: Vec<abi::Field> = request
            .headers
            .iter()
            .map(|(name, value)| abi::Field { name: abi::Str::of(name), value: abi::Str::of(value) })
            .collect();
        let lent = abi::HttpRequest {
            struct_size: std::mem::size_of::<abi::HttpRequest>() as u32,
            flags: request.flags,
            method: abi::Str::of(request.method),
            url: abi::Str::of(&request.url),
            headers: headers.as_ptr(),
            header_count: headers.len(),
            body: abi::Bytes::of_bytes(&request.body),
            timeout_ms: request.timeout_ms,
            max_response_bytes: request.max_response_bytes,
            connection: abi::Str::of(&request.connection),
        };
        let context = Box::into_raw(Box::new(Box::new(done) as Done)) as *mut c_void;
        let status = self
            .with(|host, pointer| match host.http_request {
                Some(http_request) => unsafe { http_request(pointer, &lent, answered, context) },
                None => abi::UNSUPPORTED,
            })
            .unwrap_or(abi::BUSY);
        match Refusal::of(status) {
            None => Ok(()),
            Some(refusal) => {
                drop(unsafe { Box::from_raw(context as *mut Done) });
                Err(refusal)
            }
        }
    }

    /// Checks that the router has a service, such as [`abi::STREAMS`]. Use the error in `create` of a plugin that
    /// requires it.
    pub fn require(&self, service: &str) -> Result<(), String> {
        match self.service(service, |_: &abi::Service, _| abi::OK) {
            abi::OK => Ok(()),
            _ => Err(format!("this router is too old for the plugin: it does not have {service}")),
        }
    }

    /// Returns the value stored for this instance under a key, even before a restart of its process or the router.
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        let mut kept: Option<Vec<u8>> = None;
        let status = self.service(abi::STATES, |states: &abi::States, pointer| match states.get {
            Some(get) => unsafe { get(pointer, abi::Str::of(key), take, &mut kept as *mut _ as *mut c_void) },
            None => abi::UNSUPPORTED,
        });
        kept.filter(|_| status == abi::OK)
    }

    /// Stores a value, encrypted, under a key of 1 to 64 printable ASCII bytes; an empty value removes the key. A value
    /// has up to 16 KiB; an instance has up to 256 keys and 256 KiB. The value is on disk within a second.
    pub fn set_state(&self, key: &str, value: &[u8]) -> Result<(), Refusal> {
        Refusal::result(self.service(abi::STATES, |states: &abi::States, pointer| match states.set {
            Some(set) => unsafe { set(pointer, abi::Str::of(key), abi::Bytes::of_bytes(value)) },
            None => abi::UNSUPPORTED,
        }))
    }

    /// The absolute public URL of [`Transport::receive`](crate::Transport::receive), without `/` at its end. `None`:
    /// the operator has configured no public address.
    pub fn inbound_url(&self) -> Option<String> {
        let mut url: Option<Vec<u8>> = None;
        let status = self.service(abi::INBOUND, |inbound: &abi::Inbound, pointer| match inbound.url {
            Some(lend) => unsafe { lend(pointer, take, &mut url as *mut _ as *mut c_void) },
            None => abi::UNSUPPORTED,
        });
        url.filter(|_| status == abi::OK).map(|url| String::from_utf8_lossy(&url).into_owned())
    }

    /// Makes new connections of this group (see [`Request::connection`]) authenticate with `certificates` (PEM, the
    /// client's certificate first) and the private key `key` (PEM). An error contains the reason.
    pub fn present_certificate(&self, connection: &str, certificates: &str, key: &str) -> Result<(), String> {
        let mut room = [0u8; 512];
        let mut error = abi::Error { buf: room.as_mut_ptr() as *mut _, capacity: room.len(), len: 0 };
        let status = self.service(abi::CLIENT_CERTIFICATES, |service: &abi::ClientCertificates, pointer| {
            let Some(present) = service.present else { return abi::UNSUPPORTED };
            let (word, chain) = (abi::Str::of(connection), abi::Str::of(certificates));
            unsafe { present(pointer, word, chain, abi::Str::of(key), &mut error) }
        });
        match status {
            abi::OK => Ok(()),
            abi::UNSUPPORTED => Err("this router does not support client certificates".to_owned()),
            _ => Err(String::from_utf8_lossy(&room[..error.len.min(512)]).into_owned()),
        }
    }

    pub(crate) fn complete(&self, ticket: u64, outcome: &Outcome) {
        let lent = abi::Outcome {
            struct_size: std::mem::size_of::<abi::Outcome>() as u32,
            kind: outcome.kind as i32,
            provider_status: outcome.status,
            retry_after_ms: outcome.retry_after_ms,
            reason: abi::Str::of(&outcome.reason),
            scope: outcome.scope as i32,
            reserved: 0,
        };
        self.with(|host, pointer| {
            if let Some(complete) = host.complete {
                unsafe { complete(pointer, ticket, &lent) }
            }
        });
    }
}

/// Copies a borrowed value to the `Option<Vec<u8>>` behind `context`.
unsafe extern "C" fn take(context: *mut c_void, value: abi::Bytes) {
    *(context as *mut Option<Vec<u8>>) = Some(value.slice().to_vec());
}

/// A request to a push service.
pub struct Request {
    method: &'static str,
    url: String,
    flags: u32,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    timeout_ms: u32,
    max_response_bytes: u32,
    connection: String,
}

impl Request {
    pub fn new(method: &'static str, url: impl Into<String>) -> Request {
        Request {
            method,
            url: url.into(),
            flags: 0,
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 0,
            max_response_bytes: 0,
            connection: String::new(),
        }
    }

    /// Use it for every URL from users, such as a registration's: no private addresses, no redirects.
    pub fn untrusted_url(mut self) -> Request {
        self.flags |= abi::HTTP_UNTRUSTED_URL;
        self
    }

    /// For a busy origin: keeps HTTP/2 connections open.
    pub fn multiplexed(mut self) -> Request {
        self.flags |= abi::HTTP_MULTIPLEX;
        self
    }

    /// Adds a header. The name is in lower case.
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// The time until the last byte of the response. Default: 30 s.
    pub fn timeout_ms(mut self, timeout: u32) -> Request {
        self.timeout_ms = timeout;
        self
    }

    /// The size at which the response is truncated. Default: 64 KiB.
    pub fn max_response_bytes(mut self, bytes: u32) -> Request {
        self.max_response_bytes = bytes;
        self
    }

    /// The connection group: requests of different groups never share a connection.
    pub fn connection(mut self, word: &str) -> Request {
        self.connection = word.to_owned();
        self
    }
}

/// The result of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The push service accepted the message.
    Delivered = 0,
    /// The registration no longer exists at the push service: the router removes it.
    Gone = 1,
    /// The push service will never accept this message: the router drops it.
    Rejected = 2,
    /// A transient error, or any network error.
    Retry = 3,
    /// Our credentials are bad: the router pauses the transport and alerts the operator.
    Misconfigured = 4,
}

/// The pushes that a retry delays until the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Default = 0,
    Device = 1,
    Host = 2,
    Transport = 3,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// The HTTP status, or 0.
    pub status: u32,
    /// The delay; 0: the host decides.
    pub retry_after_ms: u32,
    /// One word of a small fixed set, up to 40 of a-z, 0-9 and `-`. Default (empty): the name of the kind.
    pub reason: String,
    pub scope: Scope,
}

impl Outcome {
    pub fn new(kind: OutcomeKind, status: u32) -> Outcome {
        Outcome { kind, status, retry_after_ms: 0, reason: String::new(), scope: Scope::Default }
    }

    /// The usual meaning of a response at push services with a URL for each device: 2xx is delivered; 404 and 410
    /// remove the device; no response, 408, 429 and 5xx are retried; anything else drops the message.
    pub fn of(response: &Response<'_>) -> Outcome {
        let status = response.status();
        let kind = match status {
            200..=299 => OutcomeKind::Delivered,
            404 | 410 => OutcomeKind::Gone,
            0 | 408 | 429 => OutcomeKind::Retry,
            500.. => OutcomeKind::Retry,
            _ => OutcomeKind::Rejected,
        };
        let mut outcome = Outcome::new(kind, status.min(999));
        if kind == OutcomeKind::Retry {
            outcome.retry_after_ms = response.retry_after_ms();
        }
        if status == 0 {
            outcome.reason = response.failure().into_owned();
        }
        outcome
    }

    pub fn reason(mut self, word: &str) -> Outcome {
        self.reason = word.to_owned();
        self
    }
}
