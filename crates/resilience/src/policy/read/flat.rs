//! A file as one flat list, to tell what a reload changed.

use std::collections::BTreeMap;

use steadfast_form::{Node, Value, join};

/// Every value of a file by its whole key, to tell what a reload changed.
pub(in crate::policy) fn flatten(node: &Node) -> BTreeMap<String, String> {
    fn walk(node: &Node, path: &str, flat: &mut BTreeMap<String, String>) {
        match &node.value {
            Value::Map(entries) => {
                for (key, node) in entries {
                    walk(node, &join(path, &key.name), flat);
                }
            }
            value => {
                flat.insert(path.to_owned(), plain(value));
            }
        }
    }
    let mut flat = BTreeMap::new();
    walk(node, "", &mut flat);
    flat
}

pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| plain(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(_) => "a table".to_owned(),
    }
}
