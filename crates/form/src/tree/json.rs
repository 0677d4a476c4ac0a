//! JSON, strictly: no comments, no trailing commas.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Key, Limits, Node, Place, Places, Syntax, Value, table};

pub(super) fn parse(text: &str) -> Result<Node, Syntax> {
    let places = Places::new(text);
    let strict = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &strict)
        .map_err(|error| Syntax::new(places.at(error.range().start), error.kind().to_string()))?;
    let mut reader = Reader { places, limits: Limits::default() };
    match &parsed.value {
        Some(value) => reader.node(value, 0),
        None => Ok(Node { value: Value::Null, at: Place::START }),
    }
}

struct Reader<'a> {
    places: Places<'a>,
    limits: Limits,
}

impl Reader<'_> {
    fn node(&mut self, value: &ast::Value<'_>, depth: usize) -> Result<Node, Syntax> {
        let at = self.places.at(value.range().start);
        self.limits.count(at, depth)?;
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(value) => Value::Bool(value.value),
            ast::Value::StringLit(text) => Value::Text(text.value.to_string()),
            ast::Value::NumberLit(number) => match number.value.parse() {
                Ok(whole) => Value::Int(whole),
                Err(_) => {
                    Value::Float(number.value.parse().map_err(|_| Syntax::new(at, "this is not a number"))?)
                }
            },
            ast::Value::Array(items) => {
                let items: Result<_, _> =
                    items.elements.iter().map(|item| self.node(item, depth + 1)).collect();
                Value::List(items?)
            }
            ast::Value::Object(object) => {
                let mut map = Vec::with_capacity(object.properties.len());
                for property in &object.properties {
                    let at = self.places.at(property.range.start);
                    let key = Key { name: property.name.as_str().to_owned(), at };
                    map.push((key, self.node(&property.value, depth + 1)?));
                }
                table(map)?
            }
        };
        Ok(Node { value, at })
    }
}
