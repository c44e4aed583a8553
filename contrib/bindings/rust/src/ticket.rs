//! The obligations of a plugin: to complete a delivery, and to answer a request from outside. Each exactly once.

use crate::abi;
use crate::host::{Host, Outcome, OutcomeKind, Refusal};
use crate::message::InboundAnswer;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

const ACCEPTED: u8 = 1;
const REFUSED: u8 = 2;
/// The plugin's side was dropped without completing.
const DROPPED: u8 = 4;
const ENDED: u8 = 8;

/// The state shared by both sides of an obligation.
#[derive(Clone)]
struct Debt(Arc<AtomicU8>);

impl Debt {
    fn new() -> Debt { Debt(Arc::new(AtomicU8::new(0))) }

    /// The plugin completes it. True: the caller must forward the result.
    fn end(&self) -> bool { self.0.fetch_or(ENDED, Ordering::AcqRel) & (ENDED | REFUSED) == 0 }

    /// The plugin's side was dropped. True: it was not completed, and the caller must do it.
    fn abandon(&self) -> bool {
        let before = self.0.fetch_or(DROPPED, Ordering::AcqRel);
        before & (ENDED | REFUSED) == 0 && before & ACCEPTED != 0
    }

    /// The call was accepted. True: the plugin's side was dropped already, and the caller must complete it.
    fn accept(&self) -> bool { self.0.fetch_or(ACCEPTED, Ordering::AcqRel) & (DROPPED | ENDED) == DROPPED }

    /// The call was refused. False: the plugin has completed it already, so it counts as accepted.
    fn refuse(&self) -> bool { self.0.fetch_or(REFUSED, Ordering::AcqRel) & ENDED == 0 }

    fn is_lost(&self) -> bool { self.0.load(Ordering::Acquire) & (DROPPED | ENDED) == DROPPED }
}

/// A delivery in progress, which [`complete`](Ticket::complete) ends. If it is dropped instead, as by a panic, it ends
/// as [`OutcomeKind::Retry`] with the reason `plugin-failed`.
pub struct Ticket {
    number: u64,
    host: Host,
    debt: Debt,
}

impl Ticket {
    /// The number that `cancel` uses.
    pub fn number(&self) -> u64 { self.number }

    /// Ends the delivery.
    pub fn complete(self, outcome: Outcome) {
        if self.debt.end() {
            self.host.complete(self.number, &outcome);
        }
    }

    fn lost(number: u64, host: &Host) {
        host.complete(number, &Outcome::new(OutcomeKind::Retry, 0).reason("plugin-failed"));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.debt.abandon() {
            Ticket::lost(self.number, &self.host);
        }
    }
}

/// The other side of a ticket: the result of `deliver`.
pub(crate) struct Admission {
    number: u64,
    host: Host,
    debt: Debt,
}

impl Admission {
    pub(crate) fn open(number: u64, host: &Host) -> (Ticket, Admission) {
        let debt = Debt::new();
        let ticket = Ticket { number, host: host.clone(), debt: debt.clone() };
        (ticket, Admission { number, host: host.clone(), debt })
    }

    /// Returns the status for the host, for deliveries that are accepted or refused together; `result` is None if the
    /// call panicked. If one of them has ended, all count as accepted, whatever the plugin returned.
    pub(crate) fn close(all: &[Admission], result: Option<Result<(), Refusal>>) -> abi::Status {
        let result = result.unwrap_or_else(|| {
            // Deliveries that were passed on continue; if all were lost, the host retries them.
            if all.iter().all(|each| each.debt.is_lost()) { Err(Refusal::Failed) } else { Ok(()) }
        });
        let Err(refusal) = result else {
            all.iter().filter(|each| each.debt.accept()).for_each(|each| Ticket::lost(each.number, &each.host));
            return abi::OK;
        };
        let refused: Vec<&Admission> = all.iter().filter(|each| each.debt.refuse()).collect();
        if refused.len() == all.len() {
            return refusal.status();
        }
        refused.into_iter().for_each(|each| Ticket::lost(each.number, &each.host));
        abi::OK
    }
}

/// A request from outside in progress, which [`send`](Reply::send) answers. If it is dropped instead, as by a panic,
/// the response is the status 500.
pub struct Reply {
    call: Call,
    debt: Debt,
}

impl Reply {
    /// Answers the request.
    pub fn send(self, answer: InboundAnswer) {
        if self.debt.end() {
            self.call.answer(&answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.debt.abandon() {
            self.call.answer(&InboundAnswer::new(500));
        }
    }
}

/// The host's function for the response.
#[derive(Clone, Copy)]
struct Call {
    done: abi::InboundDone,
    context: *mut c_void,
}
// It may be called from any thread.
unsafe impl Send for Call {}
unsafe impl Sync for Call {}

impl Call {
    fn answer(&self, answer: &InboundAnswer) { answer.lend(|lent| unsafe { (self.done)(self.context, lent) }) }
}

/// The other side of a reply: the result of `receive`.
pub(crate) struct Reception {
    call: Call,
    debt: Debt,
}

impl Reception {
    pub(crate) fn open(done: abi::InboundDone, context: *mut c_void) -> (Reply, Reception) {
        let (call, debt) = (Call { done, context }, Debt::new());
        (Reply { call, debt: debt.clone() }, Reception { call, debt })
    }

    /// Returns the status for the host; `result` is None if the call panicked.
    pub(crate) fn close(self, result: Option<Result<(), Refusal>>) -> abi::Status {
        let result = result.unwrap_or(if self.debt.is_lost() { Err(Refusal::Failed) } else { Ok(()) });
        match result {
            Ok(()) => {
                if self.debt.accept() {
                    self.call.answer(&InboundAnswer::new(500));
                }
                abi::OK
            }
            Err(refusal) => {
                if self.debt.refuse() { refusal.status() } else { abi::OK }
            }
        }
    }
}
