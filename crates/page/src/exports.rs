//! What the page calls. It writes a question into [`question`]'s buffer, calls [`ask`], and reads the
//! answer. WebAssembly has one thread here, and no pointer is followed on this side.

use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a question of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn question(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(length, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that is in its buffer; returns the answer's length.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let asked = QUESTION.with_borrow(|question| String::from_utf8_lossy(question).into_owned());
    let reply = crate::reply(&asked).into_bytes();
    ANSWER.with_borrow_mut(|answer| {
        *answer = reply;
        answer.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}
