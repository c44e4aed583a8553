//! The arguments of a plugin: the device, the notification, the response of a push service.

use crate::abi;
use crate::guard::text;
use std::borrow::Cow;
use std::marker::PhantomData;

/// How much the push service may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Only that something happened: signal and count.
    Wake,
    /// A neutral visible text.
    Nudge,
    /// Everything, encrypted to the device.
    Sealed,
    /// Everything, readable by the push service.
    Alert,
    /// A mode of a newer host: return [`Refusal::Unsupported`](crate::Refusal).
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    Low,
    Normal,
    High,
}

/// One device, as its owner registered it. All fields are secret.
pub struct Registration<'a> {
    abi: abi::Registration,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Registration<'a> {
    pub(crate) unsafe fn new(pointer: *const abi::Registration) -> Self {
        Registration { abi: abi::adopt(pointer), lifetime: PhantomData }
    }

    /// The device token or the endpoint's URL.
    pub fn token(&self) -> Cow<'a, str> { unsafe { text(self.abi.token) } }

    /// Returns the field of that name, such as `p256dh`.
    pub fn field(&self, name: &str) -> Option<Cow<'a, str>> {
        let fields = unsafe { list(self.abi.fields, self.abi.field_count) };
        fields.iter().find(|field| unsafe { field.name.slice() } == name.as_bytes()).map(|field| unsafe { text(field.value) })
    }

    /// In milliseconds since 1970. A "gone" older than this does not apply to the registration.
    pub fn registered_unix_ms(&self) -> u64 { self.abi.registered_unix_ms }
}

/// A button.
pub struct Action<'a> {
    pub id: Cow<'a, str>,
    pub label: Cow<'a, str>,
    /// May be empty.
    pub url: Cow<'a, str>,
    /// May be empty.
    pub icon: Cow<'a, str>,
}

/// A notification, independent of the platform. Unset texts are empty.
pub struct Notification<'a> {
    abi: abi::Notification,
    lifetime: PhantomData<&'a ()>,
}

macro_rules! texts {
    ($($(#[$meta:meta])* $name:ident,)*) => {
        $($(#[$meta])* pub fn $name(&self) -> Cow<'a, str> { unsafe { text(self.abi.$name) } })*
    };
}

impl<'a> Notification<'a> {
    pub(crate) unsafe fn new(pointer: *const abi::Notification) -> Self {
        Notification { abi: abi::adopt(pointer), lifetime: PhantomData }
    }

    pub fn mode(&self) -> Mode {
        match self.abi.mode {
            0 => Mode::Wake,
            1 => Mode::Nudge,
            2 => Mode::Sealed,
            3 => Mode::Alert,
            _ => Mode::Unknown,
        }
    }

    pub fn urgency(&self) -> Urgency {
        match self.abi.urgency {
            0 => Urgency::Low,
            2 => Urgency::High,
            _ => Urgency::Normal,
        }
    }

    /// The number of events; more than 1: a batch.
    pub fn count(&self) -> u32 { self.abi.count }

    texts! {
        /// A UUID, the same on every attempt.
        id,
        /// `dm`, `mention`, ...
        signal,
        title,
        subtitle,
        body,
        category,
        thread,
        collapse_key,
        url,
        /// A JSON object: custom keys for the app.
        data,
        /// A JSON object: this platform's block of the rule.
        native,
        /// A JSON object: the envelope for the app. [`Mode::Sealed`] only.
        sealed,
    }

    pub fn actions(&self) -> Vec<Action<'a>> {
        let pointers = unsafe { list(self.abi.actions, self.abi.action_count) };
        pointers
            .iter()
            .map(|pointer| unsafe {
                let action = abi::adopt(*pointer);
                Action { id: text(action.id), label: text(action.label), url: text(action.url), icon: text(action.icon) }
            })
            .collect()
    }

    /// When the notification expires, in milliseconds since 1970. None: the transport's default.
    pub fn expires_unix_ms(&self) -> Option<u64> { Some(self.abi.expires_unix_ms).filter(|time| *time > 0) }
}

/// A push service's response, or the reason why there is none.
pub struct Response<'a> {
    abi: abi::HttpResponse,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Response<'a> {
    pub(crate) unsafe fn new(pointer: *const abi::HttpResponse) -> Self {
        Response { abi: abi::adopt(pointer), lifetime: PhantomData }
    }

    /// The HTTP status; 0: no response arrived, see [`failure`](Self::failure).
    pub fn status(&self) -> u32 { self.abi.status }

    pub fn body(&self) -> &'a [u8] { unsafe { self.abi.body.slice() } }

    /// Returns the header with this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<Cow<'a, str>> {
        let headers = unsafe { list(self.abi.headers, self.abi.header_count) };
        headers
            .iter()
            .find(|header| unsafe { header.name.slice() } == name.as_bytes())
            .map(|header| unsafe { text(header.value) })
    }

    /// One word, such as `timeout`.
    pub fn failure(&self) -> Cow<'a, str> { unsafe { text(self.abi.failure) } }

    /// The delay that `retry-after` asks for, if it is a number of seconds; otherwise 0, and the host decides.
    pub fn retry_after_ms(&self) -> u32 {
        let seconds = self.header("retry-after").and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
        seconds.saturating_mul(1000)
    }
}

/// A request from outside for a path below the instance's path. Anyone can send one: authenticate the sender by a
/// signature or by a secret in the path.
pub struct InboundRequest<'a> {
    abi: abi::InboundRequest,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> InboundRequest<'a> {
    pub(crate) unsafe fn new(pointer: *const abi::InboundRequest) -> Self {
        InboundRequest { abi: abi::adopt(pointer), lifetime: PhantomData }
    }

    texts! {
        /// `GET`, `POST`, ...
        method,
        /// The part after the instance's path, not decoded: empty, or starts with `/`.
        path,
        /// The part after `?`, not decoded.
        query,
    }

    /// Returns the header with this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<Cow<'a, str>> {
        let headers = unsafe { list(self.abi.headers, self.abi.header_count) };
        headers
            .iter()
            .find(|header| unsafe { header.name.slice() } == name.as_bytes())
            .map(|header| unsafe { text(header.value) })
    }

    /// Up to 256 KiB.
    pub fn body(&self) -> &'a [u8] { unsafe { self.abi.body.slice() } }
}

/// The response to a request from outside.
pub struct InboundAnswer {
    status: u32,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl InboundAnswer {
    /// Makes a response with a status from 200 to 599.
    pub fn new(status: u32) -> InboundAnswer { InboundAnswer { status, headers: Vec::new(), body: Vec::new() } }

    /// Adds a header; up to 16. The name is in lower case.
    pub fn header(mut self, name: &str, value: &str) -> InboundAnswer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Up to 256 KiB.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> InboundAnswer {
        self.body = body.into();
        self
    }

    pub(crate) fn lend(&self, body: impl FnOnce(*const abi::InboundAnswer)) {
        let headers: Vec<abi::Field> = self
            .headers
            .iter()
            .map(|(name, value)| abi::Field { name: abi::Str::of(name), value: abi::Str::of(value) })
            .collect();
        body(&abi::InboundAnswer {
            struct_size: std::mem::size_of::<abi::InboundAnswer>() as u32,
            status: self.status,
            headers: headers.as_ptr(),
            header_count: headers.len(),
            body: abi::Bytes::of_bytes(&self.body),
        })
    }
}

/// # Safety
/// `start` must be valid for `count` elements for the whole of `'a`, or NULL.
pub(crate) unsafe fn list<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if start.is_null() || count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(start, count)
}
