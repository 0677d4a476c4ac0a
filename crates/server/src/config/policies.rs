//! What settings say of policies, as a file of policies has it.

use steadfast_form::entries;
use steadfast_form::tree::{Key, Node, Place, Value};
use steadfast_resilience::policy::{FILE_FIELDS, SERVICE_FIELDS};

/// The retries of a service that says nothing: more than the failures in a row that open its breaker, so that a step that is
/// alone waits for a service that is away.
const RETRIES: i64 = 12;

/// The part of the file that a policy file would have, at the same places, with the server's own default.
pub(super) fn policies_of(root: &Node) -> Node {
    let known = |key: &Key| FILE_FIELDS.iter().any(|field| field.key == key.name);
    let mut kept: Vec<_> = entries(root).iter().filter(|(key, _)| known(key)).cloned().collect();
    for (key, node) in &mut kept {
        if key.name == "service"
            && let Value::Map(services) = &mut node.value
        {
            services.iter_mut().for_each(|(_, service)| without_own(service));
        }
    }
    patient(&mut kept);
    Node { value: Value::Map(kept), at: root.at }
}

/// A service without what only the server reads.
fn without_own(service: &mut Node) {
    if let Value::Map(entries) = &mut service.value {
        let shared = |key: &Key| SERVICE_FIELDS.iter().any(|field| field.key == key.name);
        entries.retain(|(key, _)| shared(key));
    }
}

/// Steps are retried for longer than single calls, unless the file says otherwise.
fn patient(kept: &mut Vec<(Key, Node)>) {
    let node = |value| Node { value, at: Place::START };
    let key = |name: &str| Key { name: name.to_owned(), at: Place::START };
    if !kept.iter().any(|(key, _)| key.name == "default") {
        kept.push((key("default"), node(Value::Map(Vec::new()))));
    }
    let default = kept.iter_mut().find(|(key, _)| key.name == "default");
    if let Some((_, Node { value: Value::Map(default), .. })) = default
        && !default.iter().any(|(key, _)| key.name == "retry")
    {
        let like = (key("like"), node(Value::Text("standard".to_owned())));
        let retries = (key("max_retries"), node(Value::Int(RETRIES)));
        default.push((key("retry"), node(Value::Map(vec![like, retries]))));
    }
}
