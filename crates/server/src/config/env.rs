//! `STEADFAST_*` variables, which win over the file: each is a key with the tables around it, joined by two underscores.
//! `STEADFAST_LISTEN` is `listen`, `STEADFAST_SERVICE__PAYMENTS__URL` is `service.payments.url`.

use steadfast_form::tree::{Key, Node, Place, Value};

const PREFIX: &str = "STEADFAST_";
/// Those that are for others: secrets, what the command line reads, and what has tests write their pages anew.
const OTHERS: [&str; 5] =
    ["STEADFAST_SECRET_", "STEADFAST_SERVER", "STEADFAST_BY", "STEADFAST_CONFIG", "STEADFAST_BLESS"];
/// Where Kubernetes tells every container of a service whose name begins with `steadfast`. Of each there are more.
const SERVICE_HOST: &str = "_SERVICE_HOST";

/// A value of the environment, as it stands in the tree afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    /// The variable.
    pub(crate) variable: String,
    /// The key with the tables around it.
    pub(crate) key: String,
}

/// Puts what variables say into the tree of the file, and says what that was. Names with a dash in the file are found by an
/// underscore.
pub(crate) fn overlay(root: &mut Node, variables: impl IntoIterator<Item = (String, String)>) -> Vec<Set> {
    let mut all: Vec<_> = variables.into_iter().filter(|(name, _)| is_ours(name)).collect();
    let services: Vec<_> =
        all.iter().filter_map(|(name, _)| name.strip_suffix(SERVICE_HOST)).map(str::to_owned).collect();
    all.retain(|(name, _)| !services.iter().any(|service| is_of_service(name, service)));
    all.sort();
    all.into_iter()
        .map(|(variable, value)| {
            let path: Vec<_> = variable[PREFIX.len()..].split("__").map(str::to_ascii_lowercase).collect();
            let key = put(root, &path, &value);
            Set { variable, key }
        })
        .collect()
}

fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX) && !OTHERS.iter().any(|other| name.starts_with(other))
}

fn is_of_service(name: &str, service: &str) -> bool {
    let told = ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"];
    name.strip_prefix(service).is_some_and(|rest| told.iter().any(|told| rest.starts_with(told)))
}

/// Puts a value at a path, and says the names that the path has in the file.
fn put(node: &mut Node, path: &[String], value: &str) -> String {
    let Some((first, rest)) = path.split_first() else {
        node.value = scalar(value);
        return String::new();
    };
    if !matches!(node.value, Value::Map(_)) {
        node.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut node.value else { return first.clone() };
    let same = |key: &Key| key.name.replace('-', "_").eq_ignore_ascii_case(first);
    let at = entries.iter().position(|(key, _)| same(key)).unwrap_or_else(|| {
        let key = Key { name: first.clone(), at: Place::START };
        entries.push((key, Node { value: Value::Null, at: Place::START }));
        entries.len() - 1
    });
    let (key, inner) = &mut entries[at];
    let name = key.name.clone();
    match put(inner, rest, value) {
        inner if inner.is_empty() => name,
        inner => format!("{name}.{inner}"),
    }
}

/// A number or a flag where it is one, a text otherwise.
fn scalar(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(number)) if f64::is_finite(number) => Value::Float(number),
            _ => Value::Text(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use steadfast_form::Format;

    use super::*;

    fn set(variables: &[(&str, &str)]) -> (Node, Vec<Set>) {
        let mut root = Format::Toml.parse("listen = \"a\"\n[service.card-payments]\nurl = \"b\"").unwrap();
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let told = overlay(&mut root, variables);
        (root, told)
    }

    #[test]
    fn a_variable_wins_over_the_file_and_finds_names_with_dashes() {
        let (root, told) = set(&[
            ("STEADFAST_LISTEN", "127.0.0.1:1"),
            ("STEADFAST_SERVICE__CARD_PAYMENTS__MOST_RUNNING", "7"),
            ("STEADFAST_SERVICE__STOCK__RAMP", "false"),
        ]);
        let keys: Vec<_> = told.iter().map(|set| set.key.as_str()).collect();
        assert_eq!(keys, ["listen", "service.card-payments.most_running", "service.stock.ramp"]);
        let table = steadfast_form::Table::of(&root);
        assert_eq!(table.word("listen"), Some("127.0.0.1:1"));
        let services = table.named("service");
        assert_eq!(services.len(), 2);
        let payments = steadfast_form::Table::of(&services[0].1);
        assert_eq!((payments.word("url"), payments.count("most_running")), (Some("b"), Some(7)));
        assert_eq!(steadfast_form::Table::of(&services[1].1).flag("ramp"), Some(false));
    }

    #[test]
    fn what_is_for_others_is_left_alone() {
        let (_, told) = set(&[
            ("STEADFAST_SECRET_TOKEN", "x"),
            ("STEADFAST_SERVER", "http://127.0.0.1:1"),
            ("STEADFAST_BY", "ana"),
            ("STEADFAST_PORT", "tcp://10.0.0.1:7171"),
            ("STEADFAST_PORT_7171_TCP", "tcp://10.0.0.1:7171"),
            ("STEADFAST_SERVICE_HOST", "10.0.0.1"),
            ("STEADFAST_SERVICE_PORT_HTTP", "7171"),
            ("STEADFAST_UI_SERVICE_HOST", "10.0.0.2"),
            ("STEADFAST_UI_PORT_80_TCP", "tcp://10.0.0.2:80"),
            ("PATH", "/bin"),
        ]);
        assert_eq!(told, []);
    }
}
