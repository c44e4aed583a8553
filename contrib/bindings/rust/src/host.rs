//! What the router does for a plugin: HTTP, its log, and services by name.

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

/// Why a call was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A bad argument, configuration or registration. The notification is dropped.
    Invalid,
    /// Not now: it is tried again.
    Busy,
    /// Not this mode, or not this command.
    Unsupported,
    /// It is tried again.
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

/// The router, for one instance. Copies are cheap; after the instance is gone they do nothing.
#[derive(Clone)]
pub struct Host(Arc<RwLock<Option<Pointer>>>);

#[derive(Clone, Copy)]
struct Pointer(*const abi::Host);
// Every function of the host may be called from any thread.
unsafe impl Send for Pointer {}
unsafe impl Sync for Pointer {}

impl Host {
    pub(crate) fn new(pointer: *const abi::Host) -> Host { Host(Arc::new(RwLock::new(Some(Pointer(pointer))))) }

    /// The pointer is invalid from now on.
    pub(crate) fn close(&self) {
        *self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        crate::timer::forget(self.identity());
    }

    /// What no other instance in this process has as long as this one is there.
    pub(crate) fn identity(&self) -> usize { Arc::as_ptr(&self.0) as usize }

    /// Calls a function of a service with its table. UNSUPPORTED: the router does not offer it. BUSY: the instance is gone.
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

    /// One line. Never log tokens, keys or payloads.
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

    /// Whether the router offers a service, such as [`abi::STREAMS`]; the words are for `create` of a plugin that cannot do
    /// without.
    pub fn require(&self, service: &str) -> Result<(), String> {
        match self.service(service, |_: &abi::Service, _| abi::OK) {
            abi::OK => Ok(()),
            _ => Err(format!("this router is too old for the plugin: it does not offer {service}")),
        }
    }

    /// What is kept for this instance under a key, also when it or the router was started anew. `None`: nothing.
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        let mut kept: Option<Vec<u8>> = None;
        let status = self.service(abi::STATES, |states: &abi::States, pointer| match states.get {
            Some(get) => unsafe { get(pointer, abi::Str::of(key), take, &mut kept as *mut _ as *mut c_void) },
            None => abi::UNSUPPORTED,
        });
        kept.filter(|_| status == abi::OK)
    }

    /// Keeps a value, encrypted, under a key of 1 to 64 printable ASCII bytes; an empty one removes the key. A value has at
    /// most 16 KiB; an instance has at most 256 keys and 256 KiB. The disk has it within a second.
    pub fn set_state(&self, key: &str, value: &[u8]) -> Result<(), Refusal> {
        Refusal::result(self.service(abi::STATES, |states: &abi::States, pointer| match states.set {
            Some(set) => unsafe { set(pointer, abi::Str::of(key), abi::Bytes::of_bytes(value)) },
            None => abi::UNSUPPORTED,
        }))
    }

    /// The absolute URL under which [`Transport::receive`](crate::Transport::receive) is reached, without `/` at its end.
    /// `None`: nothing reaches it, as the operator has set no public address.
    pub fn inbound_url(&self) -> Option<String> {
        let mut url: Option<Vec<u8>> = None;
        let status = self.service(abi::INBOUND, |inbound: &abi::Inbound, pointer| match inbound.url {
            Some(lend) => unsafe { lend(pointer, take, &mut url as *mut _ as *mut c_void) },
            None => abi::UNSUPPORTED,
        });
        url.filter(|_| status == abi::OK).map(|url| String::from_utf8_lossy(&url).into_owned())
    }

    /// From now on new connections of this word (see [`Request::connection`]) present `certificates` (PEM, the own one
    /// first) and prove to hold `key` (PEM). An error says why that cannot be.
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
            abi::UNSUPPORTED => Err("this router has no client certificates".to_owned()),
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

/// Copies a value that the host lends to the `Option<Vec<u8>>` behind `context`.
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

    /// For every URL that comes from users, as a registration's does: no private addresses, no redirects.
    pub fn untrusted_url(mut self) -> Request {
        self.flags |= abi::HTTP_UNTRUSTED_URL;
        self
    }

    /// For a busy origin: keeps HTTP/2 connections to it.
    pub fn multiplexed(mut self) -> Request {
        self.flags |= abi::HTTP_MULTIPLEX;
        self
    }

    /// The name is written in lower case.
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// To the last byte of the answer; without it 30 s.
    pub fn timeout_ms(mut self, timeout: u32) -> Request {
        self.timeout_ms = timeout;
        self
    }

    /// The rest of the answer is cut off; without it 64 KiB.
    pub fn max_response_bytes(mut self, bytes: u32) -> Request {
        self.max_response_bytes = bytes;
        self
    }

    /// Requests with different words never share a connection.
    pub fn connection(mut self, word: &str) -> Request {
        self.connection = word.to_owned();
        self
    }
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The push service accepted the message.
    Delivered = 0,
    /// The push service says that this registration is dead: forget it.
    Gone = 1,
    /// This message can never be accepted: drop it.
    Rejected = 2,
    /// Transient, and every network error.
    Retry = 3,
    /// Our credentials are bad: pause the transport, tell a human.
    Misconfigured = 4,
}

/// What a retry holds up until the next attempt.
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
    /// 0: the host decides.
    pub retry_after_ms: u32,
    /// One word of a small fixed set, at most 40 of a-z, 0-9 and `-`. Empty: the kind's own name.
    pub reason: String,
    pub scope: Scope,
}

impl Outcome {
    pub fn new(kind: OutcomeKind, status: u32) -> Outcome {
        Outcome { kind, status, retry_after_ms: 0, reason: String::new(), scope: Scope::Default }
    }

    /// What the answer means on most push services that have a URL for each device: 2xx is delivered; 404 and 410 forget
    /// the device; no answer, 408, 429 and 5xx are tried again; anything else drops the message.
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
