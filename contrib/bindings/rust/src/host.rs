//! What the router does for a plugin: HTTP, the end of deliveries, its log.

use crate::abi;
use crate::guard::guarded;
use crate::message::Response;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};
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
    }

    fn with<R>(&self, body: impl FnOnce(&abi::Host, *const abi::Host) -> R) -> Option<R> {
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

    fn complete(&self, ticket: u64, outcome: &Outcome) {
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

/// A delivery that has to end: [`complete`](Ticket::complete) ends it. One that is dropped instead, as by a panic, ends
/// as [`OutcomeKind::Retry`] with the reason `plugin-failed`.
pub struct Ticket {
    number: u64,
    host: Host,
    state: Arc<AtomicU8>,
}

const ACCEPTED: u8 = 1;
const REFUSED: u8 = 2;
/// The ticket is gone without an end.
const DROPPED: u8 = 4;
const ENDED: u8 = 8;

impl Ticket {
    /// What `cancel` calls the delivery.
    pub fn number(&self) -> u64 { self.number }

    /// Ends the delivery.
    pub fn complete(self, outcome: Outcome) {
        let before = self.state.fetch_or(ENDED, Ordering::AcqRel);
        if before & (ENDED | REFUSED) == 0 {
            self.host.complete(self.number, &outcome);
        }
    }

    fn lost(number: u64, host: &Host) {
        host.complete(number, &Outcome::new(OutcomeKind::Retry, 0).reason("plugin-failed"));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let before = self.state.fetch_or(DROPPED, Ordering::AcqRel);
        if before & (ENDED | REFUSED) == 0 && before & ACCEPTED != 0 {
            Ticket::lost(self.number, &self.host);
        }
    }
}

/// The other side of a ticket: what `deliver` came to.
pub(crate) struct Admission {
    number: u64,
    host: Host,
    state: Arc<AtomicU8>,
}

impl Admission {
    pub(crate) fn open(number: u64, host: &Host) -> (Ticket, Admission) {
        let state = Arc::new(AtomicU8::new(0));
        let ticket = Ticket { number, host: host.clone(), state: state.clone() };
        (ticket, Admission { number, host: host.clone(), state })
    }

    /// What to return to the host. A delivery that has ended was accepted, whatever the plugin says.
    pub(crate) fn close(self, result: Result<(), Refusal>) -> abi::Status {
        match result {
            Ok(()) => {
                if self.state.fetch_or(ACCEPTED, Ordering::AcqRel) & (DROPPED | ENDED) == DROPPED {
                    Ticket::lost(self.number, &self.host);
                }
                abi::OK
            }
            Err(refusal) => {
                if self.state.fetch_or(REFUSED, Ordering::AcqRel) & ENDED != 0 {
                    abi::OK
                } else {
                    refusal.status()
                }
            }
        }
    }

    /// After a panic: what was handed on goes on, what was lost is tried again.
    pub(crate) fn close_after_panic(self) -> abi::Status {
        let dropped = self.state.load(Ordering::Acquire) & (DROPPED | ENDED) == DROPPED;
        self.close(if dropped { Err(Refusal::Failed) } else { Ok(()) })
    }
}
