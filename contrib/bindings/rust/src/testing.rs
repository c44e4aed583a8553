//! A router for tests, which sends nothing and gives the responses that a test prepares.
//!
//! ```ignore
//! let bench = TransportBench::<Pager>::new("{}").unwrap();
//! let delivery = bench.deliver(&Message { title: "Hello".into(), ..Message::default() }, &Answer::status(201));
//! assert_eq!(delivery.outcome.unwrap().kind, OutcomeKind::Delivered);
//! ```

use crate::abi;
use crate::guard::text;
use crate::host::{Outcome, OutcomeKind, Refusal, Scope};
use crate::message::list;
pub use crate::testing_services::{Incoming, PlayedStream, Replied};
use crate::testing_services::{query, Played};
use crate::{Filter, Transport};
use std::ffi::c_void;
use std::sync::Mutex;

/// A notification and its device.
#[derive(Clone, Debug)]
pub struct Message {
    pub token: String,
    pub fields: Vec<(String, String)>,
    /// 0: wake, 1: nudge, 2: sealed, 3: alert.
    pub mode: i32,
    pub count: u32,
    pub id: String,
    pub signal: String,
    pub title: String,
    pub body: String,
    pub url: String,
    pub data: String,
    pub native: String,
}

impl Default for Message {
    fn default() -> Message {
        Message {
            token: "https://push.example/device".into(),
            fields: Vec::new(),
            mode: 3,
            count: 1,
            id: "0b5e7c9e-93a4-4b1f-8a35-6d6a3a3ad8a5".into(),
            signal: "dm".into(),
            title: String::new(),
            body: String::new(),
            url: String::new(),
            data: String::new(),
            native: String::new(),
        }
    }
}

/// The response of a push service.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// 0: there is no response.
    pub status: u32,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub failure: String,
}

impl Answer {
    pub fn status(status: u32) -> Answer { Answer { status, ..Answer::default() } }

    pub fn failure(word: &str) -> Answer { Answer { failure: word.into(), ..Answer::default() } }
}

/// A request as received by the host.
#[derive(Clone, Debug)]
pub struct SentRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub is_untrusted_url: bool,
}

/// The result of a delivery.
#[derive(Debug)]
pub struct Delivery {
    pub refusal: Option<Refusal>,
    pub requests: Vec<SentRequest>,
    /// The outcome, if the delivery ended.
    pub outcome: Option<Outcome>,
    /// How often it ended, which must be once.
    pub endings: usize,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) services: Played,
    requests: Vec<SentRequest>,
    pending: Vec<(abi::HttpDone, usize)>,
    outcomes: Vec<(u64, Outcome)>,
    lines: Vec<String>,
    is_busy: bool,
}

/// A host and an instance of a transport on it.
pub struct TransportBench<T: Transport> {
    pub(crate) instance: *mut c_void,
    // Boxed, because the instance keeps pointers to them.
    _host: Box<abi::Host>,
    state: Box<Mutex<State>>,
    kind: std::marker::PhantomData<T>,
}

fn host(state: &Mutex<State>) -> Box<abi::Host> {
    Box::new(abi::Host {
        struct_size: std::mem::size_of::<abi::Host>() as u32,
        abi_minor: abi::MINOR,
        host_data: state as *const Mutex<State> as *mut c_void,
        log: Some(log),
        complete: Some(complete),
        http_request: Some(http_request),
        query: Some(query),
    })
}

pub(crate) unsafe fn with<R>(host: *const abi::Host, body: impl FnOnce(&mut State) -> R) -> R {
    let state = &*((*host).host_data as *const Mutex<State>);
    body(&mut state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

unsafe extern "C" fn log(host: *const abi::Host, _level: i32, message: abi::Str) {
    with(host, |state| state.lines.push(text(message).into_owned()));
}

unsafe extern "C" fn complete(host: *const abi::Host, ticket: u64, outcome: *const abi::Outcome) {
    let outcome = abi::adopt(outcome);
    let kind = match outcome.kind {
        0 => OutcomeKind::Delivered,
        1 => OutcomeKind::Gone,
        2 => OutcomeKind::Rejected,
        3 => OutcomeKind::Retry,
        _ => OutcomeKind::Misconfigured,
    };
    let scope = match outcome.scope {
        1 => Scope::Device,
        2 => Scope::Host,
        3 => Scope::Transport,
        _ => Scope::Default,
    };
    let outcome = Outcome {
        kind,
        status: outcome.provider_status,
        retry_after_ms: outcome.retry_after_ms,
        reason: text(outcome.reason).into_owned(),
        scope,
    };
    with(host, |state| state.outcomes.push((ticket, outcome)));
}

unsafe extern "C" fn http_request(
    host: *const abi::Host,
    request: *const abi::HttpRequest,
    done: abi::HttpDone,
    context: *mut c_void,
) -> abi::Status {
    let request = abi::adopt(request);
    with(host, |state| {
        if state.is_busy {
            return abi::BUSY;
        }
        let headers = list(request.headers, request.header_count);
        state.requests.push(SentRequest {
            method: text(request.method).into_owned(),
            url: text(request.url).into_owned(),
            headers: headers
                .iter()
                .map(|header| (text(header.name).into_owned(), text(header.value).into_owned()))
                .collect(),
            body: text(request.body).into_owned(),
            is_untrusted_url: request.flags & abi::HTTP_UNTRUSTED_URL != 0,
        });
        state.pending.push((done, context as usize));
        abi::OK
    })
}

pub(crate) fn fields(pairs: &[(String, String)]) -> Vec<abi::Field> {
    pairs.iter().map(|(name, value)| abi::Field { name: abi::Str::of(name), value: abi::Str::of(value) }).collect()
}

/// Runs a call that may write an error; returns its text.
fn in_words(body: impl FnOnce(*mut abi::Error) -> abi::Status) -> Result<(), String> {
    let mut room = [0u8; 512];
    let mut error = abi::Error { buf: room.as_mut_ptr() as *mut _, capacity: room.len(), len: 0 };
    if body(&mut error) == abi::OK {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&room[..error.len.min(512)]).into_owned())
}

impl<T: Transport> TransportBench<T> {
    /// Makes an instance with this configuration, a JSON object. Returns the error if it is rejected.
    pub fn new(config: &str) -> Result<Self, String> {
        let state = Box::new(Mutex::new(State::default()));
        let host = host(&state);
        let mut instance = std::ptr::null_mut();
        in_words(|error| match crate::transport::table::<T>().create {
            Some(create) => unsafe { create(&*host, abi::Str::of(config), &mut instance, error) },
            None => abi::UNSUPPORTED,
        })?;
        Ok(TransportBench { instance, _host: host, state, kind: std::marker::PhantomData })
    }

    pub fn validate(&self, message: &Message) -> Result<(), String> {
        let fields = fields(&message.fields);
        let registration = registration(message, &fields);
        in_words(|error| match crate::transport::table::<T>().validate {
            Some(validate) => unsafe { validate(self.instance, &registration, error) },
            None => abi::OK,
        })
    }

    /// Delivers a message, and gives `answer` to all requests.
    pub fn deliver(&self, message: &Message, answer: &Answer) -> Delivery {
        let ticket = 1 << 40;
        let fields_of_registration = fields(&message.fields);
        let registration = registration(message, &fields_of_registration);
        let notification = notification(message);
        let status = match crate::transport::table::<T>().deliver {
            Some(deliver) => unsafe { deliver(self.instance, ticket, &registration, &notification) },
            None => abi::UNSUPPORTED,
        };
        let headers = fields(&answer.headers);
        let response = abi::HttpResponse {
            struct_size: std::mem::size_of::<abi::HttpResponse>() as u32,
            status: answer.status,
            headers: headers.as_ptr(),
            header_count: headers.len(),
            body: abi::Bytes::of_bytes(&answer.body),
            failure: abi::Str::of(&answer.failure),
        };
        loop {
            let next = self.lock().pending.pop();
            let Some((done, context)) = next else { break };
            unsafe { done(context as *mut c_void, &response) };
        }
        let mut state = self.lock();
        let outcomes: Vec<_> = state.outcomes.drain(..).collect();
        Delivery {
            refusal: Refusal::of(status),
            requests: state.requests.drain(..).collect(),
            endings: outcomes.len(),
            outcome: outcomes.into_iter().next().map(|(_, outcome)| outcome),
        }
    }

    /// Delivers several messages in one call, with the tickets 0, 1, ... If the plugin refuses them, no ticket ends.
    pub fn deliver_many(&self, messages: &[Message]) -> Result<(), Refusal> {
        let fields: Vec<Vec<abi::Field>> = messages.iter().map(|message| fields(&message.fields)).collect();
        let registrations: Vec<_> =
            messages.iter().zip(&fields).map(|(message, fields)| registration(message, fields)).collect();
        let notifications: Vec<_> = messages.iter().map(notification).collect();
        let deliveries: Vec<abi::Delivery> = registrations
            .iter()
            .zip(&notifications)
            .enumerate()
            .map(|(ticket, (registration, notification))| abi::Delivery {
                struct_size: std::mem::size_of::<abi::Delivery>() as u32,
                reserved: 0,
                ticket: ticket as u64,
                registration,
                notification,
            })
            .collect();
        let pointers: Vec<*const abi::Delivery> = deliveries.iter().map(|delivery| delivery as *const _).collect();
        Refusal::result(match crate::transport::table::<T>().deliver_many {
            Some(deliver_many) => unsafe { deliver_many(self.instance, pointers.as_ptr(), pointers.len()) },
            None => abi::UNSUPPORTED,
        })
    }

    /// Returns the outcomes since the last call, with their tickets.
    pub fn outcomes(&self) -> Vec<(u64, Outcome)> { self.lock().outcomes.drain(..).collect() }

    /// Sets whether the host refuses requests.
    pub fn set_busy(&self, is_busy: bool) { self.lock().is_busy = is_busy; }

    /// The lines that the plugin logged.
    pub fn log(&self) -> Vec<String> { self.lock().lines.clone() }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T: Transport> Drop for TransportBench<T> {
    fn drop(&mut self) {
        self.end_services();
        if let Some(destroy) = crate::transport::table::<T>().destroy {
            unsafe { destroy(self.instance) }
        }
    }
}

fn registration(message: &Message, fields: &[abi::Field]) -> abi::Registration {
    abi::Registration {
        struct_size: std::mem::size_of::<abi::Registration>() as u32,
        reserved: 0,
        token: abi::Str::of(&message.token),
        fields: fields.as_ptr(),
        field_count: fields.len(),
        registered_unix_ms: 1_700_000_000_000,
    }
}

fn notification(message: &Message) -> abi::Notification {
    let mut notification: abi::Notification = unsafe { std::mem::zeroed() };
    notification.struct_size = std::mem::size_of::<abi::Notification>() as u32;
    notification.mode = message.mode;
    notification.urgency = 1;
    notification.count = message.count;
    notification.id = abi::Str::of(&message.id);
    notification.signal = abi::Str::of(&message.signal);
    notification.title = abi::Str::of(&message.title);
    notification.body = abi::Str::of(&message.body);
    notification.url = abi::Str::of(&message.url);
    notification.data = abi::Str::of(&message.data);
    notification.native = abi::Str::of(&message.native);
    notification
}

/// A filter's decision about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Passed,
    /// Dropped with this reason.
    Dropped(String),
    /// The filter returned an error.
    Undecided,
}

/// Calls a filter with these settings and an event, both in JSON. Returns the error if the settings are rejected.
pub fn decide<F: Filter>(config: &str, event: &str) -> Result<Decision, String> {
    unsafe extern "C" fn set(edit: *mut c_void, field: abi::Str, value: abi::Bytes) -> abi::Status {
        let sets = &mut *(edit as *mut Vec<(String, String)>);
        sets.push((text(field).into_owned(), text(value).into_owned()));
        abi::OK
    }

    let state = Box::new(Mutex::new(State::default()));
    let host = host(&state);
    let table = crate::filter::table::<F>();
    let mut instance = std::ptr::null_mut();
    in_words(|error| match table.create {
        Some(create) => unsafe { create(&*host, abi::Str::of(config), &mut instance, error) },
        None => abi::UNSUPPORTED,
    })?;
    let mut sets: Vec<(String, String)> = Vec::new();
    let mut call: abi::FilterCall = unsafe { std::mem::zeroed() };
    call.struct_size = std::mem::size_of::<abi::FilterCall>() as u32;
    call.event = abi::Str::of(event);
    call.signal = abi::Str::of("mention");
    call.edit = &mut sets as *mut _ as *mut c_void;
    call.set = Some(set);
    let mut verdict = 0;
    let status = table.decide.map_or(abi::FAILED, |decide| unsafe { decide(instance, &call, &mut verdict) });
    if let Some(destroy) = table.destroy {
        unsafe { destroy(instance) }
    }
    if status != abi::OK {
        return Ok(Decision::Undecided);
    }
    if verdict == 0 {
        return Ok(Decision::Passed);
    }
    let reason = sets.into_iter().filter(|(field, _)| field == "reason").map(|(_, value)| value).next_back();
    Ok(Decision::Dropped(reason.unwrap_or_default()))
}
