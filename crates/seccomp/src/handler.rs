//! The handler of `SIGSYS`, and its installation before `main`.
#![allow(unsafe_code, reason = "signals have no safe interface that can change registers")]

use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{SIG_DFL, SIG_IGN, SIGSYS, c_int, c_long, c_void, siginfo_t, ucontext_t};

use crate::modern::{Call, modern};
use crate::registers;

/// `SYS_SECCOMP`: the kernel sent the signal for a filter; no process can send it with this code to
/// another.
const BY_A_FILTER: c_int = 1;

/// Whether an old call was refused. The standard library makes one (`poll`) before `main`.
static REFUSES_OLD_CALLS: AtomicBool = AtomicBool::new(false);

// SAFETY: the C library calls the functions in this section once, before `main`, on the only
// thread; it passes arguments, which a function without parameters ignores; `install` needs nothing
// of Rust's runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = install;

/// Whether the filter has refused this process an old call.
#[cfg(target_arch = "x86_64")]
pub(crate) fn refuses_old_calls() -> bool {
    REFUSES_OLD_CALLS.load(Ordering::Relaxed)
}

/// Installs the handler, unless there is one already.
extern "C" fn install() {
    // SAFETY: all-zero bytes are a valid value of these C types.
    let (mut there, mut ours): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
    // SAFETY: `there` is valid for writing; no action is set.
    let asked = unsafe { libc::sigaction(SIGSYS, ptr::null(), &mut there) };
    // An ignored SIGSYS also kills, if the kernel sends it.
    if asked != 0 || ![SIG_DFL, SIG_IGN].contains(&there.sa_sigaction) {
        return;
    }
    ours.sa_sigaction = on_refused as *const () as usize;
    // SA_NODEFER: if the filter refuses a call in the handler, the handler runs for that one too.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
    // SAFETY: the handler has the form that SA_SIGINFO asks for, and does what a handler may do: it makes
    // system calls, and changes nothing of the process but an atomic and the context that it was given. Both
    // sets of signals are initialised: no signal is blocked in the handler, and SIGSYS is unblocked.
    unsafe {
        libc::sigaction(SIGSYS, &ours, ptr::null_mut());
        let mut unblocked = zeroed();
        libc::sigemptyset(&mut unblocked);
        libc::sigaddset(&mut unblocked, SIGSYS);
        libc::sigprocmask(libc::SIG_UNBLOCK, &unblocked, ptr::null_mut());
    }
}

extern "C" fn on_refused(_: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a valid `siginfo_t` and a valid `ucontext_t`, which
    // are nobody else's while it runs.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<ucontext_t>()) };
    if info.si_code != BY_A_FILTER {
        // A process sent it: do what happens without a handler. Both calls are async-signal-safe.
        // SAFETY: no memory is passed.
        unsafe {
            libc::signal(SIGSYS, SIG_DFL);
            libc::raise(SIGSYS);
        }
        return;
    }
    let refused = registers::call(context);
    let mut wait = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let result = match modern(&refused, &mut wait) {
        Some(call) => {
            REFUSES_OLD_CALLS.store(true, Ordering::Relaxed);
            // SAFETY: the arguments are those of the call that the program made, which the kernel checks as it
            // would have; beside them are constants, and the address of `wait`, which outlives the call.
            match unsafe { made(&call) } {
                // The old call returns the descriptor, the new one its flags.
                0.. if call.number == libc::SYS_fcntl => refused.arguments[1],
                #[cfg(target_arch = "arm")]
                0 if call.number == libc::SYS_clock_gettime => {
                    // SAFETY: whoever reads a clock by the refused call passes room for a time of
                    // 64 bits, into the first half of which the kernel has just written one of 32.
                    unsafe { widened(refused.arguments[1] as *mut [i64; 2]) };
                    0
                }
                result => result,
            }
        }
        None => -c_long::from(libc::ENOSYS),
    };
    registers::set_result(context, result);
}

/// Converts a time of 32 bits to one of 64 bits, in its place: seconds, then nanoseconds.
///
/// # Safety
/// `time` has room for two values, and a time of 32 bits in the first.
#[cfg(target_arch = "arm")]
unsafe fn widened(time: *mut [i64; 2]) {
    // SAFETY: the caller guarantees it. The value is read before anything is written; no alignment
    // is assumed.
    unsafe {
        let [seconds, nanoseconds] = time.cast::<[i32; 2]>().read_unaligned();
        time.write_unaligned([seconds.into(), nanoseconds.into()]);
    }
}

/// Makes a call; below zero is the error, as the kernel returns one. The C library's `errno` stays: where it makes
/// calls for itself, it does not expect that to change.
///
/// # Safety
/// The safety conditions are those of the call itself.
unsafe fn made(call: &Call) -> c_long {
    let [a, b, c, d, e, f] = call.arguments;
    // SAFETY: each thread has its own `errno`, which is valid as long as the thread is; the call is the caller's.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let result = libc::syscall(call.number, a, b, c, d, e, f);
        let result = if result == -1 { -c_long::from(*errno) } else { result };
        *errno = before;
        result
    }
}
