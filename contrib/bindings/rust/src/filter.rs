//! Filters, which decide whether an event may send a notification.

use crate::guard::{guarded, text};
use crate::host::{Host, LogLevel};
use crate::json::Value;
use crate::message::{list, Notification};
use crate::transport::{at, destroy, make};
use crate::abi;
use std::borrow::Cow;
use std::ffi::c_void;
use std::marker::PhantomData;

/// A filter's decision about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// The event sends no notification. The reason is for the router's log: up to 60 printable ASCII characters, never
    /// content.
    Drop(Cow<'static, str>),
}

/// The facts about the recipient's follows that a filter needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// Whether the recipient follows the author.
    Followed,
    /// Also whether an account that the recipient follows does. The event may have to wait while the router queries
    /// relays.
    Distance,
}

impl Need {
    const fn flags(self) -> u32 {
        match self {
            Need::Nothing => 0,
            Need::Followed => abi::FILTER_ASKS_FOLLOWED,
            Need::Distance => abi::FILTER_ASKS_DISTANCE,
        }
    }
}

/// The distance from the recipient to the author in the follow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowDistance {
    Unknown,
    /// The recipient follows the author, or is the author.
    Followed,
    /// An account that the recipient follows follows the author.
    Second,
    Stranger,
    /// The recipient does not follow the author; the rest is unknown.
    NotFollowed,
}

/// Decides whether events may send a notification. Every function may be called on any thread, concurrently, and must
/// return promptly, because events wait for it. A panic counts as an error of the filter.
pub trait Filter: Send + Sync + Sized + 'static {
    /// Its name in the configuration and in registrations: 1 to 64 of a-z, 0-9, `-` and `_`.
    const NAME: &'static str;
    /// The recipient's replaceable events that it reads, such as 10000.
    const WANTED_KINDS: &'static [u32] = &[];
    /// Whether it runs after rendering and may change the notification.
    const AFTER_RENDERING: bool = false;
    /// The maximum that an instance needs.
    const NEEDS: Need = Need::Nothing;

    /// Reads the filter's settings, an object.
    fn create(config: &Value, host: Host) -> Result<Self, String>;

    /// The facts that this instance needs, up to [`NEEDS`](Self::NEEDS).
    fn needs(&self) -> Need { Self::NEEDS }

    /// Passes or drops an event. After an error the operator's setting `on_error` applies, and the error text is
    /// logged.
    fn decide(&self, call: &mut FilterCall<'_>) -> Result<Verdict, String>;
}

/// One event for one recipient.
pub struct FilterCall<'a> {
    abi: abi::FilterCall,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> FilterCall<'a> {
    /// The event, verified, as JSON.
    pub fn event(&self) -> Cow<'a, str> { unsafe { text(self.abi.event) } }

    /// The account, 64 hex digits.
    pub fn recipient(&self) -> Cow<'a, str> { unsafe { text(self.abi.recipient) } }

    /// The newest known event of each wanted kind, as JSON.
    pub fn recipient_events(&self) -> Vec<Cow<'a, str>> {
        unsafe { list(self.abi.recipient_events, self.abi.recipient_event_count).iter().map(|event| text(*event)).collect() }
    }

    pub fn signal(&self) -> Cow<'a, str> { unsafe { text(self.abi.signal) } }

    /// The account that acted, 64 hex digits, such as the sender of a zap. Empty: not known, as inside a gift wrap.
    pub fn author(&self) -> Cow<'a, str> { unsafe { text(self.abi.author) } }

    /// The event's relation to the recipient, as in rules: `reply`, ...
    pub fn relation(&self) -> Cow<'a, str> { unsafe { text(self.abi.relation) } }

    /// The zap's amount; 0: not a zap, or not known.
    pub fn zap_millisats(&self) -> u64 { self.abi.zap_millisats }

    /// The host's clock.
    pub fn now_unix_ms(&self) -> u64 { self.abi.now_unix_ms }

    pub fn follow_distance(&self) -> FollowDistance {
        match self.abi.follow_distance {
            1 => FollowDistance::Followed,
            2 => FollowDistance::Second,
            3 => FollowDistance::Stranger,
            4 => FollowDistance::NotFollowed,
            _ => FollowDistance::Unknown,
        }
    }

    /// The rendered notification; only for a filter that runs after rendering.
    pub fn notification(&self) -> Option<Notification<'a>> {
        if self.abi.notification.is_null() {
            return None;
        }
        Some(unsafe { Notification::new(self.abi.notification) })
    }

    /// Changes a field of the notification, see the header. Returns false if the host rejects it.
    pub fn set(&mut self, field: &str, value: &str) -> bool {
        match self.abi.set {
            Some(set) => unsafe { set(self.abi.edit, abi::Str::of(field), abi::Str::of(value)) == abi::OK },
            None => false,
        }
    }
}

/// The table of a filter, for the macro [`plugin!`](crate::plugin).
pub const fn table<F: Filter>() -> abi::Filter {
    abi::Filter {
        struct_size: std::mem::size_of::<abi::Filter>() as u32,
        flags: F::NEEDS.flags() | (if F::AFTER_RENDERING { abi::FILTER_RENDERED } else { 0 }),
        name: abi::Str::of(F::NAME),
        wanted_kinds: F::WANTED_KINDS.as_ptr(),
        wanted_kind_count: F::WANTED_KINDS.len(),
        create: Some(create::<F>),
        destroy: Some(destroy::<F>),
        decide: Some(decide::<F>),
        needs: Some(needs::<F>),
    }
}

unsafe extern "C" fn create<F: Filter>(
    host: *const abi::Host,
    config: abi::Str,
    instance: *mut *mut c_void,
    error: *mut abi::Error,
) -> abi::Status {
    make(host, config, instance, error, F::create)
}

unsafe extern "C" fn decide<F: Filter>(
    instance: *mut c_void,
    call: *const abi::FilterCall,
    verdict: *mut i32,
) -> abi::Status {
    let instance = at::<F>(instance);
    let mut call = FilterCall { abi: abi::adopt(call), lifetime: PhantomData };
    let failure = Err("the plugin panicked in decide".to_owned());
    match guarded(failure, || instance.plugin.decide(&mut call)) {
        Ok(Verdict::Pass) => *verdict = 0,
        Ok(Verdict::Drop(reason)) => {
            *verdict = 1;
            let reason: String =
                reason.chars().map(|character| if matches!(character, ' '..='~') { character } else { '?' }).take(60).collect();
            call.set("reason", &reason);
        }
        Err(words) => {
            instance.host.log(LogLevel::Debug, &format!("cannot decide: {words}"));
            return abi::FAILED;
        }
    }
    abi::OK
}

unsafe extern "C" fn needs<F: Filter>(instance: *mut c_void) -> u32 {
    guarded(F::NEEDS, || at::<F>(instance).plugin.needs()).flags()
}
