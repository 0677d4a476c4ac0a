//! The keys of sections as tables for people, in Markdown.

use std::fmt::Write as _;

use crate::shape::{Section, Shape};

/// What a key takes, in few words.
#[must_use]
pub fn takes(shape: Shape) -> String {
    match shape {
        Shape::Duration | Shape::LongDuration => "a time above 0".to_owned(),
        Shape::DurationOrZero => "a time".to_owned(),
        Shape::Count(least, most) => format!("{least} to {most}"),
        Shape::Share => "a number above 0, up to 1".to_owned(),
        Shape::Number(least, most) => format!("a number from {least} to {most}"),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Word(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        Shape::Text => "a text".to_owned(),
        Shape::Template => "a text with expressions".to_owned(),
        Shape::Expression => "an expression".to_owned(),
        Shape::Any => "anything".to_owned(),
        Shape::Kind => "a kind or a code".to_owned(),
        Shape::Of(_) => "a name or a table".to_owned(),
        Shape::List(inner) => format!("a list, each {}", takes(*inner)),
        Shape::Named(inner) => format!("a table: names, each with {}", takes(*inner)),
        Shape::Table(_) => "a table".to_owned(),
        Shape::OneOf(choices) => {
            let names: Vec<_> = choices.iter().map(|choice| format!("`{}`", choice.mark)).collect();
            format!("a table with one of {}", names.join(", "))
        }
        Shape::Either(shapes) => shapes.iter().map(|shape| takes(*shape)).collect::<Vec<_>>().join(", or "),
    }
}

/// A file and all tables in it, each under its key: what each key takes, its default and what it means.
#[must_use]
pub fn reference(file: &'static Section) -> String {
    let mut found = vec![("The file".to_owned(), file)];
    let mut next = 0;
    while let Some((_, section)) = found.get(next).cloned() {
        let path = if next == 0 { "" } else { found[next].0.trim_matches('`') }.to_owned();
        for field in section.fields {
            collect(field.shape, &crate::join(&path, field.key), &mut found);
        }
        next += 1;
    }
    let sections: Vec<_> = found.iter().map(|(heading, section)| (heading.as_str(), *section)).collect();
    tables(&sections)
}

/// The tables in what a key takes, each once.
fn collect(shape: Shape, path: &str, found: &mut Vec<(String, &'static Section)>) {
    let mut add = |path: String, section: &'static Section| {
        if !found.iter().any(|(_, known)| std::ptr::eq(*known, section)) {
            found.push((format!("`{path}`"), section));
        }
    };
    match shape {
        Shape::Table(section) | Shape::Of(section) => add(path.to_owned(), section),
        Shape::OneOf(choices) => {
            choices.iter().for_each(|choice| add(format!("{path} with {}", choice.mark), choice.section));
        }
        Shape::Named(inner) => collect(*inner, &format!("{path}.NAME"), found),
        Shape::List(inner) => collect(*inner, path, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| collect(*shape, path, found)),
        _ => {}
    }
}

/// Sections as tables, each under its heading: key, what it takes, its default and what it means.
#[must_use]
pub fn tables(sections: &[(&str, &Section)]) -> String {
    let mut text = String::new();
    for (heading, section) in sections {
        let _ = write!(text, "\n### {heading}\n\n| key | takes | default | means |\n|---|---|---|---|\n");
        for field in section.fields {
            let default = match field.default {
                _ if field.needed => "needed".to_owned(),
                "" => "-".to_owned(),
                words if words.starts_with("the ") || words == "unknown" => words.to_owned(),
                value => format!("`{value}`"),
            };
            let _ =
                writeln!(text, "| `{}` | {} | {default} | {} |", field.key, takes(field.shape), field.doc);
        }
    }
    text
}
