//! From a tree that fits the schema to settings: names looked up, values checked together.

mod breaker;
mod flat;
mod limit;
mod retry;
mod service;

pub(super) use flat::flatten;
use steadfast_form::{Node, Place, Table, join, listed, nearest, plain, text};

use self::breaker::breaker_values;
use self::limit::limit_values;
use self::retry::{retry_values, strategy};
use self::service::{classes, facts};
use super::error::{Complaint, MAX_COMPLAINTS};
use super::schema::{BREAKER, BUDGET, FILE, LIMIT, RETRY, Section};
use super::service::{Entry, Operation, Service};
use crate::breaker::{Breaker, Builder as BreakerBuilder};
use crate::limit as limits;
use crate::problem::{BuildError, Code, Findings, Problem};
use crate::retry::{Budget, BudgetBuilder, Builder as RetryBuilder, Retry};

/// The longest chain of settings that are like others: people cannot follow longer ones either.
const MAX_LIKE: usize = 16;

/// Whether a problem shows only when the parts of a service are together; the others were told of the parts.
fn is_of_whole(problem: &Problem) -> bool {
    problem.setting.starts_with("pipeline.")
        || problem.code == Code::Endless
        || matches!(problem.setting, "breaker.half_open_limit" | "breaker.slow")
}

/// Builds settings and lists what does not make sense.
pub(super) struct Reader<'a> {
    file: Table<'a>,
    pub(super) complaints: Vec<Complaint>,
    pub(super) warnings: Vec<Complaint>,
    /// Names that are being looked up: one that leads back to itself is a circle.
    path: Vec<(&'static str, String)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(root: &'a Node) -> Self {
        Self { file: Table::of(root), complaints: Vec::new(), warnings: Vec::new(), path: Vec::new() }
    }

    fn complain(&mut self, at: Place, key: impl Into<String>, code: Code, message: impl Into<String>) {
        self.complaints.push(Complaint { at, key: key.into(), code, message: message.into() });
    }

    /// What services have that the file does not name, and every service that it does.
    pub(super) fn services(&mut self) -> (Entry, Vec<(String, Entry)>) {
        let default = self.file.get("default").map_or(Table::EMPTY, Table::of);
        let standard = self.entry("default", "default", default);
        let mut services = Vec::new();
        for (key, node) in self.file.named("service") {
            if self.complaints.len() >= MAX_COMPLAINTS {
                break;
            }
            let table = Table::of(node).with_behind(default);
            services.push((key.name.clone(), self.entry(&join("service", &key.name), &key.name, table)));
        }
        (standard, services)
    }

    /// The retry settings that the file names. Settings that no service uses are read too: a mistake in them must not wait
    /// for its first use.
    pub(super) fn retries(&mut self) -> Vec<(String, RetryBuilder)> {
        let mut retries = Vec::new();
        for (key, node) in self.file.named("retry") {
            if self.complaints.len() >= MAX_COMPLAINTS {
                break;
            }
            let retry = self.retry(node, &join("retry", &key.name), Some(&key.name));
            retries.push((key.name.clone(), retry));
        }
        for (key, node) in self.file.named("breaker") {
            let _ = self.breaker(node, &join("breaker", &key.name), Some(&key.name));
        }
        for (key, node) in self.file.named("budget") {
            let _ = self.budget(node, &join("budget", &key.name));
        }
        for (key, node) in self.file.named("limit") {
            let _ = self.limit(node, &join("limit", &key.name));
        }
        self.complaints.sort_by(|one, other| (one.at, &one.key).cmp(&(other.at, &other.key)));
        // What is wrong with the default is wrong with each service that has it from there: it is said once.
        let setting = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        self.complaints.dedup_by(|one, other| {
            (one.at, &one.message) == (other.at, &other.message) && setting(&one.key) == setting(&other.key)
        });
        self.warnings.sort_by(|one, other| (one.at, &one.key).cmp(&(other.at, &other.key)));
        self.warnings.dedup();
        retries
    }

    fn entry(&mut self, path: &str, name: &str, table: Table<'a>) -> Entry {
        let service = self.service(path, table);
        let told = self.check_whole(path, table, &service, name, &[]);
        let mut operations = Vec::new();
        for (key, node) in table.named("operation") {
            if self.complaints.len() >= MAX_COMPLAINTS {
                break;
            }
            let (path, table) = (join(&join(path, "operation"), &key.name), Table::of(node));
            let operation = self.operation(&path, table);
            let _ = self.check_whole(&path, table, &operation.as_service(&service), name, &told);
            operations.push((key.name.clone(), operation));
        }
        Entry { service, operations }
    }

    /// Checks what only shows when the parts are together, but for what was `told` of the service around already.
    fn check_whole(
        &mut self,
        path: &str,
        table: Table<'_>,
        service: &Service,
        name: &str,
        told: &[Problem],
    ) -> Vec<Problem> {
        let built = service.builder(name).build().map(|pipeline| pipeline.warnings());
        let problems = match &built {
            Ok(warnings) => &warnings[..],
            Err(error) => error.problems(),
        };
        let problems: Vec<_> = problems.iter().filter(|problem| is_of_whole(problem)).cloned().collect();
        let list = if built.is_ok() { &mut self.warnings } else { &mut self.complaints };
        let new = problems.iter().filter(|problem| !told.contains(problem));
        list.extend(new.map(|problem| placed_in_whole(problem, path, table)));
        problems
    }

    fn service(&mut self, path: &str, table: Table<'a>) -> Service {
        Service {
            at: table.at,
            places: table.places(),
            retry: table.get("retry").map(|node| self.retry(node, &join(path, "retry"), None)),
            breaker: match table.get("breaker") {
                None => Some(Breaker::standard()),
                Some(node) => self.breaker(node, &join(path, "breaker"), None),
            },
            budget: match table.get("budget") {
                None => Some(BudgetBuilder::default()),
                Some(node) => self.budget(node, &join(path, "budget")),
            },
            limit: table.get("limit").and_then(|node| self.limit(node, &join(path, "limit"))),
            attempt_timeout: table.duration("attempt_timeout"),
            no_attempt_timeout: table.word("attempt_timeout") == Some("none"),
            server_timeout: table.duration("server_timeout"),
            complete_within: table.duration("complete_within"),
            idempotent: table.flag("idempotent").unwrap_or(true),
            wait_for_breaker: table.flag("wait_for_breaker").unwrap_or(false),
            sdk_retries: table.count("sdk_retries").unwrap_or(0),
            retry_despite_sdk: table.flag("retry_despite_sdk").unwrap_or(false),
            log_successes: table.flag("log_successes").unwrap_or(false),
            reclassify: classes(table),
            facts: facts(table),
        }
    }

    fn operation(&mut self, path: &str, table: Table<'a>) -> Operation {
        Operation {
            at: table.at,
            places: table.places(),
            retry: table.get("retry").map(|node| self.retry(node, &join(path, "retry"), None)),
            attempt_timeout: table.duration("attempt_timeout"),
            server_timeout: table.duration("server_timeout"),
            complete_within: table.duration("complete_within"),
            idempotent: table.flag("idempotent"),
            reclassify: classes(table),
            facts: facts(table),
        }
    }

    /// Takes over what the check of a part says.
    fn check(&mut self, path: &str, table: Table<'_>, checked: &Result<Vec<Problem>, BuildError>) {
        let (problems, list) = match checked {
            Ok(warnings) => (&warnings[..], &mut self.warnings),
            Err(error) => (error.problems(), &mut self.complaints),
        };
        list.extend(problems.iter().map(|problem| placed(problem, path, table)));
    }

    // ---- retry ----

    /// Retry settings by name or in place. `own` is the name under which they stand in the file.
    fn retry(&mut self, node: &'a Node, path: &str, own: Option<&str>) -> RetryBuilder {
        match text(node) {
            Some(name) => {
                let found = self.look_up(&RETRY, name, node.at, path);
                let built = found.map(|found| match found {
                    Found::Preset => preset(name),
                    Found::Table(node) => self.retry(node, &join("retry", name), None),
                });
                self.leave(&RETRY, name);
                built.map_or_else(Retry::standard, |built| built.named(name))
            }
            None => {
                if let Some(own) = own {
                    self.path.push((RETRY.name, own.to_owned()));
                }
                let built = self.retry_table(Table::of(node), path);
                if own.is_some() {
                    self.path.pop();
                }
                built
            }
        }
    }

    fn retry_table(&mut self, table: Table<'a>, path: &str) -> RetryBuilder {
        let like = table.get("like").map(|node| self.retry(node, &join(path, "like"), None));
        let mut retry = like.map_or_else(Retry::exponential, RetryBuilder::unnamed);
        if let Some(word) = table.word("strategy") {
            match strategy(word, table) {
                Ok(strategy) => retry = retry.with_strategy(strategy),
                Err(missing) => {
                    let message = format!("`{word}` needs `{missing}`");
                    self.complain(table.place("strategy"), join(path, missing), Code::Missing, message);
                }
            }
        }
        for (key, strategies) in
            [("wait", "fixed"), ("first", "incremental"), ("step", "incremental"), ("waits", "schedule")]
        {
            if table.get(key).is_some() && table.word("strategy") != Some(strategies) {
                let message = format!("it belongs to `strategy = \"{strategies}\"`: add that, or remove it");
                self.complain(table.place(key), join(path, key), Code::Contradiction, message);
            }
        }
        retry = retry_values(retry, table);
        let mut findings = Findings::default();
        let _ = retry.clone().build_within(true, &mut findings);
        self.check(path, table, &findings.finish("retry"));
        retry
    }

    // ---- breaker ----

    /// `None` for no breaker at all.
    fn breaker(&mut self, node: &'a Node, path: &str, own: Option<&str>) -> Option<BreakerBuilder> {
        match text(node) {
            Some(name) => {
                let found = self.look_up(&BREAKER, name, node.at, path);
                let built = match found {
                    Some(Found::Table(node)) => self.breaker(node, &join("breaker", name), None),
                    Some(Found::Preset) if name == "none" => None,
                    _ => Some(Breaker::standard()),
                };
                self.leave(&BREAKER, name);
                built
            }
            None => {
                if let Some(own) = own {
                    self.path.push((BREAKER.name, own.to_owned()));
                }
                let table = Table::of(node);
                let like = table.get("like").and_then(|node| self.breaker(node, &join(path, "like"), None));
                let breaker = breaker_values(like.unwrap_or_else(Breaker::standard), table);
                self.check(path, table, &breaker.check());
                if own.is_some() {
                    self.path.pop();
                }
                Some(breaker)
            }
        }
    }

    // ---- budget ----

    /// `None` for no budget at all.
    fn budget(&mut self, node: &'a Node, path: &str) -> Option<BudgetBuilder> {
        if let Some(name) = text(node) {
            let found = self.look_up(&BUDGET, name, node.at, path);
            self.leave(&BUDGET, name);
            return match found {
                Some(Found::Table(node)) => self.budget(node, &join("budget", name)),
                Some(Found::Preset) if name == "none" => None,
                _ => Some(BudgetBuilder::default()),
            };
        }
        let table = Table::of(node);
        let mut budget = table.number("share").map_or_else(BudgetBuilder::default, Budget::share);
        if let Some(reserve) = table.count("reserve") {
            budget = budget.reserve(reserve);
        }
        if let Some(window) = table.duration("window") {
            budget = budget.window(window);
        }
        let mut findings = Findings::default();
        let _ = budget.clone().build_within(&mut findings);
        self.check(path, table, &findings.finish("budget"));
        Some(budget)
    }

    // ---- limit ----

    /// `None` for no limit at all.
    fn limit(&mut self, node: &'a Node, path: &str) -> Option<limits::Builder> {
        if let Some(name) = text(node) {
            let found = self.look_up(&LIMIT, name, node.at, path);
            self.leave(&LIMIT, name);
            return match found {
                Some(Found::Table(node)) => self.limit(node, &join("limit", name)),
                _ => None,
            };
        }
        let table = Table::of(node);
        let limit = limit_values(table);
        let mut findings = Findings::default();
        limit.check(&mut findings);
        self.check(path, table, &findings.finish("limit"));
        Some(limit)
    }

    // ---- names ----

    /// What a name stands for; `None`, with a complaint, for one that stands for nothing or for itself.
    fn look_up(&mut self, section: &'static Section, name: &str, at: Place, path: &str) -> Option<Found<'a>> {
        let preset = section.presets.contains(&name);
        let inside = self.path.iter().any(|(of, known)| *of == section.name && known == name);
        self.path.push((section.name, name.to_owned()));
        let table = self.file.named(section.name).iter().find(|(key, _)| key.name == name);
        if self.path.len() > MAX_LIKE {
            let message = format!("`like` leads on for more than {MAX_LIKE} steps: shorten the chain");
            self.complain(at, path, Code::Circle, message);
            return None;
        }
        match table {
            // `[retry.standard] like = "standard"` means the one that is built in.
            Some((_, node)) if !inside => Some(Found::Table(node)),
            _ if preset => Some(Found::Preset),
            Some(_) => {
                let names = self.path.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" -> ");
                self.complain(
                    at,
                    path,
                    Code::Circle,
                    format!("the names lead back to where they began: {names}"),
                );
                None
            }
            None => {
                let known = self.file.named(section.name).iter().map(|(key, _)| key.name.as_str());
                let known: Vec<_> = known.chain(section.presets.iter().copied()).collect();
                let hint = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{}`?", plain(near)),
                    None => format!("there are {}", listed(known.iter().copied())),
                };
                let message = format!("there is no {} named `{}`: {hint}", section.name, name.escape_debug());
                self.complain(at, path, Code::UnknownName, message);
                None
            }
        }
    }

    fn leave(&mut self, section: &'static Section, name: &str) {
        debug_assert!(self.path.last().is_some_and(|(of, known)| *of == section.name && known == name));
        self.path.pop();
    }
}

/// What a name stands for.
enum Found<'a> {
    Table(&'a Node),
    Preset,
}

pub(super) fn preset(name: &str) -> RetryBuilder {
    match name {
        "interactive" => Retry::interactive(),
        "background" => Retry::background(),
        "costly-undo" => Retry::costly_undo(),
        "non-critical" | "none" => Retry::none(),
        _ => Retry::standard(),
    }
}

/// A problem of a builder at its place in the file.
fn placed(problem: &Problem, path: &str, table: Table<'_>) -> Complaint {
    let (code, message) = (problem.code, problem.message.clone());
    if !problem.setting.contains('.') {
        return Complaint { at: table.at, key: path.to_owned(), code, message };
    }
    let key = file_key(problem.setting);
    Complaint { at: table.place(key), key: join(path, key), code, message }
}

/// A problem that shows when the parts of a service are together: of the service itself, or of a part in it.
fn placed_in_whole(problem: &Problem, path: &str, table: Table<'_>) -> Complaint {
    let part = match problem.setting.split_once('.') {
        None | Some(("pipeline", _)) => return placed(problem, path, table),
        Some((part, _)) => part,
    };
    let inside = table.get(part).map_or(Table::EMPTY, Table::of);
    let at = inside.entry(file_key(problem.setting)).map_or_else(|| table.place(part), |(key, _)| key.at);
    Complaint { at, ..placed(problem, &join(path, part), inside) }
}

/// What the file calls a builder's setting.
fn file_key(setting: &'static str) -> &'static str {
    match setting {
        "retry.fixed" => "wait",
        "retry.incremental" => "first",
        "retry.schedule" => "waits",
        "retry.on_kind" | "breaker.kind" => "kinds",
        "breaker.within" => "window",
        "pipeline.retry" => "retry",
        "pipeline.budget" => "budget",
        _ => setting.rsplit('.').next().unwrap_or(setting),
    }
}

/// The section that a whole file is.
pub(super) fn file() -> &'static Section {
    &FILE
}
