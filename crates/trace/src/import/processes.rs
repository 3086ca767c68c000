//! Names of processes.

use std::collections::HashMap;

use flashlag_schema::trace::Trace;

/// Gives each unnamed process the name of its main thread, as the kernel has it.
pub(super) fn name(trace: &mut Trace) {
    let mains = trace.tasks.iter().filter(|task| task.is_main() == Some(true));
    let mut names: HashMap<u32, String> = HashMap::new();
    for task in mains {
        if let (Some(pid), Some(name)) =
            (task.pid, task.process.clone().or_else(|| task.thread.clone()))
        {
            names.insert(pid, name);
        }
    }
    // Events of the process's other threads may have its full name, too.
    for task in &trace.tasks {
        if let (Some(pid), Some(process)) = (task.pid, &task.process) {
            names.insert(pid, process.clone());
        }
    }
    for task in trace.tasks.iter_mut().filter(|task| task.process.is_none()) {
        task.process = task.pid.and_then(|pid| names.get(&pid).cloned());
    }
}
