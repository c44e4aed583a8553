//! What a plugin owes: the end of a delivery, and the answer to a request from outside. Each comes exactly once.

use crate::abi;
use crate::host::{Host, Outcome, OutcomeKind, Refusal};
use crate::message::InboundAnswer;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;

const ACCEPTED: u8 = 1;
const REFUSED: u8 = 2;
/// The plugin's side is gone without an end.
const DROPPED: u8 = 4;
const ENDED: u8 = 8;

/// What both sides of a debt know of each other.
#[derive(Clone)]
struct Debt(Arc<AtomicU8>);

impl Debt {
    fn new() -> Debt { Debt(Arc::new(AtomicU8::new(0))) }

    /// The plugin pays. True: that is to be passed on.
    fn end(&self) -> bool { self.0.fetch_or(ENDED, Ordering::AcqRel) & (ENDED | REFUSED) == 0 }

    /// The plugin's side is gone. True: it was owed, and somebody else has to pay.
    fn abandon(&self) -> bool {
        let before = self.0.fetch_or(DROPPED, Ordering::AcqRel);
        before & (ENDED | REFUSED) == 0 && before & ACCEPTED != 0
    }

    /// The call was accepted. True: the plugin's side is gone already, and somebody else has to pay.
    fn accept(&self) -> bool { self.0.fetch_or(ACCEPTED, Ordering::AcqRel) & (DROPPED | ENDED) == DROPPED }

    /// The call was refused. False: the plugin has paid already, so that it counts as accepted.
    fn refuse(&self) -> bool { self.0.fetch_or(REFUSED, Ordering::AcqRel) & ENDED == 0 }

    fn is_lost(&self) -> bool { self.0.load(Ordering::Acquire) & (DROPPED | ENDED) == DROPPED }
}

/// A delivery that has to end: [`complete`](Ticket::complete) ends it. One that is dropped instead, as by a panic, ends
/// as [`OutcomeKind::Retry`] with the reason `plugin-failed`.
pub struct Ticket {
    number: u64,
    host: Host,
    debt: Debt,
}

impl Ticket {
    /// What `cancel` calls the delivery.
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

/// The other side of a ticket: what `deliver` came to.
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

    /// What to return to the host for deliveries that are accepted or refused together; for a call that panicked,
    /// `result` is None. If one of them has ended, all were accepted, whatever the plugin says.
    pub(crate) fn close(all: &[Admission], result: Option<Result<(), Refusal>>) -> abi::Status {
        let result = result.unwrap_or_else(|| {
            // What was handed on goes on; what was lost as a whole is tried again.
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

/// A request from outside that has to be answered: [`send`](Reply::send) answers it. One that is dropped instead, as by a
/// panic, is answered with the status 500.
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

/// The host's function for the answer.
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

/// The other side of a reply: what `receive` came to.
pub(crate) struct Reception {
    call: Call,
    debt: Debt,
}

impl Reception {
    pub(crate) fn open(done: abi::InboundDone, context: *mut c_void) -> (Reply, Reception) {
        let (call, debt) = (Call { done, context }, Debt::new());
        (Reply { call, debt: debt.clone() }, Reception { call, debt })
    }

    /// What to return to the host; for a call that panicked, `result` is None.
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
