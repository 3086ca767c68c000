//! What a run means: verdicts, the headline, published marks, comparison. Pure over run files.
#![forbid(unsafe_code)]
