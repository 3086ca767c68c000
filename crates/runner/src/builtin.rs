//! The scenarios that come with flashlag. They are files like a user's own.

pub use flashlag_spec::scenario::{Builtin, PURPOSES};

/// Every built-in scenario, the default first.
pub const BUILTINS: &[Builtin] = &[
    Builtin { name: "quick", text: include_str!("../../../scenarios/quick.toml") },
    Builtin { name: "fill", text: include_str!("../../../scenarios/fill.toml") },
    Builtin { name: "lifecycle", text: include_str!("../../../scenarios/lifecycle.toml") },
    Builtin { name: "sqlite", text: include_str!("../../../scenarios/sqlite.toml") },
    Builtin { name: "prefs", text: include_str!("../../../scenarios/prefs.toml") },
    Builtin { name: "card", text: include_str!("../../../scenarios/card.toml") },
    Builtin { name: "soak", text: include_str!("../../../scenarios/soak.toml") },
    Builtin { name: "wake", text: include_str!("../../../scenarios/wake.toml") },
    Builtin { name: "disk", text: include_str!("../../../scenarios/disk.toml") },
    Builtin { name: "micro", text: include_str!("../../../scenarios/micro.toml") },
    Builtin { name: "write", text: include_str!("../../../scenarios/write.toml") },
    Builtin { name: "app", text: include_str!("../../../scenarios/app.toml") },
];

/// The built-in scenario of that name.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().chain(PURPOSES).find(|builtin| builtin.name == name)
}
