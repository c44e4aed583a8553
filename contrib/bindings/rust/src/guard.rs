//! Panics and texts at the border to the host.

use crate::abi;
use std::borrow::Cow;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs code of the plugin; a panic of its becomes `failure` and does not cross the border.
pub(crate) fn guarded<R>(failure: R, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            // Whoever panics with a value whose drop panics gets a leak.
            std::mem::forget(panic);
            failure
        }
    }
}

/// The text behind `bytes`; what is not UTF-8, which no router sends, becomes U+FFFD.
///
/// # Safety
/// `bytes` has to be valid for `'a`.
pub(crate) unsafe fn text<'a>(bytes: abi::Str) -> Cow<'a, str> { String::from_utf8_lossy(bytes.slice()) }

/// Writes a sentence into the room that the host lent, cut at a character when it does not fit.
///
/// # Safety
/// `error` has to be NULL or what the host lent.
pub(crate) unsafe fn write_error(error: *mut abi::Error, sentence: &str) {
    let Some(error) = error.as_mut() else { return };
    if error.buf.is_null() {
        return;
    }
    let sentence = if sentence.is_empty() { "refused" } else { sentence };
    let mut len = sentence.len().min(error.capacity);
    while !sentence.is_char_boundary(len) {
        len -= 1;
    }
    std::ptr::copy_nonoverlapping(sentence.as_ptr(), error.buf as *mut u8, len);
    error.len = len;
}
