use clap::Args;
use flashlag_commands::{Limits, celsius, percent};

/// Limits of charge and heat.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// End the run when the battery falls below this and is not charged [default: 15% on a phone]
    #[arg(help_heading = "Safety", hide_short_help = true)]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min_battery: Option<u8>,
    /// End the run when the battery is hotter than this, e.g. 42C [default: 45C on a phone]
    #[arg(help_heading = "Safety", hide_short_help = true)]
    #[arg(long, value_name = "CELSIUS", value_parser = celsius)]
    pub max_temperature: Option<i64>,
    /// Before each test, wait until the battery is not hotter than this, e.g. 32C
    #[arg(help_heading = "Procedure", hide_short_help = true)]
    #[arg(long, value_name = "CELSIUS", value_parser = celsius)]
    pub cool_to: Option<i64>,
}

impl LimitArgs {
    /// The limits that were given.
    pub fn limits(&self) -> Limits {
        let LimitArgs { min_battery, max_temperature, cool_to } = *self;
        Limits { min_battery, max_temperature, cool_to }
    }
}
