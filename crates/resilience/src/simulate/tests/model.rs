//! A second model of the same storm, small and written apart: it moves in steps of a millisecond, has formulas,
//! randomness, budget and breaker of its own, and knows nothing of the library. Both are given the same calls.

use std::collections::VecDeque;

pub(super) struct Model {
    pub(super) clients: usize,
    /// Requests that the service can take in a second.
    pub(super) capacity: f64,
    /// The service is down from second 20 on, for this long.
    pub(super) outage: u64,
    pub(super) after: u64,
    pub(super) refuses: bool,
    pub(super) timeout: f64,
    pub(super) retries: u32,
    /// The wait in seconds after failure n, for a random number from 0 to 1.
    pub(super) wait: fn(i32, f64) -> f64,
    pub(super) max_elapsed: f64,
    pub(super) budget: bool,
    pub(super) breaker: bool,
}

#[derive(Clone, Default)]
struct Client {
    /// Seconds of successes and of retries.
    successes: VecDeque<f64>,
    retries: VecDeque<f64>,
    /// When, and whether it failed.
    recent: VecDeque<(f64, bool)>,
    row: u32,
    open_until: Option<f64>,
    half_open: bool,
    probing: bool,
    probes_ok: u32,
    trips: i32,
    /// Counts trips and recoveries: a result from before one says nothing.
    era: u32,
}

#[derive(Clone, Copy)]
struct Call {
    client: usize,
    made: f64,
    number: i32,
    /// Which attempt this is about: later ones have other numbers.
    turn: u64,
    probe: bool,
    era: u32,
    ended: bool,
    began: f64,
}

/// What happened, in tenths of a second.
pub(super) struct Outcome {
    pub(super) offered: Vec<f64>,
    pub(super) sent: Vec<f64>,
    pub(super) succeeded: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Due {
    Answer(usize, u64, bool),
    Timeout(usize, u64),
    Again(usize),
}

struct Storm<'a> {
    model: &'a Model,
    random: u64,
    now: f64,
    clients: Vec<Client>,
    calls: Vec<Call>,
    queue: VecDeque<(usize, u64)>,
    due: Vec<Vec<Due>>,
    out: Outcome,
}

impl Model {
    fn down(&self, now: f64) -> bool {
        (20.0..20.0 + self.outage as f64).contains(&now)
    }

    /// Lives through it with these calls: when, and of which client.
    pub(super) fn live(&self, calls: &[(f64, usize)]) -> Outcome {
        let end = 20 + self.outage + self.after;
        let tenths = || vec![0.0; end as usize * 10 + 1];
        let mut storm = Storm {
            model: self,
            random: 0x2545_F491_4F6C_DD1D,
            now: 0.0,
            clients: vec![Client::default(); self.clients],
            calls: Vec::new(),
            queue: VecDeque::new(),
            due: (0..=end * 1000).map(|_| Vec::new()).collect(),
            out: Outcome { offered: tenths(), sent: tenths(), succeeded: tenths() },
        };
        let mut calls = calls.iter().peekable();
        let mut credit: f64 = 0.0;
        for tick in 0..end * 1000 {
            storm.now = tick as f64 / 1000.0;
            for due in std::mem::take(&mut storm.due[tick as usize]) {
                storm.happens(due);
            }
            while let Some((_, client)) = calls.next_if(|(at, _)| *at <= storm.now) {
                storm.arrives(*client);
            }
            if !self.down(storm.now) {
                credit = (credit + self.capacity / 1000.0).min(1.0 + self.capacity / 1000.0);
                while credit >= 1.0 && !storm.queue.is_empty() {
                    credit -= 1.0;
                    let (call, turn) = storm.queue.pop_front().unwrap();
                    storm.plan(0.010, Due::Answer(call, turn, true));
                }
            }
        }
        storm.out
    }
}

fn tenth(at: f64) -> usize {
    (at * 10.0 + 1e-6) as usize
}

impl Storm<'_> {
    /// A random number from 0 to 1, by xorshift.
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn plan(&mut self, wait: f64, due: Due) {
        let tick = ((self.now + wait) * 1000.0).ceil() as usize;
        let later = tick.max((self.now * 1000.0) as usize + 1);
        if let Some(slot) = self.due.get_mut(later) {
            slot.push(due);
        }
    }

    fn arrives(&mut self, client: usize) {
        self.out.offered[tenth(self.now)] += 1.0;
        let call = Call {
            client,
            made: self.now,
            number: 0,
            turn: 0,
            probe: false,
            era: 0,
            ended: false,
            began: self.now,
        };
        self.calls.push(call);
        self.attempt(self.calls.len() - 1);
    }

    fn attempt(&mut self, id: usize) {
        let call = self.calls[id];
        let now = self.now;
        let client = &mut self.clients[call.client];
        let mut probe = false;
        if self.model.breaker {
            if client.open_until.is_some_and(|until| now >= until) {
                client.open_until = None;
                client.half_open = true;
                client.probing = false;
                client.probes_ok = 0;
                client.era += 1;
            }
            if client.open_until.is_some() || (client.half_open && client.probing) {
                self.calls[id].ended = true;
                return;
            }
            probe = client.half_open;
            client.probing = probe;
        }
        let era = client.era;
        self.out.sent[tenth(now)] += 1.0;
        let call = &mut self.calls[id];
        call.turn += 1;
        call.probe = probe;
        call.era = era;
        call.began = now;
        let turn = call.turn;
        if self.model.refuses && self.model.down(now) {
            self.happens(Due::Answer(id, turn, false));
            return;
        }
        self.queue.push_back((id, turn));
        self.plan(self.model.timeout, Due::Timeout(id, turn));
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::Again(id) => self.attempt(id),
            Due::Answer(id, turn, good) if self.is_on(id, turn) => self.settle(id, good),
            Due::Timeout(id, turn) if self.is_on(id, turn) => self.settle(id, false),
            Due::Answer(..) | Due::Timeout(..) => {}
        }
    }

    fn is_on(&self, id: usize, turn: u64) -> bool {
        !self.calls[id].ended && self.calls[id].turn == turn
    }

    fn settle(&mut self, id: usize, good: bool) {
        self.calls[id].turn += 1;
        let call = self.calls[id];
        self.judge(call, good);
        if good {
            self.clients[call.client].successes.push_back(self.now);
            self.out.succeeded[tenth(call.made)] += 1.0;
            self.calls[id].ended = true;
            return;
        }
        let chance = self.chance();
        let wait = (self.model.wait)(call.number, chance);
        let too_long = self.now + wait - call.made > self.model.max_elapsed;
        let no_more = call.number as u32 >= self.model.retries;
        if no_more || too_long || self.is_open_at(call.client, self.now + wait) || !self.pays(call.client) {
            self.calls[id].ended = true;
            return;
        }
        self.calls[id].number += 1;
        self.plan(wait, Due::Again(id));
    }

    fn is_open_at(&self, client: usize, at: f64) -> bool {
        self.model.breaker && self.clients[client].open_until.is_some_and(|until| at < until)
    }

    /// A tenth of the successes of ten seconds, or three.
    fn pays(&mut self, client: usize) -> bool {
        let since = self.now - 10.0;
        let client = &mut self.clients[client];
        for list in [&mut client.successes, &mut client.retries] {
            while list.front().is_some_and(|at| *at < since) {
                list.pop_front();
            }
        }
        if !self.model.budget {
            return true;
        }
        let allowed = (client.successes.len() / 10).max(3);
        let pays = client.retries.len() < allowed;
        if pays {
            client.retries.push_back(self.now);
        }
        pays
    }

    /// Ten failures in a row, or half of at least twenty calls in 30 s, open it for 5 s and longer each time; three good
    /// probes close it.
    fn judge(&mut self, call: Call, good: bool) {
        let chance = self.chance();
        let now = self.now;
        let client = &mut self.clients[call.client];
        if !self.model.breaker || call.era != client.era {
            return;
        }
        let open = |client: &mut Client| {
            let time = (5.0 * 1.5_f64.powi(client.trips)).min(60.0);
            client.open_until = Some(now + time * (1.0 + 0.1 * chance));
            client.half_open = false;
            client.era += 1;
        };
        if call.probe {
            client.probing = false;
            if !good {
                client.trips += 1;
                open(client);
                return;
            }
            client.probes_ok += 1;
            if client.probes_ok == 3 {
                *client = Client {
                    successes: std::mem::take(&mut client.successes),
                    retries: std::mem::take(&mut client.retries),
                    era: client.era + 1,
                    ..Client::default()
                };
            }
            return;
        }
        client.recent.push_back((now, !good));
        while client.recent.front().is_some_and(|(at, _)| *at < now - 30.0) {
            client.recent.pop_front();
        }
        client.row = if good { 0 } else { client.row + 1 };
        let failures = client.recent.iter().filter(|(_, failed)| *failed).count();
        let half = client.recent.len() >= 20 && failures * 2 >= client.recent.len();
        if !good && (client.row >= 10 || half) {
            client.trips = 0;
            open(client);
        }
    }
}
