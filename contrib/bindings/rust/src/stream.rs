//! Streams: TCP connections through the router, with or without TLS, for protocols other than HTTP.

use crate::abi;
use crate::guard::{guarded, text};
use crate::host::{Host, Refusal};
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Handles the events of a stream, in order and one call at a time, on threads of the host. A panic closes the stream.
pub trait StreamHandler: Send + 'static {
    /// The stream is connected; called again after [`Stream::start_tls`] has succeeded.
    fn opened(&mut self, _stream: &Stream) {}

    /// Up to 64 KiB per call, split anywhere.
    fn received(&mut self, stream: &Stream, bytes: &[u8]);

    /// After [`Stream::write`] returned [`Refusal::Busy`]: the buffer is empty again.
    fn drained(&mut self, _stream: &Stream) {}

    /// The last event. `failure` is empty if either side closed it, otherwise one word, such as `timeout`, `refused` or
    /// `tls`.
    fn closed(self: Box<Self>, failure: &str);
}

/// The address and options of a stream.
pub struct StreamTarget {
    host: String,
    port: u16,
    flags: u32,
    connect_timeout_ms: u32,
    idle_timeout_ms: u32,
    authorities: String,
}

impl StreamTarget {
    /// `host` is a name or an address (IPv6 without brackets).
    pub fn new(host: &str, port: u16) -> StreamTarget {
        StreamTarget {
            host: host.to_owned(),
            port,
            flags: 0,
            connect_timeout_ms: 0,
            idle_timeout_ms: 0,
            authorities: String::new(),
        }
    }

    /// Uses TLS from the first byte.
    pub fn tls(mut self) -> StreamTarget {
        self.flags |= abi::STREAM_TLS;
        self
    }

    /// Use it for every host from users: no private addresses.
    pub fn untrusted_host(mut self) -> StreamTarget {
        self.flags |= abi::STREAM_UNTRUSTED_HOST;
        self
    }

    /// The time until `opened`, up to 60 s. Default: 30 s.
    pub fn connect_timeout(mut self, time: Duration) -> StreamTarget {
        self.connect_timeout_ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        self
    }

    /// The time without a byte in either direction, up to an hour. Default: 5 minutes.
    pub fn idle_timeout(mut self, time: Duration) -> StreamTarget {
        self.idle_timeout_ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        self
    }

    /// The CA certificates (PEM) to trust instead of the system's.
    pub fn authorities(mut self, pem: &str) -> StreamTarget {
        self.authorities = pem.to_owned();
        self
    }
}

/// An open stream. Clones are the same stream; it stays open after they are dropped, and ends with the instance.
#[derive(Clone)]
pub struct Stream {
    host: Host,
    /// The host writes it before the first event.
    number: Arc<AtomicU64>,
}

impl Stream {
    /// Copies the bytes and sends them in the order of the calls; until `opened` they are buffered. Busy: none were
    /// taken, because more than 1 MiB would be buffered. Invalid: there are more than 1 MiB, or the stream is closed.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Refusal> {
        self.call(|streams, host, number| match streams.write {
            Some(write) => unsafe { write(host, number, abi::Bytes::of_bytes(bytes)) },
            None => abi::UNSUPPORTED,
        })
    }

    /// Starts TLS after all written bytes are sent (STARTTLS). Discard unread bytes received before.
    pub fn start_tls(&self) -> Result<(), Refusal> {
        self.call(|streams, host, number| match streams.start_tls {
            Some(start_tls) => unsafe { start_tls(host, number) },
            None => abi::UNSUPPORTED,
        })
    }

    /// Sends buffered bytes for up to 5 s, then closes the stream; `closed` follows.
    pub fn close(&self) -> Result<(), Refusal> {
        self.call(|streams, host, number| match streams.close {
            Some(close) => unsafe { close(host, number) },
            None => abi::UNSUPPORTED,
        })
    }

    fn call(&self, body: impl FnOnce(&abi::Streams, *const abi::Host, u64) -> abi::Status) -> Result<(), Refusal> {
        let number = self.number.load(Ordering::Acquire);
        Refusal::result(self.host.service(abi::STREAMS, |streams, host| body(streams, host, number)))
    }
}

/// The context of a stream's events.
struct Context {
    stream: Stream,
    handler: Box<dyn StreamHandler>,
}

impl Context {
    unsafe fn event(context: *mut c_void, body: impl FnOnce(&mut dyn StreamHandler, &Stream)) {
        let Context { stream, handler } = &mut *(context as *mut Context);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(handler.as_mut(), stream))) {
            std::mem::forget(panic);
            let _ = stream.close();
        }
    }
}

unsafe extern "C" fn opened(context: *mut c_void) { Context::event(context, |handler, stream| handler.opened(stream)) }

unsafe extern "C" fn received(context: *mut c_void, bytes: abi::Bytes) {
    Context::event(context, |handler, stream| handler.received(stream, bytes.slice()))
}

unsafe extern "C" fn drained(context: *mut c_void) { Context::event(context, |handler, stream| handler.drained(stream)) }

unsafe extern "C" fn closed(context: *mut c_void, failure: abi::Str) {
    let Context { stream, handler } = *Box::from_raw(context as *mut Context);
    guarded((), || handler.closed(&text(failure)));
    drop(stream);
}

impl Host {
    /// Opens a stream. After `Ok` the handler's `closed` is called exactly once; otherwise the handler is never called.
    /// Busy: the instance has 256 streams, or is being shut down.
    pub fn open_stream(&self, target: StreamTarget, handler: impl StreamHandler) -> Result<Stream, Refusal> {
        let stream = Stream { host: self.clone(), number: Arc::new(AtomicU64::new(0)) };
        let lent = abi::StreamTarget {
            struct_size: std::mem::size_of::<abi::StreamTarget>() as u32,
            flags: target.flags,
            host: abi::Str::of(&target.host),
            port: target.port.into(),
            connect_timeout_ms: target.connect_timeout_ms,
            idle_timeout_ms: target.idle_timeout_ms,
            reserved: 0,
            authorities: abi::Str::of(&target.authorities),
        };
        let events = abi::StreamEvents {
            struct_size: std::mem::size_of::<abi::StreamEvents>() as u32,
            reserved: 0,
            opened: Some(opened),
            received: Some(received),
            drained: Some(drained),
            closed: Some(closed),
        };
        let context = Box::into_raw(Box::new(Context { stream: stream.clone(), handler: Box::new(handler) }));
        let status = self.service(abi::STREAMS, |streams: &abi::Streams, pointer| match streams.open {
            Some(open) => unsafe {
                open(pointer, &lent, &events, context as *mut c_void, stream.number.as_ptr())
            },
            None => abi::UNSUPPORTED,
        });
        match Refusal::of(status) {
            None => Ok(stream),
            Some(refusal) => {
                let context = unsafe { Box::from_raw(context) };
                guarded((), || drop(context));
                Err(refusal)
            }
        }
    }
}
