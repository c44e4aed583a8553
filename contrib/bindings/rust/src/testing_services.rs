//! The router's services for tests: a test fires timers, and acts as the peer of streams.

use crate::abi;
use crate::guard::text;
use crate::host::Refusal;
use crate::message::list;
use crate::testing::{fields, with, TransportBench};
use crate::Transport;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::time::Duration;

/// A request from outside.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// The response to a request from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replied {
    pub status: u32,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A stream from the peer's point of view.
#[derive(Clone, Debug, Default)]
pub struct PlayedStream {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    pub is_untrusted_host: bool,
    /// All bytes that the plugin has written.
    pub sent: Vec<u8>,
    /// Whether the plugin has asked to close it.
    pub is_closing: bool,
}

struct PlayedTimer {
    fired: abi::TimerFired,
    context: usize,
    after: Duration,
    is_once: bool,
}

struct Open {
    stream: PlayedStream,
    events: abi::StreamEvents,
    context: usize,
}

/// The state of the services.
#[derive(Default)]
pub(crate) struct Played {
    last: u64,
    timers: BTreeMap<u64, PlayedTimer>,
    state: BTreeMap<String, Vec<u8>>,
    streams: BTreeMap<u64, Open>,
    inbound_url: Option<String>,
}

impl<T: Transport> TransportBench<T> {
    /// The delays of all timers until they first fire, shortest first.
    pub fn timers(&self) -> Vec<Duration> {
        let mut times: Vec<Duration> = self.lock().services.timers.values().map(|timer| timer.after).collect();
        times.sort();
        times
    }

    /// Fires all timers once.
    pub fn fire_timers(&self) {
        let timers: Vec<(u64, abi::TimerFired, usize)> =
            self.lock().services.timers.iter().map(|(number, timer)| (*number, timer.fired, timer.context)).collect();
        for (number, fired, context) in timers {
            let is_there = {
                let timers = &mut self.lock().services.timers;
                let is_once = timers.get(&number).map(|timer| timer.is_once);
                if is_once == Some(true) {
                    timers.remove(&number);
                }
                is_once.is_some()
            };
            if is_there {
                unsafe { fired(context as *mut c_void) }
            }
        }
    }

    /// Returns the value stored under a key.
    pub fn state(&self, key: &str) -> Option<Vec<u8>> { self.lock().services.state.get(key).cloned() }

    /// Sets the plugin's public URL.
    pub fn set_inbound_url(&self, url: &str) { self.lock().services.inbound_url = Some(url.to_owned()); }

    /// The open streams, by number.
    pub fn streams(&self) -> BTreeMap<u64, PlayedStream> {
        self.lock().services.streams.iter().map(|(number, open)| (*number, open.stream.clone())).collect()
    }

    /// Signals that the stream is connected, or its TLS is established.
    pub fn stream_opens(&self, number: u64) {
        if let Some((abi::StreamEvents { opened: Some(opened), .. }, context)) = self.events(number) {
            unsafe { opened(context) }
        }
    }

    /// Sends bytes from the peer.
    pub fn stream_sends(&self, number: u64, bytes: &[u8]) {
        if let Some((abi::StreamEvents { received: Some(received), .. }, context)) = self.events(number) {
            unsafe { received(context, abi::Bytes::of_bytes(bytes)) }
        }
    }

    /// Ends the stream; `failure` is empty if either side closed it.
    pub fn stream_ends(&self, number: u64, failure: &str) {
        let open = self.lock().services.streams.remove(&number);
        if let Some(Open { events: abi::StreamEvents { closed: Some(closed), .. }, context, .. }) = open {
            unsafe { closed(context as *mut c_void, abi::Str::of(failure)) }
        }
    }

    /// Sends a request from outside. `Ok`: the response given before `receive` returned, if any.
    pub fn receive(&self, request: &Incoming) -> Result<Option<Replied>, Refusal> {
        unsafe extern "C" fn done(context: *mut c_void, answer: *const abi::InboundAnswer) {
            let answer = abi::adopt(answer);
            let headers = list(answer.headers, answer.header_count);
            let headers =
                headers.iter().map(|each| (text(each.name).into_owned(), text(each.value).into_owned())).collect();
            let body = answer.body.slice().to_vec();
            *(context as *mut Option<Replied>) = Some(Replied { status: answer.status, headers, body });
        }

        let headers = fields(&request.headers);
        let lent = abi::InboundRequest {
            struct_size: std::mem::size_of::<abi::InboundRequest>() as u32,
            reserved: 0,
            method: abi::Str::of(&request.method),
            path: abi::Str::of(&request.path),
            query: abi::Str::of(&request.query),
            headers: headers.as_ptr(),
            header_count: headers.len(),
            body: abi::Bytes::of_bytes(&request.body),
        };
        // Leaked, so that a late response is still safe: tests are short.
        let replied: &'static mut Option<Replied> = Box::leak(Box::new(None));
        let status = match crate::transport::table::<T>().receive {
            Some(receive) => unsafe { receive(self.instance, &lent, done, replied as *mut _ as *mut c_void) },
            None => abi::UNSUPPORTED,
        };
        Refusal::result(status).map(|()| replied.clone())
    }

    fn events(&self, number: u64) -> Option<(abi::StreamEvents, *mut c_void)> {
        self.lock().services.streams.get(&number).map(|open| (open.events, open.context as *mut c_void))
    }

    /// Ends the services as before the instance is destroyed: closes streams, and drops timers silently.
    pub(crate) fn end_services(&self) {
        self.lock().services.timers.clear();
        for number in self.streams().into_keys() {
            self.stream_ends(number, "shut-down");
        }
    }
}

pub(crate) unsafe extern "C" fn query(_host: *const abi::Host, service: abi::Str) -> *const c_void {
    fn lent<T>(table: &'static T) -> *const c_void { table as *const T as *const c_void }

    match text(service).as_ref() {
        abi::TIMERS => lent(&TIMERS),
        abi::STATES => lent(&STATES),
        abi::STREAMS => lent(&STREAMS),
        abi::INBOUND => lent(&INBOUND),
        _ => std::ptr::null(),
    }
}

static TIMERS: abi::Timers = abi::Timers {
    struct_size: std::mem::size_of::<abi::Timers>() as u32,
    reserved: 0,
    start: Some(start_timer),
    cancel: Some(cancel_timer),
};
static STATES: abi::States = abi::States {
    struct_size: std::mem::size_of::<abi::States>() as u32,
    reserved: 0,
    get: Some(get_state),
    set: Some(set_state),
};
static STREAMS: abi::Streams = abi::Streams {
    struct_size: std::mem::size_of::<abi::Streams>() as u32,
    reserved: 0,
    open: Some(open_stream),
    write: Some(write_stream),
    start_tls: Some(start_tls),
    close: Some(close_stream),
};
static INBOUND: abi::Inbound =
    abi::Inbound { struct_size: std::mem::size_of::<abi::Inbound>() as u32, reserved: 0, url: Some(inbound_url) };

unsafe extern "C" fn start_timer(
    host: *const abi::Host,
    after_ms: u64,
    every_ms: u64,
    fired: abi::TimerFired,
    context: *mut c_void,
    timer: *mut u64,
) -> abi::Status {
    with(host, |state| {
        let played = &mut state.services;
        played.last += 1;
        *timer = played.last;
        let after = Duration::from_millis(after_ms);
        let timer = PlayedTimer { fired, context: context as usize, after, is_once: every_ms == 0 };
        played.timers.insert(played.last, timer);
        abi::OK
    })
}

unsafe extern "C" fn cancel_timer(host: *const abi::Host, timer: u64) -> abi::Status {
    with(host, |state| if state.services.timers.remove(&timer).is_some() { abi::OK } else { abi::INVALID })
}

unsafe extern "C" fn get_state(
    host: *const abi::Host,
    key: abi::Str,
    value: abi::ValueTaker,
    context: *mut c_void,
) -> abi::Status {
    let kept = with(host, |state| state.services.state.get(text(key).as_ref()).cloned());
    let Some(kept) = kept else { return abi::INVALID };
    value(context, abi::Bytes::of_bytes(&kept));
    abi::OK
}

unsafe extern "C" fn set_state(host: *const abi::Host, key: abi::Str, value: abi::Bytes) -> abi::Status {
    with(host, |state| {
        let (key, value) = (text(key).into_owned(), value.slice());
        if key.is_empty() || key.len() > 64 || value.len() > 16 << 10 {
            return abi::INVALID;
        }
        if value.is_empty() {
            state.services.state.remove(&key);
        } else {
            state.services.state.insert(key, value.to_vec());
        }
        abi::OK
    })
}

unsafe extern "C" fn inbound_url(host: *const abi::Host, value: abi::ValueTaker, context: *mut c_void) -> abi::Status {
    let Some(url) = with(host, |state| state.services.inbound_url.clone()) else { return abi::UNSUPPORTED };
    value(context, abi::Str::of(&url));
    abi::OK
}

unsafe extern "C" fn open_stream(
    host: *const abi::Host,
    target: *const abi::StreamTarget,
    events: *const abi::StreamEvents,
    context: *mut c_void,
    stream: *mut u64,
) -> abi::Status {
    let (target, events) = (abi::adopt(target), abi::adopt(events));
    let Ok(port @ 1..) = u16::try_from(target.port) else { return abi::INVALID };
    with(host, |state| {
        let played = &mut state.services;
        played.last += 1;
        *stream = played.last;
        let opened = PlayedStream {
            host: text(target.host).into_owned(),
            port,
            is_tls: target.flags & abi::STREAM_TLS != 0,
            is_untrusted_host: target.flags & abi::STREAM_UNTRUSTED_HOST != 0,
            ..PlayedStream::default()
        };
        played.streams.insert(played.last, Open { stream: opened, events, context: context as usize });
        abi::OK
    })
}

unsafe fn use_stream(host: *const abi::Host, stream: u64, body: impl FnOnce(&mut PlayedStream) -> bool) -> abi::Status {
    with(host, |state| {
        let open = state.services.streams.get_mut(&stream).filter(|open| !open.stream.is_closing);
        if open.is_some_and(|open| body(&mut open.stream)) { abi::OK } else { abi::INVALID }
    })
}

unsafe extern "C" fn write_stream(host: *const abi::Host, stream: u64, bytes: abi::Bytes) -> abi::Status {
    use_stream(host, stream, |played| {
        played.sent.extend_from_slice(bytes.slice());
        true
    })
}

unsafe extern "C" fn start_tls(host: *const abi::Host, stream: u64) -> abi::Status {
    use_stream(host, stream, |played| !std::mem::replace(&mut played.is_tls, true))
}

unsafe extern "C" fn close_stream(host: *const abi::Host, stream: u64) -> abi::Status {
    use_stream(host, stream, |played| {
        played.is_closing = true;
        true
    })
}
