//! How much and how long: everything that the server bounds, each with a reason.

use std::time::Duration;

/// What the server bounds. Every setting has a default that suits most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most requests that are worked on at a time; one more is answered 429. Streams, and those who wait for the end of a task,
    /// are counted apart. Default: 1024, about what a store's write of a few milliseconds needs for 100 000 requests a second.
    pub most_in_flight: usize,
    /// The most submissions that wait for the store at a time; one more is answered 429. Default: 4096, a few batches' worth: more
    /// would wait for longer than their clients do.
    pub most_submitting: usize,
    /// The most requests that wait for the end of a task; one more is answered 202 at once. Default: 10 000; each costs some
    /// kilobytes.
    pub most_waiting: usize,
    /// The most streams of events; one more is answered 429. Default: 10 000; each costs some kilobytes.
    pub most_streams: usize,
    /// The most connections; more wait until others are gone. Default: 20 000, below the open files of most systems that serve.
    pub most_connections: usize,
    /// The most bytes of a body. Default: 1 MiB, about the most that is stored of one input.
    pub body: usize,
    /// The most bytes of the body of a batch. Default: 8 MiB.
    pub batch_body: usize,
    /// How deep values may stand inside of each other. Default: 64; what people write has less than ten, and whoever reads it later
    /// may go down by calls.
    pub depth: usize,
    /// The most values (numbers, texts, lists, names, ...) of a body. Default: 500 000: each may take hundreds of bytes in memory,
    /// however short it is. The largest list that a task can have, 20 000 items, may have a dozen fields in each.
    pub values: usize,
    /// The most values of all bodies that are worked on; one more body is answered 429. Default: 4 000 000, about a gigabyte at worst.
    pub most_values: usize,
    /// How long a body may take to come. Default: 30 seconds.
    pub body_within: Duration,
    /// How long the head of a request may take to come, and for how long a connection may be idle. Default: 60 seconds.
    pub head_within: Duration,
    /// How long a client may leave an answer or a stream unread before its connection ends. Default: 60 seconds.
    pub unread_within: Duration,
    /// How long a request may take as a whole, but for what it asks to wait. Default: 60 seconds, twice what the engine takes for
    /// anything that is asked of it.
    pub request_within: Duration,
    /// How long a request may take that goes through the whole store. Default: an hour, in which hundreds of gigabytes are copied.
    pub store_within: Duration,
    /// The longest wait for the end of a task. Default: 60 seconds: proxies cut off what takes longer.
    pub longest_wait: Duration,
    /// How often a stream says that it lives. Default: 15 seconds: proxies cut off what is silent for 30.
    pub heartbeat: Duration,
    /// How long requests under way may take when the server shuts down. Default: 10 seconds.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most_in_flight: 1_024,
            most_submitting: 4_096,
            most_waiting: 10_000,
            most_streams: 10_000,
            most_connections: 20_000,
            body: 1 << 20,
            batch_body: 8 << 20,
            depth: 64,
            values: 500_000,
            most_values: 4_000_000,
            body_within: Duration::from_secs(30),
            head_within: Duration::from_secs(60),
            unread_within: Duration::from_secs(60),
            request_within: Duration::from_secs(60),
            store_within: Duration::from_secs(3_600),
            longest_wait: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}
