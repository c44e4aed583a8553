//! Filters: they decide whether an event may wake somebody.

use crate::guard::{guarded, text};
use crate::host::{Host, LogLevel};
use crate::json::Value;
use crate::message::{list, Notification};
use crate::transport::{at, destroy, make};
use crate::abi;
use std::borrow::Cow;
use std::ffi::c_void;
use std::marker::PhantomData;

/// What a filter makes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// It wakes nobody. The reason is for the router's log: at most 60 printable ASCII characters, never content.
    Drop(Cow<'static, str>),
}

/// What a filter needs to know about the recipient's follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// Whether the recipient follows the author.
    Followed,
    /// Also whether somebody the recipient follows does. The router may have to ask relays; the event waits meanwhile.
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

/// How near the author is to the recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowDistance {
    Unknown,
    /// The recipient follows the author, or is the author.
    Followed,
    /// Somebody the recipient follows does.
    Second,
    Stranger,
    /// The recipient does not; the rest is unknown.
    NotFollowed,
}

/// Decides of events whether they may wake somebody. Every function may be called on any thread, several at once, and
/// must return promptly: events wait for it. A panic counts as a filter that cannot decide.
pub trait Filter: Send + Sync + Sized + 'static {
    /// What the configuration and registrations call it: 1 to 64 of a-z, 0-9, `-` and `_`.
    const NAME: &'static str;
    /// The replaceable events of the recipient that it looks at, such as 10000.
    const WANTED_KINDS: &'static [u32] = &[];
    /// Whether it is asked once the notification is made, and may change that.
    const AFTER_RENDERING: bool = false;
    /// The most that any instance needs.
    const NEEDS: Need = Need::Nothing;

    /// Reads the filter's settings, an object.
    fn create(config: &Value, host: Host) -> Result<Self, String>;

    /// What this instance needs, at most [`NEEDS`](Self::NEEDS).
    fn needs(&self) -> Need { Self::NEEDS }

    /// Decides. An error means that it cannot, and the operator's `on_error` decides; its words go to the log.
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

    /// 64 hex digits: who did it, as the sender of a zap. Empty: not known, as inside a gift wrap.
    pub fn author(&self) -> Cow<'a, str> { unsafe { text(self.abi.author) } }

    /// What the event is to the recipient, as in rules: `reply`, ...
    pub fn relation(&self) -> Cow<'a, str> { unsafe { text(self.abi.relation) } }

    /// What the zap is worth; 0: it is none, or unknown.
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

    /// Only for a filter that is asked after rendering.
    pub fn notification(&self) -> Option<Notification<'a>> {
        if self.abi.notification.is_null() {
            return None;
        }
        Some(unsafe { Notification::new(self.abi.notification) })
    }

    /// Changes a field of the notification, see the header. False: the host does not take it.
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
