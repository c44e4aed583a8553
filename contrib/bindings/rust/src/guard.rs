//! Panics and texts at the boundary to the host.

use crate::abi;
use std::borrow::Cow;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs code of the plugin; a panic becomes `failure` and does not cross the boundary.
pub(crate) fn guarded<R>(failure: R, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => {
            // A panic value whose drop panics is leaked.
            std::mem::forget(panic);
            failure
        }
    }
}

/// Returns the text in `bytes`; bytes that are not UTF-8, which no router sends, become U+FFFD.
///
/// # Safety
/// `bytes` must be valid for `'a`.
pub(crate) unsafe fn text<'a>(bytes: abi::Str) -> Cow<'a, str> { String::from_utf8_lossy(bytes.slice()) }

/// Writes a sentence into the host's buffer, truncated at a character if it does not fit.
///
/// # Safety
/// `error` must be NULL or the host's buffer.
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
