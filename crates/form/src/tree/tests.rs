//! The three formats make the same tree.

use super::*;

#[test]
fn a_place_is_counted_in_characters_from_one() {
    for (text, byte, line, column) in
        [("", 0, 1, 1), ("ab\ncd", 4, 2, 2), ("é = 1", 3, 1, 3), ("é", 1, 1, 1), ("a\n", 9, 2, 1)]
    {
        assert_eq!(Places::new(text).at(byte), Place { line, column }, "{text:?} {byte}");
    }
}

#[test]
fn scalars_are_what_yaml_1_2_says() {
    let texts = ["no", "on", "yes", "1s", "1_000", "0x10", "inf", "infinity", "nan", "+", ".", "1.2.3"];
    for text in texts {
        let root = Format::Yaml.parse(&format!("a: {text}")).unwrap();
        let Value::Map(entries) = root.value else { panic!("{text}") };
        assert_eq!(entries[0].1.value, Value::Text(text.to_owned()), "{text}");
    }
    for (text, value) in [
        ("true", Value::Bool(true)),
        ("010", Value::Int(10)),
        ("-5", Value::Int(-5)),
        ("+5", Value::Int(5)),
        ("1e3", Value::Float(1000.0)),
        (".5", Value::Float(0.5)),
        ("~", Value::Null),
        ("", Value::Null),
        ("'5'", Value::Text("5".to_owned())),
    ] {
        let root = Format::Yaml.parse(&format!("a: {text}")).unwrap();
        let Value::Map(entries) = root.value else { panic!("{text}") };
        assert_eq!(entries[0].1.value, value, "{text}");
    }
}

#[test]
fn places_are_those_that_counting_through_gives() {
    let text = "é\n".repeat(300) + &"ab€".repeat(400) + "\n\nend";
    let places = Places::new(&text);
    for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        assert_eq!(places.at(byte), Place { line, column }, "{byte}");
    }
}
