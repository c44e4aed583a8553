//! Timers: the router calls a closure later, once or repeatedly.

use crate::abi;
use crate::guard::guarded;
use crate::host::{Host, Refusal};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

type Closure = Box<dyn FnMut() + Send>;

/// The closure of a timer.
struct Call {
    host: usize,
    is_once: bool,
    closure: Mutex<Closure>,
}

/// The calls of all timers, by the number that is their context. The host ends timers silently, so nothing could free a
/// pointer.
static CALLS: Mutex<BTreeMap<usize, Arc<Call>>> = Mutex::new(BTreeMap::new());
static LAST: AtomicUsize = AtomicUsize::new(0);

fn calls() -> MutexGuard<'static, BTreeMap<usize, Arc<Call>>> {
    CALLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

unsafe extern "C" fn fired(context: *mut c_void) {
    let key = context as usize;
    let Some(call) = calls().get(&key).cloned() else { return };
    guarded((), || (call.closure.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))());
    if call.is_once {
        remove(key);
    }
}

/// Drops the call outside of the lock, because its closure may own timers too.
fn remove(key: usize) {
    let call = calls().remove(&key);
    guarded((), || drop(call));
}

/// Removes the timers of an instance that is gone.
pub(crate) fn forget(host: usize) {
    let keys: Vec<usize> = calls().iter().filter(|(_, call)| call.host == host).map(|(key, _)| *key).collect();
    keys.into_iter().for_each(remove);
}

/// A running timer. It continues after this is dropped, and ends with the instance.
pub struct Timer {
    host: Host,
    number: u64,
    key: usize,
}

impl Timer {
    /// Cancels the timer: it never fires again. A call in progress, possibly the one that cancels it, continues.
    pub fn cancel(self) {
        self.host.service(abi::TIMERS, |timers: &abi::Timers, pointer| match timers.cancel {
            Some(cancel) => unsafe { cancel(pointer, self.number) },
            None => abi::UNSUPPORTED,
        });
        remove(self.key);
    }
}

impl Host {
    /// Calls `call` once, after `wait`, which is up to 366 days. Busy: the instance has 1,024 timers, or is being shut
    /// down.
    pub fn after(&self, wait: Duration, call: impl FnOnce() + Send + 'static) -> Result<Timer, Refusal> {
        let mut call = Some(call);
        self.start(wait, Duration::ZERO, true, Box::new(move || call.take().map_or((), |call| call())))
    }

    /// Calls `call` repeatedly, the first time after `pause`, which is 10 ms to 366 days. Ticks during a slow call are
    /// skipped.
    pub fn every(&self, pause: Duration, call: impl FnMut() + Send + 'static) -> Result<Timer, Refusal> {
        if pause.as_millis() < 10 {
            return Err(Refusal::Invalid);
        }
        self.start(pause, pause, false, Box::new(call))
    }

    fn start(&self, wait: Duration, pause: Duration, is_once: bool, closure: Closure) -> Result<Timer, Refusal> {
        let key = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        calls().insert(key, Arc::new(Call { host: self.identity(), is_once, closure: Mutex::new(closure) }));
        let milliseconds = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let mut number = 0;
        let status = self.service(abi::TIMERS, |timers: &abi::Timers, pointer| match timers.start {
            Some(start) => unsafe {
                start(pointer, milliseconds(wait), milliseconds(pause), fired, key as *mut c_void, &mut number)
            },
            None => abi::UNSUPPORTED,
        });
        match Refusal::of(status) {
            None => Ok(Timer { host: self.clone(), number, key }),
            Some(refusal) => {
                remove(key);
                Err(refusal)
            }
        }
    }
}
