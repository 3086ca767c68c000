//! Where a stopped thread keeps a system call and its result, on each architecture.

use libc::{c_long, ucontext_t};

use crate::modern::Call;

/// The call that was refused. The kernel has put back what it had already changed of it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn call(context: &ucontext_t) -> Call {
    use libc::{REG_R8, REG_R9, REG_R10, REG_RAX, REG_RDI, REG_RDX, REG_RSI};
    let register = |name: libc::c_int| context.uc_mcontext.gregs[name as usize];
    let arguments = [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9].map(register);
    Call { number: register(REG_RAX), arguments }
}

/// Makes `result` what the call returns.
#[cfg(target_arch = "x86_64")]
pub(crate) fn set_result(context: &mut ucontext_t, result: c_long) {
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result;
}

/// The call that was refused. The kernel has put back what it had already changed of it.
#[cfg(target_arch = "aarch64")]
pub(crate) fn call(context: &ucontext_t) -> Call {
    let register = |index: usize| context.uc_mcontext.regs[index] as c_long;
    Call { number: register(8), arguments: [0, 1, 2, 3, 4, 5].map(register) }
}

/// Makes `result` what the call returns.
#[cfg(target_arch = "aarch64")]
pub(crate) fn set_result(context: &mut ucontext_t, result: c_long) {
    context.uc_mcontext.regs[0] = result as _;
}

/// The call that was refused. The kernel has put back what it had already changed of it.
#[cfg(target_arch = "arm")]
pub(crate) fn call(context: &ucontext_t) -> Call {
    let machine = &context.uc_mcontext;
    let [a, b, c] = [machine.arm_r0, machine.arm_r1, machine.arm_r2].map(|word| word as c_long);
    let [d, e, f] = [machine.arm_r3, machine.arm_r4, machine.arm_r5].map(|word| word as c_long);
    Call { number: machine.arm_r7 as c_long, arguments: [a, b, c, d, e, f] }
}

/// Makes `result` what the call returns.
#[cfg(target_arch = "arm")]
pub(crate) fn set_result(context: &mut ucontext_t, result: c_long) {
    context.uc_mcontext.arm_r0 = result as libc::c_ulong;
}
