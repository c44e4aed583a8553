//! Transports, which send notifications to one kind of push service.

use crate::guard::{guarded, text, write_error};
use crate::host::{Host, Refusal};
use crate::json::{self, Value};
use crate::message::{list, InboundRequest, Notification, Registration};
use crate::ticket::{Admission, Reception, Reply, Ticket};
use crate::abi;
use std::ffi::c_void;

/// One kind of push service, for one app of the operator. Every function may be called on any thread, concurrently, and
/// must return promptly: the router does networking, retries and waiting. A panic counts as a failure of the call.
pub trait Transport: Send + Sync + Sized + 'static {
    /// Its name in registrations, rules and the configuration: 1 to 64 of a-z, 0-9, `-` and `_`.
    const PLATFORM: &'static str;
    /// The JSON document that describes the platform: see `carillon/describe.schema.json`.
    const DESCRIPTION: &'static str = "";
    /// Whether it encrypts to keys of the registration (RFC 8291).
    const ENCRYPTS: bool = false;
    /// Whether a person sees every push: it then gets no silent pushes.
    const SHOWS: bool = false;
    /// The maximum number of deliveries for [`deliver_many`](Self::deliver_many), 2 to 1,000; 0: it is never called.
    const DELIVERS_MANY: u32 = 0;
    /// Whether all deliveries of one [`deliver_many`](Self::deliver_many) go to one token.
    const MANY_PER_TOKEN: bool = false;
    /// Whether it has [`receive`](Self::receive).
    const RECEIVES: bool = false;

    /// Reads the app's configuration block for this platform, an object. No network I/O. An error is a sentence for the
    /// operator: what is wrong and what was expected, never a secret.
    fn create(config: &Value, host: Host) -> Result<Self, String>;

    /// Checks that a registration is well-formed. No I/O; must be deterministic.
    fn validate(&self, _registration: &Registration<'_>) -> Result<(), String> { Ok(()) }

    /// Starts a delivery. After `Ok` complete the ticket, from any thread, possibly before this returns. After an error
    /// completing it has no effect.
    fn deliver(
        &self,
        ticket: Ticket,
        registration: &Registration<'_>,
        notification: &Notification<'_>,
    ) -> Result<(), Refusal>;

    /// Starts 2 to [`DELIVERS_MANY`](Self::DELIVERS_MANY) deliveries that fit into one request. `Ok` accepts all of
    /// them, an error none. After [`Refusal::Unsupported`] the router passes each to `deliver`.
    fn deliver_many(&self, _deliveries: Vec<Delivery<'_>>) -> Result<(), Refusal> { Err(Refusal::Unsupported) }

    /// Handles a request from outside, for a path below [`Host::inbound_url`]. After `Ok` send a response within 10 s,
    /// from any thread, possibly before this returns. After an error the router responds: invalid with 400, unsupported
    /// with 404, busy with 503, failed with 500.
    fn receive(&self, _request: &InboundRequest<'_>, _reply: Reply) -> Result<(), Refusal> { Err(Refusal::Unsupported) }

    /// Asks the transport to complete the delivery with this number soon.
    fn cancel(&self, _ticket: u64) {}

    /// Runs an operator's command. `Ok`: the result. `Err`: the error. `None`: there is no such command.
    fn command(&self, _words: &[&str]) -> Option<Result<String, String>> { None }

    /// Checks a rule's block beyond the schema in the description. An error may start with a JSON pointer, as in
    /// `/actions/foo: expected a list`.
    fn check(_block: &Value) -> Result<(), String> { Ok(()) }
}

/// One delivery of [`Transport::deliver_many`].
pub struct Delivery<'a> {
    pub ticket: Ticket,
    pub registration: Registration<'a>,
    pub notification: Notification<'a>,
}

pub(crate) struct Instance<T> {
    pub(crate) plugin: T,
    pub(crate) host: Host,
}

/// The table of a transport, for the macro [`plugin!`](crate::plugin).
pub const fn table<T: Transport>() -> abi::Transport {
    abi::Transport {
        struct_size: std::mem::size_of::<abi::Transport>() as u32,
        flags: (if T::ENCRYPTS { abi::TRANSPORT_ENCRYPTS } else { 0 })
            | (if T::SHOWS { abi::TRANSPORT_SHOWS } else { 0 })
            | (if T::MANY_PER_TOKEN { abi::TRANSPORT_MANY_PER_TOKEN } else { 0 }),
        platform: abi::Str::of(T::PLATFORM),
        create: Some(create::<T>),
        destroy: Some(destroy::<T>),
        validate: Some(validate::<T>),
        deliver: Some(deliver::<T>),
        cancel: Some(cancel::<T>),
        command: Some(command::<T>),
        describe: abi::Str::of(T::DESCRIPTION),
        check: Some(check::<T>),
        deliver_many: if T::DELIVERS_MANY > 0 { Some(deliver_many::<T>) } else { None },
        deliver_many_limit: T::DELIVERS_MANY,
        reserved: 0,
        receive: if T::RECEIVES { Some(receive::<T>) } else { None },
    }
}

/// Makes an instance of either kind from its configuration.
pub(crate) unsafe fn make<T>(
    host: *const abi::Host,
    config: abi::Str,
    instance: *mut *mut c_void,
    error: *mut abi::Error,
    create: impl FnOnce(&Value, Host) -> Result<T, String>,
) -> abi::Status {
    let made = guarded(Err((abi::FAILED, "the plugin panicked in create".to_owned())), || {
        let value = match std::str::from_utf8(config.slice()).ok().and_then(|text| json::parse(text).ok()) {
            Some(value @ Value::Object(_)) => value,
            _ => return Err((abi::INVALID, "expected a JSON object".to_owned())),
        };
        let host = Host::new(host);
        create(&value, host.clone()).map(|plugin| Instance { plugin, host }).map_err(|words| (abi::INVALID, words))
    });
    match made {
        Ok(made) => {
            *instance = Box::into_raw(Box::new(made)) as *mut c_void;
            abi::OK
        }
        Err((status, words)) => {
            write_error(error, &words);
            status
        }
    }
}

unsafe extern "C" fn create<T: Transport>(
    host: *const abi::Host,
    config: abi::Str,
    instance: *mut *mut c_void,
    error: *mut abi::Error,
) -> abi::Status {
    make(host, config, instance, error, T::create)
}

pub(crate) unsafe extern "C" fn destroy<T>(instance: *mut c_void) {
    let instance = Box::from_raw(instance as *mut Instance<T>);
    let Instance { plugin, host } = *instance;
    guarded((), || drop(plugin));
    host.close();
}

pub(crate) unsafe fn at<'a, T>(instance: *mut c_void) -> &'a Instance<T> { &*(instance as *const Instance<T>) }

unsafe extern "C" fn validate<T: Transport>(
    instance: *mut c_void,
    registration: *const abi::Registration,
    error: *mut abi::Error,
) -> abi::Status {
    let failure = Err((abi::FAILED, "the plugin panicked in validate".to_owned()));
    let result = guarded(failure, || {
        at::<T>(instance).plugin.validate(&Registration::new(registration)).map_err(|words| (abi::INVALID, words))
    });
    match result {
        Ok(()) => abi::OK,
        Err((status, words)) => {
            write_error(error, &words);
            status
        }
    }
}

unsafe extern "C" fn deliver<T: Transport>(
    instance: *mut c_void,
    number: u64,
    registration: *const abi::Registration,
    notification: *const abi::Notification,
) -> abi::Status {
    let instance = at::<T>(instance);
    let (ticket, admission) = Admission::open(number, &instance.host);
    let result = caught(|| {
        instance.plugin.deliver(ticket, &Registration::new(registration), &Notification::new(notification))
    });
    Admission::close(&[admission], result)
}

unsafe extern "C" fn deliver_many<T: Transport>(
    instance: *mut c_void,
    deliveries: *const *const abi::Delivery,
    count: usize,
) -> abi::Status {
    let instance = at::<T>(instance);
    let (deliveries, admissions): (Vec<_>, Vec<_>) = list(deliveries, count)
        .iter()
        .map(|pointer| {
            let delivery = abi::adopt(*pointer);
            let (ticket, admission) = Admission::open(delivery.ticket, &instance.host);
            let registration = Registration::new(delivery.registration);
            (Delivery { ticket, registration, notification: Notification::new(delivery.notification) }, admission)
        })
        .unzip();
    Admission::close(&admissions, caught(|| instance.plugin.deliver_many(deliveries)))
}

unsafe extern "C" fn receive<T: Transport>(
    instance: *mut c_void,
    request: *const abi::InboundRequest,
    done: abi::InboundDone,
    context: *mut c_void,
) -> abi::Status {
    let (reply, reception) = Reception::open(done, context);
    let request = InboundRequest::new(request);
    reception.close(caught(|| at::<T>(instance).plugin.receive(&request, reply)))
}

/// Returns None if the plugin panicked.
fn caught<R>(body: impl FnOnce() -> R) -> Option<R> { guarded(None, || Some(body())) }

unsafe extern "C" fn cancel<T: Transport>(instance: *mut c_void, ticket: u64) {
    guarded((), || at::<T>(instance).plugin.cancel(ticket));
}

unsafe extern "C" fn command<T: Transport>(
    instance: *mut c_void,
    words: *const abi::Str,
    word_count: usize,
    done: abi::CommandDone,
    context: *mut c_void,
) -> abi::Status {
    let answer = guarded(Some(Err("the plugin panicked".to_owned())), || {
        let words: Vec<_> = list(words, word_count).iter().map(|word| text(*word)).collect();
        let words: Vec<&str> = words.iter().map(|word| word.as_ref()).collect();
        at::<T>(instance).plugin.command(&words)
    });
    match answer {
        None => return abi::UNSUPPORTED,
        Some(Ok(text)) => done(context, abi::OK, abi::Str::of(&text)),
        Some(Err(text)) if text.is_empty() => done(context, abi::FAILED, abi::Str::of("it failed")),
        Some(Err(text)) => done(context, abi::FAILED, abi::Str::of(&text)),
    }
    abi::OK
}

unsafe extern "C" fn check<T: Transport>(block: abi::Str, error: *mut abi::Error) -> abi::Status {
    let result = guarded(Err("the plugin panicked in check".to_owned()), || {
        let value = std::str::from_utf8(block.slice()).ok().and_then(|text| json::parse(text).ok());
        match value {
            Some(value @ Value::Object(_)) => T::check(&value),
            _ => Err("expected a JSON object".to_owned()),
        }
    });
    match result {
        Ok(()) => abi::OK,
        Err(words) => {
            write_error(error, &words);
            abi::INVALID
        }
    }
}
